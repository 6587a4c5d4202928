import pytest

import wakesleep
from tests.worlds.toys import Console
from wakesleep import UserError
from wakesleep.worlds import registry


def test_all_tasks_are_found():
    assert len(wakesleep.tasks("minigrid")) == 18
    assert len(wakesleep.tasks("minigrid", paper_only=True)) == 10
    assert wakesleep.tasks("minigrid")[:2] == ("SimpleCrossing_S9N1", "SimpleCrossing_S9N2")
    for name in set(wakesleep.tasks()) - set(wakesleep.tasks("starcraft-game")):  # those need the game
        wakesleep.make(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DoorKey_S9", "DoorKey has DoorKey_S5, DoorKey_S6, DoorKey_S7"),
        ("doorkey_s5", "did you mean DoorKey_S5"),
        ("DoorKeyS6", "did you mean DoorKey_S6"),
        ("SimpelCrossing_S9N1", "did you mean SimpleCrossing_S9N1"),
        ("zzz", "wakesleep tasks"),
    ],
)
def test_unknown_name_fails_with_the_nearest(name, hint):
    with pytest.raises(UserError, match=hint):
        wakesleep.make(name)


def test_unknown_domain():
    with pytest.raises(UserError, match="minigrid"):
        wakesleep.tasks("minigird")


def test_your_own_task(monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    wakesleep.register("Console_F2", Console, domain="console", goal="press the button")
    assert wakesleep.tasks("console") == ("Console_F2",)
    assert isinstance(wakesleep.make("Console_F2"), Console)
    with pytest.raises(UserError, match="already"):
        wakesleep.register("Console_F2", Console, domain="console")
    with pytest.raises(UserError, match="family_variant"):
        wakesleep.register("console", Console, domain="console")

"""PySC2 or the game absent, old or broken: one sentence each, with what to do."""

import importlib
import random
import sys

import pytest

from wakesleep import UserError, cli, make
from wakesleep.worlds.starcraft import compat
from wakesleep.worlds.starcraft.game import GameWorld

INSTEAD = "use the simulator"


def refusal():
    with pytest.raises(UserError) as info:
        GameWorld("DefeatRoaches_one")
    text = str(info.value)
    assert "\n" not in text
    assert INSTEAD in text
    return text


def test_without_pysc2(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "PySC2 is not installed: run `make starcraft`" in refusal()


def test_an_old_pysc2(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.0.0")
    assert "PySC2 3.0.0 is too old, 4.0 or newer is needed: run `make starcraft`" in refusal()


@pytest.mark.parametrize(
    "error",
    [TypeError("Descriptors cannot be created directly.\nIf this call ..."), ImportError("no websocket"), ValueError()],
)
def test_a_broken_pysc2(monkeypatch, error):
    def broken(name):
        raise error

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.metadata.version", lambda name: "4.0.0")
    monkeypatch.setattr(importlib, "import_module", broken)
    assert f"PySC2 4.0.0 is installed but cannot be imported ({type(error).__name__}: " in refusal()


def test_without_the_game(monkeypatch, tmp_path, capsys):
    pytest.importorskip("pysc2", reason="PySC2 is not installed (make starcraft)")
    for folder in (tmp_path / "nowhere", tmp_path):
        monkeypatch.setenv("SC2PATH", str(folder))
        text = refusal()
        assert text.startswith("StarCraft II was not found")
        assert str(folder) in text
        assert "set SC2PATH" in text
    with pytest.raises(UserError, match="was not found"):
        make("DefeatRoaches_twoGame")
    monkeypatch.setattr(sys, "argv", ["wakesleep", "starcraft", "check"])
    cli.main()
    printed = capsys.readouterr().out
    assert "4.0.0" in printed
    assert "was not found" in printed


def test_with_the_game_check_lists_the_maps(monkeypatch, tmp_path, capsys):
    pytest.importorskip("pysc2", reason="PySC2 is not installed (make starcraft)")
    (tmp_path / "Versions" / "Base75689").mkdir(parents=True)
    (tmp_path / "Maps" / "mini_games").mkdir(parents=True)
    (tmp_path / "Maps" / "mini_games" / "DefeatRoaches.SC2Map").write_bytes(b"")
    monkeypatch.setenv("SC2PATH", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(sys, "argv", ["wakesleep", "starcraft", "check"])
    cli.main()
    printed = capsys.readouterr().out
    assert str(tmp_path / "Maps" / "mini_games" / "DefeatRoaches.SC2Map") in printed
    assert "make it with `wakesleep starcraft maps" in printed
    with pytest.raises(UserError, match=r"does not start .*No SC2 binary found"):
        GameWorld("DefeatRoaches_one").reset(0)


def test_the_old_shuffle_lasts_only_for_the_import():
    items = list(range(5))
    with compat._old_random_shuffle():
        random.shuffle(items, lambda: 0.5)
        assert items == [0, 3, 1, 4, 2]  # as Python 3.10 did
        random.shuffle(items)
        assert sorted(items) == list(range(5))
    with pytest.raises(TypeError):
        random.shuffle(items, lambda: 0.5)

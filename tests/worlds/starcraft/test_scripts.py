"""The two-group scripts, run: who appears where, when they return, who survives."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.worlds.starcraft.archives import battle_script
from tests.worlds.starcraft.galaxy import BOXES, CENTRE, Map
from wakesleep.worlds.starcraft import mpq, scripts
from wakesleep.worlds.starcraft.maps import SCRIPT, RespawnRule, variants
from wakesleep.worlds.starcraft.tasks import TASKS

STOCK = os.environ.get("WAKESLEEP_STOCK_MAPS")
needs_stock = pytest.mark.skipif(not STOCK, reason="WAKESLEEP_STOCK_MAPS does not say where the stock maps are")
SOURCES = ["own", pytest.param("stock", marks=needs_stock)]


def stock_script(source, name):
    if source == "own":
        return battle_script(name)
    return mpq.unpack((Path(STOCK) / f"{name}.SC2Map").read_bytes()).read(SCRIPT).decode().replace("\r\n", "\n")


def play(source, number, returns=RespawnRule.both, seed=0):
    variant = variants(returns)[number]
    return Map(scripts.edited(stock_script(source, variant.stock), variant.edits), seed)


def sides(units):
    """In which of the two boxes each unit stands, give or take its place in the line."""
    found = set()
    for unit in units:
        left, right, bottom, top = BOXES[4] if unit.place[0] < CENTRE[0] else BOXES[5]
        assert left <= unit.place[0] <= right
        assert bottom - 1 <= unit.place[1] <= top + 1
        found.add(4 if unit.place[0] < CENTRE[0] else 5)
    return found


def marines_are_in_line(game, count):
    marines = game.of("Marine")
    assert len(marines) == count
    offsets = [(number + 1) // 2 * (1 if number % 2 else -1) for number in range(count)]
    assert sorted(unit.place for unit in marines) == sorted((CENTRE[0], CENTRE[1] + offset) for offset in offsets)
    assert {id(unit) for unit in game.names["gv_marines"] if unit.alive} == {id(unit) for unit in marines}


@pytest.mark.parametrize("source", SOURCES)
def test_the_stock_scripts_run_here_as_they_are_known(source):
    """One group of 4 Roaches opposite 9 Marines; 5 more with every wave. Else this test bed proves nothing."""
    game = Map(stock_script(source, "DefeatRoaches"))
    assert Counter(unit.kind for unit in game.units) == {"Marine": 9, "Roach": 4}
    assert sides(game.of("Roach")) != {4, 5}
    for roach in game.of("Roach"):
        game.kill(roach)
    assert game.score == 40
    assert (len(game.of("Marine")), len(game.of("Roach"))) == (14, 4)


@pytest.mark.parametrize("source", SOURCES)
def test_two_groups_of_roaches(source):
    game = play(source, 1)
    for wave in range(3):
        marines_are_in_line(game, 9 + 7 * wave)
        roaches = game.of("Roach")
        assert len(roaches) == 6
        for side in (4, 5):
            group = [unit for unit in roaches if sides([unit]) == {side}]
            heights = sorted(unit.place[1] for unit in group)
            assert [round(height - heights[1], 6) for height in heights] == [-1, 0, 1]
        game.kill(*roaches[:3])  # one group: nothing happens yet
        assert (len(game.of("Roach")), len(game.of("Marine"))) == (3, 9 + 7 * wave)
        game.kill(*roaches[3:])
        assert game.score == 60 * (wave + 1)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dead", ["Zergling", "Baneling"])
def test_either_group_returns_by_itself(source, dead):
    other = {"Zergling": "Baneling", "Baneling": "Zergling"}[dead]
    full = {"Zergling": 9, "Baneling": 6}
    game, drawn = play(source, 2, RespawnRule.either), set()
    for wave in range(6):
        marines_are_in_line(game, 9 + 6 * wave)
        assert len(game.of(dead)) == full[dead]
        assert sides(game.of(dead)) | sides(game.of(other)) == {4, 5}
        drawn |= sides(game.of(dead))
        if wave == 0:
            game.kill(*game.of(other)[:2])
            game.of(other)[0].life = 7.0
        lives = sorted(unit.life for unit in game.of(other))
        assert len(lives) == full[other] - 2
        game.of("Marine")[0].life = 3.0
        game.kill(*game.of(dead))
        assert sorted(unit.life for unit in game.of(other)) == lives  # the survivors are back, with the life they had
        assert min(unit.life for unit in game.of("Marine")) == 3.0
    assert drawn == {4, 5}  # the sides are drawn anew
    assert game.score == 5 * (2 + 6 * full[dead])


@pytest.mark.parametrize("source", SOURCES)
def test_both_groups_dead_at_once_return_together(source):
    game = play(source, 2, RespawnRule.either)
    game.kill(*game.of("Zergling", "Baneling"))
    assert Counter(unit.kind for unit in game.units if unit.alive) == {"Marine": 15, "Zergling": 9, "Baneling": 6}
    assert game.score == 75


@pytest.mark.parametrize("source", SOURCES)
def test_a_wave_waits_for_both_groups(source):
    game = play(source, 2)
    game.kill(*game.of("Baneling"))
    assert (len(game.of("Zergling")), len(game.of("Baneling")), len(game.of("Marine"))) == (9, 0, 9)
    game.kill(*game.of("Zergling"))
    assert (len(game.of("Zergling")), len(game.of("Baneling")), len(game.of("Marine"))) == (9, 6, 15)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("number", [1, 2])
def test_the_chat_command_starts_over(source, number):
    game = play(source, number)
    before = Counter(unit.kind for unit in game.units)
    for unit in game.units:
        unit.removed = True
    game.names["gv_marines"].clear()
    game.names["gt_ResetMap_Func"](False, True)
    assert Counter(unit.kind for unit in game.units if unit.alive) == before


@pytest.mark.parametrize(
    ("task", "number", "returns"),
    [
        ("DefeatRoaches_two", 1, RespawnRule.both),
        ("DefeatZerglingsAndBanelings_two", 2, RespawnRule.both),
        ("DefeatZerglingsAndBanelings_two", 2, RespawnRule.either),
    ],
)
def test_the_simulator_has_the_same_rules(task, number, returns):
    rules = TASKS[task] if returns is RespawnRule.both else replace(TASKS[task], by_group=True)
    game = play("own", number, returns)
    groups = [Counter(unit.kind for unit in game.names[name]) for name in ("gv_first", "gv_second")]
    assert groups == [Counter(kind.name.capitalize() for kind in group) for group in rules.groups]
    assert len(game.of("Marine")) == rules.marines
    game.kill(*game.names["gv_first"])
    assert (len(game.of("Marine")) > rules.marines) == rules.by_group
    game.kill(*game.names["gv_second"])
    award = rules.reinforcements * (2 if rules.by_group else 1)
    assert len(game.of("Marine")) == rules.marines + award
    assert game.score == rules.kill_reward * sum(map(len, rules.groups))

"""A life on the real StarCraft II, as far as that goes without it: PySC2's own client, and a stand-in for the game."""

import csv
from functools import partial

import numpy as np
import pytest

from tests.worlds.starcraft.archives import stock_maps
from wakesleep.lifetime.spec import LifetimeSpec
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.worlds import registry
from wakesleep.worlds.starcraft import compat
from wakesleep.worlds.starcraft.game import MAPS, GameWorld

pytest.importorskip("pysc2", reason="PySC2 is not installed (make starcraft)")
compat.load()

from tests.worlds.starcraft.fake_game import Plan  # noqa: E402  (PySC2 must be loaded our way first)

TASKS = ("DefeatRoaches_one", "CollectMineralShards_nofog")
SMALL = {
    "learner.num_envs": 2, "learner.num_steps": 8, "learner.network.channels": [2, 2, 2], "learner.network.hidden": 8,
    "model.network.channels": [2, 2, 2], "model.network.hidden": 8, "model.hidden": 8, "model.latent": 4,
    "sleep.iterations": 2, "sleep.batch_size": 4, "wake_buffer_size": 24, "random_replay_per_sleep": 4,
    "mini_evaluation_episodes": 2,
}  # fmt: skip


def test_a_wake_sleep_agent_lives_on_the_game_and_through_a_crash(monkeypatch, tmp_path):
    maps = tmp_path / "Maps" / "mini_games"
    maps.mkdir(parents=True)
    for name in MAPS.values():
        (maps / f"{name}.SC2Map").write_bytes(stock_maps().get(name, b"variant"))
    plan = Plan(failures={("step", 30): TimeoutError("hung")}, length=48)  # six steps an episode
    plan.install(monkeypatch, tmp_path)
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    for task in TASKS:
        make = partial(GameWorld, task, screen=16, compact=True)
        registry.register(f"{task}Tiny", make, domain="starcraft-game", block_steps=64)
    syllabus = pairwise(*(f"{task}Tiny" for task in TASKS), seed=1, episodes=3)
    life = LifetimeSpec("hidden", "fast", syllabus, 0, SMALL).open(tmp_path / "life")
    most = []
    life.run(lambda part, note: most.append(sum(game.running for game in plan.games)))
    assert max(most) <= 2  # games of a block are closed before the next, and those of evaluations too
    assert not any(game.running for game in plan.games)
    assert int(life.state.sleeps) == 4
    assert int(life.state.buffer.filled) <= 24
    assert np.isfinite(np.asarray(life.state.buffer.pairs.label)).all()
    log = tmp_path / "life" / "worker-default"
    episodes = {
        block: [int(row["episode_step_count"]) for row in csv.DictReader(file.open(), delimiter="\t")]
        for block in ("0-test", "1-train", "2-test", "3-train", "4-test")
        for file in [log / block / "data-log.tsv"]
    }
    assert [episodes[block] for block in ("0-test", "2-test", "4-test")] == [[6] * 6] * 3
    lengths = episodes["1-train"] + episodes["3-train"]
    assert sum(length == 6 for length in lengths) >= len(lengths) - 1  # one may have been cut by the crash

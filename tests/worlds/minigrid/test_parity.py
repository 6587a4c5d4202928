"""The engine is Minigrid: cell by cell, step by step. `make parity` runs the long form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Lava, Wall
from minigrid.minigrid_env import MiniGridEnv

from wakesleep.worlds.minigrid.farama import layout_of
from wakesleep.worlds.minigrid.observe import observe
from wakesleep.worlds.minigrid.parity import compare, main
from wakesleep.worlds.minigrid.tasks import TASKS

COLOURS = ["red", "green", "blue", "purple", "yellow", "grey"]


@pytest.mark.parametrize("task", TASKS)
def test_every_step_is_the_same(task):
    report = compare(task, steps=800, seed=1)
    assert report.steps >= 800
    assert report.successes or "DynObstacles" in task
    assert not report.mismatches


def test_a_difference_would_be_found(monkeypatch, capsys):
    table = dict(TASKS)
    monkeypatch.setattr("wakesleep.worlds.minigrid.parity.TASKS", table)
    table["DistShift_R2"] = TASKS["CustomUnlock_S5"]  # the same layouts under other rules: opaque walls, cheap lava
    found = compare("DistShift_R2", steps=300).mismatches
    assert any(line.endswith("first observation") for line in found)
    assert any(line.endswith(": observation") for line in found)
    assert any(line.endswith(": reward") for line in found)
    with pytest.raises(SystemExit):
        main(steps=300, tasks=("DistShift_R2",))
    assert "mismatches" in capsys.readouterr().out


class Clutter(MiniGridEnv):
    """A grid strewn with everything Minigrid has, the border closed."""

    def __init__(self, width, height, density):
        self.density = density
        super().__init__(MissionSpace(lambda: ""), width=width, height=height, max_steps=100)

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        rng = self.np_random
        for y in range(1, height - 1):
            for x in range(1, width - 1):
                if rng.random() < self.density:
                    colour = COLOURS[rng.integers(6)]
                    things = [Wall(), Wall(), Wall(), Lava(), Goal(), Key(colour), Ball(colour), Box(colour)]
                    things += [Floor(colour), Door(colour, is_open=True), Door(colour), Door(colour, is_locked=True)]
                    self.grid.set(x, y, things[rng.integers(len(things))])
        self.grid.set(1, 1, None)
        self.agent_pos, self.agent_dir, self.mission = (1, 1), 0, ""


@pytest.mark.parametrize(("width", "height"), [(17, 10), (9, 9), (5, 5), (3, 10)])
@pytest.mark.parametrize("density", [0.15, 0.4, 0.8])
def test_every_view_is_the_same(width, height, density):
    """All poses in all directions, seeing through walls or not, with full and with empty hands."""
    env = Clutter(width, height, density)
    look = jax.jit(jax.vmap(observe, in_axes=(0, None)))
    for seed in range(2):
        env.reset(seed=seed)
        env.carrying = Key("blue") if seed else None
        layout = layout_of(env)
        x, y, direction = (grid.ravel() for grid in np.meshgrid(range(width), range(height), range(4)))
        poses = jax.tree.map(lambda leaf, n=len(x): jnp.broadcast_to(leaf, (n, *leaf.shape)), layout)
        poses = poses._replace(x=jnp.asarray(x), y=jnp.asarray(y), direction=jnp.asarray(direction))
        for through in (False, True):
            env.see_through_walls = through
            ours = np.asarray(look(poses, jnp.bool_(through)))
            for number in range(len(x)):
                env.agent_pos, env.agent_dir = (x[number], y[number]), direction[number]
                np.testing.assert_array_equal(ours[number], env.gen_obs()["image"])

"""Shortest plans agree with independent exhaustive searches, and really succeed."""

import jax
import numpy as np
import pytest

import wakesleep
from wakesleep import UserError
from wakesleep.worlds import episode
from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.solve import shortest_plan
from wakesleep.worlds.world import compiled_reset


def plan_lengths(task, count):
    world = wakesleep.make(task)
    starts = {}
    for number in range(count):
        state, _ = compiled_reset(world, jax.random.key(number))
        starts[state.grid.tobytes(), int(state.x), int(state.y), int(state.direction)] = state
    return np.array([len(shortest_plan(world, state)) for state in starts.values()])


@pytest.mark.parametrize(
    ("task", "count", "mean", "least", "most"),
    [("SimpleCrossing_S9N1", 300, 14.2, 13, 15), ("DoorKey_S5", 500, 9 + 5 / 6, 7, 14), ("DistShift_R3", 1, 11, 11, 11),
     ("DistShift_R2", 1, 13, 13, 13)],
)  # fmt: skip
def test_best_plans_are_as_long_as_known(task, count, mean, least, most):
    """All layouts of these tasks: 42, 48, 1 and 1."""
    lengths = plan_lengths(task, count)
    assert (lengths.min(), lengths.max()) == (least, most)
    assert lengths.mean() == pytest.approx(mean, abs=0.06)


@pytest.mark.parametrize("task", ["CustomFetch_S8T1N2", "CustomUnlock_S7", "DoorKey_S6", "SimpleCrossing_S9N2"])
def test_a_plan_succeeds(task):
    world = wakesleep.make(task)
    start = compiled_reset(world, jax.random.key(5))
    plan = shortest_plan(world, start[0])
    played = episode.record_episode(world, episode.plan_player(plan), jax.random.key(0), start)
    assert played.terminated
    assert len(played.actions) == len(plan)
    assert played.total_reward == pytest.approx(1 - 0.9 * len(plan) / int(world.rules.max_steps))


def test_what_cannot_be_solved():
    world = wakesleep.make("DoorKey_S5")
    state, _ = compiled_reset(world, jax.random.key(0))
    keyless = state._replace(grid=np.where(state.grid == cells.YELLOW_KEY, cells.WALL, state.grid).astype(np.uint16))
    assert shortest_plan(world, keyless) is None
    with pytest.raises(UserError, match="max_states"):
        shortest_plan(world, state, max_states=3)
    dynamic = wakesleep.make("DynObstacles_S6N1")
    with pytest.raises(UserError, match="moving balls"):
        shortest_plan(dynamic, compiled_reset(dynamic, jax.random.key(0))[0])

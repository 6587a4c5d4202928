"""Rules of the engine that side-by-side runs cannot show: random moves, rewards, and what is refused."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2_contingency

import wakesleep
from wakesleep import UserError
from wakesleep.worlds.minigrid import cells, engine
from wakesleep.worlds.minigrid.farama import balls_of, layout_of, make_env
from wakesleep.worlds.minigrid.tasks import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_success_pays_what_minigrid_pays(task):
    limit = TASKS[task].max_steps
    table = np.asarray(TASKS[task].world().rules.success_rewards)
    steps = np.arange(1, limit + 1)
    exact = [1 - 0.9 * (step / limit) for step in range(1, limit + 1)]
    np.testing.assert_array_equal(table[steps], np.float32(exact))
    assert limit <= engine.LONGEST_EPISODE


@pytest.mark.parametrize(
    ("task", "seed"), [("DynObstacles_S6N1", 0), ("DynObstacles_S8N2", 3), ("DynObstacles_S10N3", 5)]
)
def test_balls_move_as_often_to_the_same_places(task, seed):
    """One step from one state, many times over, in both: the joint distribution of all balls is the same."""
    env = make_env(task)
    env.reset(seed=seed)
    start = layout_of(env)
    theirs = Counter()
    for trial in range(2000):
        env.reset(seed=seed)
        env.unwrapped.np_random = np.random.default_rng(trial)
        env.step(engine.LEFT)
        theirs[balls_of(env).tobytes()] += 1
    keys = jax.random.split(jax.random.key(0), 20_000)
    moved = np.asarray(jax.jit(jax.vmap(engine.move_balls, in_axes=(None, 0)))(start, keys).balls)
    ours = Counter(balls.astype(np.int32).tobytes() for balls in moved)
    assert set(theirs) <= set(ours)
    common = [place for place in ours if ours[place] + theirs[place] > 60]
    table = [[counts[place] for place in common] for counts in (ours, theirs)]
    assert chi2_contingency(table).pvalue > 1e-4


def walled_in():
    """A ball with a single free neighbour, the agent far away."""
    grid = np.full((10, 17), cells.WALL, np.uint16)
    grid[1, 1], grid[5, 5], grid[5, 6] = cells.EMPTY, cells.BLUE_BALL, cells.EMPTY
    balls = engine.NO_BALLS.copy()
    balls[0] = 5, 5
    numbers = (jnp.int32(number) for number in (1, 1, 0))
    return engine.State(jnp.asarray(grid), *numbers, jnp.uint16(cells.EMPTY), jnp.int32(0), jnp.asarray(balls))


def test_a_ball_goes_where_it_can_and_stays_where_it_must():
    free = walled_in()
    assert engine.move_balls(free, jax.random.key(0)).balls[0].tolist() == [6, 5]
    stuck = free._replace(grid=free.grid.at[5, 6].set(cells.WALL))
    assert engine.move_balls(stuck, jax.random.key(0)).balls[0].tolist() == [5, 5]
    blocked = free._replace(x=jnp.int32(6), y=jnp.int32(5))  # the agent stands on the only free cell
    assert engine.move_balls(blocked, jax.random.key(0)).balls[0].tolist() == [5, 5]


def test_out_of_range_action_is_refused_outside_compiled_code():
    world = wakesleep.make("DoorKey_S5")
    state, _ = world.reset(jax.random.key(0))
    for action, why in ((6, "0 to 5"), (-1, "0 to 5"), (1.5, "integers")):
        with pytest.raises(UserError, match=why):
            world.step(state, action, jax.random.key(0))


def test_layouts_that_do_not_fit_are_refused():
    world = wakesleep.make("DoorKey_S5")
    good, _ = world.reset(jax.random.key(0))
    world.begin(good)
    bad = {
        "10 rows of 17": good._replace(grid=jnp.ones((5, 5), jnp.uint16)),
        "closed by grey wall": good._replace(grid=good.grid.at[0, 0].set(cells.EMPTY)),
        "its 5 x 5 border": good._replace(grid=good.grid.at[7, 7].set(cells.EMPTY)),
        "no Minigrid object": good._replace(grid=good.grid.at[1, 1].set(15)),
        "cannot stand": good._replace(x=jnp.int32(0)),
        "direction": good._replace(direction=jnp.int32(4)),
        "moving ball": good._replace(balls=jnp.full((3, 2), 2, jnp.int32)),
    }
    for why, layout in bad.items():
        with pytest.raises(UserError, match=why):
            world.begin(layout)

"""Our samplers draw from the same distribution as Farama's generators."""

from collections import Counter
from functools import cache
from itertools import combinations, permutations, product

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.cells import Kind
from wakesleep.worlds.minigrid.farama import layout_of, make_env
from wakesleep.worlds.minigrid.layouts import draw_layout
from wakesleep.worlds.minigrid.tasks import TASKS, check_layout

BATCH = 5000
UNLIKELY = 1e-4
"""A fixed seed fails these tests by chance once in ten thousand."""


@eqx.filter_jit
def _draw(plan, keys):
    return jax.vmap(draw_layout, in_axes=(None, 0))(plan, keys)


def ours(task, count, seed=0):
    """So many layouts as one batch of NumPy arrays; drawn a few thousand at a time, by one compiled program."""
    plan, batches = TASKS[task].world().plan, -(-count // BATCH)
    keys = jax.random.split(jax.random.key(seed), (batches, BATCH))
    drawn = [_draw(plan, keys[number]) for number in range(batches)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *drawn)


@cache
def farama(task, count=800):
    env = make_env(task)
    env.reset(seed=0)
    layouts = []
    for _ in range(count):
        env.reset()
        layouts.append(layout_of(env))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *layouts)


def names(layouts):
    """A hashable name for each layout of a batch."""
    parts = zip(layouts.grid, layouts.x, layouts.y, layouts.direction, strict=True)
    return [(grid.tobytes(), int(x), int(y), int(direction)) for grid, x, y, direction in parts]


def crossing_layouts(walls):
    """Every SimpleCrossing layout with its probability, worked out by hand: choose walls, an order, the openings."""
    chances = Counter()
    candidates = [("v", 2), ("v", 4), ("v", 6), ("h", 2), ("h", 4), ("h", 6)]
    choices = list(combinations(candidates, walls))
    for choice in choices:
        columns = sorted(place for kind, place in choice if kind == "v")
        rows = sorted(place for kind, place in choice if kind == "h")
        orders = list(permutations(["v"] * len(columns) + ["h"] * len(rows)))
        limits_x, limits_y = [0, *columns, 8], [0, *rows, 8]
        for order in orders:
            ways, at_x, at_y = [], 0, 0
            for kind in order:
                if kind == "v":
                    ways.append([(limits_x[at_x + 1], y) for y in range(limits_y[at_y] + 1, limits_y[at_y + 1])])
                    at_x += 1
                else:
                    ways.append([(x, limits_y[at_y + 1]) for x in range(limits_x[at_x] + 1, limits_x[at_x + 1])])
                    at_y += 1
            openings = list(product(*ways))
            for opening in openings:
                grid = np.full((10, 17), cells.WALL, np.uint16)
                grid[1:8, 1:8] = cells.EMPTY
                grid[7, 7] = cells.GOAL
                grid[1:8, columns] = cells.WALL
                grid[rows, 1:8] = cells.WALL
                for x, y in opening:
                    grid[y, x] = cells.EMPTY
                chances[grid.tobytes(), 1, 1, 0] += 1 / len(choices) / len(orders) / len(openings)
    return chances


def door_key_layouts(size):
    chances = Counter()
    for split in range(2, size - 2):
        left = list(product(range(1, split), range(1, size - 1)))
        for (x, y), door_y, direction in product(left, range(1, size - 2), range(4)):
            for key in (cell for cell in left if cell != (x, y)):
                grid = np.full((10, 17), cells.WALL, np.uint16)
                grid[1 : size - 1, 1 : size - 1] = cells.EMPTY
                grid[size - 2, size - 2] = cells.GOAL
                grid[:, split] = cells.WALL
                grid[door_y, split] = cells.YELLOW_LOCKED_DOOR
                grid[key[1], key[0]] = cells.YELLOW_KEY
                chance = 1 / (size - 4) / len(left) / 4 / (size - 3) / (len(left) - 1)
                chances[grid.tobytes(), x, y, direction] += chance
    return chances


def unlock_layouts(room):
    chances, inside = Counter(), range(1, room - 1)
    steps = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    for door_y, colour, key_x, key_y in product(inside, range(6), inside, inside):
        grid = np.full((10, 17), cells.WALL, np.uint16)
        grid[1 : room - 1, 1 : 2 * room - 2] = cells.EMPTY
        grid[:, room - 1] = cells.WALL
        grid[door_y, room - 1] = cells.cell(Kind.DOOR, colour, cells.Door.LOCKED)
        grid[key_y, key_x] = cells.cell(Kind.KEY, colour)
        poses = [
            (x, y, direction)
            for x, y, direction in product(inside, inside, range(4))
            if grid[y, x] == cells.EMPTY
            and grid[y + steps[direction][1], x + steps[direction][0]] in (cells.EMPTY, cells.WALL)
        ]
        for pose in poses:
            chances[(grid.tobytes(), *pose)] += 1 / (room - 2) ** 3 / 6 / len(poses)
    return chances


EXHAUSTIVE = {
    "SimpleCrossing_S9N1": (crossing_layouts, 1, 42),
    "SimpleCrossing_S9N2": (crossing_layouts, 2, None),
    "DoorKey_S5": (door_key_layouts, 5, 48),
    "DoorKey_S6": (door_key_layouts, 6, 816),
    "CustomUnlock_S5": (unlock_layouts, 5, None),
}


@pytest.mark.parametrize("task", EXHAUSTIVE)
def test_every_layout_has_its_probability(task):
    enumerate_layouts, parameter, how_many = EXHAUSTIVE[task]
    chances = enumerate_layouts(parameter)
    assert sum(chances.values()) == pytest.approx(1)
    assert how_many in (None, len(chances))
    theirs = names(farama(task))
    assert set(theirs) <= set(chances)  # the enumeration is Farama's
    count = max(20_000, 20 * len(chances))
    drawn = Counter(names(ours(task, count)))
    assert set(drawn) <= set(chances)
    expected = np.array(list(chances.values())) * count
    assert chisquare([drawn[name] for name in chances], expected).pvalue > UNLIKELY


def features(layouts, task):
    """Yes-or-no facts of layouts, one column each: what is where, the agent's pose, what is around it."""
    row, count = TASKS[task], len(layouts.x)
    grid = layouts.grid[:, : row.height, : row.width]
    columns = [(grid == cell).reshape(count, -1) for cell in np.unique(grid)]
    pose = np.zeros((count, row.height, row.width, 4), bool)
    pose[np.arange(count), layouts.y, layouts.x, layouts.direction] = True
    columns.append(pose.reshape(count, -1))
    kinds = grid & 0b1111
    for shift_x, shift_y in product((-1, 0, 1), repeat=2):
        near = kinds[np.arange(count), layouts.y + shift_y, layouts.x + shift_x]
        columns.append(near[:, None] == np.arange(11))
    for kind in (Kind.KEY, Kind.BALL, Kind.BOX, Kind.WALL):
        columns.append((kinds == kind).sum((1, 2))[:, None] == np.arange(row.width * row.height))
    return np.concatenate(columns, axis=1)


@pytest.mark.parametrize("task", TASKS)
def test_frequencies_are_faramas(task):
    """Every feature is as frequent in our layouts as in Farama's, to within what chance allows."""
    theirs, mine = farama(task), ours(task, 15_000)
    cells_met = np.unique(theirs.grid[:, : TASKS[task].height, : TASKS[task].width])
    assert set(np.unique(mine.grid[:, : TASKS[task].height, : TASKS[task].width])) == set(cells_met)
    ours_met, theirs_met = features(mine, task), features(theirs, task)
    share = np.concatenate([ours_met, theirs_met]).mean(0)
    error = np.sqrt(share * (1 - share) * (1 / len(ours_met) + 1 / len(theirs_met)))
    gap = np.abs(ours_met.mean(0) - theirs_met.mean(0))
    common = (share > 0.002) & (share < 0.998)  # rarer ones are no normal distribution
    assert (gap[~common] < 0.01).all()
    assert (gap[common] < 5 * error[common]).all()
    assert (gap[error == 0] == 0).all()


@pytest.mark.parametrize("task", TASKS)
def test_layouts_are_sound(task):
    layouts = ours(task, 200, seed=7)
    for number in range(200):
        check_layout(jax.tree.map(lambda leaf, at=number: leaf[at], layouts))
    row = TASKS[task]
    outside = np.ones((10, 17), bool)
    outside[: row.height, : row.width] = False
    assert (layouts.grid[:, outside] == cells.WALL).all()
    assert (layouts.steps == 0).all()
    assert (layouts.carrying == cells.EMPTY).all()


def test_ball_lists_match_the_grid():
    layouts = ours("DynObstacles_S10N3", 500)
    y, x = layouts.balls[..., 1], layouts.balls[..., 0]
    assert (layouts.grid[np.arange(500)[:, None], y, x] == cells.BLUE_BALL).all()
    assert ((layouts.grid == cells.BLUE_BALL).sum((1, 2)) == 3).all()

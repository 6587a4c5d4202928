"""Initial states: a sampler for each family of tasks that draws from the same distribution as Farama's generators.

Farama places things by rejection: draw a cell until it is free. That is a uniform choice among the free cells, which
is what these samplers make directly. A `Plan` (family, size, two numbers) is data, so one compiled sampler serves all
tasks. Grids are padded with wall to the size of the largest task.
"""

from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt32

from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.cells import Door, Grid, Kind
from wakesleep.worlds.minigrid.engine import NO_BALLS, STEP_X, STEP_Y, State

WIDTH, HEIGHT = 17, 10
"""The largest task grids: CustomUnlock_S9 is 17 wide, CustomFetch_S10T2N4 and DynObstacles_S10N3 are 10 high."""

MAX_CROSSINGS, MAX_TARGETS, MAX_DISTRACTORS = 3, 2, 4

DRAWS = 2 + MAX_TARGETS + 3 * MAX_DISTRACTORS
"""How many random numbers the sampler that needs most of them (Fetch) takes."""

Draws = UInt32[Array, "draws"]
Mask = Bool[Array | np.ndarray, "height width"]

_Y, _X = np.mgrid[:HEIGHT, :WIDTH]


class Family(IntEnum):
    """Which sampler draws a task's layouts, and what the plan's two numbers mean to it."""

    SIMPLE_CROSSING = 0
    """Walls across a 9 x 9 room, each with one opening. first: number of walls."""
    DIST_SHIFT = 1
    """Two strips of lava; nothing is random. first: row of the second strip."""
    FETCH = 2
    """Objects strewn over a room. first: yellow keys; second: distractors."""
    UNLOCK = 3
    """Two rooms, a locked door between them, its key and the agent in the left one."""
    DOOR_KEY = 4
    """A wall with a locked door; key and agent on one side, the goal on the other."""
    DYN_OBSTACLES = 5
    """Blue balls in an empty room. first: number of balls."""


class Plan(NamedTuple):
    """What the layouts of a task are like."""

    family: Int[Array, ""]
    """A `Family`, which says what `first` and `second` mean."""
    width: Int[Array, ""]
    height: Int[Array, ""]
    first: Int[Array, ""]
    second: Int[Array, ""]


def draw_layout(plan: Plan, key: Key[Array, ""]) -> State:
    """Return an initial state of the task, drawn with the key."""
    samplers = [_simple_crossing, _dist_shift, _fetch, _unlock, _door_key, _dyn_obstacles]
    # One draw of random bits serves whichever sampler runs: random number generation is what takes long to compile.
    return jax.lax.switch(plan.family, samplers, plan, jax.random.bits(key, (DRAWS,)))


def _room(plan: Plan) -> Grid:
    """An empty room of the plan's size, everything else wall."""
    inside = (_X > 0) & (_Y > 0) & (plan.width - 1 > _X) & (plan.height - 1 > _Y)
    return jnp.where(inside, cells.EMPTY, cells.WALL).astype(jnp.uint16)


def _set_cells(grid: Grid, where: Mask, what: Int[Array, ""] | int) -> Grid:
    """The grid with another packed cell where the mask is true."""
    return jnp.where(where, jnp.asarray(what, jnp.uint16), grid)


def _cell_mask(x: Int[Array, ""] | int, y: Int[Array, ""] | int) -> Mask:
    """True at one cell."""
    return (x == _X) & (y == _Y)


def _randint_below(limit: Int[Array, ""] | int, draw: UInt32[Array, "*n"]) -> Int[Array, "*n"]:
    """A random integer from 0 up to, not including, the limit; uniform but for one part in 2^32 / limit."""
    return (draw % jnp.asarray(limit, jnp.uint32)).astype(jnp.int32)


def _random_permutation(draws: UInt32[Array, "n"]) -> Int[Array, "n"]:
    """A random permutation of 0 to n - 1."""
    return jnp.sum(draws[:, None] > draws[None, :], axis=1, dtype=jnp.int32)


def _running_sum(counts: Int[Array, "n"]) -> Int[Array, "n"]:
    """`jnp.cumsum` for short vectors; compiles several times faster."""
    return jnp.sum(jnp.where(np.tri(len(counts), dtype=bool), counts, 0), axis=1)


def _choose_place(
    allowed: Bool[Array, "rows columns"], draw: UInt32[Array, ""]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Row and column of one of the allowed places, uniformly."""
    in_row = jnp.sum(allowed, axis=1, dtype=jnp.int32)
    up_to_row = _running_sum(in_row)
    rank = _randint_below(jnp.maximum(up_to_row[-1], 1), draw)
    row = jnp.sum(up_to_row <= rank, dtype=jnp.int32)
    up_to_column = up_to_row[row] - in_row[row] + _running_sum(allowed[row].astype(jnp.int32))
    return row, jnp.sum(up_to_column <= rank, dtype=jnp.int32)


def _choose_cell(
    allowed: Bool[Array, "height width"], draw: UInt32[Array, ""]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    y, x = _choose_place(allowed, draw)
    return x, y


def _initial_state(
    grid: Grid,
    x: Int[Array, ""] | int,
    y: Int[Array, ""] | int,
    direction: Int[Array, ""] | int,
    balls: Int[Array, "balls 2"] = NO_BALLS,
) -> State:
    x, y, direction, steps = (jnp.asarray(number, jnp.int32) for number in (x, y, direction, 0))
    return State(grid, x, y, direction, jnp.asarray(cells.EMPTY, jnp.uint16), steps, balls)


Walk = tuple[
    Grid, Int[Array, ""], Int[Array, ""]
]  # the grid and the room reached, counted in columns and rows of rooms


def _simple_crossing(plan: Plan, draws: Draws) -> State:
    """Walls across the room, the openings cut by a walk.

    Choose walls among three vertical and three horizontal ones, then walk from the first room to the last, cutting an
    opening into each wall on the way, in a random order of crossings.
    """
    kept = (_random_permutation(draws[:6]) < plan.first).reshape(2, 3)  # vertical walls, horizontal walls
    places = jnp.asarray([2, 4, 6])
    grid = _set_cells(_room(plan), _cell_mask(plan.width - 2, plan.height - 2), cells.GOAL)
    inside = grid != cells.WALL
    for slot in range(3):
        across = (kept[0, slot] & (places[slot] == _X)) | (kept[1, slot] & (places[slot] == _Y))
        grid = _set_cells(grid, inside & across, cells.WALL)

    def limits(kept: Bool[Array, "3"], end: Int[Array, ""]) -> Int[Array, "5"]:
        """Where the rooms end along one axis: the border, the kept walls in order, the far border."""
        order = jnp.cumsum(kept)
        walls = [jnp.min(jnp.where(kept & (order == number), places, end)) for number in (1, 2, 3)]
        return jnp.stack([jnp.int32(0), *walls, end])

    limits_x, limits_y = limits(kept[0], plan.width - 1), limits(kept[1], plan.height - 1)
    crossings = np.arange(MAX_CROSSINGS, dtype=np.uint32)
    is_vertical = crossings < jnp.sum(kept[0])  # the first crossings pass vertical walls, the others horizontal ones
    order_draws = jnp.where(crossings < plan.first, draws[6:9] >> 1, 2**31 + crossings)  # unused ones come last
    crossing_order = _random_permutation(order_draws)

    def cross(turn: Int[Array, ""], walk: Walk) -> Walk:
        grid, room_x, room_y = walk
        vertical = jnp.any(is_vertical & (crossing_order == turn))
        along, room = jnp.where(vertical, limits_y, limits_x), jnp.where(vertical, room_y, room_x)
        place = along[room] + 1 + _randint_below(along[room + 1] - along[room] - 1, draws[9 + turn])
        x = jnp.where(vertical, limits_x[room_x + 1], place)
        y = jnp.where(vertical, place, limits_y[room_y + 1])
        return _set_cells(grid, _cell_mask(x, y), cells.EMPTY), room_x + vertical, room_y + ~vertical

    grid, _, _ = jax.lax.fori_loop(0, plan.first, cross, (grid, jnp.int32(0), jnp.int32(0)))
    return _initial_state(grid, 1, 1, 0)


def _dist_shift(plan: Plan, draws: Draws) -> State:
    """Two strips of lava."""
    del draws
    grid = _set_cells(_room(plan), _cell_mask(plan.width - 2, 1), cells.GOAL)
    strip = (_X >= 3) & (plan.width - 3 > _X)
    grid = _set_cells(grid, strip & ((_Y == 1) | (plan.first == _Y)), cells.LAVA)
    return _initial_state(grid, 1, 1, 0)


def _fetch(plan: Plan, draws: Draws) -> State:
    """Yellow keys and distractors, then the agent, each on a free cell."""
    target_draws = draws[2 : 2 + MAX_TARGETS]
    kind_draws, colour_draws, distractor_draws = draws[2 + MAX_TARGETS :].reshape(3, MAX_DISTRACTORS)
    kinds = jnp.where(_randint_below(2, kind_draws) == 0, Kind.BALL, Kind.BOX)
    colours = _randint_below(len(cells.Colour), colour_draws)
    things = jnp.concatenate([jnp.full(MAX_TARGETS, cells.YELLOW_KEY), kinds | colours << cells.COLOUR_BITS])
    used = jnp.concatenate([np.arange(MAX_TARGETS) < plan.first, np.arange(MAX_DISTRACTORS) < plan.second])
    place_draws = jnp.concatenate([target_draws, distractor_draws])

    def place(slot: Int[Array, ""], grid: Grid) -> Grid:
        return _set_cells(
            grid, used[slot] & _cell_mask(*_choose_cell(grid == cells.EMPTY, place_draws[slot])), things[slot]
        )

    grid = jax.lax.fori_loop(0, len(things), place, _room(plan))
    x, y = _choose_cell(grid == cells.EMPTY, draws[0])
    return _initial_state(grid, x, y, _randint_below(4, draws[1]))


def _unlock(plan: Plan, draws: Draws) -> State:
    """A locked door between two rooms. The agent stands in the left one and faces floor or wall."""
    wall_x = (plan.width - 1) // 2
    grid = _set_cells(_room(plan), wall_x == _X, cells.WALL)
    door_y = 1 + _randint_below(plan.height - 2, draws[0])
    colour = _randint_below(len(cells.Colour), draws[1]) << cells.COLOUR_BITS
    grid = _set_cells(grid, _cell_mask(wall_x, door_y), Kind.DOOR | colour | Door.LOCKED << cells.STATE_BITS)
    free = (wall_x > _X) & (grid == cells.EMPTY)  # in the left room
    key_x, key_y = _choose_cell(free, draws[2])
    grid = _set_cells(grid, _cell_mask(key_x, key_y), Kind.KEY | colour)
    free = free & ~_cell_mask(key_x, key_y)
    poses = jnp.stack(  # for each direction, where the agent would face neither the door nor the key
        [
            free & ~_cell_mask(wall_x - step_x, door_y - step_y) & ~_cell_mask(key_x - step_x, key_y - step_y)
            for step_x, step_y in zip(STEP_X.tolist(), STEP_Y.tolist(), strict=True)
        ]
    )
    row, x = _choose_place(poses.reshape(4 * HEIGHT, WIDTH), draws[3])
    return _initial_state(grid, x, row % HEIGHT, row // HEIGHT)


def _door_key(plan: Plan, draws: Draws) -> State:
    """A wall with a locked door, which is never in the lowest row of the room."""
    split = 2 + _randint_below(plan.width - 4, draws[0])
    grid = _set_cells(_room(plan), _cell_mask(plan.width - 2, plan.height - 2), cells.GOAL)
    grid = _set_cells(grid, split == _X, cells.WALL)
    left_side = split > _X
    x, y = _choose_cell(left_side & (grid == cells.EMPTY), draws[1])
    grid = _set_cells(grid, _cell_mask(split, 1 + _randint_below(plan.height - 3, draws[2])), cells.YELLOW_LOCKED_DOOR)
    place = _choose_cell(left_side & (grid == cells.EMPTY) & ~_cell_mask(x, y), draws[3])
    grid = _set_cells(grid, _cell_mask(*place), cells.YELLOW_KEY)
    return _initial_state(grid, x, y, _randint_below(4, draws[4]))


def _dyn_obstacles(plan: Plan, draws: Draws) -> State:
    """Balls on free cells of a room."""
    grid = _set_cells(_room(plan), _cell_mask(plan.width - 2, plan.height - 2), cells.GOAL)

    def place(ball: Int[Array, ""], placed: tuple[Grid, Int[Array, "balls 2"]]) -> tuple[Grid, Int[Array, "balls 2"]]:
        grid, balls = placed
        x, y = _choose_cell((grid == cells.EMPTY) & ~_cell_mask(1, 1), draws[ball])
        return _set_cells(grid, _cell_mask(x, y), cells.BLUE_BALL), balls.at[ball].set(jnp.stack([x, y]))

    grid, balls = jax.lax.fori_loop(0, plan.first, place, (grid, NO_BALLS))
    return _initial_state(grid, 1, 1, 0, balls)

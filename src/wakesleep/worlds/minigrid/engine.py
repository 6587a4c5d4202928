"""Minigrid's dynamics as one pure function for all tasks.

A task is data: `Rules` says what ends an episode and what it pays. A state is the grid, the agent and, where the task
has them, the moving balls. `advance` does to it what Farama's `MiniGridEnv.step` and the tasks' own additions do, cell
for cell; `move_balls` draws where the balls of DynObstacles go next.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Scalar, UInt16

from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.cells import Door, Grid, Kind

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE = range(6)
NUM_ACTIONS = 6

LONGEST_EPISODE = 648
"""The largest step limit of all tasks, CustomUnlock_S9's."""

MAX_BALLS = 3
NOWHERE = -1
"""Coordinate of a ball slot that the task does not use."""
NO_BALLS: Any = np.full((MAX_BALLS, 2), NOWHERE, np.int32)

STEP_X, STEP_Y = np.array([[1, 0, -1, 0], [0, 1, 0, -1]], np.int32)
"""Where one step leads: right, down, left, up."""


class Rules(NamedTuple):
    """What a task does besides Minigrid's common dynamics. Array leaves: one program serves every task."""

    max_steps: Int[Array, ""]
    success_rewards: Float[Array, "steps"]
    """Reward of success by number of steps."""
    see_through_walls: Bool[Array, ""]
    pickup_ends: Bool[Array, ""]
    """Fetch: carrying anything ends the episode; only a yellow key pays."""
    opening_ends: Bool[Array, ""]
    """Unlock: opening the door ends the episode and pays."""
    lava_reward: Float[Array, ""]
    ball_reward: Float[Array, ""]
    """Paid, with the end of the episode, for walking towards a ball; only where balls move."""
    balls_move: Bool[Array, ""]
    """Dynamic obstacles: balls move before the agent and cannot be picked up."""


class State(NamedTuple):
    """The state of one environment. An initial one is called a *layout*."""

    grid: Grid
    x: Int[Array, ""]
    y: Int[Array, ""]
    direction: Int[Array, ""]
    """0 right, 1 down, 2 left, 3 up."""
    carrying: UInt16[Array, ""]
    """The packed object in hand; the empty cell for none."""
    steps: Int[Array, ""]
    balls: Int[Array, "balls 2"]
    """Column and row of each moving ball, in the order in which they move."""


def success_rewards(max_steps: int) -> np.ndarray:
    """Return the reward of success by number of steps, float32[LONGEST_EPISODE + 1].

    It is Minigrid's own 1 - 0.9 steps / max_steps in float64, rounded once. A table, because compiled float32
    arithmetic differs from that in the last bit.
    """
    steps = np.arange(LONGEST_EPISODE + 1)
    return (1 - 0.9 * (steps / max_steps)).astype(np.float32)


Outcome = tuple[State, Float[Array, ""], Bool[Array, ""], Bool[Array, ""]]
"""A new state, the reward, `terminated` and `truncated`."""


def advance(rules: Rules, state: State, action: Scalar) -> Outcome:
    """Return what one action of the agent leads to while the balls stay where they are."""
    steps = state.steps + 1
    turn = jnp.where(action == LEFT, 3, jnp.where(action == RIGHT, 1, 0))
    direction = (state.direction + turn) % 4
    front_x, front_y = _in_front(state)
    front = state.grid[front_y, front_x]
    kind = cells.kind_of(front)
    does = _interaction(rules, state.carrying, front, kind, action)
    grid = state.grid.at[front_y, front_x].set(does.new_front)
    carrying = jnp.where(does.picks_up, front, jnp.where(does.drops, cells.EMPTY, state.carrying)).astype(jnp.uint16)

    at_goal = does.moves & (kind == Kind.GOAL)
    in_lava = does.moves & (kind == Kind.LAVA)
    fetched = rules.pickup_ends & (carrying != cells.EMPTY)
    opened = rules.opening_ends & does.opens
    pays = at_goal | opened | (fetched & (carrying == cells.YELLOW_KEY))
    reward = jnp.where(pays, rules.success_rewards[steps], jnp.where(in_lava, rules.lava_reward, 0.0))
    terminated = at_goal | in_lava | fetched | opened
    state = State(
        grid,
        jnp.where(does.moves, front_x, state.x),
        jnp.where(does.moves, front_y, state.y),
        direction,
        carrying,
        steps,
        state.balls,
    )
    return state, reward, terminated, steps >= rules.max_steps


class _Interaction(NamedTuple):
    """What an action does with the cell in front of the agent."""

    moves: Bool[Array, ""]
    """The agent walks into it."""
    picks_up: Bool[Array, ""]
    drops: Bool[Array, ""]
    opens: Bool[Array, ""]
    """A closed door, or a locked one with its key."""
    new_front: UInt16[Array, ""]
    """The packed cell afterwards."""


def _interaction(
    rules: Rules, carrying: UInt16[Array, ""], front: UInt16[Array, ""], kind: UInt16[Array, ""], action: Scalar
) -> _Interaction:
    """What an action does with the packed cell `front`, which holds an object of this kind."""
    is_door = kind == Kind.DOOR
    is_open = is_door & (cells.state_of(front) == Door.OPEN)
    is_locked = is_door & (cells.state_of(front) == Door.LOCKED)
    hands_free = carrying == cells.EMPTY
    walkable = (kind == Kind.EMPTY) | (kind == Kind.GOAL) | (kind == Kind.LAVA) | (kind == Kind.FLOOR) | is_open
    portable = (kind == Kind.KEY) | (kind == Kind.BOX) | ((kind == Kind.BALL) & ~rules.balls_move)

    moves = (action == FORWARD) & walkable
    picks_up = (action == PICK_UP) & portable & hands_free
    drops = (action == DROP) & (kind == Kind.EMPTY) & ~hands_free
    toggles = action == TOGGLE
    key_fits = carrying == (Kind.KEY | cells.colour_of(front) << cells.COLOUR_BITS)
    opens = toggles & is_door & ~is_open & (~is_locked | key_fits)
    closes = toggles & is_open
    breaks_box = toggles & (kind == Kind.BOX)

    door = Kind.DOOR | cells.colour_of(front) << cells.COLOUR_BITS
    new_front = front
    new_front = jnp.where(picks_up | breaks_box, cells.EMPTY, new_front)
    new_front = jnp.where(drops, carrying, new_front)
    new_front = jnp.where(opens, door, new_front)  # an open door is in state 0
    new_front = jnp.where(closes, door | Door.CLOSED << cells.STATE_BITS, new_front)
    return _Interaction(moves, picks_up, drops, opens, new_front.astype(jnp.uint16))


def _in_front(state: State) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Column and row of the cell in front of the agent."""
    return state.x + jnp.asarray(STEP_X)[state.direction], state.y + jnp.asarray(STEP_Y)[state.direction]


def faces_ball(state: State) -> Bool[Array, ""]:
    """Return whether a ball is in front of the agent."""
    front_x, front_y = _in_front(state)
    return cells.kind_of(state.grid[front_y, front_x]) == Kind.BALL


def place_balls(state: State, balls: Int[Array, "balls 2"]) -> State:
    """Return the state with its moving balls at other places, given by column and row."""

    def marks(balls: Int[Array, "balls 2"]) -> Bool[Array, "height width"]:
        y, x = np.mgrid[: state.grid.shape[0], : state.grid.shape[1]]
        return jnp.any((balls[:, 0, None, None] == x) & (balls[:, 1, None, None] == y), axis=0)

    grid = jnp.where(marks(state.balls), cells.EMPTY, state.grid)
    grid = jnp.where(marks(balls), cells.BLUE_BALL, grid)
    return state._replace(grid=grid.astype(jnp.uint16), balls=balls)


def move_balls(state: State, key: Key[Array, ""]) -> State:
    """Return the state after each ball in turn has moved to a free cell among its eight neighbours, uniformly.

    Farama draws from the 3x3 square at most 101 times and leaves the ball where it is if no draw was free; the chance
    of that is kept exactly.
    """
    offset_x, offset_y = np.tile([-1, 0, 1], 3), np.repeat([-1, 0, 1], 3)
    choice_draws, stay_draws = jax.random.uniform(key, (2, MAX_BALLS))

    def move(ball: Int[Array, ""], state: State) -> State:
        x, y = state.balls[ball]
        near_x, near_y = x + offset_x, y + offset_y
        free = (state.grid[near_y, near_x] == cells.EMPTY) & ((near_x != state.x) | (near_y != state.y))
        count = jnp.sum(free, dtype=jnp.int32)
        rank = jnp.floor(choice_draws[ball] * count).astype(jnp.int32)
        chosen = jnp.argmax(jnp.cumsum(free) > rank)
        stays = (x == NOWHERE) | (stay_draws[ball] < (1 - count / 9) ** 101)
        target = jnp.where(stays, state.balls[ball], jnp.stack([near_x[chosen], near_y[chosen]]))
        return place_balls(state, state.balls.at[ball].set(target))

    return jax.lax.fori_loop(0, MAX_BALLS, move, state)


def respond(rules: Rules, before: State, moved: State, action: Scalar) -> Outcome:
    """Return what the agent's action leads to once the balls have moved.

    Args:
        rules: of the task.
        before: the state before the balls moved. Walking towards a ball counts by where it was here.
        moved: the state after it.
        action: of the agent.
    """
    state, reward, terminated, truncated = advance(rules, moved, action)
    hit = rules.balls_move & faces_ball(before) & (action == FORWARD)
    return state, jnp.where(hit, rules.ball_reward, reward), terminated | hit, truncated


def step(rules: Rules, state: State, action: Scalar, key: Key[Array, ""]) -> Outcome:
    """Return what one step leads to: the balls move, then the agent acts."""
    moved = jax.lax.cond(rules.balls_move, lambda: move_balls(state, key), lambda: state)
    return respond(rules, state, moved, action)

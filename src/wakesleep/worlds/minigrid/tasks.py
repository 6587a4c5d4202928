"""The eighteen Minigrid tasks of TELLA, ten of which the paper uses, each a row of data; and the world they share.

A name is family and variant, `DoorKey_S5`. Sizes and counts are in the variant: S the size of the grid (CustomUnlock:
of a room), N the number of walls, distractors or balls, T of targets, R the row of the second strip of lava.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Key, Shaped

from wakesleep.errors import UserError
from wakesleep.worlds.minigrid import cells, engine, layouts
from wakesleep.worlds.minigrid.cells import Kind
from wakesleep.worlds.minigrid.draw import TILE, draw, tile_episode, tile_view
from wakesleep.worlds.minigrid.engine import Rules, State
from wakesleep.worlds.minigrid.layouts import HEIGHT, WIDTH, Family, Plan
from wakesleep.worlds.minigrid.observe import VIEW, observe
from wakesleep.worlds.protocols import Player
from wakesleep.worlds.world import ActionSpec, ObservationSpec, TimeStep

OBSERVATION = ObservationSpec.of((VIEW, VIEW, 3), np.uint8, 0, 255, scale=cells.CHANNEL_MAXIMA)
ACTION = ActionSpec.single(engine.NUM_ACTIONS)


class MinigridWorld(eqx.Module):
    """A Minigrid task as a world. All its fields are array leaves: every task runs the same compiled program."""

    plan: Plan
    """What its layouts are like."""
    rules: Rules
    """What ends an episode, and what it pays."""

    @property
    def observation_spec(self) -> ObservationSpec:
        """The 7 x 7 cells before the agent, uint8[column, row, channel]: type, colour, state."""
        return OBSERVATION

    @property
    def action_spec(self) -> ActionSpec:
        """Turn left, turn right, forward, pick up, drop, toggle."""
        return ACTION

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the six actions."""
        return ("left", "right", "forward", "pick up", "drop", "toggle")

    def describe(self, action: int) -> str:
        """Return the name of an action."""
        return self.action_names[action]

    def reset(self, key: Key[Array, ""]) -> tuple[State, TimeStep]:
        """Begin an episode in a layout drawn with the key."""
        state = layouts.draw_layout(self.plan, key)
        return state, self._timestep(state, 0.0, False, False)

    def begin(self, layout: State) -> tuple[State, TimeStep]:
        """Begin an episode, or go on, in a given state: of `draw_layout`, of `farama.layout_of`, or made by hand."""
        check_layout(layout, int(self.plan.width), int(self.plan.height))
        return layout, self._timestep(layout, 0.0, False, False)

    def step(self, state: State, action: Shaped[ArrayLike, ""], key: Key[Array, ""]) -> tuple[State, TimeStep]:
        """Take one action; the key moves the balls of DynObstacles."""
        ACTION.check(action)
        state, reward, terminated, truncated = engine.step(self.rules, state, jnp.asarray(action), key)
        return state, self._timestep(state, reward, terminated, truncated)

    def scripted_policies(self, state: State) -> dict[str, Player]:
        """Return `optimal`, which takes the fewest actions that lead from this first state to success.

        It plans when it is asked for its first action, and refuses with `UserError` if the balls move or nothing
        succeeds.
        """
        from wakesleep.worlds.minigrid.solve import optimal_player  # which imports this module

        return {"optimal": optimal_player(self, state)}

    def draw(self, state: State, tile: int = TILE) -> np.ndarray:
        """Return a picture of the whole grid, uint8[height, width, 3], a cell `tile` pixels wide.

        The cells that the agent sees are lit.
        """
        observation = np.asarray(observe(state, self.rules.see_through_walls))
        return draw(state, observation, int(self.plan.width), int(self.plan.height), tile)

    def tile_episode(self, states: Sequence[State]) -> dict[str, Any]:
        """Return an episode as the first grid and what changed in each step (`HasTiles`)."""
        return tile_episode(states, int(self.plan.width), int(self.plan.height))

    def tile_view(self, observation: np.ndarray) -> str | None:
        """Return an observation's cells as text (`HasTiles`)."""
        return tile_view(np.asarray(observation))

    def _timestep(self, state: State, reward: ArrayLike, terminated: ArrayLike, truncated: ArrayLike) -> TimeStep:
        observation = observe(state, self.rules.see_through_walls)
        return TimeStep(observation, jnp.float32(reward), jnp.bool_(terminated), jnp.bool_(truncated))


@dataclass(frozen=True)
class MinigridTask:
    """One row of the task table."""

    name: str
    family: Family
    width: int
    """Columns of the grid, walls included."""
    height: int
    first: int
    """What it means depends on the family, as does `second`."""
    second: int
    max_steps: int
    """Steps after which an episode is truncated."""
    in_paper: bool
    goal: str
    """What the agent has to do, in a few words."""

    @property
    def optimal(self) -> float | None:
        """Mean return of the shortest plans (`solve.py`), which see everything; None where it was not measured."""
        return OPTIMAL_RETURNS.get(self.name)

    @property
    def block_steps(self) -> int | None:
        """Environment steps of a learning block of the paper; None where the paper has none."""
        return BLOCK_STEPS.get(self.name)

    def world(self) -> MinigridWorld:
        """Return the task as a world."""
        family = self.family
        plan = Plan(*(jnp.int32(number) for number in (family, self.width, self.height, self.first, self.second)))
        rules = Rules(
            max_steps=jnp.int32(self.max_steps),
            success_rewards=jnp.asarray(engine.success_rewards(self.max_steps)),
            see_through_walls=jnp.bool_(family in (Family.DIST_SHIFT, Family.FETCH, Family.DYN_OBSTACLES)),
            pickup_ends=jnp.bool_(family == Family.FETCH),
            opening_ends=jnp.bool_(family == Family.UNLOCK),
            lava_reward=jnp.float32(-1 if family == Family.DIST_SHIFT else 0),
            ball_reward=jnp.float32(-1),
            balls_move=jnp.bool_(family == Family.DYN_OBSTACLES),
        )
        return MinigridWorld(plan, rules)


def _crossing(walls: int, in_paper: bool) -> MinigridTask:
    goal = f"find the opening{'s' * (walls > 1)} in {walls} wall{'s' * (walls > 1)}, reach the goal"
    return MinigridTask(f"SimpleCrossing_S9N{walls}", Family.SIMPLE_CROSSING, 9, 9, walls, 0, 4 * 9 * 9, in_paper, goal)


def _dist_shift(row: int, in_paper: bool) -> MinigridTask:
    goal = f"go round the lava (rows 1 and {row}, -1), reach the goal"
    return MinigridTask(f"DistShift_R{row}", Family.DIST_SHIFT, 9, 7, row, 0, 4 * 9 * 7, in_paper, goal)


def _dyn_obstacles(size: int, balls: int) -> MinigridTask:
    goal = f"reach the goal past {balls} moving ball{'s' * (balls > 1)} (-1)"
    return MinigridTask(
        f"DynObstacles_S{size}N{balls}", Family.DYN_OBSTACLES, size, size, balls, 0, 4 * size**2, False, goal
    )


def _fetch(size: int, targets: int, distractors: int, in_paper: bool) -> MinigridTask:
    name = f"CustomFetch_S{size}T{targets}N{distractors}"
    goal = f"pick up {'the' if targets == 1 else 'a'} yellow key, none of {distractors} other objects"
    return MinigridTask(name, Family.FETCH, size, size, targets, distractors, 5 * size**2, in_paper, goal)


def _unlock(room: int, in_paper: bool) -> MinigridTask:
    width, goal = 2 * room - 1, "fetch the key, open the locked door"
    return MinigridTask(f"CustomUnlock_S{room}", Family.UNLOCK, width, room, 0, 0, 8 * room**2, in_paper, goal)


def _door_key(size: int, in_paper: bool) -> MinigridTask:
    goal = "fetch the key, open the door, reach the goal"
    return MinigridTask(f"DoorKey_S{size}", Family.DOOR_KEY, size, size, 0, 0, 10 * size**2, in_paper, goal)


TASKS = {
    task.name: task
    for task in (
        _crossing(1, True), _crossing(2, True), _crossing(3, False),
        _dist_shift(2, True), _dist_shift(5, False), _dist_shift(3, True),
        _dyn_obstacles(6, 1), _dyn_obstacles(8, 2), _dyn_obstacles(10, 3),
        _fetch(5, 1, 2, True), _fetch(8, 1, 2, True), _fetch(10, 2, 4, False),
        _unlock(5, True), _unlock(7, True), _unlock(9, False),
        _door_key(5, True), _door_key(6, True), _door_key(7, False),
    )
}  # fmt: skip
"""All tasks by name, in TELLA's order (which its seed chain depends on)."""

OPTIMAL_RETURNS = {
    "SimpleCrossing_S9N1": 0.961, "SimpleCrossing_S9N2": 0.956, "DistShift_R2": 0.9536, "DistShift_R3": 0.9607,
    "CustomFetch_S5T1N2": 0.9675, "CustomFetch_S8T1N2": 0.984, "CustomUnlock_S5": 0.966, "CustomUnlock_S7": 0.975,
    "DoorKey_S5": 0.9645, "DoorKey_S6": 0.969,
}  # fmt: skip
"""Of the paper's tasks. DistShift is exact, the rest are means over at least 400 layouts."""

BLOCK_STEPS = {
    "SimpleCrossing_S9N1": 400_000, "SimpleCrossing_S9N2": 500_000, "DistShift_R2": 200_000, "DistShift_R3": 200_000,
    "CustomFetch_S5T1N2": 500_000, "CustomFetch_S8T1N2": 700_000, "CustomUnlock_S5": 200_000,
    "CustomUnlock_S7": 300_000, "DoorKey_S5": 200_000, "DoorKey_S6": 300_000,
}  # fmt: skip
"""Lengths of the paper's learning blocks (appendix B)."""


def check_layout(layout: State, width: int = WIDTH, height: int = HEIGHT) -> None:
    """Raise `UserError` for a layout that the engine cannot run.

    Its grid may have the wrong size or an open border, or the agent or an object may be out of place.

    Args:
        layout: one state.
        width: columns of the task's own grid; all beyond it must be wall.
        height: rows of the task's own grid.
    """
    grid = np.asarray(layout.grid)
    if grid.shape != (HEIGHT, WIDTH):
        raise UserError(f"a layout's grid has {HEIGHT} rows of {WIDTH} cells (padded with wall), not {grid.shape}")
    kinds = grid & 0b1111
    inner = (slice(1, -1), slice(1, -1))
    outside = np.ones(grid.shape, bool)
    outside[1 : height - 1, 1 : width - 1] = False
    if (grid[outside] != cells.WALL).any():
        raise UserError(
            f"a layout must be closed by grey wall: something else is on or beyond its {width} x {height} border"
        )
    if not np.isin(kinds[inner], [kind for kind in Kind if kind not in (Kind.UNSEEN, Kind.AGENT)]).all():
        raise UserError("a layout holds a cell that is no Minigrid object")
    x, y, direction = int(layout.x), int(layout.y), int(layout.direction)
    inside = 0 < x < width - 1 and 0 < y < height - 1
    if not inside or kinds[y, x] in (Kind.WALL, Kind.KEY, Kind.BALL, Kind.BOX):
        raise UserError(f"the agent cannot stand at column {x}, row {y} of this layout")
    if direction not in range(4):
        raise UserError(f"the agent's direction is 0 (right), 1 (down), 2 (left) or 3 (up), not {direction}")
    for ball_x, ball_y in np.asarray(layout.balls):
        in_use = ball_x != engine.NOWHERE
        if in_use and not (0 < ball_x < WIDTH - 1 and 0 < ball_y < HEIGHT - 1 and kinds[ball_y, ball_x] == Kind.BALL):
            raise UserError(f"the layout names a moving ball at column {ball_x}, row {ball_y}, where there is none")

"""The same eighteen tasks on the real `minigrid` package, as Gymnasium environments: the reference for the engine.

    gymnasium.make("wakesleep/DoorKey_S5")        # registered by `import wakesleep`

They draw random numbers in the same order as TELLA's environments did, so that a seed gives the same layouts as there
(checksums are in the tests). `layout_of` turns such an environment's current state into a state of the engine.
"""

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from minigrid.core.constants import COLOR_NAMES, OBJECT_TO_IDX
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.roomgrid import RoomGrid
from minigrid.core.world_object import Ball, Box, Key, Lava, Wall
from minigrid.envs import CrossingEnv, DistShiftEnv, DoorKeyEnv, DynamicObstaclesEnv
from minigrid.minigrid_env import MiniGridEnv
from minigrid.wrappers import ImgObsWrapper

from wakesleep.errors import UserError
from wakesleep.worlds.batch import InitialStates
from wakesleep.worlds.minigrid import cells, engine
from wakesleep.worlds.minigrid.layouts import HEIGHT, WIDTH, Family
from wakesleep.worlds.minigrid.observe import observe
from wakesleep.worlds.minigrid.tasks import ACTION, TASKS, MinigridTask, MinigridWorld, check_layout

NAMESPACE = "wakesleep"


class FetchYellowKey(MiniGridEnv):
    """Minigrid's Fetch whose target is always a yellow key among balls and boxes: the image alone says what to do."""

    def __init__(self, size: int, targets: int, distractors: int, **kwargs: Any) -> None:
        self.targets, self.distractors = targets, distractors
        super().__init__(
            MissionSpace(lambda: "fetch a yellow key"),
            grid_size=size,
            see_through_walls=True,
            max_steps=5 * size**2,
            **kwargs,
        )

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for _ in range(self.targets):
            self.place_obj(Key("yellow"))
        for _ in range(self.distractors):
            kind = self._rand_elem([Ball, Box])
            self.place_obj(kind(self._rand_elem(COLOR_NAMES)))
        self.place_agent()
        self._rand_int(0, 5)  # TELLA chose one of five phrasings of the mission here; the draw keeps its layouts
        self.mission = "fetch a yellow key"

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one action. Picking anything up ends the episode; only a yellow key pays."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self.carrying:
            right = self.carrying.type == "key" and self.carrying.color == "yellow"
            reward, terminated = (self._reward() if right else 0), True
        return observation, reward, terminated, truncated, info


class Unlock(RoomGrid):
    """Minigrid's Unlock with rooms of any size."""

    def __init__(self, room_size: int, **kwargs: Any) -> None:
        mission = MissionSpace(lambda: "open the door")
        super().__init__(room_size, num_rows=1, num_cols=2, max_steps=8 * room_size**2, mission_space=mission, **kwargs)

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        self.door, _ = self.add_door(0, 0, door_idx=0, locked=True)
        self.add_object(0, 0, "key", self.door.color)
        self.place_agent(0, 0)
        self.mission = "open the door"

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one action. Opening the door ends the episode and pays."""
        observation, reward, terminated, truncated, info = super().step(action)
        if action == self.actions.toggle and self.door.is_open:
            reward, terminated = self._reward(), True
        return observation, reward, terminated, truncated, info


class MovingBalls(DynamicObstaclesEnv):
    """Minigrid's Dynamic-Obstacles with all actions. Balls cannot be picked up; only they give -1, not walls."""

    def __init__(self, size: int, balls: int, **kwargs: Any) -> None:
        super().__init__(size, n_obstacles=balls, **kwargs)
        self.action_space = gymnasium.spaces.Discrete(len(self.actions))

    def _gen_grid(self, width: int, height: int) -> None:
        super()._gen_grid(width, height)
        for ball in self.obstacles:
            ball.can_pickup = lambda: False  # type: ignore[method-assign]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Move the balls, then take one action. Walking towards where a ball was pays -1 and ends the episode."""
        front = self.grid.get(*self.front_pos)
        faced_ball = front is not None and front.type == "ball"
        for ball in self.obstacles:
            x, y = ball.cur_pos  # type: ignore[misc]
            try:
                self.place_obj(ball, top=(x - 1, y - 1), size=(3, 3), max_tries=100)
            except RecursionError:  # no free cell was found: the ball stays
                continue
            self.grid.set(x, y, None)
        observation, reward, terminated, truncated, info = MiniGridEnv.step(self, action)
        if faced_ball and action == self.actions.forward:
            reward, terminated = -1, True
        return observation, reward, terminated, truncated, info


class SixActions(gymnasium.ActionWrapper[Any, Any, Any]):
    """Removes Minigrid's unused `done` action."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(engine.NUM_ACTIONS)

    def action(self, action: Any) -> int:
        """Return the action as an int; refuse anything but an integer from 0 to 5."""
        ACTION.check_one(action)
        return int(action)


class LavaPenalty(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Pays -1 for walking into lava, which ends the episode."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one action."""
        base = self.unwrapped
        front = base.grid.get(*base.front_pos)  # type: ignore[attr-defined]
        into_lava = isinstance(front, Lava) and action == engine.FORWARD
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, -1.0 if into_lava else reward, terminated or into_lava, truncated, info


def make_env(name: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Return the named task on the real `minigrid` package. Keywords (`render_mode`, ...) go to its environment."""
    if name not in TASKS:
        raise UserError(f"no Minigrid task is called {name!r}; see `wakesleep tasks`")
    env: gymnasium.Env[Any, Any] = SixActions(ImgObsWrapper(_base_env(TASKS[name], **kwargs)))
    return LavaPenalty(env) if TASKS[name].family == Family.DIST_SHIFT else env


def _base_env(task: MinigridTask, **kwargs: Any) -> MiniGridEnv:
    match task.family:
        case Family.SIMPLE_CROSSING:
            return CrossingEnv(size=task.width, num_crossings=task.first, obstacle_type=Wall, **kwargs)
        case Family.DIST_SHIFT:
            return DistShiftEnv(strip2_row=task.first, **kwargs)
        case Family.FETCH:
            return FetchYellowKey(task.width, task.first, task.second, **kwargs)
        case Family.UNLOCK:
            return Unlock(task.height, **kwargs)
        case Family.DOOR_KEY:
            return DoorKeyEnv(size=task.width, **kwargs)
        case Family.DYN_OBSTACLES:
            return MovingBalls(task.width, task.first, **kwargs)


def evaluation_states(task: str, world: MinigridWorld, seed: int, episodes: int) -> InitialStates:
    """Return the layouts of an evaluation: those that the real environment draws, seed for seed.

    Args:
        task: name of the task.
        world: the task's world, which observes the layouts.
        seed: of the first `reset` of the environment; those after it go on with its random numbers.
        episodes: how many layouts.

    Returns:
        A pool of `episodes` layouts with their first observations.
    """
    env, layouts = make_env(task), []
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        layouts.append(layout_of(env))
    states = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *layouts)
    return InitialStates(states, _first_observations(world, states))


@eqx.filter_jit
def _first_observations(world: MinigridWorld, states: engine.State) -> jax.Array:
    return jax.vmap(observe, in_axes=(0, None))(states, world.rules.see_through_walls)


def register() -> None:
    """Register the tasks with Gymnasium as `wakesleep/<task>`."""
    for name in TASKS:
        gymnasium.register(f"{NAMESPACE}/{name}", entry_point=f"{__name__}:make_env", kwargs={"name": name})


def layout_of(env: gymnasium.Env[Any, Any]) -> engine.State:
    """Return the current state of a Minigrid environment as a state of the engine.

    Both can then be stepped side by side. Any environment of the `minigrid` package whose grid fits the engine's will
    do. Moving balls keep their order.
    """
    base = env.unwrapped
    if not isinstance(base, MiniGridEnv):
        raise UserError(f"{env} is not a Minigrid environment")
    if getattr(base, "grid", None) is None or base.agent_pos is None:
        raise UserError("this Minigrid environment has no state yet: call its reset() first")
    if base.grid.width > WIDTH or base.grid.height > HEIGHT:
        size = f"{base.grid.width} x {base.grid.height}"
        raise UserError(f"a grid of {size} does not fit the engine, which holds up to {WIDTH} x {HEIGHT}")
    full_box = any(isinstance(thing, Box) and thing.contains is not None for thing in [*base.grid.grid, base.carrying])
    if full_box or base.agent_view_size != 7:
        raise UserError("the engine knows boxes without contents and views of 7 x 7 only")
    encoded = cells.pack(base.grid.encode()).T  # Minigrid encodes column by column
    grid = np.full((HEIGHT, WIDTH), cells.WALL, np.uint16)
    grid[: encoded.shape[0], : encoded.shape[1]] = encoded
    carrying = cells.EMPTY if base.carrying is None else int(cells.pack(np.array([[base.carrying.encode()]]))[0, 0])
    layout = engine.State(
        grid=jnp.asarray(grid),
        x=jnp.int32(base.agent_pos[0]),
        y=jnp.int32(base.agent_pos[1]),
        direction=jnp.int32(base.agent_dir),
        carrying=jnp.uint16(carrying),
        steps=jnp.int32(base.step_count),
        balls=jnp.asarray(balls_of(env)),
    )
    check_layout(layout)
    return layout


def balls_of(env: gymnasium.Env[Any, Any]) -> np.ndarray:
    """Return column and row of the moving balls of an environment, int32[MAX_BALLS, 2], in the order of their moves.

    Rows that are not used are NOWHERE.
    """
    balls = np.full((engine.MAX_BALLS, 2), engine.NOWHERE, np.int32)
    obstacles = getattr(env.unwrapped, "obstacles", [])
    if len(obstacles) > engine.MAX_BALLS:
        raise UserError(f"the engine moves up to {engine.MAX_BALLS} balls, this environment has {len(obstacles)}")
    for slot, ball in enumerate(obstacles):
        balls[slot] = ball.cur_pos
    return balls


assert {kind.name.lower(): int(kind) for kind in cells.Kind} == OBJECT_TO_IDX, "minigrid changed its object numbers"

"""Gymnasium both ways: any Gymnasium environment as a host world, any of our worlds as a Gymnasium environment.

    world = GymnasiumWorld("CartPole-v1", num_envs=8)
    env = WorldEnv(wakesleep.make("DoorKey_S5"))            # or gymnasium.make("wakesleep-jax/DoorKey_S5")

Gymnasium 1.x resets a vector environment in one of three ways, and two of them lose or invent transitions for code
that does not know. `GymnasiumWorld` understands all three: `next_observation` is always what an action really led to.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from wakesleep.errors import UserError
from wakesleep.worlds.world import (
    ActionSpec,
    AutoResetStep,
    MaskedObservation,
    ObservationSpec,
    World,
    compiled_reset,
    compiled_step,
)

JAX_NAMESPACE = "wakesleep-jax"


class GymnasiumWorld:
    """Gymnasium environments as a host world.

    Observations must be a Box or Discrete, actions Discrete or MultiDiscrete. Give an id, a function that makes an
    environment, or a vector environment of your own (with any autoreset mode; with next-step autoreset some rows of
    a step are not `valid`). `observation_spec` replaces the one read off the space, for instance to scale better.
    """

    def __init__(
        self,
        env: str | Callable[[], gymnasium.Env[Any, Any]] | VectorEnv[Any, Any, Any],
        num_envs: int = 1,
        *,
        processes: bool = False,
        observation_spec: ObservationSpec | None = None,
        **kwargs: Any,
    ) -> None:
        """`kwargs` go to `gymnasium.make` with an id.

        `processes` gives each environment a process of its own. They are spawned, so a script that asks for them must
        keep what it runs under `if __name__ == "__main__":`.
        """
        if kwargs and not isinstance(env, str):
            raise UserError(f"{', '.join(kwargs)}: only an environment's id can be given more arguments")
        if isinstance(env, VectorEnv) and (num_envs != 1 or processes):
            raise UserError("a vector environment brings its own number of environments and processes")
        if isinstance(env, VectorEnv):
            self._envs: VectorEnv[Any, Any, Any] = env
        elif num_envs < 1:
            raise UserError(f"a world needs at least one environment, not {num_envs}")
        elif processes:  # not forked: JAX has threads of its own
            makers = [_maker(env, kwargs)] * num_envs
            self._envs = AsyncVectorEnv(makers, context="spawn", autoreset_mode=AutoresetMode.DISABLED)
        else:
            self._envs = SyncVectorEnv([_maker(env, kwargs)] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
            if len({id(made) for made in self._envs.envs}) < num_envs:
                raise UserError(
                    "each environment must be a new one: give a function that makes it, not one that is there"
                )
        self.num_envs = self._envs.num_envs
        again = partial(GymnasiumWorld, env, processes=processes, observation_spec=observation_spec, **kwargs)
        fixed = isinstance(env, VectorEnv) or type(self) is not GymnasiumWorld
        self.with_envs: Callable[[int], GymnasiumWorld] | None = None if fixed else again
        """Makes another one with so many environments; None where the number is the vector environment's own."""
        self._mode = self._autoreset_mode()
        space = self._envs.single_observation_space
        self._observation_start = int(space.start) if isinstance(space, Discrete) else 0
        self._observation_spec = observation_spec or observation_spec_of(space)
        self._action_spec = action_spec_of(self._envs.single_action_space)
        self._resetting = np.zeros(self.num_envs, bool)  # next-step autoreset: which rows only reset in the next step

    def _autoreset_mode(self) -> AutoresetMode:
        mode = self._envs.metadata.get("autoreset_mode")
        try:
            return AutoresetMode(mode)
        except ValueError:
            message = f"{self._envs} does not say how it resets (metadata['autoreset_mode'] is {mode!r})"
            raise UserError(message + ": set it to one of gymnasium.vector.AutoresetMode") from None

    @property
    def observation_spec(self) -> ObservationSpec:
        """Read off the observation space, or as given."""
        return self._observation_spec

    @property
    def action_spec(self) -> ActionSpec:
        """Read off the action space."""
        return self._action_spec

    def reset(self, seed: int) -> np.ndarray:
        """Begin an episode in every environment, environment i seeded with seed + i."""
        self._resetting[:] = False
        observations, _ = self._envs.reset(seed=int(seed))
        return self._observations(observations)

    def step(self, actions: np.ndarray) -> AutoResetStep:
        """Take one action in every environment; those whose episode ended are reset."""
        actions = np.asarray(actions)
        if actions.shape[:1] != (self.num_envs,):
            raise UserError(f"{self.num_envs} environments need as many actions, not an array of shape {actions.shape}")
        self._action_spec.check(actions)
        observed, rewards, terminated, truncated, info = self._envs.step(self._native_actions(actions))
        observations, ended = self._observations(observed), np.asarray(terminated | truncated)
        next_observations, valid = observations, ~self._resetting
        if self._mode is AutoresetMode.NEXT_STEP:
            self._resetting = ended
        elif ended.any() and self._mode is AutoresetMode.SAME_STEP:
            next_observations = observations.copy()
            finals = [np.asarray(info["final_obs"][row]) for row in np.flatnonzero(ended)]
            next_observations[ended] = self._observations(np.stack(finals))
        elif ended.any():  # autoreset is off: the observations are the true ones, and we reset
            fresh, _ = self._envs.reset(options={"reset_mask": ended})
            observations = self._observations(fresh)
        return AutoResetStep(
            observations, np.asarray(rewards, np.float32), terminated, truncated, next_observations, valid
        )

    def close(self) -> None:
        """Close the environments and their processes."""
        self._envs.close()

    def _observations(self, observations: Any) -> np.ndarray:
        return np.asarray(observations, self._observation_spec.dtype) - self._observation_start

    def _native_actions(self, actions: np.ndarray) -> np.ndarray:
        """Actions as the environments' own space numbers and shapes them."""
        space: Any = self._envs.single_action_space
        return actions.reshape(self.num_envs, *space.shape) + space.start


def _maker(
    env: str | Callable[[], gymnasium.Env[Any, Any]], kwargs: dict[str, Any]
) -> Callable[[], gymnasium.Env[Any, Any]]:
    if callable(env):
        return env

    def make() -> gymnasium.Env[Any, Any]:
        try:
            return gymnasium.make(env, **kwargs)
        except gymnasium.error.Error as error:
            raise UserError(f"Gymnasium cannot make {env!r}: {error}") from error

    return make


def observation_spec_of(space: gymnasium.Space[Any]) -> ObservationSpec:
    """The spec of a Box or Discrete space, numbers of 64 bits as those of 32 that JAX computes with."""
    if isinstance(space, Discrete):
        return ObservationSpec.of((), np.int32, 0, int(space.n) - 1)
    if isinstance(space, Box):
        return ObservationSpec.of(space.shape, jax.dtypes.canonicalize_dtype(space.dtype), space.low, space.high)
    raise UserError(
        f"observations must be a Box or Discrete space, not {space}:"
        " wrap the environment, for instance in gymnasium.wrappers.FlattenObservation"
    )


def action_spec_of(space: gymnasium.Space[Any]) -> ActionSpec:
    """The spec of a Discrete or MultiDiscrete space."""
    if isinstance(space, Discrete):
        return ActionSpec.single(int(space.n))
    if isinstance(space, MultiDiscrete):
        return ActionSpec(tuple((f"part {part}", int(size)) for part, size in enumerate(space.nvec.ravel())))
    raise UserError(f"actions must be a Discrete or MultiDiscrete space, not {space}: wrap the environment")


class WorldEnv(gymnasium.Env[Any, Any]):
    """One of our worlds as a Gymnasium environment. All tasks of a domain share one compiled program."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012  (Gymnasium's own declaration)

    def __init__(self, world: World, render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UserError(f"render_mode must be 'rgb_array' or None, not {render_mode!r}")
        if render_mode and not hasattr(world, "draw"):
            raise UserError(f"{type(world).__name__} cannot be drawn: it has no `draw(state)`")
        self.world, self.render_mode = world, render_mode
        self.observation_space = _observation_space(world)
        self.action_space = _action_space(world.action_spec)
        self._state: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; a seed makes it and all that follow reproducible."""
        super().reset(seed=seed, options=options)
        self._state, timestep = compiled_reset(self.world, self._key())
        return self._to_numpy(timestep.observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        if self._state is None:
            raise UserError("call reset() before step()")
        self.world.action_spec.check_one(action)
        self._state, timestep = compiled_step(self.world, self._state, np.asarray(action, np.int32), self._key())
        ends = bool(timestep.terminated), bool(timestep.truncated)
        return self._to_numpy(timestep.observation), float(timestep.reward), *ends, {}

    def render(self) -> Any:
        """A picture of the current state."""
        if self.render_mode is None:
            return None
        if self._state is None:
            raise UserError("call reset() before render()")
        return self.world.draw(self._state)  # type: ignore[attr-defined]

    def _key(self) -> jax.Array:
        return jax.random.key(self.np_random.integers(2**32, dtype=np.uint32))

    def _to_numpy(self, observation: Any) -> Any:
        if isinstance(observation, MaskedObservation):
            action_mask = np.asarray(observation.action_mask, np.int8)
            return {"view": np.asarray(observation.view), "action_mask": action_mask}
        return np.asarray(observation)


def _observation_space(world: World) -> gymnasium.Space[Any]:
    spec = world.observation_spec
    view = Box(spec.low.astype(spec.dtype), spec.high.astype(spec.dtype), spec.shape, spec.dtype.type)
    if world.action_spec.masked:
        return Dict({"view": view, "action_mask": MultiBinary(world.action_spec.sizes[0])})
    return view


def _action_space(spec: ActionSpec) -> Discrete | MultiDiscrete:
    return Discrete(spec.sizes[0]) if spec.is_single else MultiDiscrete(list(spec.sizes))

"""Gymnasium both ways: Gymnasium environments as a host world, and (`WorldEnv`) a world in JAX as an environment.

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
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from wakesleep.errors import UserError, brief
from wakesleep.worlds.world import ActionSpec, AutoResetStep, ObservationSpec
from wakesleep.worlds.world_env import JAX_NAMESPACE, WorldEnv

__all__ = [
    "JAX_NAMESPACE",
    "GymnasiumWorld",
    "RenderedGymnasiumWorld",
    "WorldEnv",
    "action_spec_of",
    "observation_spec_of",
]

EnvMaker = Callable[[], gymnasium.Env[Any, Any]]


class GymnasiumWorld:
    """Gymnasium environments as a host world.

    Observations must be a Box or Discrete space, actions Discrete or MultiDiscrete. They are numbered from 0 here,
    whatever the `start` of the environment's own spaces.
    """

    with_envs: "Callable[[int], GymnasiumWorld] | None"
    """Makes another one with so many environments; None where the number is the vector environment's own."""

    def __init__(
        self,
        env: str | EnvMaker | VectorEnv[Any, Any, Any],
        num_envs: int = 1,
        *,
        processes: bool = False,
        observation_spec: ObservationSpec | None = None,
        **kwargs: Any,
    ) -> None:
        """Make the environments.

        Args:
            env: an id, a function that makes one environment, or a vector environment of your own. That may have any
                autoreset mode; with next-step autoreset some rows of a step are not `valid`.
            num_envs: how many environments.
            processes: whether each has a process of its own. They are spawned, so a script that asks for them must
                keep what it runs under `if __name__ == "__main__":`.
            observation_spec: replaces the one read off the space, for instance to scale better.
            kwargs: go to `gymnasium.make` with an id.
        """
        self._envs = _vector_env(env, num_envs, processes, kwargs)
        self.num_envs = self._envs.num_envs
        self._source = env, observation_spec, kwargs
        remake = partial(GymnasiumWorld, env, processes=processes, observation_spec=observation_spec, **kwargs)
        self.with_envs = None if isinstance(env, VectorEnv) or type(self) is not GymnasiumWorld else remake
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
        """What observations look like: read off the observation space, or as given."""
        return self._observation_spec

    @property
    def action_spec(self) -> ActionSpec:
        """What actions look like: read off the action space."""
        return self._action_spec

    def reset(self, seed: int) -> np.ndarray:
        """Begin an episode in every environment.

        Args:
            seed: environment i is seeded with seed + i.

        Returns:
            The first observations, [num_envs, *observation_spec.shape].
        """
        self._resetting[:] = False
        observations, _ = self._envs.reset(seed=int(seed))
        return self._observations(observations)

    def step(self, actions: np.ndarray) -> AutoResetStep:
        """Take one action in every environment; those whose episode ended are reset.

        Args:
            actions: integers, [num_envs, *action_spec.shape].

        Returns:
            What the actions led to, with a leading axis of num_envs.
        """
        actions = np.asarray(actions)
        if actions.shape[:1] != (self.num_envs,):
            raise UserError(f"{self.num_envs} environments need as many actions, not an array of shape {actions.shape}")
        self._action_spec.check(actions)
        observed, rewards, terminated, truncated, info = self._step_envs(self._native_actions(actions))
        observations, ended = self._observations(observed), np.asarray(terminated | truncated)
        next_observations, valid = observations, ~self._resetting
        if self._mode is AutoresetMode.NEXT_STEP:
            self._resetting = ended
        elif ended.any() and self._mode is AutoresetMode.SAME_STEP:
            next_observations = observations.copy()
            finals = [np.asarray(info["final_obs"][row]) for row in np.flatnonzero(ended)]
            next_observations[ended] = self._observations(np.stack(finals))
        elif ended.any():  # autoreset is off: the observations are the true ones, and we reset
            after_reset, _ = self._envs.reset(options={"reset_mask": ended})
            observations = self._observations(after_reset)
        return AutoResetStep(
            observations, np.asarray(rewards, np.float32), terminated, truncated, next_observations, valid
        )

    def close(self) -> None:
        """Close the environments and their processes."""
        self._envs.close()

    def with_rendering(self) -> "RenderedGymnasiumWorld":
        """Return a world of one such environment with render_mode="rgb_array", which the caller closes.

        With an id, Gymnasium makes the environment again in that mode. A function must make it in that mode already.
        """
        env, observation_spec, kwargs = self._source
        if isinstance(env, VectorEnv):
            raise UserError(
                "a vector environment cannot be drawn: give GymnasiumWorld the id of a single environment, or a"
                " function that makes one"
            )
        if type(self) is not GymnasiumWorld:
            raise UserError(f"{type(self).__name__} cannot be drawn: it has no `with_rendering()` of its own")
        return RenderedGymnasiumWorld(env, observation_spec, kwargs)

    def _step_envs(self, native_actions: np.ndarray) -> Any:
        return self._envs.step(native_actions)

    def _observations(self, observations: Any) -> np.ndarray:
        return np.asarray(observations, self._observation_spec.dtype) - self._observation_start

    def _native_actions(self, actions: np.ndarray) -> np.ndarray:
        """Actions as the environments' own space numbers and shapes them."""
        space: Any = self._envs.single_action_space
        return actions.reshape(self.num_envs, *space.shape) + space.start


class RenderedGymnasiumWorld(GymnasiumWorld):
    """One Gymnasium environment that draws itself."""

    def __init__(self, env: str | EnvMaker, observation_spec: ObservationSpec | None, kwargs: dict[str, Any]) -> None:
        """Make the environment.

        Args:
            env: an id, or a function that makes an environment with render_mode="rgb_array".
            observation_spec: replaces the one read off the space, if it is not None.
            kwargs: go to `gymnasium.make` with an id, besides the render mode.
        """
        if isinstance(env, str):
            kwargs = kwargs | {"render_mode": "rgb_array"}
        try:
            super().__init__(env, observation_spec=observation_spec, **kwargs)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{env} cannot be made with render_mode='rgb_array' ({brief(error)})") from error
        self._picture: np.ndarray | None = None
        if self._envs.render_mode != "rgb_array":
            self.close()
            raise UserError('this environment cannot be drawn: create it with render_mode="rgb_array"')

    def reset(self, seed: int) -> np.ndarray:
        """Begin an episode; returns the first observation, [1, *observation_spec.shape]."""
        observations = super().reset(seed)
        self._picture = self._render()
        return observations

    def picture(self) -> np.ndarray:
        """Return what the last `reset` or `step` led to, uint8[height, width, 3]."""
        if self._picture is None:
            raise UserError("call reset() before picture()")
        return self._picture

    def _step_envs(self, native_actions: np.ndarray) -> Any:
        answer = super()._step_envs(native_actions)
        self._picture = self._render()  # before an episode that ended is followed by the next
        return answer

    def _render(self) -> np.ndarray:
        picture: Any
        try:
            (picture,) = self._envs.render() or (None,)
        except Exception as error:
            raise UserError(f"the environment cannot draw itself ({brief(error)})") from error
        if np.ndim(picture) != 3 or np.shape(picture)[-1] != 3:
            raise UserError(f"the environment draws an array of shape {np.shape(picture)}, not [height, width, 3]")
        return np.asarray(picture, np.uint8)


def _vector_env(
    env: str | EnvMaker | VectorEnv[Any, Any, Any], num_envs: int, processes: bool, kwargs: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    if kwargs and not isinstance(env, str):
        raise UserError(f"{', '.join(kwargs)}: only an environment's id can be given more arguments")
    if isinstance(env, VectorEnv):
        if num_envs != 1 or processes:
            raise UserError("a vector environment brings its own number of environments and processes")
        return env
    if num_envs < 1:
        raise UserError(f"a world needs at least one environment, not {num_envs}")
    makers = [_maker(env, kwargs)] * num_envs
    if processes:  # not forked: JAX has threads of its own
        return AsyncVectorEnv(makers, context="spawn", autoreset_mode=AutoresetMode.DISABLED)
    envs = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED)
    if len({id(single) for single in envs.envs}) < num_envs:
        raise UserError("each environment must be a new one: give a function that makes it, not one that is there")
    return envs


def _maker(env: str | EnvMaker, kwargs: dict[str, Any]) -> EnvMaker:
    if callable(env):
        return env

    def make() -> gymnasium.Env[Any, Any]:
        try:
            return gymnasium.make(env, **kwargs)
        except gymnasium.error.Error as error:
            raise UserError(f"Gymnasium cannot make {env!r}: {error}") from error

    return make


def observation_spec_of(space: gymnasium.Space[Any]) -> ObservationSpec:
    """Return the spec of a Box or Discrete space; 64-bit numbers become 32-bit ones, which JAX computes with."""
    if isinstance(space, Discrete):
        return ObservationSpec.of((), np.int32, 0, int(space.n) - 1)
    if isinstance(space, Box):
        return ObservationSpec.of(space.shape, jax.dtypes.canonicalize_dtype(space.dtype), space.low, space.high)
    raise UserError(
        f"observations must be a Box or Discrete space, not {space}:"
        " wrap the environment, for instance in gymnasium.wrappers.FlattenObservation"
    )


def action_spec_of(space: gymnasium.Space[Any]) -> ActionSpec:
    """Return the spec of a Discrete or MultiDiscrete space; several dimensions become one vector of choices."""
    if isinstance(space, Discrete):
        return ActionSpec.single(int(space.n))
    if isinstance(space, MultiDiscrete):
        return ActionSpec(tuple((f"part {part}", int(size)) for part, size in enumerate(space.nvec.ravel())))
    raise UserError(f"actions must be a Discrete or MultiDiscrete space, not {space}: wrap the environment")

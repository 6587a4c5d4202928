"""A world in JAX as a Gymnasium environment."""

from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete

from wakesleep.errors import UserError
from wakesleep.worlds.protocols import Drawable, as_drawable
from wakesleep.worlds.world import ActionSpec, MaskedObservation, World, compiled_reset, compiled_step

JAX_NAMESPACE = "wakesleep-jax"
"""Worlds in JAX are registered with Gymnasium as `wakesleep-jax/<task>`."""


class WorldEnv(gymnasium.Env[Any, Any]):
    """A world in JAX as a Gymnasium environment. All tasks of a domain share one compiled program.

    Observations are a Box. Those of a masked world are a Dict: "view" is the Box, and "action_mask" is a MultiBinary
    of the choices of the action's first part that are open now. Actions are Discrete, or MultiDiscrete where they
    have several parts.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012  (Gymnasium's own declaration)

    def __init__(self, world: World, render_mode: str | None = None) -> None:
        """Wrap a world.

        Args:
            world: what to step.
            render_mode: "rgb_array" for a world that is `Drawable`, or None.
        """
        if render_mode not in (None, "rgb_array"):
            raise UserError(f"render_mode must be 'rgb_array' or None, not {render_mode!r}")
        self._drawable: Drawable | None = as_drawable(world) if render_mode else None
        self.world, self.render_mode = world, render_mode
        self.observation_space = _observation_space(world)
        self.action_space = _action_space(world.action_spec)
        self._state: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and return its first observation; a seed makes it and all that follow reproducible."""
        super().reset(seed=seed, options=options)
        self._state, timestep = compiled_reset(self.world, self._key())
        return self._to_numpy(timestep.observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action; returns observation, reward, terminated, truncated and an empty dictionary."""
        if self._state is None:
            raise UserError("call reset() before step()")
        self.world.action_spec.check_one(action)
        self._state, timestep = compiled_step(self.world, self._state, np.asarray(action, np.int32), self._key())
        terminated, truncated = bool(timestep.terminated), bool(timestep.truncated)
        return self._to_numpy(timestep.observation), float(timestep.reward), terminated, truncated, {}

    def render(self) -> Any:
        """Return a picture of the current state, uint8[height, width, 3]; None without a render mode."""
        if self._drawable is None:
            return None
        if self._state is None:
            raise UserError("call reset() before render()")
        return self._drawable.draw(self._state)

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

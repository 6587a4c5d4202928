"""Worlds: what an agent acts in, and what observations, actions and steps look like.

A *world* is a pair of pure functions over explicit state, so that whole phases of a life compile into one program:

    state, timestep = world.reset(key)
    state, timestep = world.step(state, action, key)

A world is itself a pytree whose array leaves describe its task. Two tasks of one domain differ only in those leaves, so
a function compiled for one serves all of them. `batch.py` steps many copies at once with auto-reset. A *host world*
is a batch of environments outside JAX (Gymnasium, StarCraft II). `protocols.py` has what either may offer besides.

Nothing here carries a task's name, so that an agent cannot be told which task it is in.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Key, Shaped

from wakesleep.errors import UserError

AnyArray = Array | np.ndarray


class TimeStep(NamedTuple):
    """What a world returns: the observation to act on, and the reward and the ending of the last action."""

    observation: Any
    """An array of the spec's shape and type, or `MaskedObservation`."""
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    """The task itself ended the episode: there is nothing to bootstrap from."""
    truncated: Bool[Array, "*batch"]
    """A step limit ended the episode: a value function should bootstrap."""


class MaskedObservation(NamedTuple):
    """An observation of a world in which some actions are not always open (`ActionSpec.masked`)."""

    view: Any
    """What the agent sees, as `ObservationSpec` says."""
    action_mask: Bool[AnyArray, "*batch choices"]
    """Which choices of the action's first part are open now."""


class AutoResetStep(NamedTuple):
    """One step of a batch with auto-reset. Every field has a leading axis: the environments."""

    observation: Any
    """What to act on next: the first observation of a new episode where one has just ended."""
    reward: Float[AnyArray, "*batch"]
    terminated: Bool[AnyArray, "*batch"]
    truncated: Bool[AnyArray, "*batch"]
    next_observation: Any
    """What the action really led to; differs from `observation` only where an episode ended. Bootstrap from this."""
    valid: Bool[AnyArray, "*batch"]
    """False where a host environment ignored the action because it was resetting itself: no transition took place."""


@dataclass(frozen=True, eq=False)
class ObservationSpec:
    """Shape, type and range of an observation (of its `view` where the observation is `MaskedObservation`)."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: np.ndarray
    """Least value of each entry, of the observation's shape."""
    high: np.ndarray
    """Greatest value of each entry that the world declares, of the observation's shape."""
    scale: np.ndarray
    """What to divide each entry by to bring it to about one; tighter than `high` where the world knows better."""

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: Any, low: Any, high: Any, scale: Any = None) -> "ObservationSpec":
        """Make a spec from bounds that broadcast to `shape`.

        Args:
            shape: of one observation.
            dtype: of its entries.
            low: least value of each entry.
            high: greatest value of each entry.
            scale: what to divide each entry by; by default the greatest magnitude of its bounds, or 1 where these are
                infinite, above a million or 0.
        """
        lows, highs = (np.broadcast_to(np.asarray(bound, np.float64), shape) for bound in (low, high))
        if scale is None:
            magnitude = np.maximum(np.abs(lows), np.abs(highs))
            scale = np.where(np.isfinite(magnitude) & (magnitude > 0) & (magnitude < 1e6), magnitude, 1.0)
        return cls(tuple(shape), np.dtype(dtype), lows, highs, np.broadcast_to(np.asarray(scale, np.float64), shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObservationSpec):
            return NotImplemented
        arrays = zip((self.low, self.high, self.scale), (other.low, other.high, other.scale), strict=True)
        same_form = self.shape == other.shape and self.dtype == other.dtype
        return same_form and all(np.array_equal(mine, theirs) for mine, theirs in arrays)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.low.tobytes(), self.high.tobytes(), self.scale.tobytes()))


@dataclass(frozen=True)
class ActionSpec:
    """An action: one choice (an integer), or several choices made together (*factored*: a vector of integers).

    In a factored action the first part may be a *function* whose other parts are its arguments; `uses` then says
    which arguments each function reads. `masked` worlds give `MaskedObservation`s with the open choices of the
    first part.
    """

    parts: tuple[tuple[str, int], ...]
    """Name and number of choices of each part."""
    uses: tuple[tuple[bool, ...], ...] | None = None
    """For each choice of the first part, which parts (itself included) it uses. None: always all of them."""
    masked: bool = False
    """Whether observations are `MaskedObservation`."""

    def __post_init__(self) -> None:
        if not self.parts or any(size < 1 for _, size in self.parts):
            raise UserError(f"an action needs parts with at least one choice each, not {self.parts}")
        if self.uses is not None and [len(row) for row in self.uses] != [len(self.parts)] * self.parts[0][1]:
            raise UserError(f"`uses` needs one row per choice of {self.parts[0][0]!r}, each as long as `parts`")

    @classmethod
    def single(cls, choices: int, *, masked: bool = False) -> "ActionSpec":
        """Make the spec of an action that is one choice, an integer from 0 to `choices` - 1."""
        return cls((("action", choices),), masked=masked)

    @property
    def is_single(self) -> bool:
        """Whether an action is one integer rather than a vector of them."""
        return len(self.parts) == 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of choices of each part."""
        return tuple(size for _, size in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        return () if self.is_single else (len(self.parts),)

    @cached_property
    def _limits(self) -> np.ndarray:
        return np.asarray(self.sizes).reshape(self.shape)

    def check(self, action: Any) -> None:
        """Raise `UserError` for an action that this world does not have.

        Inside compiled code, where values are unknown, only shape and type are checked. An action out of range then
        does nothing in the world.

        Args:
            action: integers, [*batch, *shape].
        """
        if not isinstance(action, jax.Array):
            action = np.asarray(action)
        if not np.issubdtype(action.dtype, np.integer):
            raise UserError(f"actions must be integers, not {action.dtype}: round or cast them before the step")
        if action.shape[action.ndim - len(self.shape) :] != self.shape:
            raise UserError(f"an action here has shape {self.shape}, not {action.shape}")
        if isinstance(action, jax.core.Tracer):
            return
        values = np.asarray(action)
        if ((values < 0) | (values >= self._limits)).any():
            ranges = ", ".join(f"{name} 0 to {size - 1}" for name, size in self.parts)
            raise UserError(f"action {values.tolist()} is out of range: this world takes {ranges}")

    def check_one(self, action: Any) -> None:
        """Raise `UserError` for anything but exactly one action of this world, an integer array of `shape`."""
        self.check(action)
        if np.shape(action) != self.shape:
            raise UserError(f"one environment takes one action, not an array of shape {np.shape(action)}")


@runtime_checkable
class World(Protocol):
    """A world in JAX: pure functions of one environment's state.

    Implementations are pytrees (Equinox modules), so that they can be arguments of compiled functions. Array fields
    say which task it is, static fields what its observations and actions look like.
    """

    @property
    def observation_spec(self) -> ObservationSpec:
        """What observations look like."""
        ...

    @property
    def action_spec(self) -> ActionSpec:
        """What actions look like."""
        ...

    def reset(self, key: Key[Array, ""]) -> tuple[Any, TimeStep]:
        """Begin an episode.

        Args:
            key: which the initial state is drawn with.

        Returns:
            The state, any pytree of arrays, and a time step with reward 0 that has not ended.
        """
        ...

    def step(self, state: Any, action: Shaped[ArrayLike, "*parts"], key: Key[Array, ""]) -> tuple[Any, TimeStep]:
        """Take one action.

        Args:
            state: what the last `reset` or `step` returned. After the end of an episode the result means nothing.
            action: integers of `action_spec.shape`.
            key: for what is random in the world.

        Returns:
            The next state and its time step.
        """
        ...


@eqx.filter_jit
def compiled_reset(world: World, key: Key[Array, ""]) -> tuple[Any, TimeStep]:
    """Return `world.reset(key)`, compiled once for all worlds of a domain."""
    return world.reset(key)


@eqx.filter_jit
def compiled_step(
    world: World, state: Any, action: Shaped[ArrayLike, "*parts"], key: Key[Array, ""]
) -> tuple[Any, TimeStep]:
    """Return `world.step(state, action, key)`, compiled once for all worlds of a domain.

    Check the action first (`ActionSpec.check`): compiled code does not know its value.
    """
    return world.step(state, action, key)


@runtime_checkable
class HostWorld(Protocol):
    """A batch of environments outside JAX that are stepped together and reset themselves.

    One that also has `with_envs(num_envs)`, which makes another with so many environments, suits every agent.
    """

    num_envs: int
    """How many environments there are."""

    @property
    def observation_spec(self) -> ObservationSpec:
        """What observations look like."""
        ...

    @property
    def action_spec(self) -> ActionSpec:
        """What actions look like."""
        ...

    def reset(self, seed: int) -> Any:
        """Begin an episode in every environment.

        Args:
            seed: environment i is seeded with seed + i.

        Returns:
            The first observations, with a leading axis of num_envs.
        """
        ...

    def step(self, actions: np.ndarray) -> AutoResetStep:
        """Take one action in every environment, and reset those whose episode ended.

        Args:
            actions: integers, [num_envs, *action_spec.shape].

        Returns:
            NumPy arrays with a leading axis of num_envs.
        """
        ...

    def close(self) -> None:
        """End processes and free memory. The world is not used after that."""
        ...

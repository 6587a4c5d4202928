"""What a world may offer besides `World` or `HostWorld`: pictures, names of actions, scripted policies.

Each is optional and checked with `isinstance`, so that no code outside a world's own folder needs to know which world
it has:

    if isinstance(world, Drawable):
        picture = world.draw(state)

What depends on a task's name is registered with the task instead (`EvaluationStates`): a world does not carry its name.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from wakesleep.errors import UserError
from wakesleep.worlds.batch import InitialStates
from wakesleep.worlds.world import HostWorld, World

Player = Callable[[Any, Any, jax.Array], Any]
"""Chooses one action: `player(state, observation, key) -> action`.

Only scripted policies read the state. It is None in a host world, which has none to show.
"""

EvaluationStates = Callable[[World, int, int], InitialStates]
"""The fixed initial states of an evaluation: `evaluation_states(world, seed, episodes)`, a pool of size `episodes`.

Given to `register` where a task has states of its own for this, such as layouts that another program draws from the
same seed. Without it, they are drawn by `world.reset`.
"""


@runtime_checkable
class Drawable(Protocol):
    """A world in JAX whose states can be drawn."""

    def draw(self, state: Any) -> np.ndarray:
        """Return a picture of one state, uint8[height, width, 3]."""
        ...


def as_drawable(world: Any) -> Drawable:
    """Return the world itself if its states can be drawn; refuse any other."""
    if not isinstance(world, Drawable):
        raise UserError(f"{type(world).__name__} cannot be drawn: it has no `draw(state)`")
    return world


@runtime_checkable
class DescribesActions(Protocol):
    """A world, in JAX or on the host, that has words for its actions."""

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the choices of the action's first part; of all actions where there is one part only."""
        ...

    def describe(self, action: Any) -> str:
        """Return one action, of shape `action_spec.shape`, in words."""
        ...


@runtime_checkable
class HasScriptedPolicies(Protocol):
    """A world in JAX with policies that are programmed, not learned."""

    def scripted_policies(self, state: Any) -> dict[str, Player]:
        """Return policies by name for one episode.

        Args:
            state: the first state of the episode, from which a policy may plan ahead.

        Returns:
            Players that may read the state at every step. One that cannot play this episode raises `UserError` when
            it is asked for its first action.
        """
        ...


@runtime_checkable
class HasTiles(Protocol):
    """A world in JAX whose grids the report page draws from tiles, so that an episode takes a few hundred bytes."""

    def tile_episode(self, states: Sequence[Any]) -> dict[str, Any]:
        """Return an episode as plain data.

        Args:
            states: from the first to the last.

        Returns:
            `width`, `grid` (the first state's cells as text), and for each state `agent` (column, row, direction) and
            `changes` (pairs of a cell's number and its new content).
        """
        ...

    def tile_view(self, observation: np.ndarray) -> str | None:
        """Return one observation's cells as text; None if it is no observation of this world."""
        ...


@runtime_checkable
class HasRendering(Protocol):
    """A host world that can be made anew with an environment that draws itself."""

    def with_rendering(self) -> "RenderedWorld":
        """Return a host world of one environment of the same task, which the caller closes."""
        ...


@runtime_checkable
class RenderedWorld(HostWorld, Protocol):
    """A host world of one environment that draws itself."""

    def picture(self) -> np.ndarray:
        """Return what the last `reset` or `step` led to, uint8[height, width, 3].

        Where an episode has just ended, this is its end and not the beginning of the next one.
        """
        ...

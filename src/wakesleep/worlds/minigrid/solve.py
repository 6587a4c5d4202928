"""Shortest plans: breadth-first search through the engine itself.

Used to draw an optimal episode and to know what return a task allows. The search sees what the agent cannot.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.errors import UserError
from wakesleep.worlds.minigrid import engine
from wakesleep.worlds.minigrid.engine import State
from wakesleep.worlds.minigrid.tasks import MinigridWorld
from wakesleep.worlds.protocols import Player

_CHUNK = 256  # states expanded in one call


@eqx.filter_jit
def _expand(world: MinigridWorld, states: State) -> tuple[State, jax.Array, jax.Array]:
    """Take every action in every state: next states, rewards above 0 and ends, each [states, actions, ...]."""

    def act(state: State, action: jax.Array) -> tuple[State, jax.Array, jax.Array]:
        state, reward, terminated, truncated = engine.advance(world.rules, state, action)
        return state, reward > 0, terminated | truncated

    every_action = jax.vmap(act, in_axes=(None, 0))
    return jax.vmap(every_action, in_axes=(0, None))(states, jnp.arange(engine.NUM_ACTIONS))


def shortest_plan(world: MinigridWorld, layout: State, max_states: int = 200_000) -> list[int] | None:
    """Return the fewest actions that lead to success, or None if nothing does within the step limit.

    Args:
        world: of a task without moving balls.
        layout: the initial state.
        max_states: how many states may be met before the search is given up with `UserError`.
    """
    if bool(world.rules.balls_move):
        raise UserError("a task with moving balls has no fixed best plan")
    frontier = jax.tree.map(lambda leaf: np.asarray(leaf)[None], layout)
    plans: list[list[int]] = [[]]
    seen = set(_identities(frontier))
    while plans and len(seen) <= max_states:
        next_states, next_plans = [], []
        for begin in range(0, len(plans), _CHUNK):
            chunk = jax.tree.map(lambda leaf, at=begin: leaf[at : at + _CHUNK], frontier)
            count = len(chunk.steps)
            padded = jax.tree.map(lambda leaf: np.resize(leaf, (_CHUNK, *leaf.shape[1:])), chunk)
            states, pays, ends = jax.tree.map(lambda leaf, n=count: np.asarray(leaf)[:n], _expand(world, padded))
            if pays.any():
                parent, action = np.argwhere(pays)[0]
                return [*plans[begin + parent], int(action)]
            flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), states)
            for child, (identity, over) in enumerate(zip(_identities(flat), ends.ravel(), strict=True)):
                if not over and identity not in seen:
                    seen.add(identity)
                    next_states.append(jax.tree.map(lambda leaf, at=child: leaf[at], flat))
                    next_plans.append([*plans[begin + child // engine.NUM_ACTIONS], child % engine.NUM_ACTIONS])
        if not next_states:
            return None
        frontier, plans = jax.tree.map(lambda *leaves: np.stack(leaves), *next_states), next_plans
    raise UserError(f"no plan found among {max_states} states: give a larger max_states")


def optimal_player(world: MinigridWorld, layout: State) -> Player:
    """Return a player that takes the shortest plan from a layout, which it searches for at its first action."""
    plan: list[int] = []

    def play(state: State, _: Any, __: jax.Array) -> int:
        if not plan:
            found = shortest_plan(world, layout)
            if found is None:
                raise UserError("no actions lead to success from this layout: try another seed")
            plan.extend(found)
        return plan[int(state.steps - layout.steps)]

    return play


def _identities(states: State) -> list[bytes]:
    """Bytes that tell states apart, step count aside."""
    parts = (states.grid.reshape(len(states.x), -1), states.x, states.y, states.direction, states.carrying)
    rows = np.concatenate([np.asarray(part).reshape(len(states.x), -1).astype(np.uint16) for part in parts], axis=1)
    return [row.tobytes() for row in rows]

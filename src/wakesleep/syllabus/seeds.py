"""Where a lifetime's random numbers come from: TELLA's chain, so that the same numbers mean the same layouts as there.

A generator made of the syllabus seed gives first the evaluation seed, then (where the order of tasks is random) a
permutation, then one seed per learning block. A generator made of the evaluation seed gives every task its own.
"""

import equinox as eqx
import jax
import numpy as np

from wakesleep.errors import UserError
from wakesleep.worlds.batch import InitialStates, draw_initial_states
from wakesleep.worlds.host import AnyWorld, EpisodeSeeds, HostWorldFactory
from wakesleep.worlds.minigrid import farama
from wakesleep.worlds.minigrid.engine import State
from wakesleep.worlds.minigrid.observe import observe
from wakesleep.worlds.minigrid.tasks import TASKS, MinigridWorld
from wakesleep.worlds.world import HostWorld


def raw(generator: np.random.Generator) -> int:
    """One raw 64-bit draw."""
    return int(generator.bit_generator.random_raw())


def generator_of(seed: int) -> np.random.Generator:
    """The random numbers of a seed."""
    if seed < 0:
        raise UserError(f"a seed is a whole number from 0, not {seed}")
    return np.random.default_rng(seed)


def lifetime_seed(seed: int, lifetime: int) -> int:
    """The syllabus seed of the n-th lifetime, from 0, of an experiment."""
    generator = generator_of(seed)
    return [raw(generator) for _ in range(lifetime + 1)][-1]


def evaluation_seeds(seed: int, count: int) -> list[int]:
    """A seed for each evaluated task."""
    generator = generator_of(seed)
    return [raw(generator) for _ in range(count)]


def key_of(seed: int) -> jax.Array:
    """A JAX key of a seed of any size."""
    low, high = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32 & 0xFFFFFFFF)
    return jax.random.fold_in(jax.random.key(low), high)


def evaluation_initial_states(task: str, world: AnyWorld, seed: int, episodes: int) -> InitialStates | EpisodeSeeds:
    """The layouts of an evaluation: of a Minigrid task those that the real environment draws, else drawn by a key.

    Outside JAX they are seeds, one for each episode.
    """
    if isinstance(world, HostWorldFactory | HostWorld):
        return EpisodeSeeds.of(seed, episodes)
    if not (isinstance(world, MinigridWorld) and task in TASKS):
        return draw_initial_states(world, key_of(seed), episodes)
    env, layouts = farama.make_env(task), []
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        layouts.append(farama.layout_of(env))
    states = jax.tree.map(lambda *leaves: jax.numpy.asarray(np.stack(leaves)), *layouts)
    return InitialStates(states, _first_views(world, states))


@eqx.filter_jit
def _first_views(world: MinigridWorld, states: State) -> jax.Array:
    return jax.vmap(observe, in_axes=(0, None))(states, world.rules.see_through_walls)

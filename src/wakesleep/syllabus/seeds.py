"""Where a lifetime's random numbers come from: TELLA's chain, so that the same numbers mean the same layouts as there.

A generator made of the syllabus seed gives first the evaluation seed, then (where the order of tasks is random) a
permutation, then one seed per learning block. A generator made of the evaluation seed gives every task its own.
"""

from typing import Any, cast

import numpy as np

from wakesleep.errors import UserError
from wakesleep.wake.envs import Envs
from wakesleep.worlds import registry
from wakesleep.worlds.world import World


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


def evaluation_initial_states(task: str, envs: Envs, seed: int, episodes: int) -> Any:
    """The starts of a task's episodes in every EB: those that the task itself prescribes, else drawn by the seed."""
    prescribed = registry.task_info(task).evaluation_states
    if prescribed is None:
        return envs.seeded_initial_states(seed, episodes)
    return prescribed(cast(World, registry.make(task)), seed, episodes)

"""What a wake learner is.

A learner says how many environments and steps a rollout has, and has `init`, `policy` and `update`. Any object with
these can be put in. One that is `jittable` (`PPO`, `VTrace`) is pure functions of its state in JAX, and equal and
equally hashed to another with the same settings, so that compiled programs are shared (`train.py`).
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
from jaxtyping import Array, Key

from wakesleep.nets.policy import Actor, Policy
from wakesleep.wake.rollout import Diagnostics, HostPolicy, Rollout


@runtime_checkable
class Learner(Protocol):
    """A reinforcement learner over explicit state: a pytree of arrays, in JAX or in NumPy, that can be saved."""

    jittable: bool
    """Whether `policy` and `update` can be compiled by JAX."""
    num_envs: int
    """Environments that act at the same time."""
    num_steps: int
    """Steps of every environment in a rollout."""

    def init(self, key: Key[Array, ""]) -> Any:
        """The state of a learner that has learned nothing."""
        ...

    def policy(self, state: Any) -> Actor:
        """The policy to act by: from a batch of observations to logits."""
        ...

    def update(self, state: Any, rollout: Rollout, key: Key[Array, ""]) -> tuple[Any, Diagnostics]:
        """Learn from a rollout (axes: time, environment). Returns the new state, and numbers that say how it went."""
        ...


@runtime_checkable
class CountsParameters(Protocol):
    """Optional: a learner that says how many numbers it learns. Without it, all floats of its state are counted."""

    def num_parameters(self, state: Any) -> int:
        """Numbers that are learned, in all networks."""
        ...


@runtime_checkable
class AdoptsPolicy(Protocol):
    """Optional: a learner whose policy can be replaced, as copying weights from the sleep policy needs."""

    def with_policy(self, state: Any, policy: Policy) -> Any:
        """The state with this policy."""
        ...


def policy_of(learner: Learner, state: Any) -> Actor:
    """The learner's policy; one that cannot be compiled is marked as such."""
    policy = learner.policy(state)
    return policy if learner.jittable else HostPolicy(policy)


def num_parameters(learner: Learner, state: Any) -> int:
    """How many numbers a learner learns."""
    if isinstance(learner, CountsParameters):
        return learner.num_parameters(state)
    return count_parameters(state)


def count_parameters(tree: Any) -> int:
    """How many floating-point numbers a tree of arrays holds."""
    return sum(
        leaf.size for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array_like)) if hasattr(leaf, "size")
    )

"""What the wake-sleep agent is compared with: chance, the wake learner alone, and a fresh learner for every block."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from wakesleep.agents.agent import Budget, SleepLog
from wakesleep.nets.actions import num_logits
from wakesleep.nets.policy import Actor, view_of
from wakesleep.wake.learner import Learner, Progress, train
from wakesleep.wake.presets import Config, make_learner
from wakesleep.wake.rollout import Life, Rollout, Terms
from wakesleep.worlds.host import AnyWorld
from wakesleep.worlds.world import ActionSpec, ObservationSpec


class LearnerAgent:
    """The wake learner alone through all tasks (*baseline*); with `fresh`, born anew in every block (*expert*)."""

    sleeps_per_block = 0

    def __init__(self, observation: ObservationSpec, action: ActionSpec, config: Config, fresh: bool = False) -> None:
        self.learner: Learner = make_learner(config, observation, action)
        self.num_envs, self.num_steps, self.fresh = self.learner.num_envs, self.learner.num_steps, fresh

    def init(self, key: Key[Array, ""]) -> Any:
        """The learner's own state."""
        return self.learner.init(key)

    def wake(self, state: Any, world: AnyWorld, key: Key[Array, ""], steps: int) -> Any:
        """Go on, or begin anew."""
        del world, steps
        return self.learner.init(key) if self.fresh else state

    def live(
        self, state: Any, world: AnyWorld, life: Life, key: Key[Array, ""], iterations: int, chunk: int
    ) -> tuple[Any, Life, Progress]:
        """Learn."""
        return train(self.learner, state, world, life, key, iterations, chunk)

    def sleep(self, state: Any, key: Key[Array, ""]) -> tuple[Any, SleepLog]:
        """Never asked to."""
        del key
        return state, SleepLog({})

    def policy(self, state: Any) -> Actor:
        """What it has learned."""
        return self.learner.policy(state)

    def budget(self, state: Any) -> Budget:
        """Networks only."""
        return Budget(count_parameters(state.networks), 0)


class _Chance(eqx.Module):
    """Every action equally likely."""

    logits: int = eqx.field(static=True)
    axes: int = eqx.field(static=True)

    def __call__(self, observation: Any) -> Array:
        view = view_of(observation)
        return jnp.zeros((*view.shape[: view.ndim - self.axes], self.logits))


class _NoLearner:
    """Acts by chance and learns nothing."""

    jittable, num_envs, num_steps = True, 16, 128

    def __init__(self, observation: ObservationSpec, action: ActionSpec) -> None:
        self._policy = _Chance(num_logits(action), len(observation.shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NoLearner) and hash(other) == hash(self)

    def __hash__(self) -> int:
        return hash((type(self), self._policy.logits, self._policy.axes))

    def init(self, key: Key[Array, ""]) -> Array:
        del key
        return jnp.zeros(())

    def policy(self, state: Array) -> Actor:
        del state
        return self._policy

    def learn(self, state: Array, rollout: Rollout, key: Key[Array, ""]) -> tuple[Array, Terms]:
        del rollout, key
        return state, {}


class RandomAgent(LearnerAgent):
    """Chance."""

    def __init__(self, observation: ObservationSpec, action: ActionSpec) -> None:
        self.learner = _NoLearner(observation, action)
        self.num_envs, self.num_steps, self.fresh = self.learner.num_envs, self.learner.num_steps, False

    def budget(self, state: Any) -> Budget:
        """Nothing."""
        del state
        return Budget(0, 0)


def count_parameters(tree: Any) -> int:
    """How many numbers a tree of networks learns."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))

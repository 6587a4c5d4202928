"""What the wake-sleep agent is compared with: random actions, the wake learner alone, a fresh one in every block."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from wakesleep.agents.agent import Budget, SleepLog
from wakesleep.nets.actions import num_logits
from wakesleep.nets.policy import Actor, view_of
from wakesleep.wake.envs import Envs
from wakesleep.wake.learner import Learner, num_parameters, policy_of
from wakesleep.wake.learners import LearnerConfig, make_learner
from wakesleep.wake.rollout import Diagnostics, Rollout
from wakesleep.wake.train import TrainingLog, train
from wakesleep.worlds.world import ActionSpec, ObservationSpec


class LearnerAgent:
    """A wake learner through all tasks, without sleep (`baseline`); with `fresh`, a new one in every block."""

    sleeps_per_block = 0

    def __init__(
        self, observation: ObservationSpec, action: ActionSpec, config: LearnerConfig, fresh: bool = False
    ) -> None:
        self.learner: Learner = make_learner(config, observation, action)
        self.num_envs, self.num_steps, self.fresh = self.learner.num_envs, self.learner.num_steps, fresh

    def init(self, key: Key[Array, ""]) -> Any:
        """The state of a fresh learner."""
        return self.learner.init(key)

    def wake(self, state: Any, envs: Envs, key: Key[Array, ""], steps: int) -> Any:
        """The learner as it is, or a fresh one."""
        del envs, steps
        return self.learner.init(key) if self.fresh else state

    def train(
        self, state: Any, envs: Envs, envs_state: Any, key: Key[Array, ""], iterations: int, chunk: int
    ) -> tuple[Any, Any, TrainingLog]:
        """Act and learn, without advice."""
        result = train(self.learner, state, envs, envs_state, key, iterations, chunk=chunk)
        return result.state, result.envs_state, result.log

    def sleep(self, state: Any, key: Key[Array, ""]) -> tuple[Any, SleepLog]:
        """Change nothing: this agent does not sleep."""
        del key
        return state, SleepLog({})

    def policy(self, state: Any) -> Actor:
        """The learner's policy, as it is now."""
        return policy_of(self.learner, state)

    def budget(self, state: Any) -> Budget:
        """The learner's parameters; there is no replay."""
        return Budget(num_parameters(self.learner, state), 0)


class _UniformPolicy(eqx.Module):
    """Equal logits for every action."""

    logits: int = eqx.field(static=True)
    axes: int = eqx.field(static=True)

    def __call__(self, observation: Any) -> Array:
        view = view_of(observation)
        return jnp.zeros((*view.shape[: view.ndim - self.axes], self.logits))


class _RandomLearner:
    """A learner that takes random actions and learns nothing."""

    jittable, num_envs, num_steps = True, 16, 128

    def __init__(self, observation: ObservationSpec, action: ActionSpec) -> None:
        self._policy = _UniformPolicy(num_logits(action), len(observation.shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RandomLearner) and hash(other) == hash(self)

    def __hash__(self) -> int:
        return hash((type(self), self._policy.logits, self._policy.axes))

    def init(self, key: Key[Array, ""]) -> Array:
        del key
        return jnp.zeros(())

    def policy(self, state: Array) -> Actor:
        del state
        return self._policy

    def num_parameters(self, state: Array) -> int:
        del state
        return 0

    def update(self, state: Array, rollout: Rollout, key: Key[Array, ""]) -> tuple[Array, Diagnostics]:
        del rollout, key
        return state, {}


class RandomAgent(LearnerAgent):
    """Random actions: what chance achieves."""

    def __init__(self, observation: ObservationSpec, action: ActionSpec) -> None:
        self.learner = _RandomLearner(observation, action)
        self.num_envs, self.num_steps, self.fresh = self.learner.num_envs, self.learner.num_steps, False

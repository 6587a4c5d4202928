"""A wake learner of one's own, in NumPy alone: REINFORCE with a linear policy. What `--load` and tests register.

It is as small as a learner can be: two functions of its state beside `init`, and nothing of JAX in them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wakesleep import register_learner


@dataclass(frozen=True)
class ReinforceConfig:
    """Settings of REINFORCE."""

    num_envs: int = 8
    """Environments that act at the same time."""
    num_steps: int = 32
    """Steps of every environment in a rollout."""
    learning_rate: float = 0.5
    """Of plain gradient ascent."""
    discount: float = 0.9
    """Of rewards, with each step."""


class ReinforceState(NamedTuple):
    """What it has learned."""

    weight: np.ndarray
    updates: np.ndarray


class Reinforce:
    """Policy gradients by whole returns, with a linear policy over observations divided by their scale."""

    jittable = False

    def __init__(self, observation, action, config):
        self.observation_spec, self.choices, self.config = observation, action.sizes[0], config
        self.num_envs, self.num_steps = config.num_envs, config.num_steps

    def init(self, key):
        return ReinforceState(np.zeros((self.observation_spec.scale.size + 1, self.choices)), np.array(0))

    def policy(self, state):
        return lambda observation: (self._features(observation) @ state.weight).astype(np.float32)

    def update(self, state, rollout, key):
        seen, valid = self._features(rollout.observation), np.asarray(rollout.valid)
        chances = _softmax(seen @ state.weight)
        taken = np.eye(self.choices)[np.asarray(rollout.action)]
        advantage = self._returns(np.asarray(rollout.reward), np.asarray(rollout.ended), valid)
        advantage = np.where(valid, advantage - advantage[valid].mean(), 0) / (advantage[valid].std() + 1e-8)
        ratio = (taken * chances).sum(-1) / np.exp(np.asarray(rollout.log_prob))  # below 1 where advice was followed
        direction = (np.minimum(ratio, 1) * advantage)[..., None] * (taken - chances)
        gradient = np.einsum("tef,tea->fa", seen, direction) / valid.sum()
        entropy = -(chances * np.log(chances + 1e-12)).sum(-1).mean()
        state = ReinforceState(state.weight + self.config.learning_rate * gradient, state.updates + 1)
        return state, {"entropy": np.float32(entropy)}

    def _returns(self, reward, ended, valid):
        """Discounted rewards from each step to the end of its episode."""
        returns, following = np.zeros_like(reward), np.zeros(reward.shape[1])
        for step in reversed(range(len(reward))):
            following = np.where(valid[step], reward[step] + self.config.discount * following * ~ended[step], 0)
            returns[step] = following
        return returns

    def _features(self, observation):
        """Axes: those of the batch, then features; the last is 1."""
        scaled = np.asarray(observation, float) / self.observation_spec.scale
        batch = scaled.shape[: scaled.ndim - len(self.observation_spec.shape)]
        return np.concatenate([scaled.reshape(*batch, -1), np.ones((*batch, 1))], axis=-1)


def _softmax(logits):
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


register_learner("numpy-reinforce", ReinforceConfig, Reinforce)

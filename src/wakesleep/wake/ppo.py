"""Proximal policy optimisation (Schulman et al. 2017) as stable-baselines3 does it: the wake learner in Minigrid.

One iteration is a rollout and `epochs` passes over it in shuffled minibatches. Two differences from the reference
change no result: values are computed once after the rollout instead of step by step, and the log-probability in the
ratio's denominator is that of the behaviour, so that actions advised by another policy are corrected for.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.errors import UserError
from wakesleep.nets import actions
from wakesleep.nets.encode import Encoding
from wakesleep.nets.policy import MLPConfig, NetworkConfig, Networks, mask_of
from wakesleep.wake.actor_critic import ActorCriticLearner, LearnerState, check_counts
from wakesleep.wake.adam import clipped_adam
from wakesleep.wake.rollout import Diagnostics, Rollout
from wakesleep.worlds.world import ActionSpec, ObservationSpec


@dataclass(frozen=True)
class PPOConfig:
    """What PPO can be told. The defaults are the paper's."""

    num_envs: int = 1
    """Environments that act at the same time."""
    num_steps: int = 512
    """Steps of every environment in a rollout."""
    minibatch_size: int = 32
    """Transitions per gradient step."""
    epochs: int = 10
    """Passes over a rollout."""
    learning_rate: float = 2.5e-4
    """Of Adam."""
    discount: float = 0.99
    """Factor by which a reward counts less with every step that it lies ahead."""
    gae_lambda: float = 0.95
    """GAE's lambda: less than 1 means less noise in advantages, and more bias."""
    clip_eps: float = 0.3
    """How far the probability ratio may leave 1."""
    entropy_coef: float = 5e-5
    """Weight of the entropy bonus in the loss."""
    value_coef: float = 0.75
    """Weight of the value's error in the loss."""
    max_grad_norm: float = 5.0
    """Gradients with a greater norm are scaled down to it."""
    normalise_advantages: bool = True
    """Per minibatch, to mean 0 and standard deviation 1."""
    min_advantage_std: float = 0.0
    """Advantages are divided by this where their standard deviation is smaller: as long as there is no reward they are
    nothing but the value network's noise, and blowing that up ends exploration."""
    bootstrap_truncated: bool = True
    """Whether an episode cut by a step limit still has the value of where it was cut (else as if the task ended it)."""
    network: NetworkConfig = MLPConfig()
    """Of policy and value."""

    def __post_init__(self) -> None:
        check_counts(self, "num_envs", "num_steps", "minibatch_size", "epochs")
        size = self.num_envs * self.num_steps
        if size % self.minibatch_size:
            raise UserError(
                f"a rollout of {size} transitions does not divide into minibatches of {self.minibatch_size}"
            )


PAPER = PPOConfig()
"""The paper's settings: one environment, and fragile (docs/results/learners.md)."""

FAST = PPOConfig(
    num_envs=16, num_steps=128, minibatch_size=256, epochs=4, learning_rate=5e-4, clip_eps=0.2, entropy_coef=3e-3,
    value_coef=0.5, max_grad_norm=0.5, min_advantage_std=0.05, network=MLPConfig(encoding=Encoding.ONE_HOT),
)  # fmt: skip
"""Tuned on the ten Minigrid tasks for reliability and speed on a small machine (docs/results/learners.md)."""


class Targets(NamedTuple):
    """What a transition is to teach."""

    advantage: Float[Array, "*batch"]
    value: Float[Array, "*batch"]


class PPO(ActorCriticLearner):
    """The learner: a config made into pure functions. `wake/learner.py` has the interface."""

    config: PPOConfig

    def __init__(self, observation: ObservationSpec, action: ActionSpec, config: PPOConfig = PAPER) -> None:
        adam = clipped_adam(config.learning_rate, config.max_grad_norm, eps=1e-5)
        super().__init__(observation, action, config, adam)

    def update(self, state: LearnerState, rollout: Rollout, key: Key[Array, ""]) -> tuple[LearnerState, Diagnostics]:
        """Learn from a rollout (axes: time, environment). Returns the mean of each loss term as well."""
        config = self.config
        targets = self.targets(state.networks, rollout)
        data = jax.tree.map(
            lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (rollout._replace(next_observation=None), targets)
        )
        size = config.num_envs * config.num_steps

        def minibatch(state: LearnerState, batch: tuple[Rollout, Targets]) -> tuple[LearnerState, Diagnostics]:
            gradient, terms = jax.grad(self.loss, has_aux=True)(state.networks, *batch)
            return self.descend(state, gradient), terms

        def epoch(state: LearnerState, key: Key[Array, ""]) -> tuple[LearnerState, Diagnostics]:
            rows = jax.random.permutation(key, size)
            batches = jax.tree.map(lambda leaf: leaf[rows].reshape(-1, config.minibatch_size, *leaf.shape[1:]), data)
            return jax.lax.scan(minibatch, state, batches)

        state, terms = jax.lax.scan(epoch, state, jax.random.split(key, config.epochs))
        return state, jax.tree.map(jnp.mean, terms)

    def targets(self, networks: Networks, rollout: Rollout) -> Targets:
        """Advantages by generalised advantage estimation, and the returns that values are to predict."""
        config = self.config
        value, next_value = networks.value(rollout.observation), networks.value(rollout.next_observation)
        final = rollout.terminated if config.bootstrap_truncated else rollout.ended
        advantage = gae(
            rollout.reward, value, jnp.where(final, 0, next_value), rollout.ended, config.discount, config.gae_lambda
        )
        return Targets(advantage, advantage + value)

    def loss(self, networks: Networks, rollout: Rollout, targets: Targets) -> tuple[Float[Array, ""], Diagnostics]:
        """The clipped surrogate, the value's squared error and the entropy, over a minibatch."""
        config, spec, mask = self.config, self.action_spec, mask_of(rollout.observation)
        weight = rollout.valid / jnp.maximum(jnp.sum(rollout.valid), 1)
        logits = networks.policy(rollout.observation)
        log_prob = actions.log_prob(spec, logits, rollout.action, mask)
        ratio = jnp.exp(log_prob - rollout.log_prob)
        advantage = targets.advantage
        if config.normalise_advantages:
            advantage = _normalised(advantage, weight, jnp.sum(rollout.valid), config.min_advantage_std)
        clipped = jnp.clip(ratio, 1 - config.clip_eps, 1 + config.clip_eps)
        policy_loss = -jnp.sum(weight * jnp.minimum(advantage * ratio, advantage * clipped))
        value_loss = jnp.sum(weight * jnp.square(networks.value(rollout.observation) - targets.value))
        entropy = jnp.sum(weight * actions.entropy(spec, logits, mask))
        total = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        return total, {"policy": policy_loss, "value": value_loss, "entropy": entropy}


def _normalised(
    advantage: Float[Array, "n"], weight: Float[Array, "n"], count: Int[Array, ""], least: float
) -> Float[Array, "n"]:
    """Mean 0, sample standard deviation 1, or less where it was less than `least`."""
    centred = advantage - jnp.sum(weight * advantage)
    variance = jnp.sum(weight * jnp.square(centred)) * count / jnp.maximum(count - 1, 1)
    return centred / jnp.maximum(jnp.sqrt(variance) + 1e-8, least)


def gae(
    reward: Float[Array, "time envs"],
    value: Float[Array, "time envs"],
    next_value: Float[Array, "time envs"],
    ended: Bool[Array, "time envs"],
    discount: float,
    decay: float,
) -> Float[Array, "time envs"]:
    """Generalised advantage estimation (Schulman et al. 2016).

    `next_value` is that of the true successor, 0 where the task ended the episode; nothing flows across an end.
    """
    error = reward + discount * next_value - value

    def back(later: Float[Array, "envs"], at: tuple[Array, Array]) -> tuple[Float[Array, "envs"], Float[Array, "envs"]]:
        error, ended = at
        advantage = error + jnp.where(ended, 0, discount * decay * later)
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros_like(error[0]), (error, ended), reverse=True)[1]

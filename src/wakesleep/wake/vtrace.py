"""Actor-critic with V-trace targets (IMPALA, Espeholt et al. 2018): the paper's wake learner in StarCraft II.

V-trace corrects for actions that another policy chose: the advising sleep policy, or this one some updates ago. One
iteration is a gradient step, or several (`epochs`), on `num_envs` trajectories of `num_steps`. Where the paper is
silent the settings are Reaver's, which its authors built on.

`vtrace` is written out here rather than taken from rlax, which knows no truncated episodes and brings a nightly build
of another framework along. A test holds the two equal where both apply.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from wakesleep.nets import actions
from wakesleep.nets.policy import MLPConfig, NetworkConfig, Networks, logits_and_value, mask_of
from wakesleep.wake.actor_critic import ActorCriticLearner, LearnerState, check_counts
from wakesleep.wake.adam import clipped_adam
from wakesleep.wake.rollout import Diagnostics, Rollout
from wakesleep.worlds.world import ActionSpec, ObservationSpec


@dataclass(frozen=True)
class VTraceConfig:
    """What V-trace can be told."""

    num_envs: int = 32
    """Trajectories per update (the paper)."""
    num_steps: int = 16
    """Length of a trajectory (Reaver)."""
    epochs: int = 1
    """Gradient steps on the same trajectories; V-trace corrects for the policy's having moved on between them."""
    learning_rate: float = 1e-3
    """Adam's (the paper)."""
    adam_eps: float = 1e-8
    """Adam's. Where advantages are not normalised and all become small, a tiny epsilon blows their noise up."""
    discount: float = 0.99
    """Factor by which a reward counts less with every step that it lies ahead."""
    reward_scale: float = 1.0
    """Rewards are multiplied by this before anything is learned from them: values should be about 1 in size."""
    entropy_coef: float = 1e-3
    """Weight of the entropy bonus in the loss."""
    value_coef: float = 0.5
    """Weight of the value's error in the loss."""
    max_grad_norm: float = 10.0
    """Gradients with a greater norm are scaled down to it."""
    max_rho: float = 1.0
    """Importance weights of temporal-difference errors and of the policy gradient are cut here."""
    max_trace: float = 1.0
    """Importance weights along the trace are cut here."""
    gae_lambda: float = 1.0
    """By how much later errors count less with every step back: GAE's lambda. Less than 1 means less noise."""
    normalise_advantages: bool = False
    """Whether advantages are brought to mean 0 and standard deviation 1: then the weight of the entropy means the same
    in tasks with large rewards and with small ones, and values that are all too high do not punish every action."""
    min_advantage_std: float = 0.02
    """They are divided by at least this, as where nothing happens there is only noise."""
    bootstrap_truncated: bool = True
    """Whether an episode cut by a step limit still has the value of where it was cut (else as if the task ended it)."""
    network: NetworkConfig = MLPConfig()
    """Of policy and value."""

    def __post_init__(self) -> None:
        check_counts(self, "num_envs", "num_steps", "epochs")


class VTrace(ActorCriticLearner):
    """The learner: a config made into pure functions. `wake/learner.py` has the interface."""

    config: VTraceConfig

    def __init__(self, observation: ObservationSpec, action: ActionSpec, config: VTraceConfig | None = None) -> None:
        config = config or VTraceConfig()
        super().__init__(
            observation, action, config, clipped_adam(config.learning_rate, config.max_grad_norm, config.adam_eps)
        )

    def update(self, state: LearnerState, rollout: Rollout, key: Key[Array, ""]) -> tuple[LearnerState, Diagnostics]:
        """Learn from a rollout (axes: time, environment). Returns the mean of each loss term as well."""
        del key  # nothing here is random

        def step(state: LearnerState, _: None) -> tuple[LearnerState, Diagnostics]:
            gradient, terms = jax.grad(self.loss, has_aux=True)(state.networks, rollout)
            return self.descend(state, gradient), terms

        state, terms = jax.lax.scan(step, state, length=self.config.epochs)
        return state, jax.tree.map(jnp.mean, terms)

    def loss(self, networks: Networks, rollout: Rollout) -> tuple[Float[Array, ""], Diagnostics]:
        """Policy gradient, the value's squared error and the entropy, means over the rollout."""
        config, spec, mask = self.config, self.action_spec, mask_of(rollout.observation)
        weight = rollout.valid / jnp.maximum(jnp.sum(rollout.valid), 1)
        logits, value = logits_and_value(networks, rollout.observation)
        log_prob = actions.log_prob(spec, logits, rollout.action, mask)
        final = rollout.terminated if config.bootstrap_truncated else rollout.ended
        next_value = self._next_value(*jax.lax.stop_gradient((networks, value)), rollout)
        targets, advantage = jax.lax.stop_gradient(
            vtrace(
                config.reward_scale * rollout.reward,
                value,
                jnp.where(final, 0, next_value),
                rollout.ended,
                jnp.exp(log_prob - rollout.log_prob),
                config.discount,
                config.max_rho,
                config.max_trace,
                config.gae_lambda,
                rollout.valid,
            )
        )
        if config.normalise_advantages:
            advantage = advantage - jnp.sum(weight * advantage)
            spread = jnp.sqrt(jnp.sum(weight * jnp.square(advantage)))
            advantage = advantage / jnp.maximum(spread, config.min_advantage_std)
        policy_loss = -jnp.sum(weight * log_prob * advantage)
        value_loss = jnp.sum(weight * jnp.square(value - targets))
        entropy = jnp.sum(weight * actions.per_part_entropy(spec, logits, mask))
        total = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        return total, {"policy": policy_loss, "value": value_loss, "entropy": entropy}

    def _next_value(
        self, networks: Networks, value: Float[Array, "time envs"], rollout: Rollout
    ) -> Float[Array, "time envs"]:
        """Values of the true successors. Where no episode was cut, most are those of the next row and known already."""
        cut = rollout.truncated & ~rollout.terminated & self.config.bootstrap_truncated
        last = networks.value(jax.tree.map(lambda leaf: leaf[-1], rollout.next_observation))
        return jax.lax.cond(
            jnp.any(cut[:-1]),
            lambda: networks.value(rollout.next_observation),
            lambda: jnp.concatenate([value[1:], last[None]]),
        )


def vtrace(
    reward: Float[Array, "time envs"],
    value: Float[Array, "time envs"],
    next_value: Float[Array, "time envs"],
    ended: Bool[Array, "time envs"],
    ratio: Float[Array, "time envs"],
    discount: float,
    max_rho: float = 1.0,
    max_trace: float = 1.0,
    gae_lambda: float = 1.0,
    valid: Bool[Array, "time envs"] | None = None,
) -> tuple[Float[Array, "time envs"], Float[Array, "time envs"]]:
    """Value targets and policy-gradient advantages.

    `ratio` is the probability of each action under the learned policy over that under the behaviour. `next_value` is
    that of the true successor, 0 where the task ended the episode; nothing flows across an end. Rows that are not
    `valid` did not take place: they teach nothing, and for the row before them they count as their value.
    """
    valid_mask = jnp.ones_like(ended) if valid is None else valid
    rho, trace = jnp.minimum(ratio, max_rho) * valid_mask, gae_lambda * jnp.minimum(ratio, max_trace) * valid_mask
    error = rho * (reward + discount * next_value - value)

    def back(later: Float[Array, "envs"], at: tuple[Array, ...]) -> tuple[Float[Array, "envs"], Float[Array, "envs"]]:
        error, trace, ended = at
        correction = error + jnp.where(ended, 0, discount * trace * later)
        return correction, correction

    correction = jax.lax.scan(back, jnp.zeros_like(error[0]), (error, trace, ended), reverse=True)[1]
    targets = value + correction
    later = gae_lambda * targets[1:] + (1 - gae_lambda) * value[1:]
    next_target = jnp.where(ended[:-1], next_value[:-1], later)
    next_target = jnp.concatenate([next_target, next_value[-1:]])
    return targets, rho * (reward + discount * next_target - value)

"""Acting in environments for a while: what a learner learns from (Algorithm 1, lines 4 to 6).

With advice, an action comes with probability p from another policy, the sleep policy. What the learner is told as the
behaviour's log-probability is that of the *mixture* it really acted by, p advisor + (1 - p) own: corrections for
off-policy actions (PPO's ratio, V-trace's rho) are computed against that. With p = 0 the advisor is not evaluated.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from wakesleep.nets import actions
from wakesleep.nets.actions import Action, Logits
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.worlds.world import ActionSpec, AutoResetStep

Diagnostics = dict[str, Float[ArrayLike, "..."]]
"""What a learner says of an update, by name: loss terms, entropy and the like."""


@dataclass(frozen=True, eq=False)
class HostPolicy:
    """A policy computed outside JAX, by PyTorch or NumPy: it is called from Python and never compiled."""

    function: Actor

    def __call__(self, observation: Any) -> Logits:
        """Logits of a batch of observations (leading axis: environments)."""
        return jnp.asarray(self.function(observation))


class Advice(NamedTuple):
    """Another policy to act by, and how often."""

    policy: Actor
    probability: Float[Array, ""]
    decay: Float[Array, ""] | float = 0.0
    """How much the probability falls with every environment step."""

    def after(self, steps: Int[Array, ""] | int) -> "Advice":
        """The advice as it is after so many environment steps."""
        return self._replace(probability=jnp.maximum(self.probability - self.decay * steps, 0))


class Rollout(NamedTuple):
    """Transitions, axes: time, environment."""

    observation: Any
    action: Any
    log_prob: Float[Array, "time envs"]
    """Log-probability of the action under the policy it was really drawn from, advice included."""
    reward: Float[Array, "time envs"]
    terminated: Bool[Array, "time envs"]
    truncated: Bool[Array, "time envs"]
    next_observation: Any
    """The true next observation, also where an episode ended."""
    valid: Bool[Array, "time envs"]
    """False where an environment only reset itself: no transition took place."""

    @property
    def ended(self) -> Bool[Array, "time envs"]:
        """Where an episode ended, terminated or truncated."""
        return self.terminated | self.truncated


@runtime_checkable
class Recorder(Protocol):
    """Something that keeps rollouts, such as the wake buffer. A pytree: recording returns a new one."""

    def record(self, rollout: Rollout, policy: Actor) -> "Recorder":
        """Add a rollout of a policy."""
        ...


def make_transition(observation: Any, action: Any, log_prob: Any, step: AutoResetStep) -> Rollout:
    """One time step of a rollout, from what was observed and done and what the environments answered."""
    ends = step.terminated, step.truncated
    row = Rollout(observation, action, log_prob, step.reward, *ends, step.next_observation, step.valid)  # type: ignore[arg-type]
    return jax.tree.map(jnp.asarray, row)


def act(
    spec: ActionSpec, policy: Actor, observation: Any, key: Key[Array, ""], advice: Advice | None = None
) -> tuple[Action, Float[Array, "envs"]]:
    """Draw an action for each environment, and the log-probability with which it was drawn."""
    return choose(spec, policy(observation), observation, key, advice)


def choose(
    spec: ActionSpec, logits: Logits, observation: Any, key: Key[Array, ""], advice: Advice | None = None
) -> tuple[Action, Float[Array, "envs"]]:
    """`act`, given the policy's logits of the observations."""
    own_key, advice_key, choice_key = jax.random.split(key, 3)
    mask = mask_of(observation)
    own = actions.sample(spec, logits, own_key, mask)
    own_log_prob = actions.log_prob(spec, logits, own, mask)
    if advice is None:
        return own, own_log_prob
    probability = advice.probability

    def advised() -> tuple[Action, Float[Array, "envs"]]:
        advisor = advice.policy(observation)
        theirs = actions.sample(spec, advisor, advice_key, mask)
        follows = jax.random.bernoulli(choice_key, probability, own_log_prob.shape)
        action = jnp.where(follows.reshape(follows.shape + (1,) * len(spec.shape)), theirs, own)
        log_own = jnp.log1p(-probability) + actions.log_prob(spec, logits, action, mask)
        log_theirs = jnp.log(probability) + actions.log_prob(spec, advisor, action, mask)
        return action, jnp.logaddexp(log_own, log_theirs)

    return jax.lax.cond(probability > 0, advised, lambda: (own, own_log_prob))

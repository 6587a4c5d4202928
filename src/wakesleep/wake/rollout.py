"""Acting in a world for a while: what a learner learns from (Algorithm 1, lines 4 to 6).

With advice, an action comes with probability p from another policy, the sleep policy. What the learner is told as the
behaviour's log-probability is that of the *mixture* it really acted by, p advisor + (1 - p) own: corrections for
off-policy actions (PPO's ratio, V-trace's rho) are computed against that. With p = 0 the advisor is not evaluated.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.nets import actions
from wakesleep.nets.actions import Action
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.worlds import host
from wakesleep.worlds.batch import Batch, draw_initial_states, reset_batch, step_batch, use_new_pool
from wakesleep.worlds.host import AnyWorld, HostWorldFactory, Running, seed_of
from wakesleep.worlds.world import ActionSpec, AutoResetStep, HostWorld, World

STEPS_PER_START = 4
"""A rollout draws a start for so many of its steps; tasks with shorter episodes meet some starts twice in a rollout."""

Terms = dict[str, Float[Array, "..."]]
"""Numbers worth a look that learning brings along: the terms of a loss."""


class Advice(NamedTuple):
    """Another policy to act by, and how often."""

    policy: Actor
    probability: Float[Array, ""]
    decay: Float[Array, ""] | float = 0.0
    """How much the probability falls with every environment step."""

    def later(self, steps: Int[Array, ""] | int) -> "Advice":
        """The advice after so many steps."""
        return self._replace(probability=jnp.maximum(self.probability - self.decay * steps, 0))


@runtime_checkable
class Memory(Protocol):
    """Something that keeps what happens (`WakeBuffer`). A pytree."""

    def record(self, rollout: "Rollout", policy: Actor) -> "Memory":
        """Remember a rollout of a policy."""
        ...


class Rollout(NamedTuple):
    """What happened, axes: time, environment."""

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

    @property
    def ended(self) -> Bool[Array, "time envs"]:
        """Where an episode ended, one way or the other."""
        return self.terminated | self.truncated


def make_transition(observation: Any, action: Any, log_prob: Any, stepped: AutoResetStep) -> Rollout:
    """One time step of a rollout."""
    reward, ends, valid = stepped.reward, (stepped.terminated, stepped.truncated), stepped.valid
    row = Rollout(observation, action, log_prob, reward, *ends, stepped.next_observation, valid)  # type: ignore[arg-type]
    return jax.tree.map(jnp.asarray, row)


class Life(NamedTuple):
    """Environments under way: their states, what they show, and what is remembered of them.

    Those outside JAX are `Running`: they keep their states and observations themselves, and are to be closed.
    """

    batch: Batch | Running
    observation: Any
    memory: Memory | None = None


def start_life(world: AnyWorld, key: Key[Array, ""], num_envs: int, memory: Memory | None = None) -> Life:
    """Fresh episodes in so many environments."""
    if isinstance(world, HostWorldFactory | HostWorld):
        return Life(host.begin(world, num_envs, seed_of(key)), None, memory)
    return Life(*reset_batch(draw_initial_states(world, key, num_envs), num_envs), memory)


def act(
    spec: ActionSpec, policy: Actor, observation: Any, key: Key[Array, ""], advice: Advice | None = None
) -> tuple[Action, Float[Array, "envs"]]:
    """Draw actions for a batch of observations, and the log-probability with which they were drawn."""
    own_key, advice_key, choice_key = jax.random.split(key, 3)
    mask, logits = mask_of(observation), policy(observation)
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


def collect(
    world: World, policy: Actor, life: Life, key: Key[Array, ""], num_steps: int, advice: Advice | None = None
) -> tuple[Life, Rollout]:
    """Act for so many steps in every environment; episodes go on from rollout to rollout."""
    assert isinstance(life.batch, Batch)
    spec, num_envs = world.action_spec, jax.tree.leaves(life.observation)[0].shape[0]
    start_key, step_key = jax.random.split(key)
    starts = draw_initial_states(world, start_key, max(num_envs, num_envs * num_steps // STEPS_PER_START))

    def step(life: Life, at: tuple[Array, Key[Array, ""]]) -> tuple[Life, Rollout]:
        number, key = at
        act_key, world_key = jax.random.split(key)
        now = advice and advice.later(number * num_envs)
        action, log_prob = act(spec, policy, life.observation, act_key, now)
        assert isinstance(life.batch, Batch)
        batch, stepped = step_batch(world, starts, life.batch, action, world_key)
        return Life(batch, stepped.observation), make_transition(life.observation, action, log_prob, stepped)

    steps = jnp.arange(num_steps), jax.random.split(step_key, num_steps)
    going_on, rollout = jax.lax.scan(step, Life(use_new_pool(life.batch), life.observation), steps)
    memory = None if life.memory is None else life.memory.record(rollout, policy)
    return going_on._replace(memory=memory), rollout

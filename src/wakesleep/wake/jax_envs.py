"""Environments in JAX: rollouts and whole episodes as compiled loops over a world's pure functions.

A policy that is computed outside JAX (`HostPolicy`) cannot be compiled with them. For it the same environments are
stepped from Python, a batch at a time, so that any learner can live in any world.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from wakesleep.nets import actions
from wakesleep.nets.actions import Action, Logits
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.wake.envs import MAX_EPISODE_STEPS, Episodes, key_from_seed
from wakesleep.wake.rollout import Advice, HostPolicy, Rollout, act, choose, make_transition
from wakesleep.worlds.batch import Batch, InitialStates, draw_initial_states, reset_batch, step_batch, use_new_pool
from wakesleep.worlds.world import ActionSpec, AutoResetStep, ObservationSpec, World

STEPS_PER_START = 4
"""A rollout draws a start for so many of its steps; tasks with shorter episodes meet some starts twice in a rollout."""


class EnvsState(NamedTuple):
    """Environments under way: their states, and what they show (leading axis: environments)."""

    batch: Batch
    observation: Any


class JaxEnvs(eqx.Module):
    """Environments of a world in JAX (`Envs`). A pytree: worlds of one domain share compiled programs."""

    world: World
    num_envs: int = eqx.field(static=True, default=1)
    jittable: bool = eqx.field(static=True, default=True)

    @property
    def observation_spec(self) -> ObservationSpec:
        """That of the world."""
        return self.world.observation_spec

    @property
    def action_spec(self) -> ActionSpec:
        """That of the world."""
        return self.world.action_spec

    def reset(self, key: Key[Array, ""]) -> EnvsState:
        """Begin an episode in every environment."""
        return EnvsState(*reset_batch(self.initial_states(key, self.num_envs), self.num_envs))

    def collect(
        self, policy: Actor, state: EnvsState, key: Key[Array, ""], num_steps: int, advice: Advice | None = None
    ) -> tuple[EnvsState, Rollout]:
        """Act for so many steps in every environment, as one loop that can be compiled."""
        num_envs, start_key, step_key = self.num_envs, *jax.random.split(key)
        pool = draw_initial_states(self.world, start_key, max(num_envs, num_envs * num_steps // STEPS_PER_START))
        first = EnvsState(use_new_pool(state.batch), state.observation)
        steps = jnp.arange(num_steps), jax.random.split(step_key, num_steps)
        if isinstance(policy, HostPolicy):
            return self._collect_from_python(policy, first, pool, steps, advice)

        def step(state: EnvsState, at: tuple[Array, Key[Array, ""]]) -> tuple[EnvsState, Rollout]:
            number, key = at
            act_key, world_key = jax.random.split(key)
            now = advice and advice.after(number * num_envs)
            action, log_prob = act(self.action_spec, policy, state.observation, act_key, now)
            batch, answer = step_batch(self.world, pool, state.batch, action, world_key)
            transition = make_transition(state.observation, action, log_prob, answer)
            return EnvsState(batch, answer.observation), transition

        return jax.lax.scan(step, first, steps)

    def _collect_from_python(
        self, policy: HostPolicy, state: EnvsState, pool: InitialStates, steps: Any, advice: Advice | None
    ) -> tuple[EnvsState, Rollout]:
        rows = []
        for number, key in zip(*steps, strict=True):
            logits, observation = policy(state.observation), state.observation
            now = advice and advice.after(number * self.num_envs)
            action, log_prob, batch, answer = _step_by_logits(self.world, pool, state, logits, key, now)
            rows.append(make_transition(observation, action, log_prob, answer))
            state = EnvsState(batch, answer.observation)
        return state, jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)

    def initial_states(self, key: Key[Array, ""], episodes: int) -> InitialStates:
        """Starts drawn from the task's own distribution."""
        return draw_initial_states(self.world, key, episodes)

    def seeded_initial_states(self, seed: int, episodes: int) -> InitialStates:
        """Starts drawn by the seed's key."""
        return self.initial_states(key_from_seed(seed), episodes)

    def run_episodes(
        self,
        policy: Actor,
        starts: InitialStates,
        key: Key[Array, ""],
        greedy: bool = False,
        max_steps: int = MAX_EPISODE_STEPS,
    ) -> Episodes:
        """Play every start to its end, all at the same time."""
        begin = _Playing.begin(starts, key)
        if not isinstance(policy, HostPolicy):
            return _run_episodes(self.world, policy, begin, greedy, max_steps)
        while bool(begin.goes_on(max_steps)):
            begin = _play_step(self.world, policy(begin.observation), begin, greedy)
        return begin.episodes

    def save(self, state: EnvsState) -> EnvsState:
        """All of it: states in JAX are arrays."""
        return state

    def saved_form(self) -> EnvsState:
        """Shapes and types of the state."""
        return eqx.filter_eval_shape(self.reset, jax.random.key(0))

    def restore(self, saved: EnvsState) -> EnvsState:
        """The state that was saved."""
        return saved

    def close(self, state: EnvsState | None) -> None:
        """Nothing to give back."""


@eqx.filter_jit
def _step_by_logits(
    world: World, pool: InitialStates, state: EnvsState, logits: Logits, key: Key[Array, ""], advice: Advice | None
) -> tuple[Action, Array, Batch, AutoResetStep]:
    act_key, world_key = jax.random.split(key)
    action, log_prob = choose(world.action_spec, logits, state.observation, act_key, advice)
    return action, log_prob, *step_batch(world, pool, state.batch, action, world_key)


class _Playing(NamedTuple):
    """Whole episodes under way, one in each environment."""

    state: Any
    observation: Any
    episodes: Episodes
    over: Bool[Array, "episodes"]
    key: Key[Array, ""]

    @classmethod
    def begin(cls, starts: InitialStates, key: Key[Array, ""]) -> "_Playing":
        nothing = Episodes(jnp.zeros(starts.size), jnp.zeros(starts.size, jnp.int32))
        return cls(starts.state, starts.observation, nothing, jnp.zeros(starts.size, bool), key)

    def goes_on(self, max_steps: int) -> Bool[Array, ""]:
        return ~jnp.all(self.over) & (jnp.max(self.episodes.length) < max_steps)


def _advance(world: World, logits: Logits, playing: _Playing, greedy: bool) -> _Playing:
    """One step of every episode; those that are over go on, but do not count."""
    spec, mask, count = world.action_spec, mask_of(playing.observation), playing.over.shape[0]
    key, act_key, world_key = jax.random.split(playing.key, 3)
    action = actions.greedy(spec, logits, mask) if greedy else actions.sample(spec, logits, act_key, mask)
    state, timestep = jax.vmap(world.step)(playing.state, action, jax.random.split(world_key, count))
    total_reward = playing.episodes.total_reward + jnp.where(playing.over, 0, timestep.reward)
    length = playing.episodes.length + ~playing.over
    over = playing.over | timestep.terminated | timestep.truncated
    return _Playing(state, timestep.observation, Episodes(total_reward, length), over, key)


_play_step = eqx.filter_jit(_advance)


@eqx.filter_jit
def _run_episodes(world: World, policy: Actor, begin: _Playing, greedy: bool, max_steps: int) -> Episodes:
    def step(playing: _Playing) -> _Playing:
        return _advance(world, policy(playing.observation), playing, greedy)

    return jax.lax.while_loop(lambda playing: playing.goes_on(max_steps), step, begin).episodes

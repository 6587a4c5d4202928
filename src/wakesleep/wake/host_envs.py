"""Environments outside JAX: rollouts and whole episodes, stepped from Python, all of a batch at a time.

What chooses the actions is compiled, unless the policy itself is outside JAX (`HostPolicy`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from wakesleep.errors import UserError
from wakesleep.nets import actions
from wakesleep.nets.actions import Action, Logits
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.wake.envs import MAX_EPISODE_STEPS, Episodes
from wakesleep.wake.rollout import Advice, HostPolicy, Rollout, choose
from wakesleep.worlds.host import EpisodeSeeds, HostWorldFactory, RunningEnvs, close, env_seed
from wakesleep.worlds.world import ActionSpec, ObservationSpec


class HostEnvs:
    """Environments that a factory makes outside JAX (`Envs`). Their state is alive, and cannot be saved."""

    jittable = False

    def __init__(self, factory: HostWorldFactory) -> None:
        self.factory, self.num_envs = factory, factory.num_envs

    @property
    def observation_spec(self) -> ObservationSpec:
        """Read off the environments."""
        return self.factory.observation_spec

    @property
    def action_spec(self) -> ActionSpec:
        """Read off the environments."""
        return self.factory.action_spec

    def reset(self, key: Key[Array, ""]) -> RunningEnvs:
        """Make the environments and begin an episode in each."""
        world = self.factory.open(self.num_envs)
        try:
            if world.num_envs != self.num_envs:
                raise UserError(f"the agent acts in {self.num_envs} environments, the world has {world.num_envs}")
            running = RunningEnvs(world)
            running.reset(env_seed(key))
            return running
        except BaseException:
            close(world)
            raise

    def collect(
        self, policy: Actor, state: RunningEnvs, key: Key[Array, ""], num_steps: int, advice: Advice | None = None
    ) -> tuple[RunningEnvs, Rollout]:
        """Act for so many steps in every environment."""
        rows = []
        for number in range(num_steps):
            seen = state.observation
            chosen = _choose(self.action_spec, policy, seen, key, np.array(number), advice)
            action, log_prob = (np.asarray(part) for part in chosen)
            step = state.step(action)
            ends = step.terminated, step.truncated
            rows.append((seen, action, log_prob, step.reward, *ends, step.next_observation, step.valid))
        rollout = Rollout(*jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *rows))
        return state, _truncate_before_gaps(rollout)

    def initial_states(self, key: Key[Array, ""], episodes: int) -> EpisodeSeeds:
        """Seeds of episodes, one each."""
        return self.seeded_initial_states(env_seed(key), episodes)

    def seeded_initial_states(self, seed: int, episodes: int) -> EpisodeSeeds:
        """Seeds of episodes that follow on one another."""
        return EpisodeSeeds.of(seed, episodes)

    def run_episodes(
        self,
        policy: Actor,
        starts: EpisodeSeeds,
        key: Key[Array, ""],
        greedy: bool = False,
        max_steps: int = MAX_EPISODE_STEPS,
    ) -> Episodes:
        """Play every seed's episode to its end, in as many environments as there are. They are made and closed."""
        rounds = []
        with self._opened(starts.size) as running:
            for done in range(0, starts.size, running.world.num_envs):
                running.reset(starts.first + done)
                count = min(running.world.num_envs, starts.size - done)
                round_key = jax.random.fold_in(key, done)
                rounds.append(_play_round(running, policy, round_key, count, greedy, max_steps))
        return Episodes(*(np.concatenate(parts) for parts in zip(*rounds, strict=True)))

    @contextmanager
    def _opened(self, at_most: int) -> Iterator[RunningEnvs]:
        """Environments for an evaluation, no more than needed."""
        world = self.factory.open(self.num_envs if self.factory.fixed else min(self.num_envs, at_most))
        try:
            yield RunningEnvs(world)
        finally:
            close(world)

    def save(self, state: RunningEnvs) -> None:
        """Nothing: what runs outside JAX cannot be copied."""

    def saved_form(self) -> None:
        """Nothing is saved."""

    def restore(self, saved: None) -> None:
        """The episodes of then are gone: they begin anew."""

    def close(self, state: RunningEnvs | None) -> None:
        """Close the environments and their processes."""
        if state is not None:
            state.close()


def _choose(
    spec: ActionSpec, policy: Actor, seen: Any, key: Key[Array, ""], number: np.ndarray, advice: Advice | None
) -> tuple[Action, Float[Array, "envs"]]:
    """The actions of the step with this number; a policy in JAX is compiled along."""
    if isinstance(policy, HostPolicy):
        return _choose_by_logits(spec, policy(seen), seen, key, number, advice)
    return _choose_by_policy(spec, policy, seen, key, number, advice)


@eqx.filter_jit
def _choose_by_logits(
    spec: ActionSpec, logits: Logits, seen: Any, key: Key[Array, ""], number: Any, advice: Advice | None
) -> tuple[Action, Float[Array, "envs"]]:
    now = advice and advice.after(number * logits.shape[0])
    return choose(spec, logits, seen, jax.random.fold_in(key, number), now)


@eqx.filter_jit
def _choose_by_policy(
    spec: ActionSpec, policy: Actor, seen: Any, key: Key[Array, ""], number: Any, advice: Advice | None
) -> tuple[Action, Float[Array, "envs"]]:
    return _choose_by_logits(spec, policy(seen), seen, key, number, advice)


def _truncate_before_gaps(rollout: Rollout) -> Rollout:
    """A step before one that did not take place is the last of its episode: nothing may flow back across the gap."""
    valid, ended = np.asarray(rollout.valid), np.asarray(rollout.ended)
    before = np.concatenate([~valid[1:], np.zeros_like(valid[:1])])
    return rollout._replace(truncated=jnp.asarray(rollout.truncated | (before & ~ended)))


def _play_round(
    running: RunningEnvs, policy: Actor, key: Key[Array, ""], count: int, greedy: bool, max_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths of the episodes that have just begun in the first `count` environments."""
    spec, num_envs = running.world.action_spec, running.world.num_envs
    total_reward, length, over = np.zeros(num_envs), np.zeros(num_envs, int), np.arange(num_envs) >= count
    for number in range(max_steps):
        step = running.step(np.asarray(_decide(spec, policy, running.observation, key, np.array(number), greedy)))
        valid, ended = np.asarray(step.valid), np.asarray(step.terminated | step.truncated)
        total_reward += np.where(valid & ~over, step.reward, 0)
        length += valid & ~over
        lost = ended & ~valid & ~over  # the game crashed and began another episode: that one counts
        total_reward[lost], length[lost] = 0, 0
        over |= ended & valid
        if over.all():
            return total_reward[:count], length[:count]
    raise UserError(
        f"an episode had no end after {max_steps:,} steps: give the environment a step limit, for instance by"
        " max_episode_steps of gymnasium.make"
    )


def _decide(
    spec: ActionSpec, policy: Actor, seen: Any, key: Key[Array, ""], number: np.ndarray, greedy: bool
) -> Action:
    """The actions of an evaluation's step with this number; a policy in JAX is compiled along."""
    if isinstance(policy, HostPolicy):
        return _decide_by_logits(spec, policy(seen), seen, key, number, greedy)
    return _decide_by_policy(spec, policy, seen, key, number, greedy)


@eqx.filter_jit
def _decide_by_logits(
    spec: ActionSpec, logits: Logits, seen: Any, key: Key[Array, ""], number: Any, greedy: bool
) -> Action:
    if greedy:
        return actions.greedy(spec, logits, mask_of(seen))
    return actions.sample(spec, logits, jax.random.fold_in(key, number), mask_of(seen))


@eqx.filter_jit
def _decide_by_policy(
    spec: ActionSpec, policy: Actor, seen: Any, key: Key[Array, ""], number: Any, greedy: bool
) -> Action:
    return _decide_by_logits(spec, policy(seen), seen, key, number, greedy)

"""Acting in environments outside JAX: rollouts and whole episodes, as `rollout.py` and `evaluate.py` have them inside.

The environments are stepped from Python, all of a batch at a time; what chooses the actions is compiled.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from wakesleep.errors import UserError
from wakesleep.nets import actions
from wakesleep.nets.actions import Action
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.wake.rollout import Advice, Life, Memory, Rollout, act
from wakesleep.worlds.host import EpisodeSeeds, HostWorldFactory, Running, opened
from wakesleep.worlds.world import ActionSpec, HostWorld


def collect_outside(
    policy: Actor,
    life: Life,
    key: Key[Array, ""],
    num_steps: int,
    advice: Advice | None = None,
    jittable: bool = True,
) -> tuple[Life, Rollout]:
    """Act for so many steps in every environment; episodes go on from rollout to rollout.

    `compiles` says whether the policy can be compiled by JAX. What is remembered are the steps that took place.
    """
    running, rows = life.batch, []
    assert isinstance(running, Running)
    spec, choose = running.world.action_spec, _compiled_choose if jittable else _choose
    for number in range(num_steps):
        seen = running.observation
        action, log_prob = (np.asarray(part) for part in choose(spec, policy, seen, key, np.array(number), advice))
        stepped = running.step(action)
        ends = stepped.terminated, stepped.truncated
        rows.append((seen, action, log_prob, stepped.reward, *ends, stepped.next_observation, stepped.valid))
    rollout = _cut_at_gaps(Rollout(*jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *rows)))
    memory = None if life.memory is None else _remember(life.memory, rollout, policy, jittable)
    return life._replace(memory=memory), rollout


def _choose(
    spec: ActionSpec, policy: Actor, seen: Any, key: Key[Array, ""], number: Any, advice: Advice | None
) -> tuple[Action, Float[Array, "envs"]]:
    """The actions of the step with this number."""
    num_envs = jax.tree.leaves(seen)[0].shape[0]
    return act(spec, policy, seen, jax.random.fold_in(key, number), advice and advice.later(number * num_envs))


_compiled_choose = eqx.filter_jit(_choose)


def _cut_at_gaps(rollout: Rollout) -> Rollout:
    """A step before one that did not take place is the last of its episode: nothing may flow back across the gap."""
    valid, ended = np.asarray(rollout.valid), np.asarray(rollout.ended)
    before = np.concatenate([~valid[1:], np.zeros_like(valid[:1])])
    return rollout._replace(truncated=jnp.asarray(rollout.truncated | (before & ~ended)))


def _remember(memory: Memory, rollout: Rollout, policy: Actor, jittable: bool) -> Memory:
    """Put a rollout into a memory, but for rows that are no transitions."""
    record = _compiled_record if jittable else _record
    valid = np.asarray(rollout.valid)
    if valid.all():
        return record(memory, rollout, policy)
    rows, done = jax.tree.map(lambda leaf: np.asarray(leaf)[valid], rollout), 0
    for size in _powers(int(valid.sum())):  # a few sizes, so that few programs are compiled
        piece = jax.tree.map(lambda leaf, at=done, size=size: jnp.asarray(leaf[at : at + size][None]), rows)
        memory, done = record(memory, piece, policy), done + size
    return memory


def _record(memory: Memory, rollout: Rollout, policy: Actor) -> Memory:
    return memory.record(rollout, policy)


_compiled_record = eqx.filter_jit(_record)


def _powers(count: int) -> list[int]:
    """The powers of two that make up a number, greatest first."""
    return [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]


def play_outside(
    world: HostWorld | HostWorldFactory,
    policy: Actor,
    seeds: EpisodeSeeds,
    key: Key[Array, ""],
    greedy: bool = False,
    max_steps: int = 100_000,
) -> tuple[Float[np.ndarray, "episodes"], Int[np.ndarray, "episodes"]]:
    """Returns and lengths of whole episodes. The start of each is its own seed's, in however many environments."""
    rounds = []
    with opened(world, seeds.size) as envs:
        running = None
        for done in range(0, seeds.size, envs.num_envs):
            if running is None:
                running = Running(envs, seeds.first)
            else:
                running.begin(seeds.first + done)
            count = min(envs.num_envs, seeds.size - done)
            rounds.append(_play_round(running, policy, jax.random.fold_in(key, done), count, greedy, max_steps))
    total_reward, length = (np.concatenate(parts) for parts in zip(*rounds, strict=True))
    return total_reward, length


def _play_round(
    running: Running, policy: Actor, key: Key[Array, ""], count: int, greedy: bool, max_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """The episodes that have just begun in the first `count` environments, to their ends."""
    spec, num_envs = running.world.action_spec, running.world.num_envs
    total_reward, length, over = np.zeros(num_envs), np.zeros(num_envs, int), np.arange(num_envs) >= count
    for number in range(max_steps):
        stepped = running.step(np.asarray(_decide(spec, policy, running.observation, key, np.array(number), greedy)))
        valid, ended = np.asarray(stepped.valid), np.asarray(stepped.terminated | stepped.truncated)
        total_reward += np.where(valid & ~over, stepped.reward, 0)
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


@eqx.filter_jit
def _decide(spec: ActionSpec, policy: Actor, seen: Any, key: Key[Array, ""], number: Any, greedy: bool) -> Action:
    logits, mask = policy(seen), mask_of(seen)
    if greedy:
        return actions.greedy(spec, logits, mask)
    return actions.sample(spec, logits, jax.random.fold_in(key, number), mask)

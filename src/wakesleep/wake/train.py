"""The training loop: act for a rollout, learn from it, again and again.

Where environments and learner are both in JAX, a whole chunk of rollouts and updates is one compiled call, the same
for every task of a domain. Environments on the host, and learners outside JAX, go rollout by rollout.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor
from wakesleep.wake.envs import Envs
from wakesleep.wake.learner import Learner, policy_of
from wakesleep.wake.rollout import Advice, Diagnostics, HostPolicy, Recorder, Rollout


class TrainingLog(NamedTuple):
    """What happened in a call of `train`; the iterations' steps stand one after the other."""

    reward: Float[np.ndarray, "time envs"]
    ended: Bool[np.ndarray, "time envs"]
    valid: Bool[np.ndarray, "time envs"]
    """Where a transition took place: an environment on the host may have been resetting itself."""
    diagnostics: dict[str, np.ndarray]
    """What the learner said of each iteration, by name; leading axis: iterations."""


class TrainResult(NamedTuple):
    """What `train` leaves behind."""

    state: Any
    """The learner's."""
    envs_state: Any
    recorder: Any
    """What was given, with all rollouts recorded; None where none was given."""
    log: TrainingLog


def train(
    learner: Learner,
    state: Any,
    envs: Envs,
    envs_state: Any,
    key: Key[Array, ""],
    iterations: int,
    *,
    chunk: int | None = None,
    advice: Advice | None = None,
    recorder: Recorder | None = None,
) -> TrainResult:
    """Act and learn for so many iterations, a rollout and an update each.

    Args:
        learner: who learns, from `state` on.
        state: the learner's.
        envs: where it acts, from `envs_state` on; with as many environments as the learner has.
        envs_state: what `envs.reset` or an earlier call returned.
        key: of all that is random.
        iterations: at least 1, at most `chunk`.
        chunk: the compiled program has room for so many iterations and leaves out what is not asked for, so that
            calls of any length share it; by default `iterations`.
        advice: another policy to act by. It decays from the first step of the call; `advice.after` says what it is
            for the next.
        recorder: what is to keep the rollouts.
    """
    chunk = chunk or iterations
    if envs.num_envs != learner.num_envs:
        raise UserError(f"the learner acts in {learner.num_envs} environments, not {envs.num_envs}")
    if not 1 <= iterations <= chunk:
        raise UserError(f"a chunk of {chunk} holds 1 to {chunk} iterations, not {iterations}")
    if not (envs.jittable and learner.jittable):
        return _train_by_rollout(learner, state, envs, envs_state, key, iterations, advice, recorder)
    count = jnp.int32(iterations)
    kept, happened = _train_chunk(learner, state, envs, envs_state, recorder, key, count, chunk, advice)
    reward, ended, diagnostics = jax.tree.map(lambda leaf: np.asarray(leaf)[:iterations], happened)
    reward, ended = (part.reshape(-1, learner.num_envs) for part in (reward, ended))
    return TrainResult(*kept, TrainingLog(reward, ended, np.ones_like(ended), diagnostics))


def _train_by_rollout(
    learner: Learner, state: Any, envs: Envs, envs_state: Any, key: Key[Array, ""], iterations: int,
    advice: Advice | None, recorder: Recorder | None,
) -> TrainResult:  # fmt: skip
    """`train` where not all can be compiled together."""
    update, logs = _compiled_update if learner.jittable else _update, []
    for number, iteration_key in enumerate(jax.random.split(key, iterations)):
        act_key, learn_key = jax.random.split(iteration_key)
        now = advice and advice.after(number * learner.num_steps * learner.num_envs)
        policy = policy_of(learner, state)
        envs_state, rollout = envs.collect(policy, envs_state, act_key, learner.num_steps, now)
        if recorder is not None:
            recorder = _record_valid(recorder, rollout, policy)
        state, diagnostics = update(learner, state, rollout, learn_key)
        happened = rollout.reward, rollout.ended, rollout.valid, diagnostics
        logs.append(jax.tree.map(np.asarray, happened))
    reward, ended, valid, terms = zip(*logs, strict=True)
    rewards, ends, valids = (np.concatenate(part) for part in (reward, ended, valid))
    log = TrainingLog(rewards, ends, valids, jax.tree.map(lambda *leaves: np.stack(leaves), *terms))
    return TrainResult(state, envs_state, recorder, log)


def _update(learner: Learner, state: Any, rollout: Rollout, key: Key[Array, ""]) -> tuple[Any, Diagnostics]:
    return learner.update(state, rollout, key)


_compiled_update = eqx.filter_jit(_update)


def _record_valid(recorder: Recorder, rollout: Rollout, policy: Actor) -> Recorder:
    """Record a rollout, but for rows that are no transitions."""
    valid = np.asarray(rollout.valid)
    record = _record if isinstance(policy, HostPolicy) else _compiled_record
    if valid.all():
        return record(recorder, rollout, policy)
    rows, done = jax.tree.map(lambda leaf: np.asarray(leaf)[valid], rollout), 0
    for size in _powers(int(valid.sum())):  # a few sizes, so that few programs are compiled
        piece = jax.tree.map(lambda leaf, at=done, size=size: jnp.asarray(leaf[at : at + size][None]), rows)
        recorder, done = record(recorder, piece, policy), done + size
    return recorder


def _record(recorder: Recorder, rollout: Rollout, policy: Actor) -> Recorder:
    return recorder.record(rollout, policy)


_compiled_record = eqx.filter_jit(_record)


def _powers(count: int) -> list[int]:
    """The powers of two that make up a number, greatest first."""
    return [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]


_Carry = tuple[Any, Any, Recorder | None]
_Happened = tuple[Float[Array, "*iterations time envs"], Bool[Array, "*iterations time envs"], Diagnostics]


@eqx.filter_jit
def _train_chunk(
    learner: Learner,
    state: Any,
    envs: Envs,
    envs_state: Any,
    recorder: Recorder | None,
    key: Key[Array, ""],
    iterations: Int[Array, ""],
    chunk: int,
    advice: Advice | None,
) -> tuple[_Carry, _Happened]:
    """Room for `chunk` iterations, of which `iterations` take place; the others are zeros."""

    def iterate(carry: _Carry, at: tuple[Array, Array]) -> tuple[_Carry, _Happened]:
        number, key = at

        def go() -> tuple[_Carry, _Happened]:
            state, envs_state, recorder = carry
            act_key, learn_key = jax.random.split(key)
            now = advice and advice.after(number * learner.num_steps * learner.num_envs)
            policy = learner.policy(state)
            envs_state, rollout = envs.collect(policy, envs_state, act_key, learner.num_steps, now)
            if recorder is not None:
                recorder = recorder.record(rollout, policy)
            state, diagnostics = learner.update(state, rollout, learn_key)
            return (state, envs_state, recorder), (rollout.reward, rollout.ended, diagnostics)

        def rest() -> tuple[_Carry, _Happened]:
            _, nothing = jax.eval_shape(go)
            return carry, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), nothing)

        return jax.lax.cond(number < iterations, go, rest)

    keys = jax.random.split(key, chunk)
    kept, happened = jax.lax.scan(iterate, (state, envs_state, recorder), (jnp.arange(chunk), keys))
    return kept, happened

"""What a wake learner is, and the compiled loop that lets one learn in a world.

A learner says how many environments and steps a rollout has, and has `init`, `policy` and `learn`. Any object with
these can be put in. One that `compiles` (`PPO`, `VTrace`) is pure functions of its state in JAX, and equal and equally
hashed to another with the same settings; then `train` compiles rollouts and updates of a whole chunk into one call,
the same for every task of a domain. In environments outside JAX, and for learners that do not compile, `train` goes
rollout by rollout.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor
from wakesleep.wake.outside import collect_outside
from wakesleep.wake.rollout import Advice, Life, Rollout, Terms, collect
from wakesleep.worlds.host import AnyWorld, Running
from wakesleep.worlds.world import AnyArray, World


@runtime_checkable
class Learner(Protocol):
    """A reinforcement learner over explicit state."""

    jittable: bool
    """Whether `learn` can be compiled by JAX."""
    num_envs: int
    """Environments that act at the same time."""
    num_steps: int
    """Steps of every environment in a rollout."""

    def init(self, key: Key[Array, ""]) -> Any:
        """A newborn's state."""
        ...

    def policy(self, state: Any) -> Actor:
        """The policy to act by."""
        ...

    def learn(self, state: Any, rollout: Rollout, key: Key[Array, ""]) -> tuple[Any, Terms]:
        """Improve on a rollout; returns numbers worth a look as well."""
        ...


class Progress(NamedTuple):
    """What a chunk of training brought; axes: iteration, then time and environment."""

    reward: Float[AnyArray, "iterations time envs"]
    ended: Bool[AnyArray, "iterations time envs"]
    valid: Bool[AnyArray, "iterations time envs"]
    """Where a transition took place: an environment outside JAX may have been resetting itself."""
    done: Bool[AnyArray, "iterations"]
    """Which iterations took place: a chunk may be asked to stop early."""
    terms: Terms


def train(
    learner: Learner,
    state: Any,
    world: AnyWorld,
    life: Life,
    key: Key[Array, ""],
    iterations: int,
    chunk: int,
    advice: Advice | None = None,
) -> tuple[Any, Life, Progress]:
    """Act and learn for `iterations` rollouts, at most `chunk` of them, in JAX as one compiled call.

    The program has room for `chunk` rollouts and leaves out what is not asked for: blocks of any length share it.
    Advice decays from the first step of the call; `advice.later` says what it is for the next.
    """
    running = life.batch if isinstance(life.batch, Running) else None
    num_envs = running.world.num_envs if running else jax.tree.leaves(life.observation)[0].shape[0]
    if num_envs != learner.num_envs:
        raise UserError(f"the learner acts in {learner.num_envs} environments, not {num_envs}: see `start_life`")
    if not 1 <= iterations <= chunk:
        raise UserError(f"a chunk of {chunk} holds 1 to {chunk} iterations, not {iterations}")
    if running:
        return _train_outside(learner, state, life, key, iterations, advice)
    assert isinstance(world, World)
    state, life, progress = _train(learner, state, world, life, key, jnp.int32(iterations), chunk, advice)
    return state, life, progress._replace(valid=jnp.ones_like(progress.ended))


def _train_outside(
    learner: Learner, state: Any, life: Life, key: Key[Array, ""], iterations: int, advice: Advice | None
) -> tuple[Any, Life, Progress]:
    """The same where the environments are stepped from Python: `life` knows them."""
    learn, parts = _compiled_learn if learner.jittable else _learn, []
    for number, iteration_key in enumerate(jax.random.split(key, iterations)):
        act_key, learn_key = jax.random.split(iteration_key)
        now = advice and advice.later(number * learner.num_steps * learner.num_envs)
        life, rollout = collect_outside(learner.policy(state), life, act_key, learner.num_steps, now, learner.jittable)
        state, terms = learn(learner, state, rollout, learn_key)
        parts.append(Progress(rollout.reward, rollout.ended, rollout.valid, jnp.bool_(True), terms))
    return state, life, jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *parts)


def _learn(learner: Learner, state: Any, rollout: Rollout, key: Key[Array, ""]) -> tuple[Any, Terms]:
    return learner.learn(state, rollout, key)


_compiled_learn = eqx.filter_jit(_learn)


@eqx.filter_jit
def _train(
    learner: Learner,
    state: Any,
    world: World,
    life: Life,
    key: Key[Array, ""],
    iterations: Int[Array, ""],
    chunk: int,
    advice: Advice | None,
) -> tuple[Any, Life, Progress]:

    def iterate(carry: tuple[Any, Life], at: tuple[Array, Array]) -> tuple[tuple[Any, Life], Progress]:
        number, key = at

        def go() -> tuple[tuple[Any, Life], Progress]:
            state, life = carry
            act_key, learn_key = jax.random.split(key)
            now = advice and advice.later(number * learner.num_steps * learner.num_envs)
            life, rollout = collect(world, learner.policy(state), life, act_key, learner.num_steps, now)
            state, terms = learner.learn(state, rollout, learn_key)
            valid: Any = None  # all are: `train` says so
            return (state, life), Progress(rollout.reward, rollout.ended, valid, jnp.bool_(True), terms)

        def rest() -> tuple[tuple[Any, Life], Progress]:
            _, nothing = jax.eval_shape(go)
            return carry, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), nothing)

        return jax.lax.cond(number < iterations, go, rest)

    keys = jax.random.split(key, chunk)
    (state, life), progress = jax.lax.scan(iterate, (state, life), (jnp.arange(chunk), keys))
    return state, life, progress

"""What a wake learner is, and the compiled loop that lets one learn in a world.

A learner is five things: how many environments and steps a rollout has, `init`, `policy` and `learn`. Any object with
these can be put in; `PPO` and `VTrace` are pure functions of their state, so that `train` compiles rollouts and updates
of a whole chunk into one call, the same for every task of a domain.
"""

from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.nets.policy import Actor
from wakesleep.wake.rollout import Advice, Life, Rollout, Terms, collect
from wakesleep.worlds.world import World


@runtime_checkable
class Learner(Protocol):
    """A reinforcement learner over explicit state."""

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

    reward: Float[Array, "iterations time envs"]
    ended: Bool[Array, "iterations time envs"]
    done: Bool[Array, "iterations"]
    """Which iterations took place: a chunk may be asked to stop early."""
    terms: Terms


@partial(jax.jit, static_argnums=(0, 6))
def train(
    learner: Learner,
    state: Any,
    world: World,
    life: Life,
    key: Key[Array, ""],
    iterations: Int[Array, ""],
    chunk: int,
    advice: Advice | None = None,
) -> tuple[Any, Life, Progress]:
    """Act and learn for `iterations` rollouts, at most `chunk` of them, as one compiled call.

    `iterations` is data: blocks of any length share the program.
    """

    def iterate(carry: tuple[Any, Life], at: tuple[Array, Array]) -> tuple[tuple[Any, Life], Progress]:
        number, key = at

        def go() -> tuple[tuple[Any, Life], Progress]:
            state, life = carry
            act_key, learn_key = jax.random.split(key)
            life, rollout = collect(world, learner.policy(state), life, act_key, learner.num_steps, advice)
            state, terms = learner.learn(state, rollout, learn_key)
            return (state, life), Progress(rollout.reward, rollout.ended, jnp.bool_(True), terms)

        def rest() -> tuple[tuple[Any, Life], Progress]:
            _, nothing = jax.eval_shape(go)
            return carry, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), nothing)

        return jax.lax.cond(number < iterations, go, rest)

    keys = jax.random.split(key, chunk)
    (state, life), progress = jax.lax.scan(iterate, (state, life), (jnp.arange(chunk), keys))
    return state, life, progress

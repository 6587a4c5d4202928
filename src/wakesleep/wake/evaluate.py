"""How good a frozen policy is: the returns of whole episodes, one in each of many environments, compiled."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.nets import actions
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.worlds.batch import Starts, draw_starts
from wakesleep.worlds.world import World


class Episodes(NamedTuple):
    """What each episode brought."""

    total_reward: Float[Array, "episodes"]
    length: Int[Array, "episodes"]


class _Playing(NamedTuple):
    state: Any
    observation: Any
    episodes: Episodes
    over: Bool[Array, "episodes"]
    key: Key[Array, ""]


@eqx.filter_jit
def play_out(
    world: World, policy: Actor, starts: Starts, key: Key[Array, ""], greedy: bool = False, max_steps: int = 100_000
) -> Episodes:
    """Play every start to its end. Actions are sampled from the policy, or the likeliest ones (`greedy`)."""
    spec = world.action_spec
    nothing = Episodes(jnp.zeros(starts.size), jnp.zeros(starts.size, jnp.int32))
    playing = _Playing(starts.state, starts.observation, nothing, jnp.zeros(starts.size, bool), key)

    def step(playing: _Playing) -> _Playing:
        key, act_key, world_key = jax.random.split(playing.key, 3)
        logits, mask = policy(playing.observation), mask_of(playing.observation)
        action = actions.greedy(spec, logits, mask) if greedy else actions.sample(spec, logits, act_key, mask)
        state, timestep = jax.vmap(world.step)(playing.state, action, jax.random.split(world_key, starts.size))
        total_reward = playing.episodes.total_reward + jnp.where(playing.over, 0, timestep.reward)
        length = playing.episodes.length + ~playing.over
        over = playing.over | timestep.terminated | timestep.truncated
        return _Playing(state, timestep.observation, Episodes(total_reward, length), over, key)

    def going_on(playing: _Playing) -> Bool[Array, ""]:
        return ~jnp.all(playing.over) & (jnp.max(playing.episodes.length) < max_steps)

    return jax.lax.while_loop(going_on, step, playing).episodes


def evaluate(world: World, policy: Actor, key: Key[Array, ""], episodes: int = 100, greedy: bool = False) -> Episodes:
    """Play so many episodes from fresh starts of the world."""
    start_key, play_key = jax.random.split(key)
    return play_out(world, policy, draw_starts(world, start_key, episodes), play_key, greedy)

"""How good a frozen policy is: the returns of whole episodes, one in each of many environments, compiled in JAX."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.nets import actions
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.wake.outside import play_outside
from wakesleep.worlds.batch import InitialStates, draw_initial_states
from wakesleep.worlds.host import AnyWorld, EpisodeSeeds, HostWorldFactory, seed_of
from wakesleep.worlds.world import AnyArray, HostWorld, World


class Episodes(NamedTuple):
    """What each episode brought."""

    total_reward: Float[AnyArray, "episodes"]
    length: Int[AnyArray, "episodes"]


class _Playing(NamedTuple):
    state: Any
    observation: Any
    episodes: Episodes
    over: Bool[Array, "episodes"]
    key: Key[Array, ""]


def run_episodes(
    world: AnyWorld,
    policy: Actor,
    starts: InitialStates | EpisodeSeeds,
    key: Key[Array, ""],
    greedy: bool = False,
    max_steps: int = 100_000,
) -> Episodes:
    """Play every start to its end. Actions are sampled from the policy, or the likeliest ones (`greedy`)."""
    if isinstance(starts, InitialStates):
        assert isinstance(world, World)
        return _run_episodes(world, policy, starts, key, greedy, max_steps)
    assert isinstance(world, HostWorldFactory | HostWorld)
    return Episodes(*play_outside(world, policy, starts, key, greedy, max_steps))


@eqx.filter_jit
def _run_episodes(
    world: World, policy: Actor, starts: InitialStates, key: Key[Array, ""], greedy: bool, max_steps: int
) -> Episodes:
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


def evaluate(
    world: AnyWorld, policy: Actor, key: Key[Array, ""], episodes: int = 100, greedy: bool = False
) -> Episodes:
    """Play so many episodes from fresh starts of the world. A host world's own environments are reset for it."""
    start_key, play_key = jax.random.split(key)
    if isinstance(world, HostWorldFactory | HostWorld):
        return run_episodes(world, policy, EpisodeSeeds.of(seed_of(start_key), episodes), play_key, greedy)
    return run_episodes(world, policy, draw_initial_states(world, start_key, episodes), play_key, greedy)

"""Many copies of a world at once, with auto-reset.

Drawing an initial state (sampling a layout) costs far more than a step, and a batched step would pay for it every time.
So initial states are drawn ahead, a pool for each chunk of work, and handed out in order as episodes end:

    initial_states = draw_initial_states(world, key, 1024)
    batch, observations = reset_batch(initial_states, 64)
    batch, step = step_batch(world, initial_states, batch, actions, key)

No state is used twice until the pool is exhausted. Then it is handed out again from the beginning, so draw as many as
the chunk may need. `vmap` over these functions runs groups of environments in different tasks (see `stack`).
"""

from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, Shaped

from wakesleep.errors import UserError
from wakesleep.worlds.world import AutoResetStep, World

W = TypeVar("W", bound=World)


class InitialStates(NamedTuple):
    """A pool of initial states with their observations. Every array has a leading axis: the pool."""

    state: Any
    observation: Any

    @property
    def size(self) -> int:
        """How many states the pool holds."""
        return jax.tree.leaves(self.state)[0].shape[0]


class Batch(NamedTuple):
    """A batch of environments."""

    state: Any
    """Their states; every array has a leading axis, the environments."""
    used: Int[Array, ""]
    """How many initial states of the pool they have used."""


@eqx.filter_jit
def draw_initial_states(world: World, key: Key[Array, ""], count: int) -> InitialStates:
    """Return a pool of `count` initial states that `world.reset` draws. Compiled as a whole, which is far faster."""
    state, timestep = jax.vmap(world.reset)(jax.random.split(key, count))
    return InitialStates(state, timestep.observation)


def reset_batch(initial_states: InitialStates, num_envs: int) -> tuple[Batch, Any]:
    """Begin an episode in each of `num_envs` environments.

    Args:
        initial_states: the pool; its first `num_envs` states are used.
        num_envs: at most the pool's size.

    Returns:
        The batch, and the first observations with a leading axis of num_envs.
    """
    if num_envs > initial_states.size:
        raise UserError(f"{num_envs} environments need at least as many initial states, not {initial_states.size}")
    first = jax.tree.map(lambda pool: pool[:num_envs], initial_states)
    return Batch(first.state, jnp.int32(num_envs)), first.observation


def use_new_pool(batch: Batch) -> Batch:
    """Return the batch for a new pool: episodes under way continue, the next one begins with the pool's first state."""
    return batch._replace(used=jnp.int32(0))


def step_batch(
    world: World,
    initial_states: InitialStates,
    batch: Batch,
    actions: Shaped[Array, "envs *parts"],
    key: Key[Array, ""],
) -> tuple[Batch, AutoResetStep]:
    """Step every environment. Where an episode ends, the next one begins with the next state of the pool.

    Args:
        world: of all environments.
        initial_states: the pool.
        batch: what `reset_batch` or the last step returned.
        actions: one for each environment.
        key: for what is random in the world.

    Returns:
        The next batch, and what the actions led to.
    """
    world.action_spec.check(actions)
    num_envs = actions.shape[0]
    state, timestep = jax.vmap(world.step)(batch.state, actions, jax.random.split(key, num_envs))
    ended = timestep.terminated | timestep.truncated
    next_in_pool = (batch.used + jnp.cumsum(ended, dtype=jnp.int32) - 1) % initial_states.size

    def restart(pool: Array, running: Array) -> Array:
        where = ended.reshape((num_envs,) + (1,) * (running.ndim - 1))
        return jnp.where(where, pool[next_in_pool], running)

    next_state = jax.tree.map(restart, initial_states.state, state)
    observation = jax.tree.map(restart, initial_states.observation, timestep.observation)
    used = (batch.used + jnp.sum(ended, dtype=jnp.int32)) % initial_states.size
    step = AutoResetStep(
        observation,
        timestep.reward,
        timestep.terminated,
        timestep.truncated,
        next_observation=timestep.observation,
        valid=jnp.ones(num_envs, bool),
    )
    return Batch(next_state, used), step


def random_rollout(world: World, key: Key[Array, ""], num_envs: int, num_steps: int, pool: int = 256) -> AutoResetStep:
    """Take uniformly random actions in a batch of environments.

    Args:
        world: of all environments.
        key: of initial states, actions and the world.
        num_envs: how many environments.
        num_steps: how many steps of each.
        pool: how many initial states are drawn, at least `num_envs`.

    Returns:
        All steps; every array has two leading axes, [num_steps, num_envs].
    """
    start_key, action_key, step_key = jax.random.split(key, 3)
    initial_states = draw_initial_states(world, start_key, max(pool, num_envs))
    spec = world.action_spec
    limits = jnp.reshape(jnp.asarray(spec.sizes, jnp.uint32), spec.shape)
    actions = (jax.random.bits(action_key, (num_steps, num_envs, *spec.shape)) % limits).astype(jnp.int32)

    def step(batch: Batch, action_and_key: tuple[Array, Array]) -> tuple[Batch, AutoResetStep]:
        return step_batch(world, initial_states, batch, *action_and_key)

    batch, _ = reset_batch(initial_states, num_envs)
    return jax.lax.scan(step, batch, (actions, jax.random.split(step_key, num_steps)))[1]


def stack(*worlds: W) -> W:
    """Stack worlds of one domain into one whose arrays have a leading axis, to `vmap` over."""
    if len({jax.tree.structure(world) for world in worlds}) != 1:
        raise UserError("only worlds of one domain can be stacked: they must share shapes and program")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *worlds)

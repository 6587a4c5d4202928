"""Many copies of a world at once, each beginning a new episode when one ends.

Drawing a start (sampling a layout) costs far more than a step, and a batched step would pay for it every time. So
starts are drawn ahead, a pool per chunk of work, and handed out in order as episodes end:

    starts = draw_initial_states(world, key, 1024)
    batch, observations = reset_batch(starts, 64)
    batch, stepped = step_batch(world, starts, batch, actions, key)

Every start comes from the task's own distribution. None is used twice until the pool is exhausted; then it is
handed out again from the beginning, so draw as many as the chunk may need. `vmap` over these functions runs groups
of environments in different tasks (see `stack`).
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
    """A pool of first states with their observations, leading axis: the pool."""

    state: Any
    observation: Any

    @property
    def size(self) -> int:
        """How many starts the pool holds."""
        return jax.tree.leaves(self.state)[0].shape[0]


class Batch(NamedTuple):
    """The states of a batch of environments, and how many starts of the pool they have used."""

    state: Any
    used: Int[Array, ""]


@eqx.filter_jit
def draw_initial_states(world: World, key: Key[Array, ""], count: int) -> InitialStates:
    """Draw a pool of starts from the world's own distribution. Compiled as a whole: piece by piece takes far longer."""
    state, timestep = jax.vmap(world.reset)(jax.random.split(key, count))
    return InitialStates(state, timestep.observation)


def reset_batch(starts: InitialStates, num_envs: int) -> tuple[Batch, Any]:
    """Begin an episode in each of `num_envs` environments. Returns the batch and the first observations."""
    if num_envs > starts.size:
        raise UserError(f"{num_envs} environments need a pool of at least as many starts, not {starts.size}")
    first = jax.tree.map(lambda pool: pool[:num_envs], starts)
    return Batch(first.state, jnp.int32(num_envs)), first.observation


def use_new_pool(batch: Batch) -> Batch:
    """Go on with a fresh pool: episodes under way continue, the next to begin takes the pool's first start."""
    return batch._replace(used=jnp.int32(0))


def step_batch(
    world: World, starts: InitialStates, batch: Batch, actions: Shaped[Array, "envs *parts"], key: Key[Array, ""]
) -> tuple[Batch, AutoResetStep]:
    """Step every environment; where an episode ends, go on from the next start of the pool."""
    world.action_spec.check(actions)
    num_envs = actions.shape[0]
    state, timestep = jax.vmap(world.step)(batch.state, actions, jax.random.split(key, num_envs))
    ended = timestep.terminated | timestep.truncated
    place = (batch.used + jnp.cumsum(ended, dtype=jnp.int32) - 1) % starts.size

    def restart(pool: Array, running: Array) -> Array:
        where = ended.reshape((num_envs,) + (1,) * (running.ndim - 1))
        return jnp.where(where, pool[place], running)

    next_state = jax.tree.map(restart, starts.state, state)
    observation = jax.tree.map(restart, starts.observation, timestep.observation)
    used = (batch.used + jnp.sum(ended, dtype=jnp.int32)) % starts.size
    stepped = AutoResetStep(
        observation,
        timestep.reward,
        timestep.terminated,
        timestep.truncated,
        next_observation=timestep.observation,
        valid=jnp.ones(num_envs, bool),
    )
    return Batch(next_state, used), stepped


def random_rollout(world: World, key: Key[Array, ""], num_envs: int, num_steps: int, pool: int = 256) -> AutoResetStep:
    """Random actions in a batch of environments, time first: what chance achieves, and how fast a world is."""
    start_key, action_key, step_key = jax.random.split(key, 3)
    starts = draw_initial_states(world, start_key, max(pool, num_envs))
    spec = world.action_spec
    limits = jnp.reshape(jnp.asarray(spec.sizes, jnp.uint32), spec.shape)
    actions = (jax.random.bits(action_key, (num_steps, num_envs, *spec.shape)) % limits).astype(jnp.int32)

    def step(batch: Batch, at: tuple[Array, Array]) -> tuple[Batch, AutoResetStep]:
        return step_batch(world, starts, batch, *at)

    return jax.lax.scan(step, reset_batch(starts, num_envs)[0], (actions, jax.random.split(step_key, num_steps)))[1]


def stack(*worlds: W) -> W:
    """Several worlds of one domain as one value with a leading axis, to `vmap` over: groups in different tasks."""
    if len({jax.tree.structure(world) for world in worlds}) != 1:
        raise UserError("only worlds of one domain can be stacked: they must share shapes and program")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *worlds)

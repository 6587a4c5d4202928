"""From a task's name to its environments: the one place that decides between JAX and the host."""

from collections.abc import Callable
from functools import partial
from typing import cast

from wakesleep.errors import UserError
from wakesleep.wake.envs import Envs
from wakesleep.wake.host_envs import HostEnvs
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.worlds import registry
from wakesleep.worlds.host import HostWorldFactory, close
from wakesleep.worlds.world import HostWorld, World


def make_envs(task: str, num_envs: int | None = None) -> Envs:
    """The environments of a task for an agent that acts in `num_envs` of them (None: only to be evaluated in)."""
    world = registry.make(task)
    if not isinstance(world, HostWorld):
        return JaxEnvs(world, num_envs or 1)
    factory = HostWorldFactory.of(world, cast(Callable[[], HostWorld], partial(registry.make, task)))
    try:
        return HostEnvs(factory if num_envs is None else factory.with_envs(num_envs))
    except UserError as error:
        raise UserError(f"{task}: {error}") from error


def jax_world(task: str, purpose: str) -> World:
    """The task's world, for a purpose (in words, for the error) that only worlds in JAX serve."""
    world = registry.make(task)
    if isinstance(world, HostWorld):
        close(world)
        raise UserError(f"{task} runs outside JAX: {purpose} needs a world in JAX")
    return world

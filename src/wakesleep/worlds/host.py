"""Environments outside JAX (Gymnasium, StarCraft II) where a world in JAX could stand.

A *host world* is alive: its environments are in the midst of episodes, cannot be copied or saved, and are closed in the
end. A life needs several of them, one after the other: to learn in, to be evaluated in, and again after a pause. So a
task outside JAX is given as a *factory*: what its environments look like, and how to make some.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import EnvironmentFailed, UserError, brief
from wakesleep.worlds.world import ActionSpec, AutoResetStep, HostWorld, ObservationSpec

SEEDS = 2**30
"""Environments are seeded with numbers below this, and what follows on one: all fit into 32 bits with a sign."""


@dataclass(frozen=True, eq=False)
class HostWorldFactory:
    """Makes the environments of a task that live outside JAX, as many as are asked for."""

    make: Callable[[int], HostWorld]
    """Makes so many of them, or its own number if that is `fixed`."""
    observation_spec: ObservationSpec
    action_spec: ActionSpec
    num_envs: int
    """How many an evaluation plays in, at most."""
    fixed: bool
    """Whether there are always `num_envs`: somebody's vector environment."""

    @classmethod
    def of(cls, world: HostWorld, make: Callable[[], HostWorld]) -> "HostWorldFactory":
        """From a function that makes a host world, and one that it made, which is closed."""
        close(world)
        sized = getattr(world, "with_envs", None)
        specs = world.observation_spec, world.action_spec
        return cls(sized or (lambda _: make()), *specs, world.num_envs, fixed=sized is None)

    def with_envs(self, num_envs: int) -> "HostWorldFactory":
        """The same for an agent that acts in so many environments."""
        if self.fixed and num_envs != self.num_envs:
            raise UserError(
                f"the agent acts in {num_envs} environments, but there are always {self.num_envs} in this vector"
                " environment: let the agent have as many (num_envs of its learner), or register a GymnasiumWorld of"
                " a single environment, which can be made in any number"
            )
        return replace(self, num_envs=num_envs)

    def open(self, num_envs: int) -> HostWorld:
        """So many environments, to be closed by who asked for them."""
        with _in_one_sentence("the environments cannot be made"):
            return self.make(num_envs)


class EpisodeSeeds(NamedTuple):
    """The starts of episodes outside JAX: the k-th, from 0, begins by `reset(seed=first + k)`."""

    first: int
    size: int

    @classmethod
    def of(cls, seed: int, size: int) -> "EpisodeSeeds":
        """From a seed of any size."""
        return cls(seed % SEEDS, size)


def env_seed(key: Key[Array, ""]) -> int:
    """A seed for environments."""
    return int(jax.random.randint(key, (), 0, SEEDS))


class RunningEnvs:
    """Environments under way. Everything that goes wrong in them comes out as one sentence."""

    observation: Any
    """What the environments show (leading axis: environments), from the first `reset` on."""

    def __init__(self, world: HostWorld) -> None:
        self.world, self.steps = world, 0

    def reset(self, seed: int) -> None:
        """Begin an episode in every environment."""
        with _in_one_sentence("an environment failed at the start of an episode"):
            self.observation = self.world.reset(seed)
        self._check(self.observation, "observation")

    def step(self, actions: np.ndarray) -> AutoResetStep:
        """Take one action in every environment."""
        self.steps += 1
        with _in_one_sentence(f"an environment failed at step {self.steps}"):
            stepped = self.world.step(actions)
        self._check(stepped.reward, "reward")
        for seen in (stepped.next_observation, stepped.observation):
            self._check(seen, "observation")
        self.observation = stepped.observation
        return stepped

    def close(self) -> None:
        """Give back processes and memory."""
        close(self.world)

    def _check(self, values: Any, what: str) -> None:
        """Stop at the first number that is none, before it spoils the networks."""
        for leaf in jax.tree.leaves(values):
            if np.issubdtype(leaf.dtype, np.floating) and not np.isfinite(leaf).all():
                bad = np.argwhere(~np.isfinite(leaf.reshape(self.world.num_envs, -1)).all(axis=1))[0, 0]
                raise EnvironmentFailed(
                    f"environment {bad} gave a {what} that is not a finite number at step {self.steps}; nothing was"
                    " learned from it"
                )


def close(world: HostWorld) -> None:
    """Close environments, whatever state they are in."""
    with suppress(Exception):
        world.close()


@contextmanager
def _in_one_sentence(what: str) -> Iterator[None]:
    """Whatever someone else's code raises."""
    try:
        yield
    except UserError as error:
        raise EnvironmentFailed(str(error)) from error
    except Exception as error:
        raise EnvironmentFailed(f"{what} ({brief(error)})") from error

"""The environments of one task, run for an agent: one interface, compiled in JAX or stepped on the host.

`JaxEnvs` runs worlds that are pure functions, `HostEnvs` those that live outside JAX (Gymnasium, the real StarCraft
II). `make_envs` decides between the two, once; whoever acts, learns or evaluates uses the interface. The state of
running environments is a value that is passed in and returned; only on the host it is alive and must be closed.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from wakesleep.nets.policy import Actor
from wakesleep.wake.rollout import Advice, Rollout
from wakesleep.worlds.world import ActionSpec, AnyArray, ObservationSpec

MAX_EPISODE_STEPS = 100_000
"""An evaluation gives up on an episode after so many steps."""


class Episodes(NamedTuple):
    """Return and length of whole episodes."""

    total_reward: Float[AnyArray, "episodes"]
    length: Int[AnyArray, "episodes"]


@runtime_checkable
class Envs(Protocol):
    """Environments of one task. It carries no name of the task: an agent cannot be told what it is in."""

    num_envs: int
    """Environments that act at the same time."""
    jittable: bool
    """Whether `collect` can be compiled by JAX together with a learner."""

    @property
    def observation_spec(self) -> ObservationSpec:
        """Shape, type and range of an observation."""
        ...

    @property
    def action_spec(self) -> ActionSpec:
        """Parts and choices of an action."""
        ...

    def reset(self, key: Key[Array, ""]) -> Any:
        """Begin an episode in every environment. Returns their state."""
        ...

    def collect(
        self, policy: Actor, state: Any, key: Key[Array, ""], num_steps: int, advice: Advice | None = None
    ) -> tuple[Any, Rollout]:
        """Act for `num_steps` in every environment; episodes go on from call to call. Returns state and rollout."""
        ...

    def initial_states(self, key: Key[Array, ""], episodes: int) -> Any:
        """Fresh starts for so many episodes."""
        ...

    def seeded_initial_states(self, seed: int, episodes: int) -> Any:
        """The same starts whenever the seed is the same."""
        ...

    def run_episodes(
        self, policy: Actor, starts: Any, key: Key[Array, ""], greedy: bool = False, max_steps: int = MAX_EPISODE_STEPS
    ) -> Episodes:
        """Play every start to its end. Actions are sampled from the policy, or the likeliest ones (`greedy`)."""
        ...

    def save(self, state: Any) -> Any:
        """What of the state can be kept on disk, a pytree of arrays; None where nothing can."""
        ...

    def saved_form(self) -> Any:
        """Shapes and types of what `save` returns."""
        ...

    def restore(self, saved: Any) -> Any:
        """The state that was saved; None where it has to begin anew."""
        ...

    def close(self, state: Any) -> None:
        """Give back what running environments hold: processes and memory."""
        ...


def evaluate(envs: Envs, policy: Actor, key: Key[Array, ""], episodes: int = 100, greedy: bool = False) -> Episodes:
    """Play so many episodes from fresh starts."""
    start_key, play_key = jax.random.split(key)
    return envs.run_episodes(policy, envs.initial_states(start_key, episodes), play_key, greedy)


def key_from_seed(seed: int) -> jax.Array:
    """A JAX key of a seed of up to 64 bits."""
    low, high = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32 & 0xFFFFFFFF)
    return jax.random.fold_in(jax.random.key(low), high)

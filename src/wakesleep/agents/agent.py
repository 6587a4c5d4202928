"""What an agent is. Its whole memory is one value; a life is a fold over it.

Nothing here gets a task's name, number, or the news that it changed. What an agent is told is what the paper's is told:
now you wake (`wake`), here are environments to learn in for a while (`train`), now it is time to sleep (`sleep`).
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Key

from wakesleep.nets.policy import Actor
from wakesleep.wake.envs import Envs
from wakesleep.wake.train import TrainingLog


class Budget(NamedTuple):
    """What an agent takes, beside its environment steps."""

    parameters: int
    """Numbers that it learns, in all its networks."""
    replay_bytes: int
    """Memory of all its buffers."""


class SleepLog(NamedTuple):
    """Diagnostics of a sleep: trees of arrays by name, kept in the lifetime's folder."""

    arrays: dict[str, Any]


@runtime_checkable
class Agent(Protocol):
    """An agent over explicit state."""

    num_envs: int
    """Environments that it acts in at the same time."""
    num_steps: int
    """Steps of every environment in one iteration of `train`."""
    sleeps_per_block: int
    """How often it sleeps in a learning block, at even intervals; 0: never."""

    def init(self, key: Key[Array, ""]) -> Any:
        """The state of an agent that has learned nothing: a pytree of arrays."""
        ...

    def wake(self, state: Any, envs: Envs, key: Key[Array, ""], steps: int) -> Any:
        """Begin a stretch of `steps` environment steps of learning: a block, or what follows a sleep inside it."""
        ...

    def train(
        self, state: Any, envs: Envs, envs_state: Any, key: Key[Array, ""], iterations: int, chunk: int
    ) -> tuple[Any, Any, TrainingLog]:
        """Act and learn for so many iterations, at most `chunk`. Returns the states of agent and environments."""
        ...

    def sleep(self, state: Any, key: Key[Array, ""]) -> tuple[Any, SleepLog]:
        """Consolidate what was learned since waking."""
        ...

    def policy(self, state: Any) -> Actor:
        """The policy that acts in evaluation blocks."""
        ...

    def budget(self, state: Any) -> Budget:
        """What the agent takes."""
        ...

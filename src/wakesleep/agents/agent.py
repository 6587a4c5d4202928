"""What an agent is. Its whole memory is one value; a life is a fold over it.

Nothing here gets a task's name, number, or the news that it changed. What an agent is told is what the paper's is told:
here is a world to live in for a while (`live`), now it is time to sleep (`sleep`), good morning (`wake`).
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Key

from wakesleep.nets.policy import Actor
from wakesleep.wake.learner import Progress
from wakesleep.wake.rollout import Life
from wakesleep.worlds.host import AnyWorld


class Budget(NamedTuple):
    """What an agent takes, beside its steps."""

    parameters: int
    """Numbers that it learns, in all its networks."""
    replay_bytes: int
    """Memory of all its buffers."""


class SleepLog(NamedTuple):
    """What can be said of a sleep, for the record: arrays by name."""

    numbers: dict[str, Any]


@runtime_checkable
class Agent(Protocol):
    """An agent over explicit state."""

    num_envs: int
    """Environments that it acts in at the same time."""
    num_steps: int
    """Steps of every environment in one iteration of `live`."""
    sleeps_per_block: int
    """How often it sleeps in a learning block, at even intervals; 0: never."""

    def init(self, key: Key[Array, ""]) -> Any:
        """A newborn's state."""
        ...

    def wake(self, state: Any, world: AnyWorld, key: Key[Array, ""], steps: int) -> Any:
        """Begin to live, after birth, after a sleep, or in another block; it will be for so many environment steps."""
        ...

    def live(
        self, state: Any, world: AnyWorld, life: Life, key: Key[Array, ""], iterations: int, chunk: int
    ) -> tuple[Any, Life, Progress]:
        """Act and learn for so many iterations, at most `chunk`."""
        ...

    def sleep(self, state: Any, key: Key[Array, ""]) -> tuple[Any, SleepLog]:
        """Consolidate."""
        ...

    def policy(self, state: Any) -> Actor:
        """What acts in an evaluation."""
        ...

    def budget(self, state: Any) -> Budget:
        """What it takes."""
        ...

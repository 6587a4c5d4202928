"""wakesleep: lifelong reinforcement learning that sleeps on it.

    import wakesleep
    world = wakesleep.make("DoorKey_S5")
    state, timestep = world.reset(jax.random.key(0))

`wakesleep.tasks()` names every task. Importing the package registers the tasks with Gymnasium as
`wakesleep/<task>` (the real `minigrid` package) and `wakesleep-jax/<task>` (our engine).
"""

from wakesleep import runtime
from wakesleep.errors import UserError
from wakesleep.worlds.gymnasium import GymnasiumWorld, WorldEnv
from wakesleep.worlds.registry import TaskInfo, make, register, task_info, tasks
from wakesleep.worlds.world import (
    ActionSpec,
    AutoResetStep,
    HostWorld,
    MaskedObservation,
    ObservationSpec,
    TimeStep,
    World,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "ActionSpec",
    "AutoResetStep",
    "GymnasiumWorld",
    "HostWorld",
    "MaskedObservation",
    "ObservationSpec",
    "TaskInfo",
    "TimeStep",
    "UserError",
    "World",
    "WorldEnv",
    "make",
    "register",
    "runtime",
    "task_info",
    "tasks",
]  # fmt: skip

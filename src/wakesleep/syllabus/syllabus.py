"""A syllabus: learning blocks (LB), each between two evaluation blocks (EB) over all its tasks.

Everything random about it is decided when it is made: the seed of every learning block, and the one seed from which
the layouts of all evaluations come, the same in every EB of a lifetime (TELLA's rule, see `seeds.py`).
"""

import functools
from dataclasses import dataclass

from wakesleep.errors import UserError
from wakesleep.wake.make_envs import make_envs
from wakesleep.worlds import registry
from wakesleep.worlds.registry import TaskInfo
from wakesleep.worlds.world import ActionSpec, ObservationSpec

EPISODES = 100
SINGLE_TASK = "single-task"
"""The scenario of an expert: one learning block, and no evaluation blocks."""


@dataclass(frozen=True)
class LearningBlock:
    """Learning in one task for so many steps."""

    task: str
    steps: int
    """Environment steps; what does not make a whole rollout at the end is left out."""
    seed: int
    """Of the layouts met."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"a learning block has at least one step, not {self.steps} ({self.task})")


@dataclass(frozen=True)
class Syllabus:
    """The blocks of a lifetime."""

    scenario: str
    """The rule it was made by."""
    tasks: tuple[str, ...]
    """What every EB evaluates, in this order."""
    learning: tuple[LearningBlock, ...]
    evaluation_seed: int
    episodes: int = EPISODES
    """Of each task in an EB; 0, only of an expert: there are no EBs."""

    def __post_init__(self) -> None:
        if not self.learning:
            raise UserError("a syllabus needs at least one learning block")
        if self.episodes < (0 if self.scenario == SINGLE_TASK else 1):
            raise UserError(f"an evaluation block has at least one episode of each task, not {self.episodes}")
        infos = [registry.task_info(task) for task in (*self.tasks, *(block.task for block in self.learning))]
        if len(set(self.tasks)) != len(self.tasks):
            raise UserError(f"a task is evaluated once in an evaluation block: {', '.join(self.tasks)}")
        if strangers := {block.task for block in self.learning} - set(self.tasks):
            raise UserError(f"what is learned is evaluated too: {', '.join(sorted(strangers))} is not among the tasks")
        _check_same_kind(infos)

    @property
    def steps(self) -> int:
        """Environment steps of all learning."""
        return sum(block.steps for block in self.learning)


def _check_same_kind(infos: list[TaskInfo]) -> None:
    """One agent lives through all tasks: they must look alike."""
    first = infos[0]
    for info in {info.name: info for info in infos}.values():
        if _kind(info) != _kind(first):
            raise UserError(
                f"{first.name} and {info.name} cannot be in one life: their {_difference(*_kind(first), *_kind(info))}"
            )


def _difference(seen: ObservationSpec, done: ActionSpec, other_seen: ObservationSpec, other_done: ActionSpec) -> str:
    """What keeps two kinds of tasks apart."""
    if (seen.shape, seen.dtype) != (other_seen.shape, other_seen.dtype):
        forms = f"{seen.shape} {seen.dtype} and {other_seen.shape} {other_seen.dtype}"
        return f"observations or actions differ ({forms})"
    if done != other_done:
        return f"observations or actions differ ({done.sizes} and {other_done.sizes} choices)"
    return "observations have the same form but other bounds: give both worlds the same `observation_spec`"


def specs_of(task: str) -> tuple[ObservationSpec, ActionSpec]:
    """What a task's observations and actions are."""
    return _kind(registry.task_info(task))


@functools.cache
def _kind(info: TaskInfo) -> tuple[ObservationSpec, ActionSpec]:
    """Making a world takes a while."""
    envs = make_envs(info.name)
    return envs.observation_spec, envs.action_spec

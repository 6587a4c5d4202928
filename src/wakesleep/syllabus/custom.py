"""Syllabi of your own, from a YAML file.

tasks: [DoorKey_S5, DistShift_R2]      # what every EB evaluates; those learned, if left out
episodes: 100                          # of each task in an EB
learn:                                 # the learning blocks, in order
  - DoorKey_S5                         # as long as the task's own block
  - task: DistShift_R2
    steps: 50000
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.syllabus.scenarios import block_steps
from wakesleep.syllabus.seeds import generator_of, raw
from wakesleep.syllabus.syllabus import EPISODES, LearningBlock, Syllabus


def load_syllabus(file: Path, seed: int) -> Syllabus:
    """Read a syllabus. Anything that is not understood is refused."""
    content = store.load_yaml(file)
    check_keys(content, ("tasks", "episodes", "learn"), f"{file}")
    learned = content.get("learn")
    if not isinstance(learned, list) or not learned:
        raise UserError(f"{file} needs a list of learning blocks under `learn`")
    generator = generator_of(seed)
    evaluation_seed = raw(generator)
    blocks = tuple(
        LearningBlock(*_block(entry, f"{file}, learning block {number}"), raw(generator))
        for number, entry in enumerate(learned, start=1)
    )
    tasks = content.get("tasks", list(dict.fromkeys(block.task for block in blocks)))
    if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
        raise UserError(f"{file}: `tasks` is a list of names, not {tasks!r}")
    return Syllabus(
        "custom", tuple(tasks), blocks, evaluation_seed, _whole(content.get("episodes", EPISODES), f"{file}")
    )


def _block(entry: Any, where: str) -> tuple[str, int]:
    if isinstance(entry, str):
        return entry, block_steps(entry)
    check_keys(entry, ("task", "steps"), where)
    task = entry.get("task")
    if not isinstance(task, str):
        raise UserError(f"{where} needs the name of a `task`")
    return task, _whole(entry["steps"], where) if "steps" in entry else block_steps(task)


def check_keys(content: Any, known: Collection[str], where: str) -> None:
    """Refuse what is not a mapping, or has a key that nobody knows."""
    if not isinstance(content, dict):
        raise UserError(f"{where} is a mapping with the keys {', '.join(known)}, not {content!r}")
    if unknown := [key for key in content if key not in known]:
        raise UserError(f"{where} does not know {str(unknown[0])!r}: there are {', '.join(known)}")


def _whole(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{where}: {value!r} should be a whole number from 1")
    return value

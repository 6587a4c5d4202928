"""Lifetimes for those who live in TensorBoard or Weights & Biases: curves as scalars, through one small interface.

Along environment steps of learning: `learn/TASK` (mean return over stretches of a block) and `evaluate/TASK` (mean
return of an EB). Along iterations of sleep, one sleep after the other: `sleep/REPLAY/TERM` (losses).
"""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from wakesleep.errors import UserError
from wakesleep.report.curves import lived
from wakesleep.report.lives import Life
from wakesleep.report.sleeps import losses_of, read_sleep, sleep_files

POINTS = 200
"""Of a learning block."""
STEPS, ITERATIONS = "steps", "iterations"


class Scalar(NamedTuple):
    """One number."""

    axis: str
    """What `step` counts: steps of learning, or iterations of sleep."""
    step: int
    name: str
    value: float


@runtime_checkable
class Logger(Protocol):
    """Where scalars of one lifetime go."""

    def write(self, scalar: Scalar) -> None:
        """Take one."""
        ...

    def close(self) -> None:
        """That was all."""
        ...


def scalars(life: Life) -> Iterator[Scalar]:
    """All scalars of a lifetime, finished or under way; those of an axis in order of their steps."""
    found = []
    if life.run is not None:
        shown = lived(life, POINTS)
        edges = np.cumsum([0, *(block.size for block in shown.blocks)])
        for begin, block in zip(edges, shown.blocks, strict=False):
            for number, value in enumerate(block.curve):
                end = begin + (number + 1) * block.size // POINTS
                found.append(Scalar(STEPS, int(end), f"learn/{block.task}", value))
        for task, returns in shown.returns.items():
            for before, value in zip(shown.evaluations, returns, strict=True):
                found.append(Scalar(STEPS, int(edges[before]), f"evaluate/{task}", value))
    yield from sorted((scalar for scalar in found if np.isfinite(scalar.value)), key=lambda scalar: scalar.step)
    begin = 0
    for file in sleep_files(life.folder):
        curves = losses_of(read_sleep(file))
        points = max((len(values) for terms in curves.values() for values in terms.values()), default=0)
        iterations = int(life.setting("sleep.iterations") or points)
        for number in range(points):
            step = begin + (number + 1) * iterations // points
            for replay, terms in curves.items():
                for term, values in terms.items():
                    yield Scalar(ITERATIONS, step, f"sleep/{replay}/{term}", float(values[number]))
        begin += iterations


class TensorBoard:
    """Event files in a folder; those that were there of the same lifetime are replaced."""

    def __init__(self, folder: Path, life: Life) -> None:
        module = _needs("tensorboardX", "tensorboard")
        self.folder = folder / life.name
        for old in self.folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer: Any = module.SummaryWriter(str(self.folder))

    def write(self, scalar: Scalar) -> None:
        """Take one."""
        self._writer.add_scalar(scalar.name, scalar.value, scalar.step)

    def close(self) -> None:
        """Flush."""
        self._writer.close()


class WeightsAndBiases:
    """One run of a project per lifetime; WANDB_MODE=offline keeps it on this machine."""

    def __init__(self, project: str, life: Life) -> None:
        module = _needs("wandb", "wandb")
        self._run: Any = module.init(project=project, name=life.name, group=life.agent, config=life.config, reinit=True)
        self._run.define_metric("sleep/*", step_metric=ITERATIONS)
        for kind in ("learn/*", "evaluate/*"):
            self._run.define_metric(kind, step_metric=STEPS)

    def write(self, scalar: Scalar) -> None:
        """Take one."""
        self._run.log({scalar.axis: scalar.step, scalar.name: scalar.value})

    def close(self) -> None:
        """Upload, or leave for later."""
        self._run.finish()


def export(lives: list[Life], make: Callable[[Life], Logger]) -> int:
    """Send all scalars of lifetimes to a logger each; returns how many."""
    total = 0
    for life in lives:
        logger = make(life)
        try:
            for scalar in scalars(life):
                logger.write(scalar)
                total += 1
        finally:
            logger.close()
    return total


def _needs(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"this needs {module}: pip install 'wakesleep[{extra}]'") from error

"""Curves of lifetimes as scalars for TensorBoard and Weights & Biases.

Along environment steps of learning: `learn/TASK` (mean return over bins of a block) and `evaluate/TASK` (mean
return of an EB). Along iterations of sleep, one sleep after the other: `sleep/REPLAY/TERM` (losses).
"""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from wakesleep.errors import UserError
from wakesleep.reporting.curves import lifetime_curves
from wakesleep.reporting.lives import StoredLifetime
from wakesleep.reporting.sleeps import losses_of, read_sleep, sleep_files

POINTS = 200
"""Bins of a learning block."""
STEPS, ITERATIONS = "steps", "iterations"


class Scalar(NamedTuple):
    """One point of a curve."""

    axis: str
    """`STEPS` of learning, or `ITERATIONS` of sleep."""
    step: int
    name: str
    value: float


@runtime_checkable
class Logger(Protocol):
    """Receives the scalars of one lifetime."""

    def write(self, scalar: Scalar) -> None:
        """Record one scalar."""
        ...

    def close(self) -> None:
        """Flush; nothing is written afterwards."""
        ...


def scalars(life: StoredLifetime) -> Iterator[Scalar]:
    """All scalars of a lifetime, finished or under way; those of an axis in order of their steps."""
    found = []
    if life.run is not None:
        shown = lifetime_curves(life, POINTS)
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
    """Writes event files to FOLDER/LIFETIME; older ones of the same lifetime are replaced."""

    def __init__(self, folder: Path, life: StoredLifetime) -> None:
        module = _import_extra("tensorboardX", "tensorboard")
        self.folder = folder / life.name
        for old in self.folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer: Any = module.SummaryWriter(str(self.folder))

    def write(self, scalar: Scalar) -> None:
        """Record one scalar."""
        self._writer.add_scalar(scalar.name, scalar.value, scalar.step)

    def close(self) -> None:
        """Flush the event file."""
        self._writer.close()


class WeightsAndBiases:
    """One run of a project per lifetime; WANDB_MODE=offline keeps it on this machine."""

    def __init__(self, project: str, life: StoredLifetime) -> None:
        module = _import_extra("wandb", "wandb")
        self._run: Any = module.init(project=project, name=life.name, group=life.agent, config=life.config, reinit=True)
        self._run.define_metric("sleep/*", step_metric=ITERATIONS)
        for kind in ("learn/*", "evaluate/*"):
            self._run.define_metric(kind, step_metric=STEPS)

    def write(self, scalar: Scalar) -> None:
        """Record one scalar."""
        self._run.log({scalar.axis: scalar.step, scalar.name: scalar.value})

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


def export(lives: list[StoredLifetime], make_logger: Callable[[StoredLifetime], Logger]) -> int:
    """Write all scalars of lifetimes, each to a logger of its own; returns the number of scalars."""
    total = 0
    for life in lives:
        logger = make_logger(life)
        try:
            for scalar in scalars(life):
                logger.write(scalar)
                total += 1
        finally:
            logger.close()
    return total


def _import_extra(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"this needs {module}: pip install 'wakesleep[{extra}]'") from error

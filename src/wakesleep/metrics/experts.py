"""Single-task experts: their learning curves, and their return R*, the reference of relative rewards.

Any folder of logs that each learn one task will do, at any depth: those of `wakesleep experts train`, or others' in
l2logger's layout. Of a log only the learning of its task is used; evaluations in it, of whatever task, are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.logs import Log, read_log
from wakesleep.metrics.blocks import split_regimes, task_family
from wakesleep.metrics.curves import TERMINAL_FRACTION
from wakesleep.metrics.value import MetricValue, mean, undefined

EVALUATION, CURVE = "evaluation", "curve"


@dataclass(frozen=True)
class ExpertRun:
    """One training run of an expert."""

    task: str
    log: Log
    regimes: tuple[np.ndarray, ...]
    """[episodes] of each of its learning blocks: rows of the log."""
    returns: np.ndarray | None
    """[episodes], returns of the frozen policy's evaluation; None where expert.json does not store them."""

    @property
    def rows(self) -> np.ndarray:
        """[episodes], the rows of the log of all its learning."""
        return np.concatenate(self.regimes)

    @property
    def terminal_return(self) -> float:
        """Mean return of the last tenth of its learning."""
        values = self.log.value[self.rows]
        return float(values[int((1 - TERMINAL_FRACTION) * len(values)) :].mean())


@dataclass(frozen=True)
class Experts:
    """All experts below a folder."""

    folder: Path
    runs: tuple[ExpertRun, ...]
    source: str = EVALUATION
    """Where R* comes from: the frozen policy's evaluation if stored, or the end of the learning curve."""
    notes: tuple[str, ...] = ()
    """Sentences about experts that were left out."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that have an expert."""
        return tuple(dict.fromkeys(run.task for run in self.runs))

    def runs_of(self, task: str, agnostic: bool = False) -> list[ExpertRun]:
        """The experts of a task; with `agnostic`, of all its variants."""
        if agnostic:
            return [run for run in self.runs if task_family(run.task).lower() == task.lower()]
        return [run for run in self.runs if run.task.lower() == task.lower()]

    def _source_of(self, runs: Sequence[ExpertRun]) -> str:
        """`EVALUATION` or `CURVE`: where R* of these runs comes from."""
        stored = all(run.returns is not None for run in runs)
        return EVALUATION if self.source == EVALUATION and stored else CURVE

    @property
    def source_note(self) -> str:
        """A sentence that says where R* of each task comes from."""
        words = {EVALUATION: "the frozen experts' evaluation", CURVE: "the last tenth of the experts' curves"}
        tasks: dict[str, list[str]] = {}
        for task in self.tasks:
            tasks.setdefault(words[self._source_of(self.runs_of(task))], []).append(task)
        parts = [f"{source} ({', '.join(names)})" for source, names in tasks.items()]
        return f"R* is {' and '.join(parts)}, mean over experts"

    def expert_return(self, task: str, agnostic: bool = False) -> MetricValue:
        """R* of a task: the mean over its experts; undefined where it has none."""
        if not (runs := self.runs_of(task, agnostic)):
            return undefined(f"{task} has no expert")
        if self._source_of(runs) == CURVE:
            return MetricValue(mean(run.terminal_return for run in runs))
        return MetricValue(mean(float(run.returns.mean()) for run in runs if run.returns is not None))


def read_experts(folder: Path, measure: str = "reward", source: str = EVALUATION) -> Experts:
    """Read all experts below a folder, at any depth.

    Args:
        folder: of `wakesleep experts train`, or any folder of logs that each learn one task.
        measure: the column of the logs that holds the performance of an episode.
        source: of R*: `evaluation` of the frozen policy where it is stored, or the end of the learning `curve`.

    Returns:
        The experts; those that are not finished are left out, with a note.
    """
    if source not in (EVALUATION, CURVE):
        raise UserError(f"R* comes from {EVALUATION!r} or {CURVE!r}, not from {source!r}")
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: make experts with `wakesleep experts train --out {folder}`")
    logs = sorted(file.parent for file in folder.rglob("logger_info.json"))
    ours = (folder / "experts.json").exists()
    unfinished = [log for log in logs if ours and not (log / "expert.json").exists()]
    runs = tuple(_read_expert(log, measure) for log in logs if log not in unfinished)
    if not runs:
        raise UserError(f"{folder} holds no finished expert: make some with `wakesleep experts train --out {folder}`")
    notes = [f"the expert in {log} is not finished and does not count" for log in unfinished]
    return Experts(folder, runs, source, tuple(notes))


def _read_expert(folder: Path, measure: str) -> ExpertRun:
    log = read_log(folder, measure)
    learning = [regime for regime in split_regimes(log) if regime.is_train]
    tasks = list(dict.fromkeys(regime.task for regime in learning))
    if len(tasks) != 1:
        learned = f"learns {', '.join(tasks)}" if tasks else "learns nothing"
        raise UserError(f"the log in {folder} {learned}: an expert learns one task")
    return ExpertRun(tasks[0], log, tuple(regime.rows for regime in learning), _stored_returns(folder, measure))


def _stored_returns(folder: Path, measure: str) -> np.ndarray | None:
    if measure != "reward" or not (file := folder / "expert.json").exists():
        return None
    returns = store.load_json(file).get("returns")
    try:
        found = np.asarray(returns, float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or found.size == 0 or not np.isfinite(found).all():
        raise UserError(f"{file} has no usable 'returns': train that expert again, or take R* from the curve")
    return found

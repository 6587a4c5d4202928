"""Lifetimes that learn the same tasks in the same order, averaged: the paper's zig-zag figures and learning curves.

A *group* holds the lifetimes of one agent that share scenario, order of tasks and lengths of blocks. A lifetime under
way is a group of its own. Learning curves are means over bins of equal length.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wakesleep.metrics.blocks import select_regimes, split_regimes
from wakesleep.metrics.statistics import CONFIDENCE
from wakesleep.reporting.lives import StoredLifetime

SHOWN_EACH = 12
"""Lifetimes of a group whose lines are drawn beside the mean."""
_ALL_POINTS, _MOST_POINTS, _LEAST_POINTS = 60_000, 60, 8


class Block(NamedTuple):
    """A learning block."""

    task: str
    size: int
    """Environment steps, or episodes where the log has no steps; as planned, or else as logged."""
    curve: list[float]
    """Mean returns over bins of equal length; NaN where no episode ended."""


class LifetimeCurves(NamedTuple):
    """Returns of a lifetime while learning and in its evaluation blocks (EBs)."""

    unit: str
    """Unit of block sizes: steps or episodes."""
    blocks: list[Block]
    """All learning blocks; those to come have no curve."""
    evaluations: list[int]
    """For each EB, the number of learning blocks before it."""
    returns: dict[str, list[float]]
    """By task, the mean return in every EB; NaN where it was not evaluated."""

    @property
    def order(self) -> tuple[str, ...]:
        """The tasks learned, in order."""
        return tuple(block.task for block in self.blocks)


def points_per_block(lives: Sequence[StoredLifetime]) -> int:
    """Bins of a learning block: fewer where there are many blocks, so that the page stays small."""
    blocks = sum(max(1, len(life.planned)) for life in lives)
    return int(np.clip(_ALL_POINTS // max(1, blocks), _LEAST_POINTS, _MOST_POINTS))


def lifetime_curves(life: StoredLifetime, points: int) -> LifetimeCurves:
    """The curves of a lifetime that has a log; `points` is the number of bins of a learning block."""
    assert life.run is not None
    log = life.run.log
    lengths = np.ones(len(log), int) if log.length is None else log.length.astype(int)
    selected = select_regimes(split_regimes(log))
    counted = {number for numbers in selected.evaluation.values() for number in numbers}
    blocks: list[Block] = []
    evaluations: dict[int, int] = {}
    means: dict[tuple[int, str], float] = {}
    for number, regime in enumerate(selected.regimes):
        if regime.is_train:
            ends, planned = np.cumsum(lengths[regime.rows]), life.planned[len(blocks) : len(blocks) + 1]
            size = int(planned[0]["steps"]) if planned and log.length is not None else int(ends[-1])
            blocks.append(Block(regime.task, size, _binned(ends, log.value[regime.rows], size, points)))
        elif number in counted:
            evaluations.setdefault(regime.block, len(blocks))
            means[regime.block, regime.task] = float(log.value[regime.rows].mean())
    blocks += [Block(str(block["task"]), int(block["steps"]), []) for block in life.planned[len(blocks) :]]
    tasks = [task for task in selected.tasks if selected.evaluation[task]]
    returns = {task: [means.get((block, task), np.nan) for block in evaluations] for task in tasks}
    return LifetimeCurves("episodes" if log.length is None else "steps", blocks, list(evaluations.values()), returns)


def group_curves(lives: Sequence[StoredLifetime], points: int) -> list[dict[str, Any]]:
    """The mean curves of all groups, as JSON for the page; lifetimes are named by their index in `lives`."""
    found: dict[tuple[Any, ...], list[tuple[int, LifetimeCurves]]] = {}
    for number, life in enumerate(lives):
        if life.run is not None:
            shown = lifetime_curves(life, points)
            alone = () if life.finished else (number,)
            lengths = tuple(int(block["steps"]) for block in life.planned)
            key = (life.scenario, shown.order, lengths, life.agent, tuple(shown.evaluations), *alone)
            found.setdefault(key, []).append((number, shown))
    return [_group(lives, members, points) for members in found.values()]


def _group(lives: Sequence[StoredLifetime], members: list[tuple[int, LifetimeCurves]], points: int) -> dict[str, Any]:
    (first, shown), all_curves = members[0], [curves for _, curves in members]
    learning = []
    for number, block in enumerate(shown.blocks):
        curves = [other.blocks[number].curve for other in all_curves]
        length = max(map(len, curves))
        padded = [curve + [np.nan] * (length - len(curve)) for curve in curves]
        learning.append({"task": block.task, "size": block.size, **_averaged(padded)})
    tasks = [task for task in shown.returns if all(task in other.returns for other in all_curves)]
    each = {task: [other.returns[task] for other in all_curves] for task in tasks}
    return {
        "agent": lives[first].agent,
        "scenario": lives[first].scenario,
        "lives": [number for number, _ in members],
        "finished": lives[first].finished,
        "unit": shown.unit,
        "points": points,
        "blocks": learning,
        "evaluations": shown.evaluations,
        "returns": {
            task: {**_averaged(rows), "each": [rounded(row) for row in rows[:SHOWN_EACH]]}
            for task, rows in each.items()
        },
    }


def _averaged(rows: list[list[float]]) -> dict[str, Any]:
    """Mean and 95 % interval (Student's t) of each column, ignoring NaN."""
    from scipy import stats

    table = np.asarray(rows, float)
    known = (~np.isnan(table)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known > 0, np.nansum(table, axis=0) / known, np.nan)
        if len(rows) == 1:
            return {"mean": rounded(mean)}
        deviation = np.sqrt(np.nansum((table - mean) ** 2, axis=0) / (known - 1))
        half = stats.t.ppf((1 + CONFIDENCE) / 2, known - 1) * deviation / np.sqrt(known)
    return {"mean": rounded(mean), "low": rounded(mean - half), "high": rounded(mean + half)}


def _binned(ends: np.ndarray, values: np.ndarray, size: int, points: int) -> list[float]:
    """Means over bins of equal length, up to the bin of the last episode."""
    bins = np.minimum((ends - 1) * points // max(size, int(ends[-1])), points - 1)
    counts = np.bincount(bins)
    with np.errstate(invalid="ignore"):
        return (np.bincount(bins, values) / counts).tolist()


def rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Rounded numbers for JSON; None for NaN and infinities."""
    return [None if not np.isfinite(value) else round(float(value), digits) for value in np.asarray(values, float)]

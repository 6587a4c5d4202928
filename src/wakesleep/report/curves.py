"""Lifetimes that learn the same tasks in the same order, averaged: the paper's zig-zag figures and learning curves.

A *group* is an agent with its lifetimes that share scenario, order of tasks and lengths of blocks. A lifetime under way
is a group of its own. Curves are thinned to means over equal stretches.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wakesleep.metrics.blocks import select_regimes, split_regimes
from wakesleep.metrics.statistics import CONFIDENCE
from wakesleep.report.lives import Life

SHOWN_EACH = 12
"""Lifetimes of a group whose own lines are drawn beside the mean."""
_ALL_POINTS, _MOST_POINTS, _LEAST_POINTS = 60_000, 60, 8


class Block(NamedTuple):
    """A learning block."""

    task: str
    size: int
    """Environment steps, or episodes where the log has no steps; as planned, or else as logged."""
    curve: list[float]
    """Mean returns over equal stretches of it; not a number where no episode ended."""


class LifetimeCurves(NamedTuple):
    """What a lifetime's log shows."""

    unit: str
    """Of block sizes: steps or episodes."""
    blocks: list[Block]
    """Those that were begun; those to come have no curve."""
    evaluations: list[int]
    """Of each EB, how many learning blocks came before."""
    returns: dict[str, list[float]]
    """Of each task, the mean return in every EB; not a number where it was not evaluated."""

    @property
    def order(self) -> tuple[str, ...]:
        """The tasks learned, in order."""
        return tuple(block.task for block in self.blocks)


def points_per_block(lives: Sequence[Life]) -> int:
    """Points of a learning curve: fewer where there are many curves, so that a page over all of them stays small."""
    blocks = sum(max(1, len(life.planned)) for life in lives)
    return int(np.clip(_ALL_POINTS // max(1, blocks), _LEAST_POINTS, _MOST_POINTS))


def lived(life: Life, points: int) -> LifetimeCurves:
    """Read a lifetime's log, which must be there."""
    assert life.run is not None
    log = life.run.log
    lengths = np.ones(len(log), int) if log.length is None else log.length.astype(int)
    way = select_regimes(split_regimes(log))
    counted = {number for numbers in way.evaluation.values() for number in numbers}
    blocks: list[Block] = []
    evaluations: dict[int, int] = {}
    means: dict[tuple[int, str], float] = {}
    for number, regime in enumerate(way.regimes):
        if regime.is_train:
            ends, planned = np.cumsum(lengths[regime.rows]), life.planned[len(blocks) : len(blocks) + 1]
            size = int(planned[0]["steps"]) if planned and log.length is not None else int(ends[-1])
            blocks.append(Block(regime.task, size, _thinned(ends, log.value[regime.rows], size, points)))
        elif number in counted:
            evaluations.setdefault(regime.block, len(blocks))
            means[regime.block, regime.task] = float(log.value[regime.rows].mean())
    blocks += [Block(str(block["task"]), int(block["steps"]), []) for block in life.planned[len(blocks) :]]
    tasks = [task for task in way.tasks if way.evaluation[task]]
    returns = {task: [means.get((block, task), np.nan) for block in evaluations] for task in tasks}
    return LifetimeCurves("episodes" if log.length is None else "steps", blocks, list(evaluations.values()), returns)


def groups(lives: Sequence[Life], points: int) -> list[dict[str, Any]]:
    """All groups, as plain data for the page; `lives` are numbered as they come."""
    found: dict[tuple[Any, ...], list[tuple[int, LifetimeCurves]]] = {}
    for number, life in enumerate(lives):
        if life.run is not None:
            shown = lived(life, points)
            alone = () if life.finished else (number,)
            lengths = tuple(int(block["steps"]) for block in life.planned)
            key = (life.scenario, shown.order, lengths, life.agent, tuple(shown.evaluations), *alone)
            found.setdefault(key, []).append((number, shown))
    return [_group(lives, members, points) for members in found.values()]


def _group(lives: Sequence[Life], members: list[tuple[int, LifetimeCurves]], points: int) -> dict[str, Any]:
    (first, shown), all_lived = members[0], [lived for _, lived in members]
    learning = []
    for number, block in enumerate(shown.blocks):
        curves = [other.blocks[number].curve for other in all_lived]
        length = max(map(len, curves))
        padded = [curve + [np.nan] * (length - len(curve)) for curve in curves]
        learning.append({"task": block.task, "size": block.size, **_averaged(padded)})
    tasks = [task for task in shown.returns if all(task in other.returns for other in all_lived)]
    each = {task: [other.returns[task] for other in all_lived] for task in tasks}
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
    """Mean and 95 % interval (Student's t) of each column."""
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


def _thinned(ends: np.ndarray, values: np.ndarray, size: int, points: int) -> list[float]:
    """Means over equal stretches of a block, up to the last episode."""
    stretch = np.minimum((ends - 1) * points // max(size, int(ends[-1])), points - 1)
    counts = np.bincount(stretch)
    with np.errstate(invalid="ignore"):
        return (np.bincount(stretch, values) / counts).tolist()


def rounded(values: Any, digits: int = 4) -> list[float | None]:
    """Numbers for JSON: short, and nothing where there is none."""
    return [None if not np.isfinite(value) else round(float(value), digits) for value in np.asarray(values, float)]

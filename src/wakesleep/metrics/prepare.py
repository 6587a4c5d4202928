"""Preprocessing: from logged returns to performance, by smoothing, clamping and normalising as l2metrics does."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.logs import Log
from wakesleep.metrics.blocks import Regime, SelectedRegimes, is_interleaved, select_regimes, split_regimes, task_family
from wakesleep.metrics.curves import WINDOWS, Curve, smooth
from wakesleep.metrics.experts import ExpertRun, Experts

SCALE, OFFSET = 100.0, 1.0
QUANTILES = (0.1, 0.9)
_CHOICES = {
    "variants": ("aware", "agnostic"),
    "averaging": ("metrics", "time"),
    "aggregation": ("mean", "median"),
    "normalization": ("task", "run", "none"),
    "smoothing": (*WINDOWS, "none"),
}


class Range(NamedTuple):
    """Lowest and highest performance of a task."""

    low: float
    high: float


@dataclass(frozen=True)
class Options:
    """How metrics are computed; the defaults are those of l2metrics 3.1.0."""

    measure: str = "reward"
    """The column of the log that holds the performance of an episode."""
    variants: str = "aware"
    """aware: every variant is a task; agnostic: the variants of a task are one task."""
    averaging: str = "metrics"
    """Over several experts of a task: the mean of the metric (metrics), or the metric of their mean curve (time)."""
    aggregation: str = "mean"
    """Over the tasks (pairs of tasks) of a lifetime: mean or median."""
    normalization: str = "task"
    """task: each task's range of returns becomes 1 to 101; run: one range for all tasks; none: returns as logged."""
    smoothing: str = "flat"
    """Window of the moving average over learning curves: flat, hanning, hamming, bartlett, blackman or none."""
    smooth_evaluations: bool = False
    """Smooth evaluation blocks too."""
    window: int | None = None
    """Episodes in the window; by default a fifth of the block, at most 100."""
    clamp: bool = False
    """Clip performance to the data range, or else to the middle 80 %, of each task."""
    data_range: Mapping[str, Range] | None = None
    """Range of returns of every task; by default from the lowest to the highest of the lifetime and its experts."""
    noise: tuple[float, float] = (0.0, 0.0)
    """Mean and standard deviation of normal noise that is added to performance, for sensitivity analyses."""
    seed: int = 0
    """Seed of the noise."""

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if (given := getattr(self, name)) not in allowed:
                raise UserError(f"{name} is {', '.join(allowed[:-1])} or {allowed[-1]}, not {given!r}")
        if self.window is not None and self.window < 1:
            raise UserError(f"a window has at least one episode, not {self.window}")
        if not np.isfinite(self.noise).all() or self.noise[1] < 0 or self.seed < 0:
            raise UserError("noise has a mean and a spread from 0, and a seed from 0")
        for task, (low, high) in (self.data_range or {}).items():
            if not (np.isfinite([low, high]).all() and low <= high):
                raise UserError(f"the data range of {task} goes from {low} to {high}: it must go up")

    @property
    def agnostic(self) -> bool:
        """Whether the variants of a task are one task."""
        return self.variants == "agnostic"


class PreparedLifetime(NamedTuple):
    """A lifetime after preprocessing."""

    selected: SelectedRegimes
    curves: list[Curve]
    """Performance in each regime."""
    returns: list[np.ndarray]
    """[episodes] of each regime: returns as logged."""
    expert_curves: dict[str, list[Curve]]
    """By task: the learning curves of its experts, preprocessed in the same way."""
    ranges: dict[str, Range]
    """By task: the range that normalisation used, or would have used."""
    notes: tuple[str, ...]


class _Performance(NamedTuple):
    """Performance between two steps of the preprocessing."""

    tasks: list[str]
    """Of each regime."""
    values: list[np.ndarray]
    """[episodes] of each regime."""
    experts: dict[str, list[np.ndarray]]
    """By task: [episodes] of each of its experts."""

    def of_task(self, task: str) -> list[np.ndarray]:
        """The performance in all regimes of a task, and of its experts."""
        own = [value for name, value in zip(self.tasks, self.values, strict=True) if name == task]
        return own + self.experts[task]

    def map(self, function: Callable[[str, np.ndarray], np.ndarray]) -> "_Performance":
        """Apply a function of task and values to all regimes and experts."""
        values = [function(task, value) for task, value in zip(self.tasks, self.values, strict=True)]
        experts = {task: [function(task, curve) for curve in curves] for task, curves in self.experts.items()}
        return _Performance(self.tasks, values, experts)


def prepare(log: Log, experts: Experts | None, options: Options) -> PreparedLifetime:
    """Preprocess a lifetime and the experts of its tasks: smooth, clamp, normalise, add noise, in this order."""
    regimes = split_regimes(log, options.agnostic)
    selected, notes = select_regimes(regimes), list(log.notes)
    if is_interleaved(regimes):
        notes.append("tasks take turns inside a block: their rows were put together (l2metrics would cut them apart)")
    returns = [log.value[regime.rows] for regime in regimes]
    runs = {task: experts.runs_of(task, options.agnostic) if experts else [] for task in selected.tasks}
    data = _smooth(regimes, returns, runs, options)
    data, ranges = _scale(data, selected.tasks, options)
    if options.noise != (0.0, 0.0):
        generator = np.random.default_rng(options.seed)
        data = data._replace(values=[value + generator.normal(*options.noise, value.shape) for value in data.values])
    curves = [Curve(value, log.experience[regime.rows]) for regime, value in zip(regimes, data.values, strict=True)]
    expert_curves = {
        task: [Curve(curve, run.log.experience[run.rows]) for run, curve in zip(same, data.experts[task], strict=True)]
        for task, same in runs.items()
    }
    return PreparedLifetime(selected, curves, returns, expert_curves, ranges, tuple(notes))


def _scale(data: _Performance, tasks: tuple[str, ...], options: Options) -> tuple[_Performance, dict[str, Range]]:
    """Clamp and normalise; returns the range of each task as well."""
    given = _given_ranges(options, tasks)
    if options.clamp:
        bounds = given or {task: Range(*np.quantile(np.concatenate(data.of_task(task)), QUANTILES)) for task in tasks}
        data = data.map(lambda task, value: value.clip(*bounds[task]))
    ranges = given or {task: _range(data.of_task(task)) for task in tasks}
    if options.normalization != "none":
        by_task = options.normalization == "task"
        whole = Range(min(low for low, _ in ranges.values()), max(high for _, high in ranges.values()))
        data = data.map(lambda task, value: _normalised(value, ranges[task] if by_task else whole))
    return data, {task: ranges[task] for task in tasks}


def read_ranges(file: Path) -> dict[str, Range]:
    """Read data ranges in l2metrics' format: {"DoorKey_S5": {"min": 0, "max": 1}, ...}."""
    stored = store.load_json(file)
    try:
        return {task: Range(float(bounds["min"]), float(bounds["max"])) for task, bounds in stored.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f'{file} must give each task a range like {{"min": 0, "max": 1}} ({error!r})') from error


def shared_ranges(lifetimes: Iterable[PreparedLifetime]) -> dict[str, Range]:
    """The range of each task over several lifetimes: normalised by it, their metrics can be compared."""
    shared: dict[str, Range] = {}
    for lifetime in lifetimes:
        for task, (low, high) in lifetime.ranges.items():
            old = shared.get(task, Range(low, high))
            shared[task] = Range(min(old.low, low), max(old.high, high))
    return shared


def _smooth(
    regimes: list[Regime], returns: list[np.ndarray], runs: dict[str, list[ExpertRun]], options: Options
) -> _Performance:
    """Smooth every learning block by itself; evaluation blocks only with `smooth_evaluations`."""

    def smoothed(values: np.ndarray) -> np.ndarray:
        return values if options.smoothing == "none" else smooth(values, options.smoothing, options.window)

    values = [
        smoothed(value) if regime.is_train or options.smooth_evaluations else value
        for regime, value in zip(regimes, returns, strict=True)
    ]
    experts = {
        task: [np.concatenate([smoothed(run.log.value[rows]) for rows in run.regimes]) for run in same]
        for task, same in runs.items()
    }
    return _Performance([regime.task for regime in regimes], values, experts)


def _range(parts: list[np.ndarray]) -> Range:
    return Range(float(min(part.min() for part in parts)), float(max(part.max() for part in parts)))


def _normalised(values: np.ndarray, scale: Range) -> np.ndarray:
    """Scale a range to 1..101; where the range is empty, everything is 1."""
    low, high = scale
    return np.full_like(values, OFFSET) if low == high else (values - low) / (high - low) * SCALE + OFFSET


def _given_ranges(options: Options, tasks: tuple[str, ...]) -> dict[str, Range] | None:
    """`data_range` under the lifetime's spelling of its tasks; ranges of other tasks stay, for a range over all."""
    if options.data_range is None:
        return None
    merged: dict[str, Range] = {}
    for name, (low, high) in options.data_range.items():
        key = (task_family(name) if options.agnostic else name).lower()
        old = merged.get(key, Range(low, high))
        merged[key] = Range(min(old.low, low), max(old.high, high))
    if missing := [task for task in tasks if task.lower() not in merged]:
        raise UserError(f"the data range has no entry for {', '.join(missing)}: give one for every task")
    mine = {task.lower(): task for task in tasks}
    return {mine.get(key, key): value for key, value in merged.items()}

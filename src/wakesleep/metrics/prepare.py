"""From logged returns to performance: filter, smooth, clamp, normalise, in l2metrics' order and with its defaults."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.metrics.blocks import Course, Regime, is_interleaved, label, select_regimes, split_regimes
from wakesleep.metrics.curves import WINDOWS, Curve, smooth
from wakesleep.metrics.experts import ExpertRun, Experts
from wakesleep.metrics.read import Log

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
    """The column that tells how good an episode was."""
    variants: str = "aware"
    """aware: every variant is a task; agnostic: the variants of a task are one task."""
    averaging: str = "metrics"
    """Of several experts: the mean of the metric, or (time) the metric of their mean curve."""
    aggregation: str = "mean"
    """Over the tasks (pairs of tasks) of a lifetime: mean or median."""
    normalization: str = "task"
    """task: each task's range becomes 1 to 101; run: one range for all; none: returns as logged."""
    smoothing: str = "flat"
    """Window of the moving average over learning curves: flat, hanning, hamming, bartlett, blackman or none."""
    smooth_evaluations: bool = False
    """Smooth evaluation blocks too."""
    window: int | None = None
    """Episodes in the window; by default a fifth of the block, at most 100."""
    clamp: bool = False
    """Cut off what is outside the data range, or else outside the middle 80 %, of each task."""
    data_range: Mapping[str, Range] | None = None
    """Of every task; by default what the lifetime and its experts show."""
    noise: tuple[float, float] = (0.0, 0.0)
    """Mean and spread of noise to add to the lifetime, to see how much metrics depend on chance."""
    seed: int = 0
    """Of the noise."""

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


class Prepared(NamedTuple):
    """A lifetime, ready to be measured."""

    course: Course
    curves: list[Curve]
    """Performance in each regime."""
    raw: list[np.ndarray]
    """Returns as logged, in each regime."""
    experts: dict[str, list[Curve]]
    """Learning curves of the experts of each task, treated alike."""
    ranges: dict[str, Range]
    """Of each task: what normalisation used, or would have used."""
    notes: tuple[str, ...]


class _Data(NamedTuple):
    """The values under way from step to step."""

    tasks: list[str]
    """Of each regime."""
    values: list[np.ndarray]
    """Of each regime."""
    experts: dict[str, list[np.ndarray]]
    """Learning curves of each task's experts."""

    def of(self, task: str) -> list[np.ndarray]:
        """All values of a task, the experts' too."""
        own = [value for name, value in zip(self.tasks, self.values, strict=True) if name == task]
        return own + self.experts[task]

    def each(self, change: Callable[[str, np.ndarray], np.ndarray]) -> "_Data":
        """All values changed, task by task."""
        values = [change(task, value) for task, value in zip(self.tasks, self.values, strict=True)]
        experts = {task: [change(task, curve) for curve in curves] for task, curves in self.experts.items()}
        return _Data(self.tasks, values, experts)


def prepare(log: Log, experts: Experts | None, options: Options) -> Prepared:
    """All steps, in order."""
    regimes = split_regimes(log, options.agnostic)
    found, notes = select_regimes(regimes), list(log.notes)
    if is_interleaved(regimes):
        notes.append("tasks take turns inside a block: their rows were put together (l2metrics would cut them apart)")
    raw = [log.value[regime.rows] for regime in regimes]
    runs = {task: experts.of(task, options.agnostic) if experts else [] for task in found.tasks}
    data = _smooth(regimes, raw, runs, options)
    given = _given_ranges(options, found.tasks)
    if options.clamp:
        bounds = given or {task: Range(*np.quantile(np.concatenate(data.of(task)), QUANTILES)) for task in found.tasks}
        data = data.each(lambda task, value: value.clip(*bounds[task]))
    ranges = given or {task: _range(data.of(task)) for task in found.tasks}
    if options.normalization != "none":
        by_task = options.normalization == "task"
        whole = Range(min(low for low, _ in ranges.values()), max(high for _, high in ranges.values()))
        data = data.each(lambda task, value: _normalised(value, ranges[task] if by_task else whole))
    if options.noise != (0.0, 0.0):
        generator = np.random.default_rng(options.seed)
        data = data._replace(values=[value + generator.normal(*options.noise, value.shape) for value in data.values])
    curves = [Curve(value, log.experience[regime.rows]) for regime, value in zip(regimes, data.values, strict=True)]
    expert_curves = {
        task: [Curve(curve, run.log.experience[run.rows]) for run, curve in zip(same, data.experts[task], strict=True)]
        for task, same in runs.items()
    }
    return Prepared(found, curves, raw, expert_curves, {task: ranges[task] for task in found.tasks}, tuple(notes))


def read_ranges(file: Path) -> dict[str, Range]:
    """Data ranges as l2metrics takes them: {"DoorKey_S5": {"min": 0, "max": 1}, ...}."""
    stored = store.load_json(file)
    try:
        return {task: Range(float(bounds["min"]), float(bounds["max"])) for task, bounds in stored.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f'{file} must give each task a range like {{"min": 0, "max": 1}} ({error!r})') from error


def shared_ranges(lifetimes: Iterable[Prepared]) -> dict[str, Range]:
    """One range of each task over several lifetimes, so that their numbers can be compared."""
    shared: dict[str, Range] = {}
    for lifetime in lifetimes:
        for task, (low, high) in lifetime.ranges.items():
            old = shared.get(task, Range(low, high))
            shared[task] = Range(min(old.low, low), max(old.high, high))
    return shared


def _smooth(regimes: list[Regime], raw: list[np.ndarray], runs: dict[str, list[ExpertRun]], options: Options) -> _Data:
    """Every learning block by itself; evaluations as they are, unless asked for."""

    def smoothed(values: np.ndarray) -> np.ndarray:
        return values if options.smoothing == "none" else smooth(values, options.smoothing, options.window)

    values = [
        smoothed(value) if regime.is_train or options.smooth_evaluations else value
        for regime, value in zip(regimes, raw, strict=True)
    ]
    experts = {
        task: [np.concatenate([smoothed(run.log.value[rows]) for rows in run.regimes]) for run in same]
        for task, same in runs.items()
    }
    return _Data([regime.task for regime in regimes], values, experts)


def _range(parts: list[np.ndarray]) -> Range:
    return Range(float(min(part.min() for part in parts)), float(max(part.max() for part in parts)))


def _normalised(values: np.ndarray, scale: Range) -> np.ndarray:
    """1 to 101; a task whose performance never changes is 1 throughout."""
    low, high = scale
    return np.full_like(values, OFFSET) if low == high else (values - low) / (high - low) * SCALE + OFFSET


def _given_ranges(options: Options, tasks: tuple[str, ...]) -> dict[str, Range] | None:
    """The given ranges by the lifetime's names of its tasks; other tasks' ranges stay, for a range over all."""
    if options.data_range is None:
        return None
    merged: dict[str, Range] = {}
    for name, (low, high) in options.data_range.items():
        key = (label(name) if options.agnostic else name).lower()
        old = merged.get(key, Range(low, high))
        merged[key] = Range(min(old.low, low), max(old.high, high))
    if missing := [task for task in tasks if task.lower() not in merged]:
        raise UserError(f"the data range has no entry for {', '.join(missing)}: give one for every task")
    mine = {task.lower(): task for task in tasks}
    return {mine.get(key, key): value for key, value in merged.items()}

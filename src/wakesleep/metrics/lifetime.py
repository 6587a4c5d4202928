"""All metrics of one lifetime, from its log and, where there are any, its experts."""

from dataclasses import dataclass

import numpy as np

from wakesleep.metrics.curves import terminal
from wakesleep.metrics.experts import Experts
from wakesleep.metrics.maintenance import Maintenance, maintenance
from wakesleep.metrics.names import METRICS
from wakesleep.metrics.prepare import Options, Prepared, Range, prepare
from wakesleep.metrics.read import Log
from wakesleep.metrics.relative import (
    learning_curve,
    performance_recovery,
    recovery_times,
    relative_performance,
    sample_efficiency,
)
from wakesleep.metrics.reward import Evaluation, evaluations, relative_reward
from wakesleep.metrics.transfer import Transfers, first_known, transfers
from wakesleep.metrics.value import Value, absent, combine, mean_of

NO_EXPERTS = "no experts were given"


@dataclass(frozen=True)
class LifetimeMetrics:
    """What is known about one lifetime."""

    values: dict[str, Value]
    """By the names in `METRICS`."""
    tasks: dict[str, dict[str, Value]]
    """Of each task, those metrics that are means over tasks."""
    maintenance: dict[str, Maintenance]
    recovery_times: dict[str, list[int]]
    transfers: Transfers
    evaluations: list[Evaluation]
    """Mean returns as logged, block by block."""
    expert_returns: dict[str, Value]
    """R* of each task."""
    ranges: dict[str, Range]
    episodes: int
    learning_episodes: int
    notes: tuple[str, ...]


def measure(log: Log, experts: Experts | None = None, options: Options | None = None) -> LifetimeMetrics:
    """Compute everything that is defined."""
    options = options or Options()
    life = prepare(log, experts, options)
    course = life.course
    ends = [terminal(curve, regime.is_train) for curve, regime in zip(life.curves, course.regimes, strict=True)]
    kept = {task: maintenance(course, ends, task) for task in course.tasks}
    moved = transfers(course, ends)
    times = {task: recovery_times(course, life.curves, ends, task) for task in course.tasks}
    tasks = {task: _of_task(life, kept[task], times[task], task, experts is not None, options) for task in course.tasks}
    names = next(iter(tasks.values()))
    values = {
        name: combine({task: of_task[name] for task, of_task in tasks.items()}, options.aggregation, "")
        for name in names
    }
    values |= _transfer_values(moved, options)
    blocks, ends_evaluated = evaluations(course, life.raw)
    stars = {
        task: experts.expert_return(task, options.agnostic) if experts else absent(NO_EXPERTS) for task in course.tasks
    }
    for ranges, suffix in ((None, ""), (life.ranges, "_scaled")):
        rewards = relative_reward(blocks, ends_evaluated, course.tasks, stars, ranges)
        values |= {f"rr_{name}{suffix}": value for name, value in rewards._asdict().items()}
    return LifetimeMetrics(
        {name: values[name] for name in METRICS}, tasks, kept, times, moved, blocks, stars, life.ranges, len(log),
        int(log.is_train.sum()), life.notes,
    )  # fmt: skip


def _of_task(
    life: Prepared, kept: Maintenance, times: list[int], task: str, with_experts: bool, options: Options
) -> dict[str, Value]:
    course, experts = life.course, life.experts[task]
    curve = learning_curve(course, life.curves, task)
    unlearned = absent(f"{task} was never learned")
    values = {"perf_maintenance_mrlep": kept.mrlep, "perf_maintenance_mrtlp": kept.mrtlp}
    for name, compute in (("ste_rel_perf", relative_performance), ("sample_efficiency", sample_efficiency)):
        if not with_experts:
            values[name] = absent(NO_EXPERTS)
        else:
            values[name] = unlearned if curve is None else compute(curve, experts, options.averaging, task)
    values["perf_recovery"] = performance_recovery(times, task)
    for name, numbers in (("avg_train_perf", course.learning[task]), ("avg_eval_perf", course.evaluation[task])):
        means = [float(np.mean(life.curves[number].value)) for number in numbers]
        values[name] = Value(mean_of(means)) if means else absent(f"{task} was never {_VERBS[name]}")
    return values


_VERBS = {"avg_train_perf": "learned", "avg_eval_perf": "evaluated"}


def _transfer_values(moved: Transfers, options: Options) -> dict[str, Value]:
    values = {}
    for direction, pairs in moved._asdict().items():
        for method in ("ratio", "contrast"):
            parts = {f"{s} -> {o}": first_known(steps, method) for (s, o), steps in pairs.items()}
            nothing = f"no task was evaluated {_BETWEEN[direction]} the learning of another"
            values[f"{direction}_transfer_{method}"] = combine(parts, options.aggregation, nothing)
    return values


_BETWEEN = {"forward": "before it was learned, before and after", "backward": "after it was learned, before and after"}

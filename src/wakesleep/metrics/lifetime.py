"""All metrics of one lifetime, from its log and, where they are given, its experts."""

from dataclasses import dataclass

import numpy as np

from wakesleep.logs import Log
from wakesleep.metrics.curves import terminal_performance
from wakesleep.metrics.experts import Experts
from wakesleep.metrics.maintenance import Maintenance, performance_maintenance
from wakesleep.metrics.names import METRICS
from wakesleep.metrics.prepare import Options, PreparedLifetime, Range, prepare
from wakesleep.metrics.relative import (
    learning_curve,
    performance_recovery,
    recovery_times,
    relative_performance,
    sample_efficiency,
)
from wakesleep.metrics.reward import EvaluationBlock, evaluation_blocks, relative_reward
from wakesleep.metrics.transfer import Transfers, first_defined, transfers
from wakesleep.metrics.value import MetricValue, aggregate, mean, undefined

NO_EXPERTS = "no experts were given"


@dataclass(frozen=True)
class LifetimeMetrics:
    """The metrics of one lifetime, and the numbers they are made of."""

    values: dict[str, MetricValue]
    """By the names in `METRICS`."""
    tasks: dict[str, dict[str, MetricValue]]
    """By task: the metrics that are means over tasks."""
    maintenance: dict[str, Maintenance]
    """PM by task."""
    recovery_times: dict[str, list[int]]
    """By task: experiences until its second, third, ... learning block was back at the level of the one before."""
    transfers: Transfers
    evaluations: list[EvaluationBlock]
    """Mean returns as logged, block by block."""
    expert_returns: dict[str, MetricValue]
    """R* by task."""
    ranges: dict[str, Range]
    """Lowest and highest performance by task, before normalisation."""
    episodes: int
    learning_episodes: int
    notes: tuple[str, ...]
    """Sentences about the log: rows that were left out and the like."""


def compute_metrics(log: Log, experts: Experts | None = None, options: Options | None = None) -> LifetimeMetrics:
    """Compute all metrics of a lifetime. Those that are undefined say why.

    Args:
        log: as `read_log` gives it.
        experts: as `read_experts` gives them; without them RP, SE and RR are undefined.
        options: how returns become performance; the defaults are those of l2metrics.
    """
    options = options or Options()
    life = prepare(log, experts, options)
    selected = life.selected
    terminal = [
        terminal_performance(c, regime.is_train) for c, regime in zip(life.curves, selected.regimes, strict=True)
    ]
    maintenance = {task: performance_maintenance(selected, terminal, task) for task in selected.tasks}
    times = {task: recovery_times(selected, life.curves, terminal, task) for task in selected.tasks}
    tasks = {
        task: _task_metrics(life, task, maintenance[task], times[task], experts is not None, options)
        for task in selected.tasks
    }
    values = {
        name: aggregate({task: metrics[name] for task, metrics in tasks.items()}, options.aggregation, "")
        for name in next(iter(tasks.values()))
    }
    between = transfers(selected, terminal)
    values |= _transfer_metrics(between, options)
    blocks, ends_evaluated = evaluation_blocks(selected, life.returns)
    expert_returns = {
        task: experts.expert_return(task, options.agnostic) if experts else undefined(NO_EXPERTS)
        for task in selected.tasks
    }
    for ranges, suffix in ((None, ""), (life.ranges, "_scaled")):
        rewards = relative_reward(blocks, ends_evaluated, selected.tasks, expert_returns, ranges)
        values |= {f"rr_{name}{suffix}": value for name, value in rewards._asdict().items()}
    return LifetimeMetrics(
        {name: values[name] for name in METRICS}, tasks, maintenance, times, between, blocks, expert_returns,
        life.ranges, len(log), int(log.is_train.sum()), life.notes,
    )  # fmt: skip


def _task_metrics(
    life: PreparedLifetime, task: str, maintenance: Maintenance, times: list[int], with_experts: bool, options: Options
) -> dict[str, MetricValue]:
    """The metrics of one task that lifetimes average over tasks."""
    selected, experts = life.selected, life.expert_curves[task]
    curve = learning_curve(selected, life.curves, task)
    values = {"perf_maintenance_mrlep": maintenance.mrlep, "perf_maintenance_mrtlp": maintenance.mrtlp}
    for name, compute in (("ste_rel_perf", relative_performance), ("sample_efficiency", sample_efficiency)):
        if not with_experts:
            values[name] = undefined(NO_EXPERTS)
        elif curve is None:
            values[name] = undefined(f"{task} was never learned")
        else:
            values[name] = compute(curve, experts, options.averaging, task)
    values["perf_recovery"] = performance_recovery(times, task)
    for name, verb, regimes in (
        ("avg_train_perf", "learned", selected.learning[task]),
        ("avg_eval_perf", "evaluated", selected.evaluation[task]),
    ):
        means = [float(np.mean(life.curves[number].performance)) for number in regimes]
        values[name] = MetricValue(mean(means)) if means else undefined(f"{task} was never {verb}")
    return values


def _transfer_metrics(found: Transfers, options: Options) -> dict[str, MetricValue]:
    """FT and BT of the lifetime, as ratio and contrast."""
    when = {"forward": "before it was learned, before and after", "backward": "after it was learned, before and after"}
    values = {}
    for direction, pairs in found._asdict().items():
        for method in ("ratio", "contrast"):
            parts = {f"{s} -> {o}": first_defined(steps, method) for (s, o), steps in pairs.items()}
            reason = f"no task was evaluated {when[direction]} the learning of another"
            values[f"{direction}_transfer_{method}"] = aggregate(parts, options.aggregation, reason)
    return values

"""Metrics of learning curves: relative performance (RP), sample efficiency (SE) and performance recovery (PR).

The learning curve of a task is that of all its (wake) learning blocks, one after the other. With p the performance and
j one of several experts:

    RP = mean over j of  sum_{i < n_j} p(i) / sum_{i < n_j} p_j(i)              n_j: length of the shorter curve
    SE = mean over j of  (sat / sat_j) * (n_sat,j / n_sat)                      sat: peak, smoothed; n_sat: when
    PR = -(Theil-Sen slope of the recovery times of the second, third, ... block)

A recovery time is the number of experiences after which a block reaches the terminal performance of the block before.
"""

from itertools import pairwise

import numpy as np

from wakesleep.metrics.blocks import SelectedRegimes
from wakesleep.metrics.curves import Curve, recovery_time, saturation, theil_sen_slope
from wakesleep.metrics.value import MetricValue, mean, undefined

MIN_PEAK_FRACTION = 0.2
"""SE is 0 for a curve whose peak is below this fraction of the expert's, or whose slope is negative."""


def learning_curve(selected: SelectedRegimes, curves: list[Curve], task: str) -> Curve | None:
    """All (wake) learning of a task in one curve; None if it was never learned. `curves`: one for each regime."""
    parts = [curves[number] for number in selected.learning[task] if not selected.regimes[number].is_sleep]
    if not parts:
        return None
    return Curve(
        np.concatenate([part.performance for part in parts]), np.concatenate([part.experience for part in parts])
    )


def mean_curve(curves: list[Curve]) -> np.ndarray:
    """[episodes], the mean of several curves, cut to the length of the shortest."""
    shortest = min(len(curve.performance) for curve in curves)
    return np.mean([curve.performance[:shortest] for curve in curves], axis=0)


def relative_performance(curve: Curve, experts: list[Curve], averaging: str, task: str) -> MetricValue:
    """RP of one task, given its learning curve and those of its experts.

    With `averaging` 'time' the experts' mean curve is the reference, else RP is averaged over the experts.
    """
    if not experts:
        return undefined(f"{task} has no expert")
    ratios = []
    for expert in [mean_curve(experts)] if averaging == "time" else [expert.performance for expert in experts]:
        length = min(len(curve.performance), len(expert))
        if (expert_sum := float(expert[:length].sum())) == 0:
            return undefined(f"the curve of an expert of {task} sums to 0: nothing can be divided by it")
        ratios.append(float(curve.performance[:length].sum()) / expert_sum)
    return MetricValue(mean(ratios))


def sample_efficiency(curve: Curve, experts: list[Curve], averaging: str, task: str) -> MetricValue:
    """SE of one task; arguments as in `relative_performance`."""
    if not experts:
        return undefined(f"{task} has no expert")
    peak = saturation(curve.per_experience())
    if peak.experiences == 0:
        return undefined(f"the learning of {task} never gets better than at its start")
    slope = np.polyfit(curve.experience, curve.performance, 1)[0]
    ratios = []
    for expert in [mean_curve(experts)] if averaging == "time" else [expert.per_experience() for expert in experts]:
        best = saturation(expert)
        if best.experiences == 0:
            continue
        if best.value == 0:
            return undefined(f"an expert of {task} peaks at 0: nothing can be divided by it")
        efficiency = (peak.value / best.value) * (best.experiences / peak.experiences)
        ratios.append(0.0 if peak.value < MIN_PEAK_FRACTION * best.value or slope < 0 else efficiency)
    return MetricValue(mean(ratios)) if ratios else undefined(f"no expert of {task} gets better than at its start")


def recovery_times(selected: SelectedRegimes, curves: list[Curve], terminal: list[float], task: str) -> list[int]:
    """The recovery times of the second, third, ... (wake) learning block of a task."""
    blocks = [number for number in selected.learning[task] if not selected.regimes[number].is_sleep]
    return [recovery_time(curves[now], terminal[before]) for before, now in pairwise(blocks)]


def performance_recovery(times: list[int], task: str) -> MetricValue:
    """PR of one task from its recovery times."""
    if len(times) < 2:
        return undefined(f"{task} was learned {len(times) + 1 if times else 'fewer than two'} times: it takes three")
    return MetricValue(-theil_sen_slope(times))

"""Learning compared with an expert's: relative performance (RP), sample efficiency (SE); and performance recovery (PR).

The learning curve of a task is that of all its (wake) learning blocks, one after the other. With p the performance and
j one of several experts:

    RP = mean over j of  sum_{i < n_j} p(i) / sum_{i < n_j} p_j(i)              n_j: length of the shorter curve
    SE = mean over j of  (sat / sat_j) * (n_sat,j / n_sat)                      sat: peak, smoothed; n_sat: when
    PR = -(Theil-Sen slope of the recovery times of the second, third, ... block)

A recovery time is how many experiences a block takes to reach the level at which the block before it ended.
"""

from itertools import pairwise

import numpy as np

from wakesleep.metrics.blocks import Course
from wakesleep.metrics.curves import Curve, recovery_time, saturation, theil_sen_slope
from wakesleep.metrics.value import Value, absent, mean_of

LOWEST_PART = 0.2
"""SE is 0 for a curve whose peak is below this part of the expert's, or that goes down."""


def learning_curve(course: Course, curves: list[Curve], task: str) -> Curve | None:
    """All (wake) learning of a task, if there is any."""
    parts = [curves[number] for number in course.learning[task] if not course.regimes[number].is_sleep]
    if not parts:
        return None
    return Curve(np.concatenate([part.value for part in parts]), np.concatenate([part.experience for part in parts]))


def mean_curve(curves: list[Curve]) -> np.ndarray:
    """The mean of several curves, as long as the shortest."""
    shortest = min(len(curve.value) for curve in curves)
    return np.mean([curve.value[:shortest] for curve in curves], axis=0)


def relative_performance(curve: Curve, experts: list[Curve], averaging: str, task: str) -> Value:
    """RP of one task."""
    if not experts:
        return absent(f"{task} has no expert")
    shares = []
    for expert in [mean_curve(experts)] if averaging == "time" else [expert.value for expert in experts]:
        length = min(len(curve.value), len(expert))
        if (below := float(expert[:length].sum())) == 0:
            return absent(f"the curve of an expert of {task} sums to 0: nothing can be divided by it")
        shares.append(float(curve.value[:length].sum()) / below)
    return Value(mean_of(shares))


def sample_efficiency(curve: Curve, experts: list[Curve], averaging: str, task: str) -> Value:
    """SE of one task."""
    if not experts:
        return absent(f"{task} has no expert")
    peak = saturation(curve.per_experience())
    if peak.experiences == 0:
        return absent(f"the learning of {task} never gets better than at its start")
    slope = np.polyfit(curve.experience, curve.value, 1)[0]
    shares = []
    for expert in [mean_curve(experts)] if averaging == "time" else [expert.per_experience() for expert in experts]:
        best = saturation(expert)
        if best.experiences == 0:
            continue
        if best.value == 0:
            return absent(f"an expert of {task} peaks at 0: nothing can be divided by it")
        share = (peak.value / best.value) * (best.experiences / peak.experiences)
        shares.append(0.0 if peak.value < LOWEST_PART * best.value or slope < 0 else share)
    return Value(mean_of(shares)) if shares else absent(f"no expert of {task} gets better than at its start")


def recovery_times(course: Course, curves: list[Curve], terminal: list[float], task: str) -> list[int]:
    """Of the second, third, ... (wake) learning block of a task."""
    blocks = [number for number in course.learning[task] if not course.regimes[number].is_sleep]
    return [recovery_time(curves[now], terminal[before]) for before, now in pairwise(blocks)]


def performance_recovery(times: list[int], task: str) -> Value:
    """PR of one task."""
    if len(times) < 2:
        return absent(f"{task} was learned {len(times) + 1 if times else 'fewer than two'} times: it takes three")
    return Value(-theil_sen_slope(times))

"""Smoothing, terminal performance, saturation and recovery time of one curve, as in l2metrics."""

from typing import NamedTuple

import numpy as np

WINDOWS = ("flat", "hanning", "hamming", "bartlett", "blackman")
MAX_WINDOW, WINDOW_FRACTION, TERMINAL_FRACTION = 100, 0.2, 0.1
ROUNDING = 1e-12
"""Relative to the largest value of a curve: smaller differences count as equal."""


class Curve(NamedTuple):
    """Performance over episodes; both arrays have shape [episodes]."""

    performance: np.ndarray
    experience: np.ndarray
    """`exp_num` of each row; several rows may share one."""

    def per_experience(self) -> np.ndarray:
        """[experiences], the mean performance of the rows of each experience."""
        if (np.diff(self.experience) > 0).all():
            return self.performance
        _, which, counts = np.unique(self.experience, return_inverse=True, return_counts=True)
        return self.performance if (counts == 1).all() else np.bincount(which, self.performance) / counts


class Saturation(NamedTuple):
    """The maximum of a smoothed curve."""

    value: float
    experiences: int
    """Experiences before the maximum is reached."""


def smooth(values: np.ndarray, window: str = "flat", length: int | None = None) -> np.ndarray:
    """Moving average of a curve, which is mirrored at both ends.

    Args:
        values: [episodes].
        window: its shape, one of `WINDOWS`.
        length: episodes in the window; by default a fifth of the curve, at most 100. Below 3 nothing is smoothed.

    Returns:
        [episodes].
    """
    if length is None or length > values.size:
        length = min(int(values.size * WINDOW_FRACTION), MAX_WINDOW)
    if length < 3:
        return values
    weights = np.ones(length) if window == "flat" else getattr(np, window)(length)
    mirrored = np.concatenate([values[length - 1 : 0 : -1], values, values[-2 : -length - 1 : -1]])
    averages = np.convolve(weights / weights.sum(), mirrored, mode="valid")
    start = (length - 2) // 2
    return averages[start : start + values.size]


def terminal_performance(curve: Curve, is_train: bool) -> float:
    """The mean over the last tenth of a learning block, or over all of an evaluation block."""
    values = curve.per_experience()
    return float(np.mean(values[int((1 - TERMINAL_FRACTION) * values.size) :] if is_train else values))


def saturation(values: np.ndarray) -> Saturation:
    """The maximum of a curve [experiences] after smoothing it (once more), and where it is first reached.

    Values that differ by rounding only are equal: otherwise the processor would decide where a plateau begins.
    """
    smoothed = smooth(values)
    peak = smoothed.max()
    at = int(np.argmax(smoothed >= peak - ROUNDING * np.abs(smoothed).max()))
    return Saturation(float(peak), at)


def recovery_time(curve: Curve, level: float) -> int:
    """Experiences until the curve reaches a level; one more than there are rows if it never does."""
    (reached,) = np.nonzero(curve.per_experience() >= level)
    return int(reached[0]) if len(reached) else len(curve.performance) + 1


def theil_sen_slope(values: list[int]) -> float:
    """The median slope over all pairs of the points (0, values[0]), (1, values[1]), ..."""
    first, second = np.triu_indices(len(values), 1)
    heights = np.asarray(values, float)
    return float(np.median((heights[second] - heights[first]) / (second - first)))

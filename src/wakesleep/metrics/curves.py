"""What is asked of one curve of episodes: smooth it, its end, its peak, when it was back; as l2metrics answers."""

from typing import NamedTuple

import numpy as np

WINDOWS = ("flat", "hanning", "hamming", "bartlett", "blackman")
LONGEST_WINDOW, WINDOW_PART, TERMINAL_PART = 100, 0.2, 0.1
ROUNDING = 1e-12
"""Of the greatest number of a curve: differences up to this are none."""


class Curve(NamedTuple):
    """Performance, episode after episode."""

    value: np.ndarray
    experience: np.ndarray
    """The number of each row's experience; several rows may share one."""

    def per_experience(self) -> np.ndarray:
        """One value for each experience: the mean of its rows."""
        if (np.diff(self.experience) > 0).all():
            return self.value
        _, which, counts = np.unique(self.experience, return_inverse=True, return_counts=True)
        return self.value if (counts == 1).all() else np.bincount(which, self.value) / counts


class Saturation(NamedTuple):
    """The highest point of a smoothed curve."""

    value: float
    experiences: int
    """How many came before it."""


def smooth(values: np.ndarray, window: str = "flat", length: int | None = None) -> np.ndarray:
    """A moving average over `length` episodes (by default a fifth of the curve, at most 100), mirrored at both ends.

    An odd window reaches one episode further back than ahead; fewer than three episodes smooth nothing.
    """
    if length is None or length > values.size:
        length = min(int(values.size * WINDOW_PART), LONGEST_WINDOW)
    if length < 3:
        return values
    weights = np.ones(length) if window == "flat" else getattr(np, window)(length)
    mirrored = np.concatenate([values[length - 1 : 0 : -1], values, values[-2 : -length - 1 : -1]])
    averages = np.convolve(weights / weights.sum(), mirrored, mode="valid")
    start = (length - 2) // 2
    return averages[start : start + values.size]


def terminal(curve: Curve, is_train: bool) -> float:
    """The mean of the last tenth of a learning curve; of all of an evaluation."""
    values = curve.per_experience()
    return float(np.mean(values[int((1 - TERMINAL_PART) * values.size) :] if is_train else values))


def saturation(values: np.ndarray) -> Saturation:
    """The peak of the curve, smoothed (once more): where it is first reached, but for rounding.

    On a plateau the last digits of the averages, which differ from one processor to another, must not decide.
    """
    smoothed = smooth(values)
    peak = smoothed.max()
    at = int(np.argmax(smoothed >= peak - ROUNDING * np.abs(smoothed).max()))
    return Saturation(float(peak), at)


def recovery_time(curve: Curve, level: float) -> int:
    """Experiences until the curve was at a level; one more than there are rows if it never was."""
    (reached,) = np.nonzero(curve.per_experience() >= level)
    return int(reached[0]) if len(reached) else len(curve.value) + 1


def theil_sen_slope(values: list[int]) -> float:
    """The median slope over all pairs of points, at 0, 1, 2, ..."""
    first, second = np.triu_indices(len(values), 1)
    heights = np.asarray(values, float)
    return float(np.median((heights[second] - heights[first]) / (second - first)))

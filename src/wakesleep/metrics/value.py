"""Metric values that may be undefined. An undefined metric is never 0: it has a reason in words."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

MEDIAN = "median"


class MetricValue(NamedTuple):
    """A number, or the reason why there is none."""

    number: float | None
    reason: str = ""
    """Why there is no number; where there is one, which parts of the mean are missing."""

    @property
    def is_defined(self) -> bool:
        """Whether there is a number."""
        return self.number is not None

    def __str__(self) -> str:
        return f"undefined: {self.reason}" if self.number is None else f"{self.number:.4g}"


def undefined(reason: str) -> MetricValue:
    """A metric without a number, for this reason."""
    return MetricValue(None, reason)


def ratio(numerator: float, denominator: float, denominator_name: str) -> MetricValue:
    """A quotient; undefined where the denominator is 0."""
    if denominator == 0:
        return undefined(f"{denominator_name} is 0: nothing can be divided by it")
    return MetricValue(float(numerator / denominator))


def mean(numbers: Iterable[float]) -> float:
    """The arithmetic mean of at least one number."""
    return float(np.mean(list(numbers)))


def aggregate(parts: Mapping[str, MetricValue], method: str, reason_if_empty: str) -> MetricValue:
    """The mean or median over the parts (tasks, or pairs of tasks) that are defined.

    The reason names the parts that are not; l2metrics leaves them out silently.

    Args:
        parts: by the name of the task or pair.
        method: `mean` or `median`.
        reason_if_empty: why nothing is defined, where there are no parts at all.
    """
    numbers = [part.number for part in parts.values() if part.number is not None and not math.isnan(part.number)]
    missing = [f"{name} ({part.reason})" for name, part in parts.items() if part.number is None]
    if not numbers:
        return undefined("; ".join(dict.fromkeys(part.reason for part in parts.values())) or reason_if_empty)
    number = float(np.median(numbers) if method == MEDIAN else np.mean(numbers))
    return MetricValue(number, f"without {'; '.join(missing)}" if missing else "")

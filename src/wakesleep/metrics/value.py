"""A number that may not exist: then it says why. Nothing undefined is ever a zero or silently left out."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

MEDIAN = "median"


class Value(NamedTuple):
    """A number, or the reason why there is none."""

    number: float | None
    reason: str = ""
    """Why there is no number; beside a number, what it leaves out."""

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return self.number is not None

    def __str__(self) -> str:
        return f"absent: {self.reason}" if self.number is None else f"{self.number:.4g}"


def absent(reason: str) -> Value:
    """No number, for this reason."""
    return Value(None, reason)


def ratio(above: float, below: float, what: str) -> Value:
    """A quotient; absent where it would divide by zero."""
    return Value(float(above / below)) if below != 0 else absent(f"{what} is 0: nothing can be divided by it")


def mean_of(parts: Iterable[float]) -> float:
    """The plain mean of at least one number."""
    return float(np.mean(list(parts)))


def combine(parts: Mapping[str, Value], method: str, nothing: str) -> Value:
    """One number for all parts (tasks, pairs of tasks): the mean or median of those that have one.

    What has none is named in the reason: l2metrics leaves it out without a word.
    """
    numbers = [part.number for part in parts.values() if part.number is not None and not math.isnan(part.number)]
    missing = [f"{name} ({part.reason})" for name, part in parts.items() if part.number is None]
    if not numbers:
        return absent("; ".join(dict.fromkeys(part.reason for part in parts.values())) or nothing)
    number = float(np.median(numbers) if method == MEDIAN else np.mean(numbers))
    return Value(number, f"without {'; '.join(missing)}" if missing else "")

"""Forward and backward transfer (FT, BT): what learning one task does to another, before and after that is learned.

For an ordered pair of tasks s -> o and two evaluations e1, e2 of o, one after the other, between which s was learned:

    ratio = tp(e2) / tp(e1)      contrast = (tp(e2) - tp(e1)) / (tp(e1) + tp(e2))

It is forward transfer if o has not been learned yet (or never is), backward transfer if it has. A lifetime counts the
first value of every pair. If other tasks were learned between e1 and e2 as well, nobody can say whose doing the change
was: the value is absent (l2metrics credits one of them).
"""

from itertools import pairwise
from typing import NamedTuple

from wakesleep.metrics.blocks import Course
from wakesleep.metrics.value import Value, absent, ratio

Pair = tuple[str, str]
"""Learned task, evaluated task."""


class Transfer(NamedTuple):
    """From one task to another, once."""

    ratio: Value
    contrast: Value


class Transfers(NamedTuple):
    """All there is in a lifetime, in order of time."""

    forward: dict[Pair, list[Transfer]]
    backward: dict[Pair, list[Transfer]]


def transfers(course: Course, terminal: list[float]) -> Transfers:
    """Between all pairs of tasks."""
    found = Transfers({}, {})
    for evaluated in course.tasks:
        learned_at = min(course.learning[evaluated], default=None)
        for before, after in pairwise(course.evaluation[evaluated]):
            between = [
                number for number in range(before + 1, after) if course.regimes[number].is_train
            ]  # fmt: skip
            learned = dict.fromkeys(course.regimes[number].task for number in between)
            for task in learned:
                if task == evaluated:
                    continue
                first = min(number for number in between if course.regimes[number].task == task)
                is_forward = learned_at is None or first < learned_at
                others = [other for other in learned if other != task]
                step = _transfer(terminal[before], terminal[after], evaluated, others)
                (found.forward if is_forward else found.backward).setdefault((task, evaluated), []).append(step)
    return found


def first_known(steps: list[Transfer], method: str) -> Value:
    """What counts for the lifetime: the first value that exists."""
    values = [getattr(step, method) for step in steps]
    return next((value for value in values if value.known), values[0])


def _transfer(before: float, after: float, evaluated: str, others: list[str]) -> Transfer:
    if others:
        why = absent(f"{' and '.join(others)} was learned between the same evaluations of {evaluated}")
        return Transfer(why, why)
    return Transfer(
        ratio(after, before, f"the first evaluation of {evaluated}"),
        ratio(after - before, after + before, f"the sum of both evaluations of {evaluated}"),
    )

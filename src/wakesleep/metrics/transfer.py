"""Forward and backward transfer (FT, BT): what learning one task does to another, before and after that is learned.

For an ordered pair of tasks s -> o and two evaluations e1, e2 of o, one after the other, between which s was learned:

    ratio = tp(e2) / tp(e1)      contrast = (tp(e2) - tp(e1)) / (tp(e1) + tp(e2))

It is forward transfer if o has not been learned yet (or never is), backward transfer if it has. A lifetime counts the
first value of every pair. If other tasks were learned between e1 and e2 as well, the change cannot be attributed to one
of them: the value is undefined (l2metrics credits one of them).
"""

from itertools import pairwise
from typing import NamedTuple

from wakesleep.metrics.blocks import SelectedRegimes
from wakesleep.metrics.value import MetricValue, ratio, undefined

Pair = tuple[str, str]
"""Learned task, evaluated task."""


class Transfer(NamedTuple):
    """Transfer from one task to another between two evaluations."""

    ratio: MetricValue
    contrast: MetricValue


class Transfers(NamedTuple):
    """All transfers of a lifetime: of each pair a list in order of time."""

    forward: dict[Pair, list[Transfer]]
    backward: dict[Pair, list[Transfer]]


def transfers(selected: SelectedRegimes, terminal: list[float]) -> Transfers:
    """Transfers between all pairs of tasks; `terminal` holds the terminal performance of each regime."""
    found = Transfers({}, {})
    for evaluated in selected.tasks:
        learned_at = min(selected.learning[evaluated], default=None)
        for before, after in pairwise(selected.evaluation[evaluated]):
            between = [number for number in range(before + 1, after) if selected.regimes[number].is_train]
            learned = dict.fromkeys(selected.regimes[number].task for number in between)
            for task in learned:
                if task == evaluated:
                    continue
                first = min(number for number in between if selected.regimes[number].task == task)
                is_forward = learned_at is None or first < learned_at
                others = [other for other in learned if other != task]
                transfer = _transfer(terminal[before], terminal[after], evaluated, others)
                (found.forward if is_forward else found.backward).setdefault((task, evaluated), []).append(transfer)
    return found


def first_defined(transfers: list[Transfer], method: str) -> MetricValue:
    """The value that counts for the lifetime: the first that is defined. `method`: `ratio` or `contrast`."""
    values = [getattr(transfer, method) for transfer in transfers]
    return next((value for value in values if value.is_defined), values[0])


def _transfer(before: float, after: float, evaluated: str, others: list[str]) -> Transfer:
    if others:
        reason = undefined(f"{' and '.join(others)} was learned between the same evaluations of {evaluated}")
        return Transfer(reason, reason)
    return Transfer(
        ratio(after, before, f"the first evaluation of {evaluated}"),
        ratio(after - before, after + before, f"the sum of both evaluations of {evaluated}"),
    )

"""Performance maintenance (PM): is a task as good later as it was right after it was learned? Negative: forgotten.

For task k, every evaluation that comes right after learning it is a reference; every later evaluation e that is not
itself a reference gives

    m(e) = tp(e) - tp(the last reference before e)      MRLEP, the default and the paper's
    m(e) = tp(e) - tp(the last learning of k before e)  MRTLP

with tp the terminal performance (`curves.terminal_performance`). PM of the task is the mean of m(e). Its unit is that
of performance: points of the scale from 1 to 101, to which each task's range of returns is normalised by default.
"""

from typing import NamedTuple

from wakesleep.metrics.blocks import SelectedRegimes
from wakesleep.metrics.value import MetricValue, mean, undefined


class Maintenance(NamedTuple):
    """PM of one task by both methods, and the differences of which it is the mean."""

    mrlep: MetricValue
    mrtlp: MetricValue
    differences_mrlep: tuple[float, ...] = ()
    differences_mrtlp: tuple[float, ...] = ()


def performance_maintenance(selected: SelectedRegimes, terminal: list[float], task: str) -> Maintenance:
    """PM of one task; `terminal` holds the terminal performance of each regime."""
    learning, evaluations = selected.learning[task], selected.evaluation[task]
    after = (next((e for e in evaluations if e > block), None) for block in learning)
    references = [e for e in after if e is not None]
    if not learning or not references:
        reason = undefined(f"{task} was never {'evaluated after learning it' if learning else 'learned'}")
        return Maintenance(reason, reason)
    later = [e for e in evaluations if e > references[0] and e not in references]
    if not later:
        reason = undefined(f"no later evaluation of {task} follows the one right after its learning")
        return Maintenance(reason, reason)
    by_evaluation = tuple(terminal[e] - terminal[max(r for r in references if r < e)] for e in later)
    by_learning = tuple(terminal[e] - terminal[max(block for block in learning if block < e)] for e in later)
    return Maintenance(MetricValue(mean(by_evaluation)), MetricValue(mean(by_learning)), by_evaluation, by_learning)

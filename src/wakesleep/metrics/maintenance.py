"""Performance maintenance (PM): is a task as good later as it was right after it was learned? Negative: forgotten.

For task k, every evaluation that comes right after learning it is a reference; every later evaluation e that is not
itself a reference gives

    m(e) = tp(e) - tp(the last reference before e)      MRLEP, the default and the paper's
    m(e) = tp(e) - tp(the last learning of k before e)  MRTLP

with tp the terminal performance (`curves.terminal`). PM of the task is the mean of m(e).
"""

from typing import NamedTuple

from wakesleep.metrics.blocks import Course
from wakesleep.metrics.value import Value, absent, mean_of


class Maintenance(NamedTuple):
    """PM of one task, by both methods, and the differences it is the mean of."""

    mrlep: Value
    mrtlp: Value
    differences_mrlep: tuple[float, ...] = ()
    differences_mrtlp: tuple[float, ...] = ()


def maintenance(course: Course, terminal: list[float], task: str) -> Maintenance:
    """PM of one task."""
    learning, evaluations = course.learning[task], course.evaluation[task]
    after = (next((e for e in evaluations if e > block), None) for block in learning)
    references = [e for e in after if e is not None]
    if not learning or not references:
        why = absent(f"{task} was never {'evaluated after learning it' if learning else 'learned'}")
        return Maintenance(why, why)
    later = [e for e in evaluations if e > references[0] and e not in references]
    if not later:
        why = absent(f"no later evaluation of {task} follows the one right after its learning")
        return Maintenance(why, why)
    by_evaluation = tuple(terminal[e] - terminal[max(r for r in references if r < e)] for e in later)
    by_learning = tuple(terminal[e] - terminal[max(block for block in learning if block < e)] for e in later)
    return Maintenance(Value(mean_of(by_evaluation)), Value(mean_of(by_learning)), by_evaluation, by_learning)

"""Relative reward (section 4.2 of the paper, equation RR): returns as parts of what the experts achieve.

With rho(t, s) = mean return of task s in evaluation block t / R*(s), averaged over tasks first, then over blocks:

    RR_Omega     the final block, all tasks learned
    RR_sigma     all blocks, tasks learned before them
    RR_upsilon   all blocks, tasks not learned before them
    RR_alpha     all blocks that follow a learning block, the task just learned

Before the first learning nothing is learned: that block counts for RR_upsilon alone, which is given without it as well.
All are also given with returns and R* scaled to each task's range, since a quotient of returns depends on where 0 is.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wakesleep.metrics.blocks import Course
from wakesleep.metrics.prepare import Range
from wakesleep.metrics.value import Value, absent, mean_of, ratio


class Evaluation(NamedTuple):
    """One evaluation block."""

    number: int
    """What the log calls it."""
    returns: dict[str, float]
    """Mean return of each task."""
    learned: tuple[str, ...]
    """Tasks learned before it."""
    just_learned: tuple[str, ...]
    """The task of the learning block right before it; nothing if there was an evaluation in between."""


class RelativeReward(NamedTuple):
    """The paper's four, and one of them without the block before all learning."""

    omega: Value
    alpha: Value
    sigma: Value
    upsilon: Value
    upsilon_without_first: Value


def evaluations(course: Course, raw: list[np.ndarray]) -> tuple[list[Evaluation], bool]:
    """The evaluation blocks in order, and whether the log ends with one."""
    counted = {number for numbers in course.evaluation.values() for number in numbers}
    blocks: dict[int, list[int]] = {}
    for number, regime in enumerate(course.regimes):
        if regime.is_train or number in counted:
            blocks.setdefault(regime.block, []).append(number)
    found: list[Evaluation] = []
    learned: dict[str, None] = {}
    just: tuple[str, ...] = ()
    for numbers in blocks.values():
        regimes = [course.regimes[number] for number in numbers]
        if regimes[0].is_train:
            just = tuple(regime.task for regime in regimes)
            learned |= dict.fromkeys(just)
            continue
        returns = {course.regimes[number].task: float(raw[number].mean()) for number in numbers}
        found.append(Evaluation(regimes[0].number, returns, tuple(learned), just))
        just = ()
    return found, not just


def relative_reward(
    blocks: list[Evaluation], ends_evaluated: bool, tasks: tuple[str, ...], expert_returns: dict[str, Value],
    ranges: dict[str, Range] | None = None,
) -> RelativeReward:  # fmt: skip
    """All relative rewards; with ranges, of scaled returns."""

    def rho(block: Evaluation, task: str) -> Value:
        if task not in block.returns:
            return absent(f"{task} is not evaluated in block {block.number}")
        if (best := expert_returns[task]).number is None:
            return best
        low, high = ranges[task] if ranges else (0.0, 1.0)
        if low == high:
            return absent(f"the performance of {task} never changes")
        scaled = (block.returns[task] - low) / (high - low), (best.number - low) / (high - low)
        return ratio(*scaled, f"R* of {task}")

    def over(chosen: list[Evaluation], which: Callable[[Evaluation], tuple[str, ...]], nothing: str) -> Value:
        means = []
        for block in chosen:
            if parts := [rho(block, task) for task in which(block)]:
                if lacking := next((part for part in parts if not part.known), None):
                    return lacking
                means.append(mean_of(part.number for part in parts if part.number is not None))
        return Value(mean_of(means)) if means else absent(nothing)

    def unseen(block: Evaluation) -> tuple[str, ...]:
        return tuple(task for task in tasks if task not in block.learned)

    nothing_learned = "no evaluation follows any learning"
    final = over(blocks[-1:], lambda block: block.learned, nothing_learned)
    return RelativeReward(
        omega=final if ends_evaluated else absent("the log ends with learning, not with an evaluation"),
        alpha=over(blocks, lambda block: block.just_learned, nothing_learned),
        sigma=over(blocks, lambda block: block.learned, nothing_learned),
        upsilon=over(blocks, unseen, "every evaluated task had been learned"),
        upsilon_without_first=over(
            [block for block in blocks if block.learned], unseen, "after the first learning no task was unlearned"
        ),
    )

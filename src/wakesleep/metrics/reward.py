"""Relative reward (section 4.2 of the paper, equation RR): returns as fractions of the experts' returns.

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

from wakesleep.metrics.blocks import SelectedRegimes
from wakesleep.metrics.prepare import Range
from wakesleep.metrics.value import MetricValue, mean, ratio, undefined


class EvaluationBlock(NamedTuple):
    """One evaluation block."""

    number: int
    """`block_num` in the log."""
    returns: dict[str, float]
    """Mean return as logged, by task."""
    learned: tuple[str, ...]
    """Tasks learned before it."""
    just_learned: tuple[str, ...]
    """The task of the learning block right before it; empty where an evaluation comes in between."""


_TasksOf = Callable[[EvaluationBlock], tuple[str, ...]]


class RelativeReward(NamedTuple):
    """The paper's four relative rewards, and RR_upsilon without the block before all learning."""

    omega: MetricValue
    alpha: MetricValue
    sigma: MetricValue
    upsilon: MetricValue
    upsilon_without_first: MetricValue


def evaluation_blocks(selected: SelectedRegimes, returns: list[np.ndarray]) -> tuple[list[EvaluationBlock], bool]:
    """The evaluation blocks in order, and whether the log ends with one; `returns`: as logged, of each regime."""
    counted = {number for numbers in selected.evaluation.values() for number in numbers}
    blocks: dict[int, list[int]] = {}
    for number, regime in enumerate(selected.regimes):
        if regime.is_train or number in counted:
            blocks.setdefault(regime.block, []).append(number)
    found: list[EvaluationBlock] = []
    learned: dict[str, None] = {}
    just_learned: tuple[str, ...] = ()
    for numbers in blocks.values():
        regimes = [selected.regimes[number] for number in numbers]
        if regimes[0].is_train:
            just_learned = tuple(regime.task for regime in regimes)
            learned |= dict.fromkeys(just_learned)
            continue
        means = {selected.regimes[number].task: float(returns[number].mean()) for number in numbers}
        found.append(EvaluationBlock(regimes[0].number, means, tuple(learned), just_learned))
        just_learned = ()
    return found, not just_learned


def relative_reward(
    blocks: list[EvaluationBlock], ends_evaluated: bool, tasks: tuple[str, ...], expert_returns: dict[str, MetricValue],
    ranges: dict[str, Range] | None = None,
) -> RelativeReward:  # fmt: skip
    """All relative rewards.

    Args:
        blocks: the evaluation blocks in order.
        ends_evaluated: whether the lifetime ends with an evaluation.
        tasks: all tasks of the lifetime.
        expert_returns: R* of each task.
        ranges: if given, returns and R* are scaled to them.
    """

    def average(chosen: list[EvaluationBlock], tasks_of: _TasksOf, reason_if_empty: str) -> MetricValue:
        means = []
        for block in chosen:
            if parts := [_fraction(block, task, expert_returns[task], ranges) for task in tasks_of(block)]:
                if missing := next((part for part in parts if not part.is_defined), None):
                    return missing
                means.append(mean(part.number for part in parts if part.number is not None))
        return MetricValue(mean(means)) if means else undefined(reason_if_empty)

    def unseen(block: EvaluationBlock) -> tuple[str, ...]:
        return tuple(task for task in tasks if task not in block.learned)

    nothing_learned = "no evaluation follows any learning"
    final = average(blocks[-1:], lambda block: block.learned, nothing_learned)
    return RelativeReward(
        omega=final if ends_evaluated else undefined("the log ends with learning, not with an evaluation"),
        alpha=average(blocks, lambda block: block.just_learned, nothing_learned),
        sigma=average(blocks, lambda block: block.learned, nothing_learned),
        upsilon=average(blocks, unseen, "every evaluated task had been learned"),
        upsilon_without_first=average(
            [block for block in blocks if block.learned], unseen, "after the first learning no task was unlearned"
        ),
    )


def _fraction(
    block: EvaluationBlock, task: str, expert_return: MetricValue, ranges: dict[str, Range] | None
) -> MetricValue:
    """rho(block, task): the mean return of a task in a block divided by R*."""
    if task not in block.returns:
        return undefined(f"{task} is not evaluated in block {block.number}")
    if expert_return.number is None:
        return expert_return
    low, high = ranges[task] if ranges else (0.0, 1.0)
    if low == high:
        return undefined(f"the performance of {task} never changes")
    scaled = (block.returns[task] - low) / (high - low), (expert_return.number - low) / (high - low)
    return ratio(*scaled, f"R* of {task}")

"""Blocks and regimes of a log: which task was learned or evaluated when.

A *block* is a run of rows with the same number, type (learning or evaluation) and subtype. A *regime* is one task in
one block. l2logger begins a regime wherever the task changes from row to row, so that evaluations whose tasks take
turns fall into many regimes. Here all rows of a task in a block are one regime, in whatever order they were logged.
"""

from typing import NamedTuple

import numpy as np

from wakesleep.logs import Log


class Regime(NamedTuple):
    """One task in one block."""

    block: int
    """Index of the block, from 0."""
    number: int
    """`block_num` in the log."""
    is_train: bool
    """Learning or evaluation."""
    is_sleep: bool
    """Whether the block's subtype is `sleep`."""
    task: str
    rows: np.ndarray
    """[episodes], rows of the log."""


def task_family(task: str) -> str:
    """A task's name without its variant: `DoorKey` for `DoorKey_S5`."""
    return task.split("_")[0]


def split_regimes(log: Log, agnostic: bool = False) -> list[Regime]:
    """The regimes of a log, in order of their first rows; with `agnostic`, all variants of a task are one task."""
    names = [task_family(name) if agnostic else name for name in log.tasks]
    first: dict[str, int] = {}
    codes = np.array([first.setdefault(name.lower(), number) for number, name in enumerate(names)])
    task = codes[log.task]
    changes = (np.diff(log.block) != 0) | (np.diff(log.is_train) != 0) | (np.diff(log.is_sleep) != 0)
    block = np.concatenate([[0], np.cumsum(changes)])
    _, firsts, which = np.unique(block * len(names) + task, return_index=True, return_inverse=True)
    by_regime = np.argsort(which, kind="stable")
    rows = np.split(by_regime, np.cumsum(np.bincount(which))[:-1])
    return [
        Regime(
            int(block[at]), int(log.block[at]), bool(log.is_train[at]), bool(log.is_sleep[at]),
            names[int(task[at])], rows[number],
        )
        for number, at in sorted(enumerate(firsts.tolist()), key=lambda pair: pair[1])
    ]  # fmt: skip


def is_interleaved(regimes: list[Regime]) -> bool:
    """Whether tasks take turns inside a block."""
    return any((np.diff(regime.rows) != 1).any() for regime in regimes)


class SelectedRegimes(NamedTuple):
    """The regimes of a lifetime, and which of them metrics use."""

    regimes: list[Regime]
    tasks: tuple[str, ...]
    """In order of learning, then those that are only evaluated."""
    learning: dict[str, list[int]]
    """By task: indices into `regimes` of its learning."""
    evaluation: dict[str, list[int]]
    """By task: indices into `regimes` of its evaluations that count."""


def select_regimes(regimes: list[Regime]) -> SelectedRegimes:
    """Choose the evaluations that count: where a log has evaluations of subtype `sleep`, only those (l2metrics' rule).

    l2metrics also drops the wake evaluations where only *learning* blocks are of subtype `sleep`, and has none left.
    """
    has_sleep_evaluations = any(regime.is_sleep and not regime.is_train for regime in regimes)
    order = [*(r.task for r in regimes if r.is_train), *(r.task for r in regimes)]
    tasks = tuple(dict.fromkeys(order))
    learning: dict[str, list[int]] = {task: [] for task in tasks}
    evaluation: dict[str, list[int]] = {task: [] for task in tasks}
    for number, regime in enumerate(regimes):
        if regime.is_train:
            learning[regime.task].append(number)
        elif regime.is_sleep == has_sleep_evaluations:
            evaluation[regime.task].append(number)
    return SelectedRegimes(regimes, tasks, learning, evaluation)

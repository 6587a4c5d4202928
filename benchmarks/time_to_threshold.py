"""Time to 90% of the optimal return: our preset `fast` beside stable-baselines3 with the paper's settings, one table.

    .venv/bin/python benchmarks/time_to_threshold.py --fast-rate 4000 --sb3-rate 400

Steps come from results/blocks_fast.csv (100 training episodes in a row) and results/sb3_curves.csv (the episodes of
10,000 steps). Seconds are these steps at the steps per second that `make bench` measured for both in one run, on one
core: the runs themselves were made on a machine that did other things too.
"""

import csv
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from wakesleep.worlds.minigrid.tasks import OPTIMAL_RETURNS

RESULTS = Path(__file__).parent / "results"


class Run(NamedTuple):
    """One run of a task."""

    reached: float
    """Steps until it was there, infinite if never."""
    steps: int
    """How long it was."""


def ours() -> dict[str, list[Run]]:
    """The runs of each task."""
    found = defaultdict(list)
    with (RESULTS / "blocks_fast.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            found[row["task"]].append(Run(float(row["steps_to_90"] or "inf"), int(row["steps"])))
    return found


def reference() -> dict[str, list[Run]]:
    """The same of stable-baselines3."""
    curves, finished = defaultdict(list), set()
    with (RESULTS / "sb3_curves.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            run = row["task"], int(row["seed"])
            if row["steps"] == "final":
                finished.add(run)
            else:
                curves[run].append((int(row["steps"]), float(row["mean_return"] or "nan")))
    found = defaultdict(list)
    for task, seed in sorted(finished):
        level, curve = 0.9 * OPTIMAL_RETURNS[task], curves[task, seed]
        reached = next((steps for steps, value in curve if value >= level), np.inf)
        found[task].append(Run(reached, curve[-2][0]))  # the last window has only begun
    return found


def words(runs: list[Run], rate: float) -> tuple[str, float]:
    """The median time of the runs, and how many got there; a median of infinity means only that runs were too short."""
    reached = [run for run in runs if np.isfinite(run.reached)]
    median = float(np.median([run.reached for run in runs])) / rate
    if np.isfinite(median):
        return f"{median:.0f} s ({len(reached)} of {len(runs)})", median
    steps = min(run.steps for run in runs)
    return f"not in {steps:,} steps, {steps / rate:.0f} s ({len(reached)} of {len(runs)})", median


def main(fast_rate: float, sb3_rate: float) -> None:
    """Print the table.

    Args:
        fast_rate: steps per second of our preset fast.
        sb3_rate: steps per second of stable-baselines3.
    """
    columns = ("task", "wakesleep, fast", "stable-baselines3, paper", "times faster")
    table = Table(*columns, title="Time to 90% of the optimal return: median, runs that got there")
    own, theirs = ours(), reference()
    for task in OPTIMAL_RETURNS:
        if not own[task] or not theirs[task]:
            continue
        (cell, mine), (their_cell, other) = words(own[task], fast_rate), words(theirs[task], sb3_rate)
        least = min(run.steps for run in theirs[task]) / sb3_rate / mine
        table.add_row(task, cell, their_cell, f"{other / mine:.0f}" if np.isfinite(other) else f"over {least:.0f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    tyro.cli(main)

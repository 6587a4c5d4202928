"""Time to 90% of the optimal return: our preset `fast` beside stable-baselines3 with the paper's settings, one table.

    .venv/bin/python benchmarks/time_to.py --fast-rate 4000 --sb3-rate 400

Steps come from results/blocks_fast.csv (100 training episodes in a row) and results/sb3_curves.csv (the episodes of
10,000 steps). Seconds are these steps at the steps per second that `make bench` measured for both in one run, on one
core: the runs themselves were made on a machine that did other things too.
"""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from wakesleep.worlds.minigrid.tasks import OPTIMAL_RETURNS

RESULTS = Path(__file__).parent / "results"


def ours() -> dict[str, list[int | None]]:
    """Steps of each run of a task, None where it never got there."""
    found = defaultdict(list)
    with (RESULTS / "blocks_fast.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            found[row["task"]].append(int(row["steps_to_90"]) if row["steps_to_90"] else None)
    return found


def reference() -> dict[str, list[int | None]]:
    """The same of stable-baselines3."""
    curves, finished = defaultdict(list), set()
    with (RESULTS / "sb3_curves.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            run = row["task"], int(row["seed"])
            if row["steps"] == "final":
                finished.add(run)
            elif row["mean_return"]:
                curves[run].append((int(row["steps"]), float(row["mean_return"])))
    found = defaultdict(list)
    for task, seed in sorted(finished):
        level = 0.9 * OPTIMAL_RETURNS[task]
        found[task].append(next((steps for steps, value in curves[task, seed] if value >= level), None))
    return found


def words(runs: list[int | None], rate: float) -> tuple[str, float | None]:
    """The median time of the runs, and how many got there."""
    if not runs:
        return "not run", None
    reached = [run for run in runs if run is not None]
    if len(reached) * 2 <= len(runs):
        return f"never in {len(runs) - len(reached)} of {len(runs)}", None
    median = float(np.median([np.inf if run is None else run for run in runs])) / rate
    return f"{median:.0f} s ({len(reached)} of {len(runs)})", median


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
        if task not in own:
            continue
        (cell, mine), (their_cell, other) = words(own[task], fast_rate), words(theirs[task], sb3_rate)
        table.add_row(task, cell, their_cell, f"{other / mine:.0f}" if mine and other else "")
    Console().print(table)


if __name__ == "__main__":
    tyro.cli(main)

"""Our PPO beside stable-baselines3's, the paper's settings, the paper's block lengths: one figure and one table.

    .venv/bin/python benchmarks/block_returns.py --preset paper --seeds 3 --tasks DoorKey_S5 DistShift_R2 ...
    .venv/bin/python benchmarks/curves.py

reads the reference from results/sb3_curves.csv (made by sb3_curves.py) and our runs from runs/blocks-paper, keeps our
curves in results/paper_curves.csv, and draws docs/images/ppo-curves.png: the mean return of the episodes that ended in
each 10,000 steps. `final` is the mean return of 100 episodes of the frozen policy, actions sampled.
"""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import tyro
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from wakesleep.experts.expert import Expert, expert_folder, load_expert
from wakesleep.worlds.minigrid.tasks import OPTIMAL_RETURNS

HERE = Path(__file__).parent
REFERENCE, OURS = HERE / "results" / "sb3_curves.csv", HERE / "results" / "paper_curves.csv"
FIGURE = HERE.parent / "docs" / "images" / "ppo-curves.png"
WINDOW = 10_000
Rows = dict[tuple[str, int], list[tuple[str, str]]]


def read(file: Path) -> Rows:
    """Steps and mean return of every run, as they stand in the file."""
    runs: Rows = defaultdict(list)
    with file.open(newline="") as opened:
        for row in csv.DictReader(opened):
            runs[row["task"], int(row["seed"])].append((row["steps"], row["mean_return"]))
    return {run: rows for run, rows in runs.items() if rows[-1][0] == "final"}


def rows_of(expert: Expert) -> list[tuple]:
    """A run of ours in the form of the reference."""
    curve = expert.curve
    window = (curve.steps + WINDOW - 1) // WINDOW * WINDOW
    means = [
        (step, round(float(curve.returns[window == step].mean()), 4), int((window == step).sum()))
        for step in sorted(set(window.tolist()))
    ]
    final = ("final", round(expert.mean_return, 4), len(expert.returns))
    return [(expert.task, expert.seed, *row) for row in (*means, final)]


def draw(reference: Rows, ours: Rows, tasks: list[str]) -> None:
    """All curves, a panel for each task."""
    figure = Figure(figsize=(3.2 * len(tasks), 3.2), layout="constrained")
    for place, task in enumerate(tasks):
        axes = figure.add_subplot(1, len(tasks), place + 1)
        for runs, colour, name in ((reference, "tab:orange", "stable-baselines3"), (ours, "tab:blue", "wakesleep")):
            for number, rows in enumerate(rows for (other, _), rows in sorted(runs.items()) if other == task):
                points = np.array([(float(step), float(value)) for step, value in rows[:-1] if value])
                label = name if number == 0 else None
                axes.plot(points[:, 0] / 1000, points[:, 1], color=colour, alpha=0.8, linewidth=1.2, label=label)
        axes.axhline(OPTIMAL_RETURNS[task], color="grey", linewidth=0.8, linestyle=":")
        axes.set_title(task)
        axes.set_xlabel("thousand steps")
        axes.set_ylim(-1.05, 1.05)
    figure.axes[0].set_ylabel("mean return")
    figure.axes[0].legend(loc="lower right", fontsize=8)
    figure.savefig(FIGURE, dpi=100)


def main(runs: Path = Path("runs/blocks-paper")) -> None:
    """Collect our runs, draw the figure, print the table.

    Args:
        runs: where blocks.py kept our experts; those in results/paper_curves.csv are used where it is missing.
    """
    reference = read(REFERENCE)
    places = {run: expert_folder(runs, *run) for run in sorted(reference)}
    if all((place / "expert.json").exists() for place in places.values()):
        with OURS.open("w", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(("task", "seed", "steps", "mean_return", "episodes"))
            for place in places.values():
                writer.writerows(rows_of(load_expert(place)))
    ours = read(OURS)
    tasks = [task for task in OPTIMAL_RETURNS if any(task == other for other, _ in reference)]
    draw(reference, ours, tasks)
    table = Table("task", "optimal", "stable-baselines3, each seed", "wakesleep, each seed", title="Final returns")
    for task in tasks:
        finals = [
            "  ".join(f"{float(rows[-1][1]):.3f}" for (other, _), rows in sorted(runs.items()) if other == task)
            for runs in (reference, ours)
        ]
        table.add_row(task, f"{OPTIMAL_RETURNS[task]:.3f}", *finals)
    Console().print(table)
    Console().print(f"{FIGURE} shows the curves.")


if __name__ == "__main__":
    tyro.cli(main)

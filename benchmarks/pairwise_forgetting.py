"""Does hidden replay keep what the baseline forgets? Six pairs of dissimilar tasks, paper's settings and blocks.

    .venv/bin/python benchmarks/pairwise_forgetting.py

runs every pair with every agent (resumable, kept under runs/pairs-<preset>) and writes results/pairs_<preset>.csv: the
mean return of each task in each evaluation block; and docs/images/pairs-<preset>.png, the same as curves.
"""

import csv
from pathlib import Path

import numpy as np
import tyro
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from wakesleep import logs, runtime
from wakesleep.jobs import Job, default_workers, run_jobs
from wakesleep.lifetime.spec import LifetimeSpec, run_lifetime
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.syllabus.seeds import lifetime_seed

HERE = Path(__file__).parent
PAIRS = (
    ("DoorKey_S5", "DistShift_R2"),
    ("DistShift_R2", "DoorKey_S5"),
    ("CustomUnlock_S5", "DistShift_R3"),
    ("DistShift_R3", "CustomUnlock_S5"),
    ("DoorKey_S5", "DistShift_R3"),
    ("DistShift_R2", "CustomUnlock_S5"),
)
"""A way round lava to a goal, and doors with keys: tasks that PPO with the paper's settings learns."""
BLOCKS = (0, 2, 4)


def returns(folder: Path, tasks: tuple[str, str]) -> list[list[float]]:
    """Mean return by evaluation block and task."""
    log = logs.read_log(folder)
    return [[float(np.mean(found[task])) for task in tasks] for found in map(log.returns, BLOCKS)]


def draw(found: dict[tuple[str, int], list[list[float]]], agents: tuple[str, ...], file: Path) -> None:
    """A panel for every pair: both tasks through the evaluation blocks."""
    figure = Figure(figsize=(3.1 * len(PAIRS) / 2, 5.6), layout="constrained")
    styles = dict(zip(agents, ("tab:grey", "tab:blue", "tab:green", "tab:red"), strict=False))
    for number, pair in enumerate(PAIRS):
        axes = figure.add_subplot(2, len(PAIRS) // 2, number + 1)
        for agent in agents:
            values = np.array(found[agent, number])
            for at, marker in ((0, "o-"), (1, "s--")):
                axes.plot(values[:, at], marker, color=styles[agent], label=f"{agent}, task {at + 1}", markersize=4)
        axes.set_title(f"{pair[0]}, then {pair[1]}", fontsize=8)
        axes.set_xticks(range(3), ["at birth", "after task 1", "after task 2"], fontsize=7)
        axes.set_ylim(-1.05, 1.05)
    figure.axes[0].set_ylabel("mean return of 100 episodes")
    figure.axes[0].legend(fontsize=6, loc="lower right")
    figure.savefig(file, dpi=110)


def main(
    preset: str = "paper", agents: tuple[str, ...] = ("baseline", "hidden"), jobs: int = 0, runs: Path = Path("runs")
) -> None:
    """Run what is missing, write the results, print them.

    Args:
        preset: whose settings.
        agents: which agents.
        jobs: how many at a time; 0: one per core.
        runs: where the lifetimes are kept.
    """
    runtime.set_up()
    todo, places = [], {}
    for number, pair in enumerate(PAIRS):
        syllabus = pairwise(*pair, lifetime_seed(0, number))
        for agent in agents:
            place = places[agent, number] = runs / f"pairs-{preset}" / f"{agent}-{number}"
            if not (place / "summary.json").exists():
                spec = LifetimeSpec(agent, preset, syllabus, number)
                todo.append(Job(f"{agent}: {pair[0]}, {pair[1]}", run_lifetime, (spec, place)))
    if todo:
        run_jobs(todo, jobs or default_workers(), f"pairs, {preset}")
    found = {key: returns(place, PAIRS[key[1]]) for key, place in places.items()}
    with (HERE / "results" / f"pairs_{preset}.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("agent", "first", "second", "evaluation", "return_of_first", "return_of_second"))
        for (agent, number), rows in found.items():
            writer.writerows([(agent, *PAIRS[number], at, *np.round(row, 4)) for at, row in enumerate(rows)])
    draw(found, agents, HERE.parent / "docs" / "images" / f"pairs-{preset}.png")
    table = Table("first task, then second", *(f"{agent}: task 1, then; task 2" for agent in agents))
    for number, pair in enumerate(PAIRS):
        cells = [
            f"{rows[1][0]:.2f} -> {rows[2][0]:.2f}; {rows[2][1]:.2f}" for rows in (found[a, number] for a in agents)
        ]
        table.add_row(", ".join(pair), *cells)
    Console().print(table)


if __name__ == "__main__":
    tyro.cli(main)

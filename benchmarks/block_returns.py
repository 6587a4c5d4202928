"""Does a wake learner solve every task within the paper's learning block? All ten tasks, several seeds, two cores.

    .venv/bin/python benchmarks/block_returns.py --preset fast --seeds 5

trains one expert per task and seed for the block length of the paper (resumable, kept under runs/blocks-<preset>, or
blocks-<learner> where one is named) and writes results/blocks_<preset>.csv: the return of the frozen policy over 100
episodes, actions sampled, and the steps until 100 training episodes had 90% of the optimal return.
"""

import csv
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from wakesleep import runtime
from wakesleep.experts.expert import Expert, expert_folder, expert_spec, load_expert, train_expert
from wakesleep.jobs import Job, default_workers, run_jobs
from wakesleep.worlds.minigrid.tasks import BLOCK_STEPS, OPTIMAL_RETURNS

HERE = Path(__file__).parent
COLUMNS = ("task", "seed", "steps", "final_return", "of_optimal", "steps_to_90", "seconds", "seconds_to_90")


def steps_to(expert: Expert, level: float, window: int = 100) -> int | None:
    """Steps until the mean return of `window` training episodes reached the level, if it ever did."""
    curve = expert.curve
    means = np.convolve(curve.returns, np.ones(window) / window, mode="valid")
    reached = np.flatnonzero(means >= level)
    return int(curve.steps[window - 1 + reached[0]]) if len(reached) else None


def result_row(expert: Expert) -> tuple:
    """One line of the results."""
    best = OPTIMAL_RETURNS[expert.task]
    steps = steps_to(expert, 0.9 * best)
    seconds = "" if steps is None else round(expert.seconds * steps / expert.steps, 1)
    share = round(expert.mean_return / best, 4)
    reached = "" if steps is None else steps
    return (
        expert.task, expert.seed, expert.steps, round(expert.mean_return, 4), share, reached, expert.seconds, seconds
    )  # fmt: skip


def main(
    preset: str = "fast",
    learner: str | None = None,
    seeds: int = 5,
    tasks: tuple[str, ...] = tuple(BLOCK_STEPS),
    jobs: int = 0,
    runs: Path = Path("runs"),
) -> None:
    """Train what is missing, write the results, print them.

    Args:
        preset: whose settings.
        learner: by name; by default PPO.
        seeds: how many runs of each task.
        tasks: which tasks.
        jobs: how many at a time; 0: one per core.
        runs: where the experts are kept.
    """
    runtime.set_up()
    name = learner or preset
    folder = runs / f"blocks-{name}"
    places = {
        (task, seed): expert_folder(folder, task, seed)
        for seed in range(seeds)
        for task in sorted(tasks, key=lambda task: -BLOCK_STEPS[task])
    }
    todo = [
        Job(f"{task} seed {seed}", train_expert, (place, expert_spec(task, seed, steps, preset, None, learner)))
        for (task, seed), place in places.items()
        for steps in (BLOCK_STEPS[task],)
        if not (place / "expert.json").exists()
    ]
    if todo:
        run_jobs(todo, jobs or default_workers(), f"blocks, {name}")
    rows = [result_row(load_expert(places[task, seed])) for task in tasks for seed in range(seeds)]
    with (HERE / "results" / f"blocks_{name}.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([COLUMNS, *rows])
    table = Table("task", "steps", "of optimal, each seed", "under 95%", title=f"{name}, the paper's blocks")
    for task in tasks:
        shares = [row[4] for row in rows if row[0] == task]
        missed = sum(share < 0.95 for share in shares)
        table.add_row(task, f"{BLOCK_STEPS[task]:,}", "  ".join(f"{share:.1%}" for share in shares), str(missed or ""))
    Console().print(table)


if __name__ == "__main__":
    tyro.cli(main)

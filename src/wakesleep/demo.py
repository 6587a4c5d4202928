"""`make demo`: two lives side by side in a few minutes. What of the first task is left after the second?

Both learn one task, then another. The baseline is PPO alone, the other the wake-sleep agent with hidden replay, both
with the paper's settings but for two that keep PPO exploring: with the paper's own its last digits, and so the
processor, decide which blocks it learns.
Everything stays in the folder `demo`; run again, what is finished is not done again.
"""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from wakesleep import logs, runtime
from wakesleep.cli.main import exit_on_user_error
from wakesleep.cli.metrics import Compare, compare
from wakesleep.cli.report import report
from wakesleep.jobs import Job, default_workers, run_jobs
from wakesleep.lifetime.spec import LifetimeSpec, run_lifetime
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.syllabus.seeds import lifetime_seed

FOLDER = Path("demo")
TASKS = ("DistShift_R3", "CustomUnlock_S5")
EXPLORING = {"entropy_coef": 5e-3, "min_advantage_std": 0.05}
AGENTS: dict[str, dict[str, Any]] = {
    "baseline": EXPLORING,
    "hidden": {f"learner.{name}": value for name, value in EXPLORING.items()} | {"sleep.iterations": 8_000},
}
"""And what differs from the paper's settings. Its sleeps are longer, for longer blocks."""
SCALE = 0.9  # of the paper's learning blocks: 180,000 steps each
SEED = 1
WHEN = {0: "at birth", 2: f"after {TASKS[0]}", 4: f"after {TASKS[1]}"}


def main() -> None:
    """Run the demonstration."""
    runtime.set_up()
    console = Console()
    console.rule("Two lives: first a way around lava, then a locked door")
    syllabus = pairwise(*TASKS, lifetime_seed(SEED, 0), SCALE)
    jobs = [
        Job(agent, run_lifetime, (LifetimeSpec(agent, "paper", syllabus, SEED, overrides), FOLDER / agent))
        for agent, overrides in AGENTS.items()
        if not (FOLDER / agent / "summary.json").exists()
    ]
    if jobs:
        run_jobs(jobs, min(default_workers(), len(jobs)), "lives", console=console)
    console.print(_table())
    console.rule("The same in the field's metrics: below 0, PM is forgetting")
    compare(Compare((FOLDER,)))
    console.rule("Everything on one page")
    report((FOLDER,), out=FOLDER / "report.html", title="Two lives")
    console.print("Open it in a browser. Next: README.md, `wakesleep run --help`.")


def _table() -> Table:
    """What both agents achieve in each task, at every evaluation."""
    table = Table(
        "agent", "task", *WHEN.values(), title="Mean return of 100 episodes (0.96 is about the best possible)"
    )
    for agent in AGENTS:
        blocks = [logs.read_returns(FOLDER / agent, block, logs.TEST) for block in WHEN]
        for task in TASKS:
            table.add_row(agent, task, *(f"{np.mean(block[task]):.2f}" for block in blocks))
    return table


if __name__ == "__main__":
    with exit_on_user_error():
        main()

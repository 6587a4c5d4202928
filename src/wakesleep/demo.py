"""`wakesleep demo`: two lives side by side in a few minutes. What of the first task is left after the second?

Both learn one task, then another. The baseline is PPO alone, the other the wake-sleep agent with hidden replay, both
with the paper's settings but for two that keep PPO exploring: with the paper's own its last digits, and so the
processor, decide which blocks it learns. Run again, what is finished is not done again.
"""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from wakesleep import api
from wakesleep.jobs import Job, default_workers, run_jobs
from wakesleep.lifetime.spec import LifetimeSpec, is_finished, run_lifetime
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.syllabus.seeds import lifetime_seed

TASKS = ("DistShift_R3", "CustomUnlock_S5")
EXPLORING = {"entropy_coef": 5e-3, "min_advantage_std": 0.05}
AGENTS: dict[str, dict[str, Any]] = {
    "baseline": EXPLORING,
    "hidden": {f"learner.{name}": value for name, value in EXPLORING.items()} | {"sleep.iterations": 8_000},
}
"""And what differs from the paper's settings: its sleeps are longer, for longer blocks."""
SCALE = 0.9  # of the paper's learning blocks: 180,000 steps each
SEED = 1


def demo(out: Path = Path("demo")) -> None:
    """Run two lives, with and without sleep, and show what each has forgotten.

    Args:
        out: folder for both lives and the report.
    """
    console = Console()
    console.rule("Two lives: first a way around lava, then a locked door")
    syllabus = pairwise(*TASKS, lifetime_seed(SEED, 0), SCALE)
    jobs = [
        Job(agent, run_lifetime, (LifetimeSpec(agent, "paper", syllabus, SEED, overrides), out / agent))
        for agent, overrides in AGENTS.items()
        if not is_finished(out / agent)
    ]
    if jobs:
        run_jobs(jobs, min(default_workers(), len(jobs)), "lives", console=console)
    lives = [api.load(out / agent) for agent in AGENTS]
    console.print(_table(lives))
    console.rule("The same in the field's metrics: below 0, PM is forgetting")
    console.print(api.compare(lives), highlight=False)
    console.rule("Everything on one page")
    page = api.report(lives, out / "report.html", title="Two lives")
    console.print(f"Open {page} in a browser. Next: docs/tutorial.md, `wakesleep run --help`.", highlight=False)


def _table(lives: list[api.Life]) -> Table:
    """What both agents achieve in each task, at every evaluation."""
    title = "Mean return of 100 episodes (0.96 is about the best possible)"
    table = Table("agent", "task", "before", *(f"after {task}" for task in TASKS), title=title)
    for life in lives:
        for task in TASKS:
            table.add_row(life.agent, task, *(f"{value:.2f}" for value in life.returns[task]))
    return table

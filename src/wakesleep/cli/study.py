"""`wakesleep study distil|follow`: how well sleep imitates, in a single task."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Column, Table

ARCHITECTURES = ("hidden", "two-headed", "sequential")
Overrides = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE")]


@dataclass(frozen=True)
class Distil:
    """Distil experts into each architecture by one sleep, and compare returns."""

    experts: tyro.conf.Positional[Path]
    """Folder that `wakesleep experts train` made."""
    out: Path
    """Folder for the results, one file each; what is there is not done again."""
    architectures: tuple[str, ...] = ARCHITECTURES
    """hidden, two-headed, sequential."""
    repeats: int = 1
    """How often, with other random numbers."""
    preset: str = "paper"
    """Settings of sleep: paper or fast."""
    overrides: Overrides = ()
    """Settings that differ from the preset, such as sleep.iterations=5000."""
    jobs: int = 0
    """How many at a time, one core each; 0: one for every core."""

    def run(self) -> None:
        """Run the study and print its table."""
        from wakesleep.experiments import studies
        from wakesleep.jobs import default_workers
        from wakesleep.settings import parse_overrides

        workers, overrides = self.jobs or default_workers(), parse_overrides(self.overrides)
        results = studies.distil(
            self.experts, self.out, self.architectures, self.repeats, self.preset, overrides, workers
        )
        names = self.architectures
        title = "Return of the expert, and what is lost by distillation"
        table = Table(Column("task", no_wrap=True), "expert", *names, title=title)

        def lost(task: str | None) -> list[str]:
            rows = [result for result in results if task in (None, result["task"])]
            return [_spread([row["difference"] for row in rows if row["architecture"] == name]) for name in names]

        for task in dict.fromkeys(result["task"] for result in results):
            experts = {row["seed"]: row["expert"] for row in results if row["task"] == task}
            table.add_row(task, _spread(list(experts.values())), *lost(task))
        table.add_row("all", "", *lost(None))
        Console().print(table)


@dataclass(frozen=True)
class Follow:
    """Sleep many times while a learner goes on learning one task: does the sleep policy keep up?"""

    out: Path
    """Folder for the results, one file each; what is there is not done again."""
    tasks: tuple[str, ...] = ("DoorKey_S5",)
    """Each for itself."""
    architectures: tuple[str, ...] = ARCHITECTURES
    """hidden, two-headed, sequential."""
    seeds: int = 1
    """How many: 0, 1, ..."""
    sleeps: int = 10
    """At even intervals in the task's block."""
    preset: str = "fast"
    """paper or fast."""
    overrides: Overrides = ()
    """Settings that differ from the preset, such as sleep.iterations=5000."""
    scale: float = 1.0
    """Of the block's length."""
    jobs: int = 0
    """How many at a time, one core each; 0: one for every core."""

    def run(self) -> None:
        """Run the study and print its table."""
        from wakesleep.experiments import studies
        from wakesleep.jobs import default_workers
        from wakesleep.settings import parse_overrides

        workers, overrides = self.jobs or default_workers(), parse_overrides(self.overrides)
        results = studies.follow(
            self.tasks,
            self.out,
            self.architectures,
            self.seeds,
            self.sleeps,
            self.preset,
            overrides,
            self.scale,
            workers,
        )
        heads = ("{task}, {architecture}, seed {seed}".format(**result) for result in results)
        table = Table("sleep", *(Column(head, min_width=11) for head in heads), title="Return: wake, sleep policy")
        for number in range(self.sleeps):
            cells = (f"{result['wake'][number]:.2f}   {result['sleep'][number]:.2f}" for result in results)
            table.add_row(str(number + 1), *cells)
        Console().print(table)


def study(command: Annotated[Distil | Follow, tyro.conf.arg(name=""), tyro.conf.OmitSubcommandPrefixes]) -> None:
    """How well sleep imitates, in a single task."""
    command.run()


def _spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    from statistics import mean, stdev

    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "") if values else ""

"""`wakesleep experts train|show|export`: single-task experts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from wakesleep.errors import UserError
from wakesleep.jobs import load_modules

if TYPE_CHECKING:
    from wakesleep.experts.expert import Expert


@dataclass(frozen=True)
class Train:
    """Train an expert for every task and seed; what is finished is kept, what was interrupted goes on."""

    out: Path
    """Folder to keep the experts in."""
    domain: str = "minigrid"
    """Whose tasks; of Minigrid, the ten of the paper."""
    tasks: tuple[str, ...] = ()
    """Only these tasks."""
    steps: int = 1_000_000
    """Environment steps of each; rounded down to whole rollouts."""
    seeds: int = 1
    """How many of each task: seeds 0, 1, ..."""
    learner: str | None = None
    """ppo, vtrace, or one of yours; by default PPO in Minigrid and V-trace in StarCraft II."""
    preset: str = "fast"
    """paper (the paper's settings) or fast (tuned for a small machine)."""
    overrides: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE")] = ()
    """Settings of the learner that differ from the preset: learning_rate=1e-3."""
    jobs: int = 0
    """How many at a time, one core each; 0: one for every core."""
    load: tuple[str, ...] = ()
    """Modules of yours to import first: they register tasks."""

    def run(self) -> None:
        """Train what is missing."""
        from wakesleep.experts.train import train_experts
        from wakesleep.jobs import default_workers
        from wakesleep.settings import parse_overrides
        from wakesleep.worlds import registry

        load_modules(self.load)
        if self.seeds < 1:
            raise UserError(f"there must be at least one seed, not {self.seeds}")
        tasks = self.tasks or registry.tasks(self.domain, paper_only=self.domain == "minigrid")
        train_experts(
            self.out, tasks, range(self.seeds), self.steps, preset=self.preset,
            overrides=parse_overrides(self.overrides), learner=self.learner,
            workers=self.jobs or default_workers(), load=self.load,
        )  # fmt: skip
        Console().print(f"Experts are in {self.out}. See them: wakesleep experts show {self.out}")


@dataclass(frozen=True)
class Show:
    """Print how good the experts are, how fast they learned, and how alike their tasks are."""

    experts: tyro.conf.Positional[Path]
    """Folder that `wakesleep experts train` made."""
    similarity: bool = True
    """Let every expert play every task (a minute or so the first time); also writes similarity.csv and .png there."""
    load: tuple[str, ...] = ()
    """Modules of yours to import first: they register tasks."""

    def run(self) -> None:
        """Print a table of experts, and the matrix of similarities."""
        from wakesleep.experts import similarity
        from wakesleep.experts.expert import load_experts

        load_modules(self.load)
        console = Console()
        experts, unfinished = load_experts(self.experts)
        console.print(_table(experts))
        for folder in unfinished:
            console.print(f"not finished: {folder}; run `wakesleep experts train` again to go on")
        if not self.similarity or not experts:
            return
        result = similarity.similarity(experts, lambda rows: track(rows, "every expert on every task", console=console))
        similarity.save_csv(result, self.experts / "similarity.csv")
        similarity.save_heat_map(result, self.experts / "similarity.png")
        table = Table("trained on", title="Return as a part of the own expert's")
        for task in result.tasks:
            table.add_column(task.replace("_", "\n"), justify="right")
        for task, row in zip(result.tasks, result.relative, strict=True):
            table.add_row(task, *(_coloured(value) for value in row))
        console.print(table)
        console.print(f"{self.experts / 'similarity.png'} and .csv hold the same.")


@dataclass(frozen=True)
class Export:
    """Keep episodes of the experts, one dataset per task: for offline reinforcement learning."""

    experts: tyro.conf.Positional[Path]
    """Folder that `wakesleep experts train` made."""
    episodes: int = 1000
    """Episodes of each task."""
    seed: int = 0
    """Which expert of each task."""
    namespace: str = "wakesleep"
    """Minari's datasets are called NAMESPACE/TASK/expert-v0."""
    layout: Literal["minari", "l2m"] = "minari"
    """minari: Minari datasets; l2m: files as in the paper's data release, StarCraft II only."""
    out: Path = Path("trajectories")
    """Folder for l2m; Minari has its own."""
    load: tuple[str, ...] = field(default=())
    """Modules of yours to import first: they register tasks."""

    def run(self) -> None:
        """Record and write the episodes."""
        import jax

        from wakesleep.experts.expert import load_experts
        from wakesleep.experts.l2m_export import export_release
        from wakesleep.experts.trajectories import export_minari
        from wakesleep.wake.make_envs import jax_world

        load_modules(self.load)
        experts = [expert for expert in load_experts(self.experts)[0] if expert.seed == self.seed]
        if not experts:
            raise UserError(f"{self.experts} has no finished expert of seed {self.seed}")
        for expert in experts:
            name, key = f"{self.namespace}/{expert.task}/expert-v0", jax.random.key(self.seed)
            who = expert.task, jax_world(expert.task, "export"), expert.policy, key, self.episodes
            if self.layout == "l2m":
                folder, steps = export_release(*who, self.out)
                print(f"{self.episodes} episodes, {steps} steps: {folder}")
                continue
            data = export_minari(*who, name, expert.learner)
            print(f'{data.total_episodes} episodes, {data.total_steps} steps: minari.load_dataset("{name}")')


def experts(
    command: Annotated[Train | Show | Export, tyro.conf.arg(name=""), tyro.conf.OmitSubcommandPrefixes],
) -> None:
    """Train, show and export single-task experts."""
    command.run()


def _coloured(value: float) -> str:
    if value != value:
        return "-"
    return f"[{'green' if value >= 0.8 else 'yellow' if value >= 0.3 else 'red'}]{value:.2f}[/]"


def _table(experts: "list[Expert]") -> Table:
    from wakesleep.worlds import registry

    table = Table(
        Column("task", no_wrap=True),
        "experts",
        "return",
        "optimal",
        "of optimal",
        "steps to 80% of peak",
        "minutes",
        title="Single-task experts",
    )
    for task in dict.fromkeys(expert.task for expert in experts):
        same = [expert for expert in experts if expert.task == task]
        returns = [expert.mean_return for expert in same]
        mean, best = sum(returns) / len(returns), registry.task_info(task).optimal
        spread = f" ({min(returns):.3f} to {max(returns):.3f})" if len(same) > 1 else ""
        table.add_row(
            task,
            str(len(same)),
            f"{mean:.3f}{spread}",
            f"{best:.3f}" if best else "",
            f"{mean / best:.1%}" if best else "",
            f"{sum(expert.steps_to(0.8) for expert in same) / len(same):,.0f}",
            f"{sum(expert.seconds for expert in same) / len(same) / 60:.1f}",
        )
    return table

"""The commands, and what becomes of errors.

A user's mistake ends in one sentence on standard error and exit code 2; Ctrl-C in exit code 130.
"""

import enum
import sys
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from wakesleep import runtime
from wakesleep.cli.experiment import experiment
from wakesleep.cli.experts import experts
from wakesleep.cli.load import load_modules
from wakesleep.cli.run import resume, run
from wakesleep.cli.study import study
from wakesleep.errors import UserError

app = tyro.extras.SubcommandApp()
app.command(experts)
app.command(run)
app.command(resume)
app.command(experiment)
app.command(study)


class Player(enum.Enum):
    """Who plays."""

    random = "random"
    optimal = "optimal"


@app.command
def tasks(domain: str | None = None, paper: bool = False, load: tuple[str, ...] = ()) -> None:
    """List the tasks.

    Args:
        domain: only those of this domain.
        paper: only those of the paper.
        load: modules of yours to import first: they register tasks.
    """
    from wakesleep.worlds import registry

    load_modules(load)
    table = Table("task", "domain", "in the paper", "what to do")
    for name in registry.tasks(domain, paper_only=paper):
        info = registry.task_info(name)
        table.add_row(info.name, info.domain, "yes" if info.in_paper else "", info.goal)
    Console().print(table)


@app.command
def play(
    task: tyro.conf.Positional[str],
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    policy: Player = Player.random,
    seed: int = 0,
    max_frames: int = 1000,
    load: tuple[str, ...] = (),
) -> None:
    """Play one episode and save it as a moving picture or a strip of pictures.

    Args:
        task: which task; `wakesleep tasks` lists them.
        out: file to write, .gif or .png.
        policy: random actions, or the fewest actions that succeed (found by search; Minigrid without moving balls).
        seed: of layout and actions.
        max_frames: longest episode to draw.
        load: modules of yours to import first: they register tasks.
    """
    import jax

    from wakesleep.worlds import episode, registry
    from wakesleep.worlds.minigrid.solve import shortest_plan
    from wakesleep.worlds.minigrid.tasks import MinigridWorld
    from wakesleep.worlds.world import HostWorld, compiled_reset

    load_modules(load)
    world = registry.make(task)
    episode.check_target(out)
    if isinstance(world, HostWorld):
        raise UserError(f"{task} runs outside JAX and cannot be drawn here")
    key, start_key = jax.random.split(jax.random.key(seed))
    start = compiled_reset(world, start_key)
    if policy is Player.random:
        player = episode.random_player(world)
    elif not isinstance(world, MinigridWorld):
        raise UserError("only Minigrid tasks can be played optimally")
    elif (plan := shortest_plan(world, start[0])) is None:
        raise UserError(f"the layout of {task} with seed {seed} cannot be solved: try another seed")
    else:
        player = episode.plan_player(plan)
    played = episode.record(world, player, key, start, max_frames)
    episode.save(list(episode.frames(world, played)), out)
    print(f"{out}: {len(played.actions)} steps, return {played.total_reward:.3f}")


def main() -> None:
    """Entry point of the `wakesleep` command."""
    runtime.set_up()
    try:
        app.cli(prog="wakesleep", description="Lifelong reinforcement learning that sleeps on it.")
    except UserError as error:
        print(f"wakesleep: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)

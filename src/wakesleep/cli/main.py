"""The commands, and what becomes of errors.

A user's mistake ends in one sentence on standard error and exit code 2; Ctrl-C in exit code 130.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Column, Table

from wakesleep import runtime
from wakesleep.cli.experiment import experiment
from wakesleep.cli.experts import experts
from wakesleep.cli.metrics import compare, metrics
from wakesleep.cli.report import export_logs, report
from wakesleep.cli.run import resume, run
from wakesleep.cli.starcraft import starcraft
from wakesleep.cli.study import study
from wakesleep.errors import UserError, brief
from wakesleep.jobs import load_modules

if TYPE_CHECKING:
    from wakesleep.worlds.episode import Player
    from wakesleep.worlds.world import World

app = tyro.extras.SubcommandApp()
app.command(experts)
app.command(run)
app.command(resume)
app.command(experiment)
app.command(study)
app.command(metrics)
app.command(compare)
app.command(starcraft)
app.command(report)
app.command(export_logs)


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
    table = Table(Column("task", no_wrap=True), "domain", "in the paper", "what to do")  # names are never cut
    for name in registry.tasks(domain, paper_only=paper):
        info = registry.task_info(name)
        table.add_row(info.name, info.domain, "yes" if info.in_paper else "", info.goal)
    Console().print(table)


@app.command
def play(
    task: tyro.conf.Positional[str],
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    policy: str = "random",
    seed: int = 0,
    max_frames: int = 1000,
    load: tuple[str, ...] = (),
) -> None:
    """Play one episode and save it as a moving picture or a strip of pictures.

    Args:
        task: which task; `wakesleep tasks` lists them.
        out: file to write, .gif or .png.
        policy: random; in Minigrid (without moving balls) also optimal, the fewest actions that succeed; in StarCraft
            also the scripts attack-move, focus-fire, alternate and bait.
        seed: of layout and actions.
        max_frames: longest episode to draw.
        load: modules of yours to import first: they register tasks.
    """
    import jax

    from wakesleep.worlds import episode, registry
    from wakesleep.worlds.world import HostWorld, compiled_reset

    load_modules(load)
    world = registry.make(task)
    episode.check_target(out)
    if isinstance(world, HostWorld):
        world.close()
        raise UserError(f"{task} runs outside JAX and cannot be drawn here")
    key, start_key = jax.random.split(jax.random.key(seed))
    start = compiled_reset(world, start_key)
    player = _player(policy, world, start[0], f"{task} with seed {seed}")
    played = episode.record(world, player, key, start, max_frames)
    episode.save(list(episode.frames(world, played)), out)
    print(f"{out}: {len(played.actions)} steps, return {played.total_reward:.3f}")


def _player(policy: str, world: "World", start: Any, what: str) -> "Player":
    """Who plays: a name that this world knows."""
    from wakesleep.worlds import episode
    from wakesleep.worlds.minigrid.solve import shortest_plan
    from wakesleep.worlds.minigrid.tasks import MinigridWorld

    known = {"random": episode.random_player(world), **getattr(world, "players", {})}
    if policy in known:
        return known[policy]
    if policy != "optimal" or not isinstance(world, MinigridWorld):
        optimal = ["optimal"] if isinstance(world, MinigridWorld) else []
        raise UserError(f"{what} can be played by {', '.join([*known, *optimal])}, not {policy!r}")
    plan = shortest_plan(world, start)
    if plan is None:
        raise UserError(f"{what} cannot be solved: try another seed")
    return episode.plan_player(plan)


def main() -> None:
    """Entry point of the `wakesleep` command."""
    runtime.set_up()
    with exit_on_user_error():
        app.cli(prog="wakesleep", description="Lifelong reinforcement learning that sleeps on it.")


@contextmanager
def exit_on_user_error() -> Iterator[None]:
    """What a user can do something about is said in a sentence: a mistake, a file that cannot be read or written."""
    try:
        yield
    except UserError as error:
        _leave(str(error))
    except BrokenPipeError:  # whoever read what we print has enough
        sys.stdout = None  # or it would be flushed once more at exit
        sys.exit(141)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else brief(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _leave(sentence: str) -> None:
    print(f"wakesleep: {sentence}", file=sys.stderr)
    sys.exit(2)

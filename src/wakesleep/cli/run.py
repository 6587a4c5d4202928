"""`wakesleep run` and `wakesleep resume`: one lifetime."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from wakesleep.errors import UserError
from wakesleep.jobs import load_modules

if TYPE_CHECKING:
    from wakesleep.syllabus.syllabus import Syllabus


def run(
    out: Path,
    agent: str = "hidden",
    preset: str = "fast",
    overrides: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE")] = (),
    scenario: str = "pairwise",
    tasks: tuple[str, ...] = (),
    domain: str = "minigrid",
    syllabus: Path | None = None,
    scale: float = 1.0,
    episodes: int = 100,
    seed: int = 0,
    load: tuple[str, ...] = (),
) -> None:
    """Run one agent through one syllabus.

    Args:
        out: folder of this lifetime; if it was interrupted there, it goes on.
        agent: random, baseline, expert, hidden, hidden-er, hidden-er-rar, hidden-er-gr, two-headed or sequential.
        preset: paper (the paper's settings) or fast (for a small machine).
        overrides: settings that differ from the preset: sleep.iterations=5000 sleeps_per_block=2 (config.json has all
            names).
        scenario: pairwise, alternating, condensed or dispersed.
        tasks: two for pairwise and alternating; for the others all of the paper's tasks of the domain (all, if it is
            yours) unless given.
        domain: whose tasks: minigrid, starcraft, starcraft-small.
        syllabus: a syllabus of your own as a YAML file, in place of scenario and tasks (docs/lifetimes.md).
        scale: of the lengths of all learning blocks.
        episodes: of each task in an evaluation block.
        seed: of the agent and of the syllabus.
        load: modules of yours to import first: they register tasks.
    """
    from wakesleep.agents.settings import parse_overrides
    from wakesleep.lifetime.spec import LifetimeSpec
    from wakesleep.syllabus.custom import load_syllabus

    load_modules(load)
    parsed = parse_overrides(overrides)
    if syllabus is not None:
        if tasks or scale != 1.0 or episodes != 100 or domain != "minigrid":
            raise UserError(
                "--syllabus has tasks, lengths and episodes of its own:"
                " leave --tasks, --domain, --scale and --episodes out"
            )
        made = load_syllabus(syllabus, seed)
    else:
        made = _syllabus(scenario, tasks or _tasks_of(scenario, domain), scale, episodes, seed)
    _run(LifetimeSpec(agent, preset, made, seed, parsed), out)


def resume(folder: tyro.conf.Positional[Path], load: tuple[str, ...] = ()) -> None:
    """Go on with a lifetime that was interrupted.

    Args:
        folder: what `wakesleep run --out` was given.
        load: modules of yours to import first: they register tasks.
    """
    from wakesleep.lifetime.spec import stored_spec

    load_modules(load)
    _run(stored_spec(folder), folder)


def _run(spec: object, folder: Path) -> None:
    from wakesleep.jobs import Job, run_jobs
    from wakesleep.lifetime.spec import run_lifetime

    run_jobs([Job(folder.name, run_lifetime, (spec, folder))], 1, "lifetime")


def _tasks_of(scenario: str, domain: str) -> tuple[str, ...]:
    """What a scenario over all tasks has where none are named."""
    from wakesleep.worlds import registry

    if scenario not in ("condensed", "dispersed"):
        return ()
    return registry.tasks(domain, paper_only=True) or registry.tasks(domain)


def _syllabus(scenario: str, tasks: tuple[str, ...], scale: float, episodes: int, seed: int) -> "Syllabus":
    from wakesleep.syllabus.scenarios import make_syllabus
    from wakesleep.syllabus.seeds import lifetime_seed

    return make_syllabus(scenario, tasks, lifetime_seed(seed, 0), scale, episodes)

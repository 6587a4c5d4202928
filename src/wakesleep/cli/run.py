"""`wakesleep run` and `wakesleep resume`: one lifetime."""

from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from wakesleep.cli.load import load_modules
from wakesleep.errors import UserError

if TYPE_CHECKING:
    from wakesleep.syllabus.syllabus import Syllabus


def run(
    out: Path,
    agent: str = "hidden",
    preset: str = "fast",
    scenario: str = "pairwise",
    tasks: tuple[str, ...] = (),
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
        scenario: pairwise, alternating, condensed or dispersed.
        tasks: two for pairwise and alternating; for the others all of the paper's Minigrid tasks unless given.
        scale: of the lengths of all learning blocks.
        episodes: of each task in an evaluation block.
        seed: of the agent and of the syllabus.
        load: modules of yours to import first: they register tasks.
    """
    from wakesleep.lifetime.spec import LifetimeSpec

    load_modules(load)
    _run(LifetimeSpec(agent, preset, _syllabus(scenario, tasks, scale, episodes, seed), seed), out)


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


def _syllabus(scenario: str, tasks: tuple[str, ...], scale: float, episodes: int, seed: int) -> "Syllabus":
    from wakesleep.syllabus import scenarios
    from wakesleep.syllabus.seeds import lifetime_seed
    from wakesleep.worlds import registry

    own, settings = lifetime_seed(seed, 0), {"scale": scale, "episodes": episodes}
    match scenario:
        case "pairwise" | "alternating":
            if len(tasks) != 2:
                raise UserError(f"a {scenario} syllabus takes two tasks: --tasks DoorKey_S5 DistShift_R2")
            return getattr(scenarios, scenario)(*tasks, own, **settings)
        case "condensed" | "dispersed":
            names = tasks or registry.tasks("minigrid", paper_only=True)
            return getattr(scenarios, scenario)(names, own, **settings)
    raise UserError(f"no scenario is called {scenario!r}: there are pairwise, alternating, condensed, dispersed")

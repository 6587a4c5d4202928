"""`wakesleep run` and `wakesleep resume`: one lifetime."""

from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.jobs import load_modules


def run(
    out: Path,
    agent: str = "hidden",
    learner: str | None = None,
    preset: str | None = None,
    overrides: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE")] = (),
    scenario: str | None = None,
    tasks: tuple[str, ...] = (),
    domain: str = "minigrid",
    syllabus: Path | None = None,
    scale: float = 1.0,
    episodes: int = 100,
    seed: int = 0,
    keep_policies: bool = False,
    load: tuple[str, ...] = (),
) -> None:
    """Run one agent through one syllabus.

    Args:
        out: folder of this lifetime; if it was interrupted there, it goes on.
        agent: random, baseline, fresh-learner, hidden, hidden-er, hidden-er-rar, hidden-er-gr, two-headed, sequential,
            or one of yours (`wakesleep agents` lists them).
        learner: another wake learner: ppo, vtrace, or one of yours.
        preset: paper (the paper's settings) or fast (for a small machine); fast, unless the agent has no presets.
        overrides: settings that differ from the preset: sleep.iterations=5000 sleeps_per_block=2 (`wakesleep agents
            NAME` lists them).
        scenario: pairwise, alternating, condensed or dispersed; pairwise for two tasks, else condensed.
        tasks: those of the paper in the domain, unless given.
        domain: whose tasks: minigrid, starcraft, starcraft-small.
        syllabus: a syllabus of your own as a YAML file, in place of scenario and tasks.
        scale: of the lengths of all learning blocks.
        episodes: of each task in an evaluation block.
        seed: of the agent and of the syllabus.
        keep_policies: keep the policy at the end of every learning block.
        load: modules of yours to import first: they register tasks, agents and learners.
    """
    from wakesleep.api import life_syllabus
    from wakesleep.lifetime.spec import LifetimeSpec
    from wakesleep.settings import parse_overrides

    load_modules(load)
    parsed = parse_overrides(overrides)
    made = life_syllabus(syllabus, tasks, scenario, domain, seed, scale, episodes)
    _run(LifetimeSpec(agent, preset, made, seed, parsed, "", learner, load, keep_policies), out)


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

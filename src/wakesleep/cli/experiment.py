"""`wakesleep experiment`: a grid of lifetimes, here or on a Ray cluster."""

import sys
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.errors import UserError
from wakesleep.jobs import load_modules


def experiment(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME-OR-FILE")],
    out: Path,
    jobs: int = 0,
    ray: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[ADDRESS]")] = None,
    load: tuple[str, ...] = (),
) -> None:
    """Run agents x syllabi x seeds; what is finished is not done again, what was interrupted goes on.

    Args:
        name: a shipped experiment such as minigrid-quick or minigrid-pairwise, or a YAML file of yours.
        out: folder for all its lifetimes.
        jobs: how many at a time, one core each; 0: one for every core.
        ray: run on a Ray cluster, at this address or at hand; without one, one is started here.
        load: modules of yours to import first: they register tasks and agents.
    """
    from wakesleep.experiments.grid import find_grid, load_grid
    from wakesleep.experiments.run import is_finished, run_experiment

    load_modules(load)
    if ray is not None and len(ray) > 1:
        raise UserError(f"--ray takes one address, not {len(ray)}: {' '.join(ray)}")
    address = None if ray is None else "".join(ray)
    planned = load_grid(find_grid(name), load)
    try:
        outcome = run_experiment(planned, out, jobs, address, load)
    except KeyboardInterrupt:
        finished = sum(is_finished(out / life.name) for life in planned)
        print(f"{finished} of {len(planned)} lifetimes are finished; the same command goes on")
        raise
    failed = f", {len(outcome.failures)} failed" if outcome.failures else ""
    print(f"{len(planned)} lifetimes in {out}: {outcome.finished} finished now, {outcome.before} before{failed}")
    if outcome.failures:
        count = f"{len(outcome.failures)} of {len(planned)} lifetimes failed"
        print(
            f"wakesleep: {count}: see above and {out / 'failures.txt'}; the same command tries again", file=sys.stderr
        )
        sys.exit(1)

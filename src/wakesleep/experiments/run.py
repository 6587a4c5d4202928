"""Running an experiment in a folder: what is finished is not done again, what was interrupted goes on.

    OUT/experiment.json                       all lifetimes and agents in full
    OUT/<scenario>/<agent>/<syllabus>-<seed>  one lifetime each (`lifetime/life.py`)
    OUT/failures.txt                          what failed for good the last time, with tracebacks

Interrupted in any way and run again, it ends with the same logs as if nothing had happened.
"""

import json
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.experiments.grid import Planned
from wakesleep.jobs import Job, default_workers, run_in_processes, view_of
from wakesleep.lifetime.spec import is_finished, run_lifetime

RETRIES = 1


class Outcome(NamedTuple):
    """How an experiment ended."""

    before: int
    """Lifetimes that had been finished before."""
    finished: int
    """Lifetimes that were finished now."""
    failures: dict[str, BaseException]
    """Why the others failed, by name."""


def run_experiment(
    planned: Sequence[Planned], out: Path, workers: int = 0, ray: str | None = None, load: Sequence[str] = (),
    console: Console | None = None,
) -> Outcome:  # fmt: skip
    """Run all lifetimes that are not finished: in local processes, or on a Ray cluster (`ray`: its address, or "").

    `workers` at a time; 0 means one for every core. What failed is in the outcome; it does not keep the others from
    being run.
    """
    if workers < 0:
        raise UserError(f"jobs need at least one worker, not {workers}")
    if ray is not None:
        from wakesleep.experiments.on_ray import import_ray, run_on_ray

        import_ray()  # before the folder is claimed
    with store.folder_lock(out, lambda: _refuse(f"another experiment is running in {out}: wait for it, or stop it")):
        _claim(planned, out)
        todo = [life for life in planned if not is_finished(out / life.name)]
        before = len(planned) - len(todo)
        with view_of("lifetimes", len(planned), console, before) as view:
            if ray is not None and todo:
                failures = run_on_ray(todo, out, ray, workers, view, load)
            else:
                jobs = [Job(life.name, run_lifetime, (life.spec, out / life.name)) for life in todo]
                failures = run_in_processes(jobs, workers or default_workers(), view, load, RETRIES)
        _write_failures(out / "failures.txt", failures)
    return Outcome(before, len(todo) - len(failures), failures)


def _claim(planned: Sequence[Planned], out: Path) -> None:
    """Write down what this folder is for. A stored experiment may grow, but nothing of it may change."""
    file, asked = out / "experiment.json", _in_full(planned)
    if not file.exists() and (out / "config.json").exists():
        raise UserError(f"{out} holds a lifetime, not an experiment: choose another folder")
    stored = store.load_json(file) if file.exists() else asked
    for kind in ("agents", "lifetimes"):
        for name, content in stored.get(kind, {}).items():
            if asked[kind].get(name) != content:
                what = "is another one there" if name in asked[kind] else "is only there"
                raise UserError(f"{out} holds another experiment ({name} {what}, see {file}): choose another folder")
    store.save_json(file, asked)


def _in_full(planned: Sequence[Planned]) -> dict[str, Any]:
    agents: dict[str, Any] = {}
    lifetimes: dict[str, Any] = {}
    for name, spec in planned:
        about, label = spec.to_json(), spec.label or spec.agent
        lifetimes[name] = {"agent": label, "seed": spec.seed, "syllabus": about["syllabus"]}
        agents[label] = {key: about[key] for key in ("agent", "preset", "overrides", "settings")}
    return json.loads(json.dumps({"agents": agents, "lifetimes": lifetimes}))


def _write_failures(file: Path, failures: dict[str, BaseException]) -> None:
    file.unlink(missing_ok=True)
    if failures:
        text = "\n".join(f"{name}\n{''.join(traceback.format_exception(why))}" for name, why in failures.items())
        store.write_atomically(file, lambda beside: beside.write_text(text))


def _refuse(why: str) -> None:
    raise UserError(why)

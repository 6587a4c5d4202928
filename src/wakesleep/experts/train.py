"""Training experts for several tasks and seeds, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.agents.presets import check_preset
from wakesleep.errors import UserError
from wakesleep.experts.expert import AGENT, expert_folder, expert_spec, train_expert
from wakesleep.jobs import Job, run_jobs
from wakesleep.lifetime.plan import plan
from wakesleep.lifetime.spec import FORMAT, LifetimeSpec
from wakesleep.settings import to_dict
from wakesleep.wake.learners import learner_name
from wakesleep.wake.make_envs import make_envs
from wakesleep.worlds import registry


def train_experts(
    experts: Path, tasks: Sequence[str], seeds: Sequence[int], steps: int, *, preset: str | None = None,
    overrides: Mapping[str, Any] | None = None, learner: str | None = None, workers: int = 1, load: Sequence[str] = (),
) -> None:  # fmt: skip
    """Train an expert for every task and seed that the folder does not have yet.

    Args:
        experts: folder to keep them in.
        tasks: of one domain.
        seeds: an expert of each task for each of them.
        steps: environment steps of each, rounded down to whole rollouts.
        preset: of the learner's settings; by default `fast`.
        overrides: settings that differ, by name.
        learner: by name; by default the domain's own.
        workers: how many at a time, a process and a core each.
        load: modules that register tasks, which every worker imports.
    """
    if len(domains := {registry.task_info(name).domain for name in tasks}) != 1:
        raise UserError(f"one folder holds experts of one domain, not of {' and '.join(sorted(domains)) or 'none'}")
    specs = {
        (task, seed): expert_spec(task, seed, steps, preset, dict(overrides or {}), learner, tuple(load))
        for seed in seeds for task in tasks
    }  # fmt: skip
    for task in tasks:
        _check(specs[task, seeds[0]])
    _claim(experts, specs[tasks[0], seeds[0]], steps)
    jobs = [
        Job(f"{task} seed {seed}", train_expert, (folder, spec))
        for (task, seed), spec in specs.items()
        if not ((folder := expert_folder(experts, task, seed)) / "expert.json").exists()
    ]
    if jobs:
        run_jobs(jobs, workers, "experts", load)


def _check(spec: LifetimeSpec) -> None:
    """Refuse what could not be run, before anything is written."""
    agent = spec.make_agent()
    plan(agent, spec.syllabus)
    make_envs(spec.syllabus.tasks[0], agent.num_envs)


def _claim(experts: Path, spec: LifetimeSpec, steps: int) -> None:
    """Write down what a folder of experts is for, or see that it is for this."""
    asked = {
        "format": FORMAT, "learner": learner_name(spec.config), "preset": check_preset(AGENT, spec.preset, spec.domain),
        "overrides": spec.overrides, "settings": to_dict(spec.config), "steps": steps,
    }  # fmt: skip
    if (file := experts / "experts.json").exists() and store.load_json(file) != asked:
        raise UserError(f"{experts} holds experts made with other settings (see {file}): choose another folder")
    experts.mkdir(parents=True, exist_ok=True)
    store.save_json(file, asked)

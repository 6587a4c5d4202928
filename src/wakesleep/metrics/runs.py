"""Folders of lifetimes: which agent lived through which scenario, at what cost, and how it is measured.

Ours say all that in scenario_info.json and summary.json. A log of others is called by its folder: the agent is the name
of the folder that holds it, the scenario what its scenario_info.json calls `scenario_type`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.metrics.experts import Experts
from wakesleep.metrics.lifetime import LifetimeMetrics, measure
from wakesleep.metrics.prepare import Options, prepare, shared_ranges
from wakesleep.metrics.read import Log, read_log


@dataclass(frozen=True)
class Budget:
    """What a lifetime took; None where the run does not say."""

    learning_steps: int | None
    """Environment steps of the logged learning episodes."""
    parameters: int | None
    """Of all networks."""
    replay_bytes: int | None
    """Of stored experience."""


@dataclass(frozen=True)
class Run:
    """One lifetime on disk."""

    folder: Path
    name: str
    """What it is called in the folder that was named."""
    agent: str
    """What it is called in tables: its name, with its preset where lifetimes of several presets are shown."""
    plain: str
    """Its name without the preset."""
    preset: str
    """Empty where the run does not say."""
    scenario: str
    seed: int | None
    finished: bool
    log: Log

    @property
    def budget(self) -> Budget:
        """What it took."""
        file = self.folder / "summary.json"
        summary = store.load_json(file) if file.exists() else {}
        sizes = [summary.get(name) for name in ("parameters", "replay_bytes")]
        if any(isinstance(size, bool) or not isinstance(size, int | float | None) for size in sizes):
            raise UserError(f"{file} is damaged: 'parameters' and 'replay_bytes' are numbers, not {sizes}")
        return Budget(self.log.learning_steps, *sizes)


@dataclass(frozen=True)
class Measured:
    """A lifetime and its metrics."""

    run: Run
    metrics: LifetimeMetrics


def find_runs(
    folders: Sequence[Path], measure_name: str = "reward", unfinished: bool = False
) -> tuple[list[Run], list[str]]:
    """All lifetimes below some folders, at any depth, and notes on what was left out.

    Lifetimes that are still under way are left out unless asked for; single-task experts always.
    """
    found: dict[Path, tuple[Path, str]] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        logs = sorted(file.parent for file in folder.rglob("logger_info.json"))
        if not logs:
            raise UserError(f"{folder} holds no lifetime: nothing in it is a log in l2logger's layout")
        for log in logs:
            name = str(log.relative_to(folder)) if log != folder else log.resolve().name
            found.setdefault(log.resolve(), (log, name))
    runs, notes = [], []
    for folder, name in found.values():
        info = _scenario_info(folder)
        if info.get("scenario_type") == "ste":
            continue
        finished = not (folder / "config.json").exists() or (folder / "summary.json").exists()
        if not finished and not unfinished:
            notes.append(f"{folder} is not finished and does not count (go on with it: wakesleep resume {folder})")
            continue
        if not finished and not any(folder.rglob("data-log.tsv")):
            notes.append(f"{folder} has only just begun and does not count")
            continue
        runs.append(_run(folder, name, info, finished, measure_name))
    if not runs:
        why = notes[0] if notes else "only single-task experts"
        raise UserError(f"{', '.join(map(str, folders))} holds no finished lifetime: {why}")
    called = names_with_presets([(run.plain, run.preset) for run in runs])
    return [replace(run, agent=agent) for run, agent in zip(runs, called, strict=True)], notes


def names_with_presets(agents: Sequence[tuple[str, str]]) -> list[str]:
    """What agents (name and preset) are called: by their names, and where presets differ, all with their presets."""
    if len({preset for _, preset in agents}) < 2:
        return [name for name, _ in agents]
    return [f"{name} ({preset})" if preset else name for name, preset in agents]


def by_scenario(runs: Iterable[Run], grouped: bool = False) -> dict[str, list[Run]]:
    """The runs of each scenario; more than one is a mistake unless asked for."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.scenario, []).append(run)
    if len(groups) > 1 and not grouped:
        counts = ", ".join(f"{len(found)} {scenario or 'unnamed'}" for scenario, found in groups.items())
        raise UserError(
            f"lifetimes of different scenarios cannot be averaged ({counts}):"
            " name folders of one scenario, or group them with --by-scenario"
        )
    return groups


def measure_runs(
    runs: Sequence[Run], experts: Experts | None, options: Options, share_ranges: bool = False
) -> list[Measured]:
    """The metrics of all; with shared ranges, normalised by one range per task over all these lifetimes."""
    if experts:
        _check_experts(runs, experts)
    if share_ranges:
        if options.clamp or options.data_range is not None:
            raise UserError("ranges are either shared or given, and not shared while clamping: choose one")
        options = replace(options, data_range=shared_ranges(prepare(run.log, experts, options) for run in runs))
    return [Measured(run, measure(run.log, experts, options)) for run in runs]


def same_syllabi(measured: Sequence[Measured]) -> bool:
    """Whether all agents learned the same tasks in the same orders, equally often."""
    lived: dict[str, list[tuple[tuple[str, ...], ...]]] = {}
    for one in measured:
        lived.setdefault(one.run.agent, []).append(tuple(block.just_learned for block in one.metrics.evaluations))
    return len({tuple(sorted(orders)) for orders in lived.values()}) == 1


def _check_experts(runs: Sequence[Run], experts: Experts) -> None:
    have = {name.lower() for task in experts.tasks for name in (task, task.split("_")[0])}
    for run in runs:
        names = {run.log.tasks[number] for number in set(run.log.task.tolist())}
        if not any(name.lower() in have or name.split("_")[0].lower() in have for name in names):
            raise UserError(
                f"no task of {run.folder} has an expert: it has {', '.join(sorted(names))},"
                f" the experts in {experts.folder} are of {', '.join(experts.tasks)}"
            )


def _scenario_info(folder: Path) -> dict[str, Any]:
    file = folder / "scenario_info.json"
    return store.load_json(file) if file.exists() else {}


def _run(folder: Path, name: str, info: dict[str, Any], finished: bool, measure_name: str) -> Run:
    syllabus = info.get("syllabus")
    scenario = syllabus.get("scenario") if isinstance(syllabus, dict) else info.get("scenario_type")
    agent, seed = info.get("label") or info.get("agent") or folder.resolve().parent.name, info.get("seed")
    return Run(
        folder, name, str(agent), str(agent), str(info.get("preset", "")), str(scenario or ""),
        seed if isinstance(seed, int) else None, finished, read_log(folder, measure_name),
    )  # fmt: skip

"""Runs on disk: agent, scenario, budget and log of each lifetime below some folders, and their metrics.

Our runs state these in scenario_info.json and summary.json. For logs of other software the agent is the name of the
folder that holds the run, and the scenario is `scenario_type` of its scenario_info.json.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.logs import Log, read_log
from wakesleep.metrics.experts import Experts
from wakesleep.metrics.lifetime import LifetimeMetrics, compute_metrics
from wakesleep.metrics.prepare import Options, prepare, shared_ranges


@dataclass(frozen=True)
class Budget:
    """What a lifetime cost; None where the run does not say."""

    learning_steps: int | None
    """Environment steps of the logged learning episodes."""
    parameters: int | None
    """Parameters of all networks."""
    replay_bytes: int | None
    """Bytes of all replay memory."""


@dataclass(frozen=True)
class Run:
    """One lifetime on disk."""

    folder: Path
    name: str
    """Its path relative to the folder in which it was found."""
    agent: str
    """The agent in tables: its name, followed by its preset where runs of several presets are shown."""
    agent_name: str
    """The name without the preset."""
    preset: str
    """Empty where the run does not say."""
    scenario: str
    """Such as `pairwise`; empty where the run does not say."""
    seed: int | None
    finished: bool
    log: Log

    @property
    def budget(self) -> Budget:
        """Steps, parameters and replay memory of this run."""
        file = self.folder / "summary.json"
        summary = store.load_json(file) if file.exists() else {}
        sizes = [summary.get(name) for name in ("parameters", "replay_bytes")]
        if any(isinstance(size, bool) or not isinstance(size, int | float | None) for size in sizes):
            raise UserError(f"{file} is damaged: 'parameters' and 'replay_bytes' are numbers, not {sizes}")
        return Budget(self.log.learning_steps, *sizes)


@dataclass(frozen=True)
class RunResult:
    """A run and its metrics."""

    run: Run
    metrics: LifetimeMetrics


def find_runs(
    folders: Sequence[Path], measure: str = "reward", unfinished: bool = False
) -> tuple[list[Run], list[str]]:
    """Find and read all runs below some folders, at any depth. Single-task experts are left out.

    Args:
        folders: each a run, or a folder of runs.
        measure: the column of the logs that holds the performance of an episode.
        unfinished: whether runs that are still under way are read too.

    Returns:
        The runs, and sentences about those that were left out.
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
        runs.append(_read_run(folder, name, info, finished, measure))
    if not runs:
        why = notes[0] if notes else "only single-task experts"
        raise UserError(f"{', '.join(map(str, folders))} holds no finished lifetime: {why}")
    labels = names_with_presets([(run.agent_name, run.preset) for run in runs])
    return [replace(run, agent=label) for run, label in zip(runs, labels, strict=True)], notes


def names_with_presets(agents: Sequence[tuple[str, str]]) -> list[str]:
    """Labels of agents, given as name and preset: `hidden`, or `hidden (fast)` where presets differ."""
    if len({preset for _, preset in agents}) < 2:
        return [name for name, _ in agents]
    return [f"{name} ({preset})" if preset else name for name, preset in agents]


def group_by_scenario(runs: Iterable[Run], several: bool = False) -> dict[str, list[Run]]:
    """The runs of each scenario. Several scenarios are refused unless `several` allows them."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.scenario, []).append(run)
    if len(groups) > 1 and not several:
        counts = ", ".join(f"{len(found)} {scenario or 'unnamed'}" for scenario, found in groups.items())
        raise UserError(
            f"lifetimes of different scenarios cannot be averaged ({counts}):"
            " name folders of one scenario, or group them with --by-scenario"
        )
    return groups


def run_results(
    runs: Sequence[Run], experts: Experts | None = None, options: Options | None = None, share_ranges: bool = False
) -> list[RunResult]:
    """Compute the metrics of all runs; with `share_ranges`, normalised by one range per task over all of them."""
    options = options or Options()
    if experts:
        _check_experts(runs, experts)
    if share_ranges:
        if options.clamp or options.data_range is not None:
            raise UserError("ranges are either shared or given, and not shared while clamping: choose one")
        options = replace(options, data_range=shared_ranges(prepare(run.log, experts, options) for run in runs))
    return [RunResult(run, compute_metrics(run.log, experts, options)) for run in runs]


def same_syllabi(results: Sequence[RunResult]) -> bool:
    """Whether all agents learned the same tasks in the same orders, equally often."""
    orders: dict[str, list[tuple[tuple[str, ...], ...]]] = {}
    for result in results:
        order = tuple(block.just_learned for block in result.metrics.evaluations)
        orders.setdefault(result.run.agent, []).append(order)
    return len({tuple(sorted(found)) for found in orders.values()}) == 1


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


def _read_run(folder: Path, name: str, info: dict[str, Any], finished: bool, measure: str) -> Run:
    syllabus = info.get("syllabus")
    scenario = syllabus.get("scenario") if isinstance(syllabus, dict) else info.get("scenario_type")
    agent, seed = info.get("label") or info.get("agent") or folder.resolve().parent.name, info.get("seed")
    return Run(
        folder, name, str(agent), str(agent), str(info.get("preset", "")), str(scenario or ""),
        seed if isinstance(seed, int) else None, finished, read_log(folder, measure),
    )  # fmt: skip

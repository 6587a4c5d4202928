"""The data of the page as one JSON value.

It is derived from folders alone, and can be made again while lifetimes run: a lifetime is read anew only when its files
changed. Sleeps and episodes are shown for a few lifetimes only, so that a page over a hundred stays small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wakesleep.errors import UserError
from wakesleep.metrics.experts import Experts, read_experts
from wakesleep.metrics.names import METRICS, PAPER
from wakesleep.metrics.output import to_json
from wakesleep.metrics.paper import PaperTable, table
from wakesleep.metrics.runs import Run, RunResult, group_by_scenario, names_with_presets, run_results
from wakesleep.metrics.summary import metric_notes, paper_notes, scenario_result
from wakesleep.metrics.value import mean
from wakesleep.reporting.curves import group_curves, points_per_block
from wakesleep.reporting.episodes import action_names, episodes
from wakesleep.reporting.lives import JUST_STARTED, StoredLifetime, find_folders, fingerprint, read_life, read_progress
from wakesleep.reporting.sleeps import sleep_files, sleeps

DETAILS = 8
"""Default number of lifetimes whose sleeps and episodes are shown."""


@dataclass(frozen=True)
class ReportRequest:
    """What a report shows."""

    folders: Sequence[Path]
    """Each a run, or a folder of runs at any depth."""
    experts: Path | None = None
    """Folder of single-task experts."""
    baseline: str = "baseline"
    """The agent that others are compared with."""
    paper: str | None = None
    """Name of the paper's table to show beside ours."""
    details: int = DETAILS
    """Number of lifetimes whose sleeps and episodes are shown."""

    def __post_init__(self) -> None:
        if not self.folders:
            raise UserError("name at least one folder of lifetimes: wakesleep report RUNS")
        if self.details < 0:
            raise UserError(f"details are shown of 0 or more lifetimes, not {self.details}")


class Reporter:
    """Makes the data of the page; call `data` again to follow lifetimes that run."""

    def __init__(self, request: ReportRequest) -> None:
        self.request = request
        self.experts: Experts | None = read_experts(request.experts) if request.experts else None
        self.paper: PaperTable | None = table(request.paper) if request.paper else None
        self._read: dict[Path, tuple[Any, StoredLifetime]] = {}
        self._details: dict[Path, tuple[Any, dict[str, Any]]] = {}
        self._results: tuple[Any, Any] = (None, None)

    def data(self) -> dict[str, Any]:
        """The data of the page, from what is on disk now."""
        lives, problems = self._lives()
        detailed = _chosen(lives, self.request.details)
        shown = [self._life_json(life, number in detailed) for number, life in enumerate(lives)]
        problems += [problem for life in shown for problem in life.pop("problems")]
        summaries, results = self._summaries(lives)
        configs = [_settings(life) for life in lives]
        distinct = [config for number, config in enumerate(configs) if config and config not in configs[:number]]
        for one, config in zip(shown, configs, strict=True):
            one["config"] = distinct.index(config) if config else None
        tasks = dict.fromkeys(task for life in lives for task in _tasks(life))
        for number, found in results.items():
            shown[number]["metrics"] = {name: _short(found.metrics.values[name].number) for name in PAPER}
        return {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": version("wakesleep"),
            "metrics": {name: METRICS[name]._asdict() for name in PAPER},
            "tasks": sorted(tasks),
            "agents": list(dict.fromkeys(life.agent for life in lives)),
            "scenarios": list(dict.fromkeys(life.scenario for life in lives)),
            "experts": {} if self.experts is None else _levels(self.experts),
            "summaries": summaries,
            "groups": group_curves(lives, points_per_block(lives)),
            "transfers": _transfers(results),
            "lives": shown,
            "configs": distinct,
            "details": self.request.details,
            "problems": [*problems, *_differences(lives), *(self.experts.notes if self.experts else ())],
        }

    def _lives(self) -> tuple[list[StoredLifetime], list[str]]:
        """All lifetimes, and what is wrong with them. Unchanged ones are not read again.

        A log that is just being written may not be readable: then what was read before stays.
        """
        lives, problems = [], []
        for folder, name in find_folders(self.request.folders).items():
            state, (known, life) = fingerprint(folder), self._read.get(folder, (None, None))
            if life is None or known != state:
                new = read_life(folder, name)
                half_written = new.run is None and not new.finished and life is not None and life.run is not None
                life = life if half_written and life else new
                self._read[folder] = None if half_written else state, life
            if life.problem and life.problem != JUST_STARTED:
                problems.append(f"{life.name}: {life.problem}")
            lives.append(replace(life, progress=read_progress(folder)))
        return _with_labels(lives), problems

    def _life_json(self, life: StoredLifetime, detailed: bool) -> dict[str, Any]:
        """One lifetime without its curves; `detailed` adds its sleeps and episodes."""
        log = life.run.log if life.run else None
        shown: dict[str, Any] = {
            "name": life.name, "agent": life.agent, "scenario": life.scenario, "tasks": _tasks(life),
            "seed": life.config.get("seed"), "finished": life.finished, "readable": life.run is not None,
            "progress": life.progress, "summary": life.summary,
            "learning_steps": log.learning_steps if log else None, "episodes_logged": len(log) if log else 0,
            "sleeps": [], "episodes": {}, "problems": [*(log.notes if log else ())],
        }  # fmt: skip
        if detailed:
            files = sleep_files(life.folder)
            state = [(file.name, file.stat().st_mtime_ns) for file in [*files, *life.folder.glob("policy.npz")]]
            known, details = self._details.get(life.folder, (None, {}))
            if known != state:
                found, problems = sleeps(life, files)
                played, unplayed = episodes(life)
                details = {
                    "sleeps": found, "episodes": played, "actions": action_names(life), "problems": problems + unplayed,
                }  # fmt: skip
                self._details[life.folder] = state, details
            shown |= {**details, "problems": [*shown["problems"], *details["problems"]]}
        return shown

    def _summaries(self, lives: Sequence[StoredLifetime]) -> tuple[list[dict[str, Any]], dict[int, RunResult]]:
        """Summaries of the finished lifetimes by scenario, and the metrics of each by its index."""
        runs = {number: life.run for number, life in enumerate(lives) if life.run and life.finished}
        state = [(number, run.agent, self._read[lives[number].folder][0]) for number, run in runs.items()]
        known, found = self._results
        if known != state:
            found = self._compute(runs)
            self._results = state, found
        return found

    def _compute(self, runs: dict[int, Run]) -> tuple[list[dict[str, Any]], dict[int, RunResult]]:
        numbers = {id(run): number for number, run in runs.items()}
        summaries, by_number = [], dict[int, RunResult]()
        for scenario, same in group_by_scenario(runs.values(), several=True).items():
            results = run_results(same, self.experts)
            by_number |= {numbers[id(found.run)]: found for found in results}
            result = scenario_result(scenario, results, self.request.baseline)
            about = to_json(result, self.paper)
            del about["lifetimes"]
            for agent in about["agents"]:
                agent["metrics"] = {name: agent["metrics"][name] for name in PAPER}
            notes = [*([result.baseline_note] if result.baseline_note else []), *metric_notes(result, PAPER)]
            summaries.append({**about, "notes": [*notes, *(paper_notes(result, self.paper) if self.paper else [])]})
        return summaries, by_number


def _chosen(lives: Sequence[StoredLifetime], count: int) -> set[int]:
    """Indices of the lifetimes shown in detail: from every agent and scenario in turn, those under way first."""
    seen: dict[tuple[str, str], int] = {}
    ranked = []
    for number in sorted(range(len(lives)), key=lambda number: (lives[number].finished, number)):
        kind = lives[number].agent, lives[number].scenario
        seen[kind] = seen.get(kind, -1) + 1
        ranked.append((seen[kind], lives[number].finished, number))
    return {number for *_, number in sorted(ranked)[:count]}


def _with_labels(lives: list[StoredLifetime]) -> list[StoredLifetime]:
    """Label agents with their presets where these differ, as `wakesleep compare` does."""
    labels = names_with_presets([(life.agent, life.preset) for life in lives])
    return [
        replace(life, run=replace(life.run, agent=agent))
        if life.run
        else replace(life, config={**life.config, "label": agent})
        for life, agent in zip(lives, labels, strict=True)
    ]


def _tasks(life: StoredLifetime) -> list[str]:
    if life.run:
        return list(life.run.log.tasks)
    return [str(task) for task in life.syllabus.get("tasks", [])]


def _settings(life: StoredLifetime) -> dict[str, Any]:
    """The part of a configuration that lifetimes of one agent share."""
    return {
        name: life.config[name]
        for name in ("agent", "preset", "overrides", "settings", "versions")
        if name in life.config
    }


def _levels(experts: Experts) -> dict[str, float]:
    """R* of each task that has an expert."""
    values = {task: experts.expert_return(task).number for task in experts.tasks}
    return {task: round(value, 4) for task, value in values.items() if value is not None}


def _transfers(results: dict[int, RunResult]) -> list[dict[str, Any]]:
    """FT and BT of each agent and scenario, from task to task: the mean over lifetimes of what counts in each."""
    found: dict[tuple[str, str], dict[str, dict[tuple[str, str], list[dict[str, float]]]]] = {}
    for result in results.values():
        kinds = found.setdefault((result.run.scenario, result.run.agent), {"forward": {}, "backward": {}})
        for direction, pairs in result.metrics.transfers._asdict().items():
            for pair, steps in pairs.items():
                values = {
                    method: next((v for step in steps if (v := getattr(step, method).number) is not None), None)
                    for method in ("ratio", "contrast")
                }
                kinds[direction].setdefault(pair, []).append({m: v for m, v in values.items() if v is not None})
    return [
        {
            "scenario": scenario,
            "agent": agent,
            **{
                direction: [
                    {"learned": pair[0], "evaluated": pair[1], "lifetimes": len(values), **_means(values)}
                    for pair, values in pairs.items()
                ]
                for direction, pairs in kinds.items()
            },
        }
        for (scenario, agent), kinds in found.items()
    ]


def _means(values: list[dict[str, float]]) -> dict[str, float | None]:
    known = {method: [value[method] for value in values if method in value] for method in ("ratio", "contrast")}
    return {method: _short(mean(numbers)) if numbers else None for method, numbers in known.items()}


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


def _differences(lives: Sequence[StoredLifetime]) -> list[str]:
    """Sentences about lifetimes that are averaged although their settings or blocks differ."""
    notes, first = dict[str, None](), dict[Any, Any]()
    for life in lives:
        settings = life.config.get("settings")
        if settings is not None and first.setdefault(life.agent, settings) != settings:
            notes[f"lifetimes of {life.agent} differ in their settings: means mix them (see Configurations)"] = None
        for block in life.planned:
            if first.setdefault((life.scenario, block["task"]), block["steps"]) != block["steps"]:
                notes[f"blocks of {block['task']} differ in length ({life.scenario}): metrics mix them"] = None
    return list(notes)

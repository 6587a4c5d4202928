"""All that the page shows, as one JSON value.

Everything is derived from folders, so that it can be made again while lifetimes run: what belongs to one lifetime is
made anew only when its files changed. Sleeps and episodes are shown of a few lifetimes only, so that a page over a
hundred still opens.
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
from wakesleep.metrics.paper import PaperTable, table
from wakesleep.metrics.prepare import Options
from wakesleep.metrics.runs import Measured, Run, by_scenario, measure_runs, names_with_presets
from wakesleep.metrics.summary import paper_notes, reasons, scenario_result, to_json
from wakesleep.metrics.value import mean_of
from wakesleep.report.curves import groups, points_per_block
from wakesleep.report.episodes import action_names, episodes
from wakesleep.report.lives import BEGUN, Life, find_folders, read_life, read_progress, state_of
from wakesleep.report.sleeps import sleep_files, sleeps

DETAILS = 8
"""Lifetimes whose sleeps and episodes are shown, by default."""


@dataclass(frozen=True)
class ReportRequest:
    """What to report on."""

    folders: Sequence[Path]
    experts: Path | None = None
    baseline: str = "baseline"
    paper: str | None = None
    details: int = DETAILS


class Reporter:
    """Makes the page's data, again and again if need be."""

    def __init__(self, wanted: ReportRequest) -> None:
        self.wanted = wanted
        self.experts: Experts | None = read_experts(wanted.experts) if wanted.experts else None
        self.paper: PaperTable | None = table(wanted.paper) if wanted.paper else None
        self._read: dict[Path, tuple[Any, Life]] = {}
        self._details: dict[Path, tuple[Any, dict[str, Any]]] = {}
        self._measured: tuple[Any, Any] = (None, None)

    def data(self) -> dict[str, Any]:
        """Everything, as it is on disk now."""
        lives, problems = self._lives()
        detailed = _chosen(lives, self.wanted.details)
        shown = [self._life(life, number in detailed) for number, life in enumerate(lives)]
        problems += [problem for life in shown for problem in life.pop("problems")]
        summaries, measured = self._summaries(lives)
        configs = [_settings(life) for life in lives]
        distinct = [config for number, config in enumerate(configs) if config and config not in configs[:number]]
        for one, config in zip(shown, configs, strict=True):
            one["config"] = distinct.index(config) if config else None
        tasks = dict.fromkeys(task for life in lives for task in _tasks(life))
        for number, found in measured.items():
            shown[number]["metrics"] = {name: _short(found.metrics.values[name].number) for name in PAPER}
        return {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": version("wakesleep"),
            "metrics": {name: {"title": METRICS[name].title, "about": METRICS[name].about} for name in PAPER},
            "tasks": sorted(tasks),
            "agents": list(dict.fromkeys(life.agent for life in lives)),
            "scenarios": list(dict.fromkeys(life.scenario for life in lives)),
            "experts": {} if self.experts is None else _levels(self.experts),
            "summaries": summaries,
            "groups": groups(lives, points_per_block(lives)),
            "transfers": _transfers(measured),
            "lives": shown,
            "configs": distinct,
            "details": self.wanted.details,
            "problems": [*problems, *_differences(lives), *(self.experts.notes if self.experts else ())],
        }

    def _lives(self) -> tuple[list[Life], list[str]]:
        """All lifetimes. Unchanged logs are not read again; one that is just being written, a little later."""
        lives, problems = [], []
        for folder, name in find_folders(self.wanted.folders).items():
            state, (known, life) = state_of(folder), self._read.get(folder, (None, None))
            if life is None or known != state:
                new = read_life(folder, name)
                torn = new.run is None and not new.finished and life is not None and life.run is not None
                life = life if torn and life else new
                self._read[folder] = None if torn else state, life
            if life.problem and life.problem != BEGUN:
                problems.append(f"{life.name}: {life.problem}")
            lives.append(replace(life, progress=read_progress(folder)))
        return _named(lives), problems

    def _life(self, life: Life, detailed: bool) -> dict[str, Any]:
        """One lifetime, without its curves."""
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

    def _summaries(self, lives: Sequence[Life]) -> tuple[list[dict[str, Any]], dict[int, Measured]]:
        """Metrics of the finished lifetimes, scenario by scenario, and of each by its number."""
        runs = {number: life.run for number, life in enumerate(lives) if life.run and life.finished}
        state = [(number, run.agent, self._read[lives[number].folder][0]) for number, run in runs.items()]
        known, found = self._measured
        if known != state:
            found = self._measure(runs)
            self._measured = state, found
        return found

    def _measure(self, runs: dict[int, Run]) -> tuple[list[dict[str, Any]], dict[int, Measured]]:
        numbers = {id(run): number for number, run in runs.items()}
        summaries, by_number = [], dict[int, Measured]()
        for scenario, same in by_scenario(runs.values(), grouped=True).items():
            measured = measure_runs(same, self.experts, Options())
            by_number |= {numbers[id(one.run)]: one for one in measured}
            result = scenario_result(scenario, measured, self.wanted.baseline)
            about = to_json(result, measured, self.paper)
            del about["lifetimes"]
            for agent in about["agents"]:
                agent["metrics"] = {name: agent["metrics"][name] for name in PAPER}
            notes = paper_notes([result], self.paper) if self.paper else []
            why = [result.why_unmarked] if result.why_unmarked else []
            summaries.append({**about, "reasons": [*why, *reasons(measured, PAPER), *notes]})
        return summaries, by_number


def _chosen(lives: Sequence[Life], count: int) -> set[int]:
    """Whose details are shown: of every agent and scenario one after the other, those under way first."""
    seen: dict[tuple[str, str], int] = {}
    ranked = []
    for number in sorted(range(len(lives)), key=lambda number: (lives[number].finished, number)):
        kind = lives[number].agent, lives[number].scenario
        seen[kind] = seen.get(kind, -1) + 1
        ranked.append((seen[kind], lives[number].finished, number))
    return {number for *_, number in sorted(ranked)[:count]}


def _named(lives: list[Life]) -> list[Life]:
    """Agents of different presets have different names, as in `wakesleep compare`."""
    called = names_with_presets([(life.agent, life.preset) for life in lives])
    return [
        replace(life, run=replace(life.run, agent=agent))
        if life.run
        else replace(life, config={**life.config, "label": agent})
        for life, agent in zip(lives, called, strict=True)
    ]


def _tasks(life: Life) -> list[str]:
    if life.run:
        return list(life.run.log.tasks)
    return [str(task) for task in life.syllabus.get("tasks", [])]


def _settings(life: Life) -> dict[str, Any]:
    """What of a configuration lifetimes may share."""
    return {
        name: life.config[name]
        for name in ("agent", "preset", "overrides", "settings", "versions")
        if name in life.config
    }


def _levels(experts: Experts) -> dict[str, float]:
    """R* of each task that has an expert."""
    values = {task: experts.expert_return(task).number for task in experts.tasks}
    return {task: round(value, 4) for task, value in values.items() if value is not None}


def _transfers(measured: dict[int, Measured]) -> list[dict[str, Any]]:
    """FT and BT of each agent and scenario, from task to task: the mean over lifetimes of what counts in each."""
    found: dict[tuple[str, str], dict[str, dict[tuple[str, str], list[dict[str, float]]]]] = {}
    for one in measured.values():
        kinds = found.setdefault((one.run.scenario, one.run.agent), {"forward": {}, "backward": {}})
        for direction, pairs in one.metrics.transfers._asdict().items():
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
    return {method: _short(mean_of(numbers)) if numbers else None for method, numbers in known.items()}


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


def _differences(lives: Sequence[Life]) -> list[str]:
    """What lifetimes that are averaged do not share: then their means say little."""
    notes, first = dict[str, None](), dict[Any, Any]()
    for life in lives:
        settings = life.config.get("settings")
        if settings is not None and first.setdefault(life.agent, settings) != settings:
            notes[f"lifetimes of {life.agent} differ in their settings: means mix them (see Configurations)"] = None
        for block in life.planned:
            if first.setdefault((life.scenario, block["task"]), block["steps"]) != block["steps"]:
                notes[f"blocks of {block['task']} differ in length ({life.scenario}): metrics mix them"] = None
    return list(notes)


def check(wanted: ReportRequest) -> None:
    """Refuse what cannot become a page, in one sentence."""
    if not wanted.folders:
        raise UserError("name at least one folder of lifetimes: wakesleep report RUNS")
    if wanted.details < 0:
        raise UserError(f"details are shown of 0 or more lifetimes, not {wanted.details}")

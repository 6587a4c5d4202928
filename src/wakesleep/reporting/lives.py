"""Lifetimes on disk, finished, under way or damaged. A damaged folder does not keep the others from being read."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.metrics.runs import Run, find_runs

JUST_STARTED = "it has only begun: no episode is logged yet"


@dataclass(frozen=True)
class StoredLifetime:
    """One lifetime on disk: as much of it as can be read."""

    folder: Path
    name: str
    """Its path relative to the folder in which it was found."""
    config: dict[str, Any] = field(default_factory=dict)
    """config.json; empty for logs of other software."""
    summary: dict[str, Any] = field(default_factory=dict)
    """summary.json; empty while it is under way."""
    progress: dict[str, Any] = field(default_factory=dict)
    """progress.json, and its modification time under `seen`; empty when the lifetime is finished."""
    run: Run | None = None
    """Its log; None where there is none, or none that can be read."""
    problem: str = ""
    """Why there is no log."""

    @property
    def finished(self) -> bool:
        """Whether it ran to its end."""
        return self.run.finished if self.run else bool(self.summary) or not self.config

    @property
    def agent(self) -> str:
        """Label of the agent."""
        return self.run.agent if self.run else str(self.config.get("label") or self.config.get("agent", "?"))

    @property
    def preset(self) -> str:
        """Preset of its settings; empty where the run does not say."""
        return self.run.preset if self.run else str(self.config.get("preset", ""))

    @property
    def syllabus(self) -> dict[str, Any]:
        """The syllabus in config.json; may be empty."""
        return _mapping(self.config.get("syllabus"))

    @property
    def scenario(self) -> str:
        """Such as `pairwise`; empty where the run does not say."""
        return self.run.scenario if self.run else str(self.syllabus.get("scenario", ""))

    def setting(self, name: str) -> Any:
        """One of the agent's settings by its name (`sleep.iterations`); None where there is none."""
        value: Any = self.config.get("settings")
        for part in name.split("."):
            value = _mapping(value).get(part)
        return value

    @property
    def planned(self) -> list[dict[str, Any]]:
        """The learning blocks of its syllabus; empty where the run does not say."""
        blocks = self.syllabus.get("learning")
        return [block for block in blocks if {"task", "steps"} <= set(block)] if isinstance(blocks, list) else []


def find_lives(folders: Sequence[Path]) -> list[StoredLifetime]:
    """Read all lifetimes below some folders, at any depth. Single-task experts are left out."""
    return [read_life(folder, name) for folder, name in find_folders(folders).items()]


def find_folders(folders: Sequence[Path]) -> dict[Path, str]:
    """The folder of each lifetime, and its name: the path relative to the folder that was given."""
    found: dict[Path, str] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        places = {file.parent for name in ("logger_info.json", "config.json") for file in folder.rglob(name)}
        for place in sorted(places):
            if _is_life(place):
                name = str(place.relative_to(folder)) if place != folder else place.resolve().name
                found.setdefault(place.resolve(), name)
    if not found:
        raise UserError(
            f"{', '.join(map(str, folders))} holds no lifetime: live one with `wakesleep run --out ...`, or name a"
            " folder of logs in l2logger's layout"
        )
    names = list(found.values())
    return {place: name if names.count(name) == 1 else str(place) for place, name in found.items()}


def read_life(folder: Path, name: str) -> StoredLifetime:
    """Read a lifetime from its folder; `problem` says what could not be read."""
    config, summary = _load(folder / "config.json"), _load(folder / "summary.json")
    life = StoredLifetime(folder, name, config, summary, read_progress(folder))
    if config and not summary and not any(folder.rglob("data-log.tsv")):
        return replace(life, problem=JUST_STARTED)
    try:
        runs, _ = find_runs([folder], unfinished=True)
    except UserError as error:
        return replace(life, problem=str(error))
    return replace(life, run=runs[0])


def read_progress(folder: Path) -> dict[str, Any]:
    """progress.json of a lifetime under way, and its modification time under `seen`; empty where there is none."""
    progress = _load(file := folder / "progress.json")
    with contextlib.suppress(OSError):
        return {**progress, "seen": file.stat().st_mtime} if progress else {}
    return {}


def fingerprint(folder: Path) -> list[tuple[str, int, int]]:
    """Names, times and sizes of the files that `read_life` reads: it changes whenever something is logged."""
    files = [*folder.glob("*.json"), *folder.rglob("data-log.tsv")]
    stats = [(file, file.stat()) for file in sorted(files) if file.name != "progress.json"]
    return [(str(file), stat.st_mtime_ns, stat.st_size) for file, stat in stats]


def _is_life(folder: Path) -> bool:
    """Whether a folder holds a log that is not an expert's, or config.json of a lifetime."""
    if (folder / "logger_info.json").exists():
        return _load(folder / "scenario_info.json").get("scenario_type") != "ste"
    return "syllabus" in _load(folder / "config.json")


def _load(file: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none, or none that can be read."""
    try:
        return store.load_json(file)
    except UserError:
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

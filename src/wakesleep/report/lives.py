"""Lifetimes as the report meets them: finished, under way, or damaged. One bad folder never hides the others."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.metrics.runs import Run, find_runs

BEGUN = "it has only begun: no episode is logged yet"


@dataclass(frozen=True)
class Life:
    """One lifetime on disk, whatever is left of it."""

    folder: Path
    name: str
    """What it is called in the folder that was named."""
    config: dict[str, Any] = field(default_factory=dict)
    """config.json; empty where the log is not one of ours."""
    summary: dict[str, Any] = field(default_factory=dict)
    """summary.json; empty while it is under way."""
    progress: dict[str, Any] = field(default_factory=dict)
    """progress.json and when it was written (`seen`); empty when it is finished."""
    run: Run | None = None
    """Its log; None where there is nothing to read yet, or ever."""
    problem: str = ""
    """Why there is no log."""

    @property
    def finished(self) -> bool:
        """Whether it was lived to its end."""
        return self.run.finished if self.run else bool(self.summary) or not self.config

    @property
    def agent(self) -> str:
        """Who lives."""
        return self.run.agent if self.run else str(self.config.get("label") or self.config.get("agent", "?"))

    @property
    def preset(self) -> str:
        """Of its settings; empty where nobody says."""
        return self.run.preset if self.run else str(self.config.get("preset", ""))

    @property
    def syllabus(self) -> dict[str, Any]:
        """As config.json has it; may be empty."""
        return _mapping(self.config.get("syllabus"))

    @property
    def scenario(self) -> str:
        """By what rule its syllabus was made."""
        return self.run.scenario if self.run else str(self.syllabus.get("scenario", ""))

    def setting(self, name: str) -> Any:
        """One of the agent's settings by its name (`sleep.iterations`); None where there is no such thing."""
        value: Any = self.config.get("settings")
        for part in name.split("."):
            value = _mapping(value).get(part)
        return value

    @property
    def planned(self) -> list[dict[str, Any]]:
        """The learning blocks that it was to live through; empty where nobody says."""
        blocks = self.syllabus.get("learning")
        return [block for block in blocks if {"task", "steps"} <= set(block)] if isinstance(blocks, list) else []


def find_lives(folders: Sequence[Path]) -> list[Life]:
    """All lifetimes below some folders, at any depth; single-task experts are none."""
    return [read_life(folder, name) for folder, name in find_folders(folders).items()]


def find_folders(folders: Sequence[Path]) -> dict[Path, str]:
    """The folders of all lifetimes, and what each is called."""
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


def read_life(folder: Path, name: str) -> Life:
    """What a folder holds of a lifetime."""
    config, summary = _load(folder / "config.json"), _load(folder / "summary.json")
    life = Life(folder, name, config, summary, read_progress(folder))
    if config and not summary and not any(folder.rglob("data-log.tsv")):
        return replace(life, problem=BEGUN)
    try:
        runs, _ = find_runs([folder], unfinished=True)
    except UserError as error:
        return replace(life, problem=str(error))
    return replace(life, run=runs[0])


def read_progress(folder: Path) -> dict[str, Any]:
    """How far a lifetime under way is, and when it said so (`seen`)."""
    progress = _load(file := folder / "progress.json")
    with contextlib.suppress(OSError):
        return {**progress, "seen": file.stat().st_mtime} if progress else {}
    return {}


def state_of(folder: Path) -> list[tuple[str, int, int]]:
    """What changes whenever something is logged: names, times and sizes of the files that `read_life` reads."""
    files = [*folder.glob("*.json"), *folder.rglob("data-log.tsv")]
    stats = [(file, file.stat()) for file in sorted(files) if file.name != "progress.json"]
    return [(str(file), stat.st_mtime_ns, stat.st_size) for file, stat in stats]


def _is_life(folder: Path) -> bool:
    """A log in l2logger's layout that is no expert's, or what one of our runs left."""
    if (folder / "logger_info.json").exists():
        return _load(folder / "scenario_info.json").get("scenario_type") != "ste"
    return "syllabus" in _load(folder / "config.json")


def _load(file: Path) -> dict[str, Any]:
    """A JSON object, or nothing where there is none: what is damaged is missing."""
    try:
        return store.load_json(file)
    except UserError:
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

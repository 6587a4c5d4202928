"""Diagnostics of each sleep, reduced for the page: losses, drift of features, agreement, pictures.

Coordinates are the first two principal components of the probes' features after the sleep, as whole numbers from 0 to
`GRID` over their range. A Minigrid picture is a string of three hexadecimal digits per cell, row by row.
"""

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.errors import UserError
from wakesleep.reporting.curves import rounded
from wakesleep.reporting.episodes import world_of
from wakesleep.reporting.lives import StoredLifetime
from wakesleep.worlds.protocols import HasTiles

GRID = 1000
_POINTS, _DREAMS, _PICTURES, _LOSSES = 240, 100, 8, 50
_LOSS = re.compile(r"\['curves'\]\.(\w+)\.(\w+)$")
_NEEDED = ("sleep", "before", "after", "action", "agrees_before", "agrees_after", "explained")


def sleep_files(folder: Path) -> list[Path]:
    """The files of diagnostics of a lifetime, in order of its sleeps."""
    return sorted((folder / "diagnostics").glob("sleep-*.npz"))


def read_sleep(file: Path) -> dict[str, np.ndarray]:
    """The arrays of one sleep by name."""
    try:
        with np.load(file) as archive:
            return {re.sub(r"^\['(\w+)'\]$", r"\1", name): archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{file} is damaged and cannot be read ({error})") from error


def losses_of(arrays: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Loss curves by kind of replay (experience, generative, random) and term."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, values in arrays.items():
        if match := _LOSS.match(name):
            found.setdefault(match[1], {})[match[2]] = values
    return found


def sleeps(life: StoredLifetime, files: Sequence[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """The diagnostics of all sleeps of a lifetime as JSON, and sentences about files that cannot be read."""
    found, problems = [], []
    for number, file in enumerate(files):
        try:
            found.append(_sleep(life, read_sleep(file), number))
        except UserError as error:
            problems.append(str(error))
    return found, problems


def _sleep(life: StoredLifetime, arrays: dict[str, np.ndarray], number: int) -> dict[str, Any]:
    per_block = max(1, int(life.setting("sleeps_per_block") or 1))
    tasks = [str(block["task"]) for block in life.planned]

    def task_of(sleep: int) -> str:
        return tasks[sleep // per_block] if sleep // per_block < len(tasks) else f"sleep {sleep + 1}"

    if "sleep" in arrays and arrays["sleep"].size:
        number = int(arrays["sleep"].max())  # of the wake buffer's own pairs: right even if an earlier file is gone
    shown: dict[str, Any] = {
        "number": number,
        "task": task_of(number),
        "iterations": life.setting("sleep.iterations"),
        "losses": {
            kind: {term: rounded(_thin(values, _LOSSES)) for term, values in terms.items()}
            for kind, terms in losses_of(arrays).items()
        },
    }
    whole = all(name in arrays and arrays[name].size for name in _NEEDED)
    if whole and np.isfinite(arrays["before"]).all() and np.isfinite(arrays["after"]).all():
        shown |= _features(arrays, [task_of(int(origin)) for origin in arrays["sleep"]])
    shown["pictures"] = _tile_views(life, arrays)
    return shown


def _tile_views(life: StoredLifetime, arrays: dict[str, np.ndarray]) -> dict[str, list[str]]:
    """Reconstructions and dreams of observations, where the life's world can draw them from tiles."""
    world, found = world_of(life), dict[str, list[str]]()
    for name, pictures in arrays.items():
        if isinstance(world, HasTiles) and name.startswith("picture_") and pictures.ndim:
            views = [world.tile_view(picture) for picture in pictures[:_PICTURES]]
            if drawn := [view for view in views if view is not None]:
                found[name.removeprefix("picture_")] = drawn
    return found


def _features(arrays: dict[str, np.ndarray], origins: list[str]) -> dict[str, Any]:
    """Features of probes and dreams as points, the drift of features, and the agreement of the policy with actions."""
    tasks = list(dict.fromkeys(origins))
    task = np.array([tasks.index(origin) for origin in origins])
    before, after = arrays["before"], arrays["after"]
    spread = max(float(np.sqrt(((after - after.mean(0)) ** 2).sum(1).mean())), 1e-12)
    drift = np.sqrt(((after - before) ** 2).sum(1)) / spread
    chosen = np.sort(np.random.default_rng(0).permutation(len(task))[:_POINTS])
    # a few dreams may be outliers: they are drawn on the border
    dreamed = np.nan_to_num(arrays.get("dreamed_after", after)[:, :2])
    shown = np.concatenate([before[:, :2], after[:, :2], np.quantile(dreamed, [0.05, 0.95], axis=0)])
    low, high = shown.min(0), shown.max(0)

    def place(points: np.ndarray) -> list[int]:
        points = np.nan_to_num(points[:, :2])
        scaled = np.clip((points - low) / np.maximum(high - low, 1e-12), -0.01, 1.01)
        return np.round(scaled * GRID).astype(int).ravel().tolist()

    dreams = {
        name: {"at": place(arrays[name][:_DREAMS]), "action": arrays[f"{name}_action"][:_DREAMS].tolist()}
        for name in ("dreamed_before", "dreamed_after")
        if name in arrays and f"{name}_action" in arrays
    }
    return {
        "probes": [
            {
                "task": name,
                "count": int((task == number).sum()),
                "drift": round(float(drift[task == number].mean()), 3),
                "agrees_before": round(float(arrays["agrees_before"][task == number].mean()), 3),
                "agrees_after": round(float(arrays["agrees_after"][task == number].mean()), 3),
            }
            for number, name in enumerate(tasks)
        ],
        "explained": rounded(arrays["explained"][:2], 3),
        "points": {
            "task": task[chosen].tolist(),
            "action": arrays["action"][chosen].tolist(),
            "before": place(before[chosen]),
            "after": place(after[chosen]),
        },
        "dreams": dreams,
    }


def _thin(values: np.ndarray, points: int) -> np.ndarray:
    """Means over at most `points` bins of equal length."""
    if len(values) <= points:
        return values
    return np.array([part.mean() for part in np.array_split(values, points)])

"""What happened in a life, on disk in l2logger's layout (format 1.1): one row per finished episode.

    RUN/logger_info.json  RUN/scenario_info.json  RUN/worker-default/<block>-<train|test>/data-log.tsv

l2metrics and anything else made for these logs read ours, and ours are read from logs alone. Two things are our own
rule: EB rows of one task stand together, and timestamps do not tell the time of day but count environment steps, a
millisecond each, from the start of the year 2000, so that the same seeds write the same bytes.
"""

import csv
import shutil
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wakesleep import store
from wakesleep.errors import UserError

COLUMNS = (
    "block_num", "exp_num", "worker_id", "block_type", "block_subtype", "task_name", "task_params", "exp_status",
    "timestamp", "episode_step_count", "reward",
)  # fmt: skip
WORKER = "worker-default"
TRAIN, TEST = "train", "test"
LOG_EPOCH = datetime(2000, 1, 1)


class Episode(NamedTuple):
    """A finished episode."""

    total_reward: float
    length: int


class Position(NamedTuple):
    """How far a log has got: enough to cut it back to here."""

    block: int
    kind: str
    episodes: int
    """In the whole log."""
    steps: int
    """In the whole log."""
    bytes: int
    """In the file of this block."""


class LogWriter:
    """Writes a log, block after block. Every call leaves whole rows on disk."""

    def __init__(self, folder: Path, scenario: dict[str, Any], position: Position | None = None) -> None:
        """Begin a log, or go on with one at a position: what was written after it is cut off."""
        self.folder = folder
        if position is None:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(folder / WORKER, ignore_errors=True)
            store.save_json(folder / "logger_info.json", {"metrics_columns": ["reward"], "log_format_version": "1.1"})
            store.save_json(folder / "scenario_info.json", scenario)
            position = Position(-1, TRAIN, 0, 0, 0)
        else:
            self._cut_back(position)
        self.position = position

    def begin_block(self, kind: str) -> None:
        """The next block, `TRAIN` or `TEST`. Its file appears with its first episode."""
        if kind not in (TRAIN, TEST):
            raise UserError(f"a block is {TRAIN!r} or {TEST!r}, not {kind!r}")
        self.position = Position(self.position.block + 1, kind, self.position.episodes, self.position.steps, 0)

    def write(self, task: str, episodes: Iterable[Episode]) -> None:
        """Add finished episodes of a task, in order of their ends."""
        block, kind, count, steps, _ = self.position
        if block < 0:
            raise UserError("a log's first row needs a block: call begin_block first")
        rows = []
        for episode in episodes:
            steps += episode.length
            time = (LOG_EPOCH + timedelta(milliseconds=steps)).strftime("%Y%m%dT%H%M%S.%f")
            reward = float(np.float32(episode.total_reward).astype(str))  # 0.964, not 0.9639999866485596
            rows.append((block, count, WORKER, kind, "wake", task, "{}", "complete", time, episode.length, reward))
            count += 1
        if not rows:
            return
        file = self._file(block, kind)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", newline="") as opened:
            writer = csv.writer(opened, delimiter="\t", lineterminator="\n")
            if opened.tell() == 0:
                writer.writerow(COLUMNS)
            writer.writerows(rows)
            size = opened.tell()
        self.position = Position(block, kind, count, steps, size)

    def _file(self, block: int, kind: str) -> Path:
        return self.folder / WORKER / f"{block}-{kind}" / "data-log.tsv"

    def _cut_back(self, position: Position) -> None:
        for block in (self.folder / WORKER).glob("*-*"):
            number = block.name.split("-")[0]
            if number.isdecimal() and int(number) > position.block:
                shutil.rmtree(block)
        file = self._file(position.block, position.kind)
        if position.bytes == 0:
            shutil.rmtree(file.parent, ignore_errors=True)
            return
        size = file.stat().st_size if file.exists() else 0
        if size < position.bytes:
            raise UserError(f"{file} is shorter than when it was last saved: this run cannot be resumed; begin anew")
        with file.open("rb+") as opened:
            opened.truncate(position.bytes)


class Curve(NamedTuple):
    """The episodes of one task in one file, in order."""

    reward: np.ndarray
    length: np.ndarray

    @property
    def steps(self) -> np.ndarray:
        """Environment steps at the end of each episode."""
        return np.cumsum(self.length)


def read_curve(folder: Path, block: int = 0, kind: str = TRAIN) -> Curve:
    """The complete episodes of one block, whatever their task."""
    rows = _read(folder, block, kind)
    return Curve(np.array([reward for _, reward, _ in rows]), np.array([length for _, _, length in rows], int))


def read_returns(folder: Path, block: int, kind: str) -> dict[str, list[float]]:
    """The returns of one block's complete episodes by task."""
    returns: dict[str, list[float]] = {}
    for task, reward, _ in _read(folder, block, kind):
        returns.setdefault(task, []).append(reward)
    return returns


def _read(folder: Path, block: int, kind: str) -> list[tuple[str, float, int]]:
    """Task, return and length of one block's complete episodes."""
    file, rows = folder / WORKER / f"{block}-{kind}" / "data-log.tsv", []
    try:
        with file.open(newline="") as opened:
            for number, row in enumerate(csv.DictReader(opened, delimiter="\t"), start=2):
                try:
                    if row["exp_status"] == "complete":
                        rows.append((row["task_name"], float(row["reward"]), int(row["episode_step_count"])))
                except (KeyError, TypeError, ValueError) as error:
                    raise UserError(f"line {number} of {file} is damaged or cut off: {dict(row)}") from error
    except FileNotFoundError as error:
        raise UserError(f"there is no {file}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is damaged: it is not text ({error})") from error
    return rows


class EpisodeCounter:
    """Cuts streams of rewards into episodes, environment by environment; remembers those under way."""

    def __init__(self, total_reward: np.ndarray, length: np.ndarray) -> None:
        """Go on with episodes that have brought this so far, each environment its own; zeros where all are new."""
        self.total_reward, self.length = total_reward.copy(), length.copy()

    @classmethod
    def fresh(cls, num_envs: int) -> "EpisodeCounter":
        """Nothing has happened yet."""
        return cls(np.zeros(num_envs), np.zeros(num_envs, int))

    def add(self, reward: Any, ended: Any, valid: Any = None) -> list[Episode]:
        """The episodes that ended in these steps (axes: time, environment), in order of their ends.

        Steps that are not `valid` did not take place; an episode without any that did is none.
        """
        ended = np.asarray(ended)
        counts = np.ones(ended.shape, int) if valid is None else np.asarray(valid, int)
        reward = np.asarray(reward, float) * counts
        finished = []
        for env in range(reward.shape[1]):
            ends = np.flatnonzero(ended[:, env])
            begins = np.concatenate([[0], ends + 1])
            totals = np.add.reduceat(np.append(reward[:, env], 0), begins)
            lengths = np.add.reduceat(np.append(counts[:, env], 0), begins)
            totals[0] += self.total_reward[env]
            lengths[0] += self.length[env]
            finished += [
                (end, env, Episode(total, length))
                for end, total, length in zip(ends, totals.tolist(), lengths.tolist(), strict=False)
                if length
            ]
            self.total_reward[env], self.length[env] = totals[-1], lengths[-1]
        return [episode for _, _, episode in sorted(finished, key=lambda row: row[:2])]

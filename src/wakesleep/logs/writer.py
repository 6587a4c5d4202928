"""Write logs in l2logger's layout (format 1.1): one row per finished episode.

    RUN/logger_info.json  RUN/scenario_info.json  RUN/worker-default/<block>-<train|test>/data-log.tsv

l2metrics and other tools for this layout read these logs. Two conventions are our own. The evaluation rows of one task
stand together. Timestamps do not tell the time of day: they count environment steps, one millisecond each, from
`LOG_EPOCH` on, so that equal seeds write equal bytes.
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
    """Its undiscounted return."""
    length: int
    """Environment steps."""


class Position(NamedTuple):
    """The end of a log at some time. Checkpoints store it; a log is truncated to it when a run is resumed."""

    block: int
    """Number of the current block; -1 before the first."""
    kind: str
    """`TRAIN` or `TEST`."""
    episodes: int
    """Episodes in the whole log."""
    steps: int
    """Environment steps in the whole log."""
    bytes: int
    """Size of the current block's file."""


class LogWriter:
    """Writes a log, block after block. Every call leaves whole rows on disk.

    Args:
        folder: of the run; made if it does not exist.
        scenario: content of scenario_info.json.
        position: where to resume; rows after it are removed. None starts a new log.
    """

    def __init__(self, folder: Path, scenario: dict[str, Any], position: Position | None = None) -> None:
        self.folder = folder
        if position is None:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(folder / WORKER, ignore_errors=True)
            store.save_json(folder / "logger_info.json", {"metrics_columns": ["reward"], "log_format_version": "1.1"})
            store.save_json(folder / "scenario_info.json", scenario)
            position = Position(-1, TRAIN, 0, 0, 0)
        else:
            self._truncate(position)
        self.position = position

    def begin_block(self, kind: str) -> None:
        """Start the next block, `TRAIN` or `TEST`. Its file is made with its first episode."""
        if kind not in (TRAIN, TEST):
            raise UserError(f"a block is {TRAIN!r} or {TEST!r}, not {kind!r}")
        self.position = Position(self.position.block + 1, kind, self.position.episodes, self.position.steps, 0)

    def write(self, task: str, episodes: Iterable[Episode]) -> None:
        """Append finished episodes of one task to the current block, in order of their ends."""
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

    def _truncate(self, position: Position) -> None:
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


class EpisodeCounter:
    """Splits rewards of parallel environments into episodes, and keeps the sums of those that have not ended.

    Args:
        total_reward: [num_envs], the return so far of each environment's current episode.
        length: [num_envs], the steps so far of each environment's current episode.
    """

    def __init__(self, total_reward: np.ndarray, length: np.ndarray) -> None:
        self.total_reward, self.length = total_reward.copy(), length.copy()

    @classmethod
    def fresh(cls, num_envs: int) -> "EpisodeCounter":
        """A counter for environments that were just reset."""
        return cls(np.zeros(num_envs), np.zeros(num_envs, int))

    def add(self, reward: Any, ended: Any, valid: Any = None) -> list[Episode]:
        """Add some steps of all environments.

        Args:
            reward: [time, num_envs].
            ended: [time, num_envs], whether the episode ended with that step.
            valid: [time, num_envs], False for steps that only reset an environment; None: all count.

        Returns:
            The episodes that ended in these steps, in order of their ends. Episodes without a valid step are left out.
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

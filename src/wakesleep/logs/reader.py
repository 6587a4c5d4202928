"""Read logs in l2logger's layout, whoever wrote them, as columns. A damaged log is refused with a sentence.

All files called data-log.tsv below a folder belong to one log. A log keeps the complete episodes that have a value in
the chosen column, in l2logger's order: by `exp_num`, then `block_num`.
"""

import contextlib
import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.logs.writer import TEST, TRAIN

REQUIRED_COLUMNS = ("block_num", "exp_num", "block_type", "task_name", "exp_status")
KINDS, SUBTYPES, STATUSES = (TRAIN, TEST), ("wake", "sleep"), ("complete", "incomplete")
_MISSING = ("", "nan", "na", "n/a", "null", "none", "<na>")


class LearningCurve(NamedTuple):
    """Learning episodes in order; both arrays have shape [episodes]."""

    returns: np.ndarray
    lengths: np.ndarray
    """Environment steps of each episode."""

    @property
    def steps(self) -> np.ndarray:
        """[episodes], environment steps of learning at the end of each episode."""
        return np.cumsum(self.lengths)


@dataclass(frozen=True)
class Log:
    """The complete episodes of one log, in order. All arrays have shape [episodes]."""

    folder: Path
    tasks: tuple[str, ...]
    """Names as first written; spellings that differ only in upper and lower case are one task."""
    task: np.ndarray
    """Index into `tasks`."""
    block: np.ndarray
    """`block_num`."""
    experience: np.ndarray
    """`exp_num`."""
    is_train: np.ndarray
    """Whether the episode belongs to a learning block."""
    is_sleep: np.ndarray
    """Whether the block's subtype is `sleep`."""
    value: np.ndarray
    """The chosen column: by default the return of the episode."""
    length: np.ndarray | None
    """Environment steps; None where the log does not have them."""
    notes: tuple[str, ...] = ()
    """Sentences about rows that were left out and the like."""

    def __len__(self) -> int:
        return len(self.value)

    @property
    def learning_steps(self) -> int | None:
        """Environment steps of the logged learning episodes; None where the log has no steps."""
        return None if self.length is None else int(self.length[self.is_train].sum())

    def returns(self, block: int) -> dict[str, np.ndarray]:
        """The returns of one block's episodes by task, in the order of the log; `block` is its `block_num`."""
        rows = np.flatnonzero(self.block == block)
        if len(rows) == 0:
            known = ", ".join(map(str, np.unique(self.block)))
            raise UserError(f"no episode of block {block} is logged in {self.folder}: there are blocks {known}")
        tasks = dict.fromkeys(self.task[rows].tolist())
        return {self.tasks[task]: self.value[rows[self.task[rows] == task]] for task in tasks}

    def learning_curve(self, task: str | None = None) -> LearningCurve:
        """The episodes of all learning blocks, of one task or of all."""
        if self.length is None:
            raise UserError(f"the log in {self.folder} does not tell how many steps its episodes have")
        rows = self.is_train
        if task is not None:
            if task not in self.tasks:
                raise UserError(f"the log in {self.folder} has no task {task!r}: it has {', '.join(self.tasks)}")
            rows = rows & (self.task == self.tasks.index(task))
        return LearningCurve(self.value[rows], self.length[rows].astype(int))


def read_log(folder: Path, measure: str = "reward") -> Log:
    """Read the log in a folder.

    Args:
        folder: holds logger_info.json and, at any depth, files called data-log.tsv.
        measure: the column that holds the performance of an episode.
    """
    info = store.load_json(_info_file(folder))
    columns = info.get("metrics_columns")
    if not isinstance(columns, list) or measure not in columns:
        raise UserError(f"{folder} has no metric called {measure!r}: its logger_info.json names {columns}")
    files = sorted(folder.rglob("data-log.tsv"))
    if not files:
        raise UserError(f"{folder} holds no data-log.tsv: no episode was ever logged there")
    return _make_log(folder, _Columns(files, measure), measure)


def _info_file(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    if not (file := folder / "logger_info.json").exists():
        raise UserError(f"{folder} is not a log in l2logger's layout: it has no logger_info.json")
    return file


class _Columns:
    """The texts of the columns that are read, all files one after the other."""

    def __init__(self, files: Sequence[Path], measure: str) -> None:
        optional = ("block_subtype", "task_params", "episode_step_count")
        self.texts: dict[str, list[str]] = {name: [] for name in (*REQUIRED_COLUMNS, measure, *optional)}
        self.ends: list[tuple[int, Path]] = []
        for file in files:
            columns = _read_columns(file)
            if missing := [name for name in (*REQUIRED_COLUMNS, measure) if name not in columns]:
                raise UserError(f"{file} has no column {missing[0]!r}: it has {', '.join(columns)}")
            count = len(columns[measure])
            for name, texts in self.texts.items():
                default = "wake" if name == "block_subtype" else ""
                texts.extend(columns.get(name, [default] * count))
            self.ends.append((len(self.texts["block_num"]), file))

    def location(self, row: int) -> str:
        """File and line of a row, for error messages."""
        begin = 0
        for end, file in self.ends:
            if row < end:
                return f"line {row - begin + 2} of {file}"
            begin = end
        return "the log"

    def is_second(self, name: str, allowed: tuple[str, str]) -> np.ndarray:
        """Whether a column holds the second of its two allowed words, row by row."""
        texts = self.texts[name]
        if strange := set(texts) - set(allowed):
            row = next(row for row, text in enumerate(texts) if text in strange)
            raise UserError(f"{name} in {self.location(row)} is {texts[row]!r}, not {' or '.join(allowed)}")
        return np.array([text == allowed[1] for text in texts], bool)

    def counts(self, name: str) -> np.ndarray:
        """A column of whole numbers from 0 on."""
        with contextlib.suppress(ValueError, OverflowError):
            if (found := np.array(list(map(int, self.texts[name])), np.int64)).min(initial=0) >= 0:
                return found
        return self._parse_rows(name, _count, "a whole number from 0 on")

    def numbers(self, name: str) -> np.ndarray:
        """A column of numbers; NaN where a field is empty."""
        with contextlib.suppress(ValueError):
            if not np.isinf(found := np.array(list(map(float, self.texts[name])))).any():
                return found
        return self._parse_rows(name, _number, "a finite number")

    def _parse_rows(self, name: str, parse: Callable[[str], float], what: str) -> np.ndarray:
        """Parse row by row, to name the row that is wrong."""
        found = []
        for row, text in enumerate(self.texts[name]):
            try:
                found.append(parse(text))
            except ValueError:
                raise UserError(f"{name} in {self.location(row)} is {text!r}, not {what}") from None
        return np.array(found)


def _count(text: str) -> int:
    if (count := int(text)) < 0:
        raise ValueError(text)
    return count


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        if text.strip().lower() in _MISSING:
            return float("nan")
        raise
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def _read_columns(file: Path) -> dict[str, Sequence[str]]:
    """The columns of one file by name."""
    try:
        text = file.read_text(encoding="utf-8")  # line ends of any system become "\n"
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read ({error}): it is damaged or not a log") from error
    if not text:
        raise UserError(f"{file} is empty: it was cut off; remove its folder or log that block again")
    try:
        header, rows, counts = _split_quoted(text) if '"' in text else _split_unquoted(text)
    except (csv.Error, ValueError) as error:
        raise UserError(f"{file} is damaged: {error}") from error
    if not text.endswith("\n") or set(counts) - {len(header)}:
        row = next((number for number, count in enumerate(counts) if count != len(header)), len(counts) - 1)
        raise UserError(f"line {row + 2} of {file} is damaged or cut off: mend the file or log that block again")
    return {name: rows[number :: len(header)] for number, name in enumerate(header)}


def _split_unquoted(text: str) -> tuple[list[str], list[str], list[int]]:
    """Header, all fields one after the other, and the number of fields in each row; fast, for text without quotes."""
    head, *lines = text.removesuffix("\n").split("\n")
    return head.split("\t"), "\t".join(lines).split("\t") if lines else [], [line.count("\t") + 1 for line in lines]


def _split_quoted(text: str) -> tuple[list[str], list[str], list[int]]:
    """The same for text with quoted fields."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    return header, [field for row in rows for field in row], [len(row) for row in rows]


def _make_log(folder: Path, columns: _Columns, measure: str) -> Log:
    block, experience, value = columns.counts("block_num"), columns.counts("exp_num"), columns.numbers(measure)
    is_test, is_sleep = columns.is_second("block_type", KINDS), columns.is_second("block_subtype", SUBTYPES)
    incomplete, notes = columns.is_second("exp_status", STATUSES), []
    order = np.lexsort((block, experience))
    if (np.diff(block[order]) < 0).any():
        raise UserError(f"block_num goes down while exp_num goes up in {folder}: rows are in the wrong blocks")
    kept = order[~incomplete[order] & ~np.isnan(value[order])]
    if len(kept) == 0:
        raise UserError(f"{folder} has no complete episode with a {measure}: there is nothing to measure")
    if incomplete.any():
        notes.append(f"{int(incomplete.sum())} incomplete episodes left out")
    if empty := int((np.isnan(value) & ~incomplete).sum()):
        notes.append(f"{empty} episodes without a {measure} left out")
    if gone := sorted(set(range(int(block.min()), int(block.max()))) - set(block.tolist())):
        notes.append(f"no episode ended in block {', '.join(map(str, gone))}: what was learned there is not known")
    names, task = _task_indices(columns.texts["task_name"])
    length = columns.numbers("episode_step_count")[kept]
    _check_params(columns, notes, block, task)
    return Log(
        folder, names, task[kept], block[kept], experience[kept], ~is_test[kept],
        is_sleep[kept], value[kept], None if np.isnan(length).any() else length, tuple(notes),
    )  # fmt: skip


def _task_indices(texts: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the tasks, and the index of each row's task among them."""
    spellings: dict[str, str] = {}
    for name in dict.fromkeys(texts):
        spellings.setdefault(name.lower(), name)
    indices = {name: list(spellings).index(name.lower()) for name in set(texts)}
    return tuple(spellings.values()), np.array([indices[name] for name in texts])


def _check_params(columns: _Columns, notes: list[str], block: np.ndarray, task: np.ndarray) -> None:
    texts = columns.texts["task_params"]
    for text in set(texts) - {"", "{}"}:
        try:
            json.loads(text)
        except ValueError as error:
            raise UserError(f"task_params in {columns.location(texts.index(text))} is not JSON: {text!r}") from error
    if _vary(texts, block, task):
        notes.append("task_params change inside a block: they are not looked at (l2metrics mistakes regimes then)")


def _vary(texts: list[str], block: np.ndarray, task: np.ndarray) -> bool:
    if len(set(texts)) == 1:
        return False
    first: dict[tuple[int, int], str] = {}
    pairs = zip(block.tolist(), task.tolist(), strict=True)
    return any(first.setdefault(pair, text) != text for pair, text in zip(pairs, texts, strict=True))

"""Reading logs in l2logger's layout, whoever wrote them, into columns; strictly: a damaged log is refused, not guessed.

All files called data-log.tsv below a folder belong to one log. Kept are the complete episodes that have a value in the
chosen column, in l2logger's order (by `exp_num`, then `block_num`).
"""

import contextlib
import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wakesleep import store
from wakesleep.errors import UserError

NEEDED = ("block_num", "exp_num", "block_type", "task_name", "exp_status")
KINDS, SUBTYPES, STATUSES = ("train", "test"), ("wake", "sleep"), ("complete", "incomplete")
_NOT_A_NUMBER = ("", "nan", "na", "n/a", "null", "none", "<na>")


@dataclass(frozen=True)
class Log:
    """The complete episodes of one log, in order; all columns have the same length."""

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
    is_sleep: np.ndarray
    value: np.ndarray
    """The chosen column: mostly the return of the episode."""
    length: np.ndarray | None
    """Steps of the episodes, where the log has them."""
    notes: tuple[str, ...] = ()
    """What a reader should know: rows left out and the like."""

    def __len__(self) -> int:
        return len(self.value)

    @property
    def learning_steps(self) -> int | None:
        """Environment steps of the logged learning episodes."""
        return None if self.length is None else int(self.length[self.is_train].sum())


def read_log(folder: Path, measure: str = "reward") -> Log:
    """Read the log in a folder; `measure` is the column that tells how good an episode was."""
    info = store.load_json(_info_file(folder))
    columns = info.get("metrics_columns")
    if not isinstance(columns, list) or measure not in columns:
        raise UserError(f"{folder} has no metric called {measure!r}: its logger_info.json names {columns}")
    files = sorted(folder.rglob("data-log.tsv"))
    if not files:
        raise UserError(f"{folder} holds no data-log.tsv: no episode was ever logged there")
    return _log(folder, _Columns(files, measure), measure)


def _info_file(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    if not (file := folder / "logger_info.json").exists():
        raise UserError(f"{folder} is not a log in l2logger's layout: it has no logger_info.json")
    return file


class _Columns:
    """The wanted columns of several files, as lists of texts, one after the other."""

    def __init__(self, files: Sequence[Path], measure: str) -> None:
        optional = ("block_subtype", "task_params", "episode_step_count")
        self.texts: dict[str, list[str]] = {name: [] for name in (*NEEDED, measure, *optional)}
        self.ends: list[tuple[int, Path]] = []
        for file in files:
            columns = _columns(file)
            if missing := [name for name in (*NEEDED, measure) if name not in columns]:
                raise UserError(f"{file} has no column {missing[0]!r}: it has {', '.join(columns)}")
            count = len(columns[measure])
            for name, texts in self.texts.items():
                default = "wake" if name == "block_subtype" else ""
                texts.extend(columns.get(name, [default] * count))
            self.ends.append((len(self.texts["block_num"]), file))

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        begin = 0
        for end, file in self.ends:
            if row < end:
                return f"line {row - begin + 2} of {file}"
            begin = end
        return "the log"

    def choice(self, name: str, allowed: tuple[str, ...]) -> np.ndarray:
        """Whether each row says the second of two words."""
        texts = self.texts[name]
        if strange := set(texts) - set(allowed):
            row = next(row for row, text in enumerate(texts) if text in strange)
            raise UserError(f"{name} in {self.place(row)} is {texts[row]!r}, not {' or '.join(allowed)}")
        return np.array([text == allowed[1] for text in texts], bool)

    def counts(self, name: str) -> np.ndarray:
        """Whole numbers from 0 on."""
        with contextlib.suppress(ValueError, OverflowError):
            if (found := np.array(list(map(int, self.texts[name])), np.int64)).min(initial=0) >= 0:
                return found
        return self._one_by_one(name, _count, "a whole number from 0 on")

    def numbers(self, name: str) -> np.ndarray:
        """Numbers; not a number where the field is empty."""
        with contextlib.suppress(ValueError):
            if not np.isinf(found := np.array(list(map(float, self.texts[name])))).any():
                return found
        return self._one_by_one(name, _number, "a finite number")

    def _one_by_one(self, name: str, parse: Callable[[str], float], what: str) -> np.ndarray:
        """Slowly: finds the row that is wrong."""
        found = []
        for row, text in enumerate(self.texts[name]):
            try:
                found.append(parse(text))
            except ValueError:
                raise UserError(f"{name} in {self.place(row)} is {text!r}, not {what}") from None
        return np.array(found)


def _count(text: str) -> int:
    if (count := int(text)) < 0:
        raise ValueError(text)
    return count


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        if text.strip().lower() in _NOT_A_NUMBER:
            return float("nan")
        raise
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def _columns(file: Path) -> dict[str, Sequence[str]]:
    """The columns of a file by name."""
    try:
        text = file.read_text(encoding="utf-8")  # line ends of any system become "\n"
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read ({error}): it is damaged or not a log") from error
    if not text:
        raise UserError(f"{file} is empty: it was cut off; remove its folder or log that block again")
    try:
        header, rows, counts = _quoted(text) if '"' in text else _plain(text)
    except (csv.Error, ValueError) as error:
        raise UserError(f"{file} is damaged: {error}") from error
    if not text.endswith("\n") or set(counts) - {len(header)}:
        row = next((number for number, count in enumerate(counts) if count != len(header)), len(counts) - 1)
        raise UserError(f"line {row + 2} of {file} is damaged or cut off: mend the file or log that block again")
    return {name: rows[number :: len(header)] for number, name in enumerate(header)}


def _plain(text: str) -> tuple[list[str], list[str], list[int]]:
    """Header, all fields one after the other, fields in each row; nothing is quoted: quick."""
    head, *lines = text.removesuffix("\n").split("\n")
    return head.split("\t"), "\t".join(lines).split("\t") if lines else [], [line.count("\t") + 1 for line in lines]


def _quoted(text: str) -> tuple[list[str], list[str], list[int]]:
    """The same where fields are quoted."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    return header, [field for row in rows for field in row], [len(row) for row in rows]


def _log(folder: Path, columns: _Columns, measure: str) -> Log:
    block, experience, value = columns.counts("block_num"), columns.counts("exp_num"), columns.numbers(measure)
    is_test, is_sleep = columns.choice("block_type", KINDS), columns.choice("block_subtype", SUBTYPES)
    incomplete, notes = columns.choice("exp_status", STATUSES), []
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
    names = dict.fromkeys(columns.texts["task_name"])
    spellings: dict[str, str] = {}
    for name in names:
        spellings.setdefault(name.lower(), name)
    codes = {name: list(spellings).index(name.lower()) for name in names}
    task = np.array([codes[name] for name in columns.texts["task_name"]])
    length = columns.numbers("episode_step_count")[kept]
    _check_params(columns, notes, block, task)
    return Log(
        folder, tuple(spellings.values()), task[kept], block[kept], experience[kept], ~is_test[kept],
        is_sleep[kept], value[kept], None if np.isnan(length).any() else length, tuple(notes),
    )  # fmt: skip


def _check_params(columns: _Columns, notes: list[str], block: np.ndarray, task: np.ndarray) -> None:
    texts = columns.texts["task_params"]
    for text in set(texts) - {"", "{}"}:
        try:
            json.loads(text)
        except ValueError as error:
            raise UserError(f"task_params in {columns.place(texts.index(text))} is not JSON: {text!r}") from error
    if _vary(texts, block, task):
        notes.append("task_params change inside a block: they are not looked at (l2metrics mistakes regimes then)")


def _vary(texts: list[str], block: np.ndarray, task: np.ndarray) -> bool:
    if len(set(texts)) == 1:
        return False
    first: dict[tuple[int, int], str] = {}
    pairs = zip(block.tolist(), task.tolist(), strict=True)
    return any(first.setdefault(pair, text) != text for pair, text in zip(pairs, texts, strict=True))

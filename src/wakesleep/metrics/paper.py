"""The paper's own tables as data (data/paper.yaml), so that any of ours can be printed with the paper's beside it."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import yaml

from wakesleep.errors import UserError
from wakesleep.metrics.names import PAPER

BETTER, WORSE = "•", "∘"
"""Significantly better, or worse, than the baseline."""


class Cell(NamedTuple):
    """A number of the paper."""

    mean: float
    spread: float
    """What stands behind ±; the table says what that is."""
    mark: str
    """Better, worse, or nothing."""


class PaperRow(NamedTuple):
    """One agent in one scenario."""

    scenario: str
    agent: str
    """What we call it."""
    name: str
    """What the paper calls it."""
    cells: dict[str, Cell]
    """By our names of the metrics."""


@dataclass(frozen=True)
class PaperTable:
    """One table."""

    title: str
    label: str
    """In the paper's source."""
    domain: str
    lifetimes: int | None
    """Behind every number; None where the paper does not say."""
    spread: str
    """What the numbers behind ± are."""
    marked: bool
    """Whether the table shows what is significant."""
    rows: tuple[PaperRow, ...]
    anomalies: tuple[str, ...] = ()
    """What is odd about the printed numbers."""

    def find(self, scenario: str, agent: str) -> PaperRow | None:
        """The row of an agent, if the table has it."""
        return next((row for row in self.rows if (row.scenario, row.agent) == (scenario, agent)), None)


@cache
def tables() -> dict[str, PaperTable]:
    """All tables by name."""
    text = files("wakesleep.metrics").joinpath("data", "paper.yaml").read_text(encoding="utf-8")
    found = {}
    for name, data in yaml.safe_load(text).items():
        rows = tuple(
            PaperRow(scenario, agent, printed, {key: _cell(cell) for key, cell in zip(PAPER, cells, strict=False)})
            for scenario, agent, printed, *cells in data.pop("rows")
        )
        found[name] = PaperTable(rows=rows, anomalies=tuple(data.pop("anomalies", ())), **data)
    return found


def table(name: str) -> PaperTable:
    """One table."""
    if name not in tables():
        raise UserError(f"the paper has no table called {name!r} here: there are {', '.join(tables())}")
    return tables()[name]


def _cell(text: str) -> Cell:
    mean, _, spread, *mark = text.split()
    return Cell(float(mean), float(spread), mark[0] if mark else "")

"""The paper's tables as data (data/paper.yaml), to print them beside ours."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from wakesleep.errors import UserError
from wakesleep.metrics.names import PAPER

BETTER, WORSE = "•", "∘"
"""Significantly better, or worse, than the baseline."""


class Cell(NamedTuple):
    """A number of the paper."""

    mean: float
    spread: float
    """The number after ±; `PaperTable.spread` says what it is."""
    mark: str
    """`BETTER`, `WORSE`, or an empty string."""


class PaperRow(NamedTuple):
    """One agent in one scenario."""

    scenario: str
    agent: str
    """Our name of the agent."""
    name: str
    """The paper's name of the agent."""
    cells: dict[str, Cell]
    """By the names in `METRICS`."""


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper."""

    title: str
    label: str
    """Its label in the paper's LaTeX source."""
    domain: str
    lifetimes: int | None
    """Lifetimes behind every number; None where the paper does not say."""
    episodes: int
    """Episodes of each task in an evaluation block."""
    spread: str
    """What the numbers after ± are."""
    marked: bool
    """Whether the table marks significant differences."""
    rows: tuple[PaperRow, ...]
    anomalies: tuple[str, ...] = ()
    """Sentences about oddities of the printed numbers."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By agent: settings that define its row, where it is a variant of another agent."""

    def find(self, scenario: str, agent: str) -> PaperRow | None:
        """The row of an agent in a scenario; None if the table has none."""
        return next((row for row in self.rows if (row.scenario, row.agent) == (scenario, agent)), None)


@cache
def tables() -> dict[str, PaperTable]:
    """All tables of the paper by name."""
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
    """The table of that name."""
    if name not in tables():
        raise UserError(f"the paper has no table called {name!r} here: there are {', '.join(tables())}")
    return tables()[name]


def _cell(text: str) -> Cell:
    mean, _, spread, *mark = text.split()
    return Cell(float(mean), float(spread), mark[0] if mark else "")

"""Tables of numbers with intervals and marks, and their text in Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple

from wakesleep.metrics.paper import BETTER, WORSE

_LATEX_MARKS = {BETTER: r" $\bullet$", WORSE: r" $\circ$", "": ""}
_LATEX_SPECIAL = str.maketrans(
    {name: rf"\{name}" for name in "_%&#${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


class Number(NamedTuple):
    """A cell of a table: a number, its half width and its mark of significance."""

    value: float
    spread: float | None = None
    """The number after ±."""
    mark: str = ""
    """`BETTER`, `WORSE` or empty."""
    note: str = ""
    """Text in brackets after the number."""

    def __str__(self) -> str:
        spread = "" if self.spread is None else f" ± {self.spread:.2f}"
        return f"{self.value:.2f}{spread}{' ' + self.mark if self.mark else ''}{self._note}"

    @property
    def _note(self) -> str:
        return f" ({self.note})" if self.note else ""

    @property
    def latex(self) -> str:
        """The cell in LaTeX, as the paper's tables have it."""
        spread = "" if self.spread is None else rf" ($\pm {self.spread:.2f}$)"
        return f"${self.value:.2f}${spread}{_LATEX_MARKS[self.mark]}{self._note}"


Entry = Number | str


class Table(NamedTuple):
    """Rows of texts and numbers under a header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    latex_header: tuple[str, ...] = ()
    """The header in LaTeX; empty: `header`, escaped."""


def to_markdown(table: Table) -> str:
    """The table in Markdown, its title in bold above it."""
    lines = [_line(table.header), _line(tuple("---" for _ in table.header)), *(_line(row) for row in table.rows)]
    return "\n".join([f"**{table.title}**", "", *lines, ""])


def to_latex(table: Table) -> str:
    """The table as a LaTeX `tabular`."""

    def entry(cell: Entry) -> str:
        return cell.latex if isinstance(cell, Number) else cell.translate(_LATEX_SPECIAL)

    header = table.latex_header or tuple(entry(name) for name in table.header)
    body = [" & ".join(map(entry, row)) + r" \\" for row in table.rows]
    return "\n".join(
        [
            rf"% {table.title}",
            rf"\begin{{tabular}}{{l{'c' * (len(header) - 1)}}}",
            r"\hline",
            " & ".join(header) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def to_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Comma-separated values with numbers in full; None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()


def _line(row: Sequence[Entry]) -> str:
    cells = [str(cell).replace("|", r"\|") for cell in row]
    return f"| {' | '.join(cells)} |"

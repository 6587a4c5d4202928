"""Tables as values, and as text: Markdown, LaTeX, CSV."""

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
    """A number with what stands behind it."""

    value: float
    spread: float | None = None
    mark: str = ""
    note: str = ""
    """What else there is to say, in brackets."""

    def __str__(self) -> str:
        spread = "" if self.spread is None else f" ± {self.spread:.2f}"
        return f"{self.value:.2f}{spread}{' ' + self.mark if self.mark else ''}{self._note}"

    @property
    def _note(self) -> str:
        return f" ({self.note})" if self.note else ""

    @property
    def latex(self) -> str:
        """As in the paper."""
        spread = "" if self.spread is None else rf" ($\pm {self.spread:.2f}$)"
        return f"${self.value:.2f}${spread}{_LATEX_MARKS[self.mark]}{self._note}"


Entry = Number | str


class Table(NamedTuple):
    """Rows of texts and numbers under a header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    latex_header: tuple[str, ...] = ()


def to_markdown(table: Table) -> str:
    """A Markdown table."""
    lines = [_line(table.header), _line(tuple("---" for _ in table.header)), *(_line(row) for row in table.rows)]
    return "\n".join([f"**{table.title}**", "", *lines, ""])


def to_latex(table: Table) -> str:
    """A LaTeX table."""

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
    """Comma-separated values, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()


def _line(row: Sequence[Entry]) -> str:
    cells = [str(cell).replace("|", r"\|") for cell in row]
    return f"| {' | '.join(cells)} |"

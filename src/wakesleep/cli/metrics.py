"""`wakesleep metrics` and `wakesleep compare`: what logs say about lifelong learning."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from wakesleep.errors import UserError

if TYPE_CHECKING:
    from wakesleep.metrics.prepare import Options
    from wakesleep.metrics.runs import Measured
    from wakesleep.metrics.summary import ScenarioResult
    from wakesleep.metrics.tables import Table

Flag = tyro.conf.FlagCreatePairsOff[bool]


@dataclass(frozen=True)
class Arguments:
    """What both commands take."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of lifetimes, at any depth; any log in l2logger's layout will do."""
    experts: Path | None = None
    """Folder of single-task experts; without it there are no RP, SE and RR."""
    expert_return: Literal["evaluation", "curve"] = "evaluation"
    """R*: the frozen expert's evaluation where it is stored, or the last tenth of its learning curve."""
    json: Flag = False
    """Print JSON: everything that is known."""
    csv: Flag = False
    """Print comma-separated values, all metrics."""
    latex: Flag = False
    """Print a LaTeX table."""
    markdown: Flag = False
    """Print a Markdown table."""
    all: Flag = False
    """Show all metrics, not only the paper's eight."""
    by_scenario: Flag = False
    """Group lifetimes of different scenarios instead of refusing them."""
    unfinished: Flag = False
    """Count lifetimes that are still under way."""
    baseline: str = "baseline"
    """The agent that others are compared with; where it is there in several presets, with its preset, as in tables."""
    measure: str = "reward"
    """Which column of the logs."""
    variants: Literal["aware", "agnostic"] = "aware"
    """aware: every variant is a task; agnostic: the variants of a task are one task."""
    averaging: Literal["metrics", "time"] = "metrics"
    """Of several experts: the mean of the metric, or the metric of their mean curve."""
    aggregation: Literal["mean", "median"] = "mean"
    """Over the tasks of a lifetime."""
    maintenance: Literal["mrlep", "mrtlp", "both"] = "mrlep"
    """Show PM against the evaluation after learning, against the end of learning, or both."""
    transfer: Literal["ratio", "contrast", "both"] = "ratio"
    """Show FT and BT as ratio, contrast, or both."""
    normalization: Literal["task", "run", "none"] = "task"
    """Scale each task's range to 1..101, or one range over all tasks, or nothing."""
    smoothing: Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"] = "flat"
    """Window of the moving average over learning curves."""
    smooth_evaluations: Flag = False
    """Smooth evaluation blocks too."""
    window: int | None = None
    """Episodes in that window; by default a fifth of the block, at most 100."""
    clamp: Flag = False
    """Cut off outliers: outside the data range, or else outside the middle 80 % of each task."""
    data_range: Path | None = None
    """JSON file with the range of every task: {"DoorKey_S5": {"min": 0, "max": 1}, ...}."""
    shared_range: Flag = False
    """Take one range per task over all lifetimes given, so that their PM, FT, BT and RP can be compared."""
    noise: tuple[float, float] = (0.0, 0.0)
    """Mean and spread of noise to add to the lifetimes' performance."""
    seed: int = 0
    """Of the noise."""

    def options(self) -> "Options":
        """Those of the metrics."""
        from wakesleep.metrics.prepare import Options, read_ranges

        return Options(
            self.measure, self.variants, self.averaging, self.aggregation, self.normalization, self.smoothing,
            self.smooth_evaluations, self.window, self.clamp, read_ranges(self.data_range) if self.data_range else None,
            self.noise, self.seed,
        )  # fmt: skip

    def columns(self) -> list[str]:
        """The metrics to show."""
        from wakesleep.metrics.names import METRICS, PAPER

        if self.all:
            return list(METRICS)
        methods = {"mrlep": ["mrlep"], "mrtlp": ["mrtlp"], "ratio": ["ratio"], "contrast": ["contrast"]}
        kept = methods.get(self.maintenance, ["mrlep", "mrtlp"])
        moved = methods.get(self.transfer, ["ratio", "contrast"])
        transfers = [f"{direction}_transfer_{method}" for method in moved for direction in ("forward", "backward")]
        return [*(f"perf_maintenance_{method}" for method in kept), *transfers, *PAPER[3:]]

    def form(self) -> str:
        """How to print."""
        chosen = [name for name in ("json", "csv", "latex", "markdown") if getattr(self, name)]
        if len(chosen) > 1:
            raise UserError(f"print one of --{' and --'.join(chosen)}, not both")
        return chosen[0] if chosen else "terminal"


@dataclass(frozen=True)
class Metrics(Arguments):
    """Measure lifetimes: a row for each, and one for each agent."""


@dataclass(frozen=True)
class Compare(Arguments):
    """Compare agents: a row for each, with what is significantly better (•) or worse (∘) than the baseline."""

    paper: str | None = None
    """Print the paper's rows below ours: minigrid-architectures, minigrid-replay, starcraft-architectures, ..."""


def metrics(arguments: Annotated[Metrics, tyro.conf.arg(name="")]) -> None:
    """Measure lifetimes: a row for each, and one for each agent."""
    from wakesleep.metrics.summary import lifetime_table, to_json

    columns = arguments.columns()
    found = _measure(arguments)
    tables = [lifetime_table(result, measured, columns) for result, measured in found]
    _print(arguments, found, tables, [to_json(*pair) for pair in found])


def compare(arguments: Annotated[Compare, tyro.conf.arg(name="")]) -> None:
    """Compare agents: a row for each, with what is significantly better (•) or worse (∘) than the baseline."""
    from wakesleep.metrics.paper import table
    from wakesleep.metrics.runs import same_syllabi
    from wakesleep.metrics.summary import agent_table, paper_notes, to_json

    columns = arguments.columns()
    paper = table(arguments.paper) if arguments.paper else None
    found = _measure(arguments)
    for result, measured in found:
        if not same_syllabi(measured):
            _say([f"the agents ({result.scenario}) did not learn the same tasks in the same orders: mind that"])
        if result.why_unmarked:
            _say([f"{result.scenario or 'lifetimes'}: {result.why_unmarked}"])
    if paper:
        _say(paper_notes([result for result, _ in found], paper))
    tables = [agent_table(result, columns, paper) for result, _ in found]
    _print(arguments, found, tables, [to_json(*pair, paper) for pair in found])


def _measure(arguments: Arguments) -> "list[tuple[ScenarioResult, list[Measured]]]":
    from wakesleep.metrics.experts import read_experts
    from wakesleep.metrics.runs import by_scenario, find_runs, measure_runs
    from wakesleep.metrics.summary import scenario_result

    arguments.form()
    if not arguments.runs:
        raise UserError("name at least one folder of lifetimes: wakesleep metrics RUNS --experts EXPERTS")
    options = arguments.options()
    runs, notes = find_runs(arguments.runs, arguments.measure, arguments.unfinished)
    groups = by_scenario(runs, arguments.by_scenario)
    experts = None
    if arguments.experts:
        experts = read_experts(arguments.experts, arguments.measure, arguments.expert_return)
        notes += [*experts.notes, experts.returns_from]
    else:
        notes.append("without --experts there are no RP, SE and RR; PM, FT and BT need none")
    found = []
    for scenario, same in groups.items():
        measured = measure_runs(same, experts, options, arguments.shared_range)
        found.append((scenario_result(scenario, measured, arguments.baseline), measured))
        notes += [f"{one.run.folder}: {note}" for one in measured for note in one.metrics.notes]
    _say(notes)
    return found


def _print(
    arguments: Arguments, found: "list[tuple[ScenarioResult, list[Measured]]]", tables: "list[Table]", content: object
) -> None:
    from wakesleep.metrics.summary import CSV_HEADER, csv_rows, reasons
    from wakesleep.metrics.tables import to_csv, to_latex, to_markdown

    match arguments.form():
        case "json":
            print(json.dumps(content, indent=2, ensure_ascii=False))
        case "csv":
            print(to_csv(CSV_HEADER, [row for pair in found for row in csv_rows(*pair)]), end="")
        case "latex":
            print("\n".join(map(to_latex, tables)), end="")
        case "markdown":
            print("\n".join(map(to_markdown, tables)), end="")
        case _:
            console = Console(width=None if sys.stdout.isatty() else 200)
            for table in tables:
                shown = _rich(table)
                fits = console.measure(shown, options=console.options.update(max_width=1000)).maximum <= console.width
                console.print(shown if fits else _rich(table, narrow=True))
            for _, measured in found:
                _say(reasons(measured, arguments.columns()))


def _rich(table: "Table", narrow: bool = False) -> RichTable:
    shown = RichTable(title=table.title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for number, name in enumerate(table.header):
        shown.add_column(name, justify="left" if number < 2 else "right", overflow="fold")
    for row in table.rows:
        cells = map(str, row)
        shown.add_row(*(cell.replace(" ± ", "\n± ") for cell in cells) if narrow else cells)
    return shown


def _say(notes: Iterable[str]) -> None:
    """For people: not part of what is printed."""
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)

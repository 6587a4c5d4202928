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
from rich.text import Text

from wakesleep.errors import UserError

if TYPE_CHECKING:
    from wakesleep.metrics.prepare import Options
    from wakesleep.metrics.summary import ScenarioResult
    from wakesleep.metrics.tables import Table

Flag = tyro.conf.FlagCreatePairsOff[bool]


@dataclass(frozen=True)
class Arguments:
    """The arguments of both commands."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of lifetimes, at any depth; any log in l2logger's layout will do."""
    experts: Path | None = None
    """Folder of single-task experts; without it there are no RP, SE and RR."""
    expert_return: Literal["evaluation", "curve"] = "evaluation"
    """R*: the frozen expert's evaluation where it is stored, or the last tenth of its learning curve."""
    json: Flag = False
    """Print JSON with all numbers."""
    csv: Flag = False
    """Print comma-separated values of all metrics."""
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
    """The column of the logs that holds the performance of an episode."""
    variants: Literal["aware", "agnostic"] = "aware"
    """aware: every variant is a task; agnostic: the variants of a task are one task."""
    averaging: Literal["metrics", "time"] = "metrics"
    """Over several experts of a task: the mean of the metric, or the metric of their mean curve."""
    aggregation: Literal["mean", "median"] = "mean"
    """Over the tasks of a lifetime: mean or median."""
    maintenance: Literal["mrlep", "mrtlp", "both"] = "mrlep"
    """Show PM against the evaluation after learning, against the end of learning, or both."""
    transfer: Literal["ratio", "contrast", "both"] = "ratio"
    """Show FT and BT as ratio, contrast, or both."""
    normalization: Literal["task", "run", "none"] = "task"
    """Normalise each task's range of returns to 1..101 (task), one range over all tasks (run), or nothing."""
    smoothing: Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"] = "flat"
    """Window of the moving average over learning curves."""
    smooth_evaluations: Flag = False
    """Smooth evaluation blocks too."""
    window: int | None = None
    """Episodes in that window; by default a fifth of the block, at most 100."""
    clamp: Flag = False
    """Clip performance to the data range, or else to the middle 80 % of each task."""
    data_range: Path | None = None
    """JSON file with the range of every task: {"DoorKey_S5": {"min": 0, "max": 1}, ...}."""
    shared_range: Flag = False
    """Take one range per task over all lifetimes given, so that their PM, FT, BT and RP can be compared."""
    noise: tuple[float, float] = (0.0, 0.0)
    """Mean and standard deviation of noise that is added to performance."""
    seed: int = 0
    """Seed of the noise."""

    def options(self) -> "Options":
        """The options of the metrics."""
        from wakesleep.metrics.prepare import Options, read_ranges

        return Options(
            self.measure, self.variants, self.averaging, self.aggregation, self.normalization, self.smoothing,
            self.smooth_evaluations, self.window, self.clamp, read_ranges(self.data_range) if self.data_range else None,
            self.noise, self.seed,
        )  # fmt: skip

    def columns(self) -> list[str]:
        """The metrics to show, by the names in `METRICS`."""
        from wakesleep.metrics.names import METRICS, PAPER

        if self.all:
            return list(METRICS)
        methods = {"mrlep": ["mrlep"], "mrtlp": ["mrtlp"], "ratio": ["ratio"], "contrast": ["contrast"]}
        references = methods.get(self.maintenance, ["mrlep", "mrtlp"])
        formulas = methods.get(self.transfer, ["ratio", "contrast"])
        transfers = [f"{direction}_transfer_{formula}" for formula in formulas for direction in ("forward", "backward")]
        return [*(f"perf_maintenance_{reference}" for reference in references), *transfers, *PAPER[3:]]

    def output_format(self) -> str:
        """`json`, `csv`, `latex`, `markdown` or `terminal`."""
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
    """Print the paper's rows below ours, and how our settings differ: minigrid-architectures, minigrid-replay, ..."""


def metrics(arguments: Annotated[Metrics, tyro.conf.arg(name="")]) -> None:
    """Measure lifetimes: a row for each, and one for each agent."""
    from wakesleep.metrics.output import lifetime_table, to_json

    results = _compute(arguments)
    tables = [lifetime_table(result, arguments.columns()) for result in results]
    _print_results(arguments, results, tables, [to_json(result) for result in results])


def compare(arguments: Annotated[Compare, tyro.conf.arg(name="")]) -> None:
    """Compare agents: a row for each, with what is significantly better (•) or worse (∘) than the baseline."""
    from wakesleep.metrics.output import agent_table, to_json
    from wakesleep.metrics.paper import table
    from wakesleep.metrics.runs import same_syllabi
    from wakesleep.metrics.summary import paper_notes

    paper = table(arguments.paper) if arguments.paper else None
    results = _compute(arguments)
    notes = []
    for result in results:
        if not same_syllabi(result.runs):
            notes.append(f"the agents ({result.scenario}) did not learn the same tasks in the same orders: mind that")
        if result.baseline_note:
            notes.append(f"{result.scenario or 'lifetimes'}: {result.baseline_note}")
        if paper:
            notes += paper_notes(result, paper)
    _print_notes(notes)
    tables = [agent_table(result, arguments.columns(), paper) for result in results]
    _print_results(arguments, results, tables, [to_json(result, paper) for result in results])


def _compute(arguments: Arguments) -> "list[ScenarioResult]":
    """The results of each scenario; notes about runs and experts are printed."""
    from wakesleep.metrics.experts import read_experts
    from wakesleep.metrics.names import POINTS
    from wakesleep.metrics.runs import find_runs, group_by_scenario, run_results
    from wakesleep.metrics.summary import scenario_result

    arguments.output_format()
    if not arguments.runs:
        raise UserError("name at least one folder of lifetimes: wakesleep metrics RUNS --experts EXPERTS")
    options = arguments.options()
    runs, notes = find_runs(arguments.runs, arguments.measure, arguments.unfinished)
    groups = group_by_scenario(runs, arguments.by_scenario)
    experts = None
    if arguments.experts:
        experts = read_experts(arguments.experts, arguments.measure, arguments.expert_return)
        notes += [*experts.notes, experts.source_note]
    else:
        notes.append("without --experts there are no RP, SE and RR; PM, FT and BT need none")
    unit = "return" if options.normalization == "none" else POINTS
    results = []
    for scenario, same in groups.items():
        measured = run_results(same, experts, options, arguments.shared_range)
        results.append(scenario_result(scenario, measured, arguments.baseline, unit))
        notes += [f"{found.run.folder}: {note}" for found in measured for note in found.metrics.notes]
    _print_notes(notes)
    return results


def _print_results(
    arguments: Arguments, results: "list[ScenarioResult]", tables: "list[Table]", content: object
) -> None:
    from wakesleep.metrics.output import CSV_HEADER, csv_rows
    from wakesleep.metrics.summary import metric_notes
    from wakesleep.metrics.tables import to_csv, to_latex, to_markdown

    match arguments.output_format():
        case "json":
            print(json.dumps(content, indent=2, ensure_ascii=False))
        case "csv":
            print(to_csv(CSV_HEADER, [row for result in results for row in csv_rows(result)]), end="")
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
            _print_notes(note for result in results for note in metric_notes(result, arguments.columns()))


def _rich(table: "Table", narrow: bool = False) -> RichTable:
    """The table for a terminal, without markup in names from logs; `narrow` puts intervals below the numbers."""
    shown = RichTable(title=Text(table.title), box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for number, name in enumerate(table.header):
        header = name.replace(" (", "\n(") if narrow else name
        shown.add_column(Text(header), justify="left" if number < 2 else "right", overflow="fold")
    for row in table.rows:
        cells = map(str, row)
        shown.add_row(*(Text(cell.replace(" ± ", "\n± ") if narrow else cell) for cell in cells))
    return shown


def _print_notes(notes: Iterable[str]) -> None:
    """Print each note once, to standard error: it is not part of the results."""
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)

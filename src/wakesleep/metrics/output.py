"""Results of a scenario as tables, JSON and rows of CSV."""

from collections.abc import Sequence
from typing import Any

from wakesleep.metrics.lifetime import LifetimeMetrics
from wakesleep.metrics.names import METRICS
from wakesleep.metrics.paper import PaperRow, PaperTable
from wakesleep.metrics.runs import RunResult
from wakesleep.metrics.statistics import Comparison, Summary
from wakesleep.metrics.summary import AgentResult, ScenarioResult, agent_settings_note
from wakesleep.metrics.tables import Entry, Number, Table
from wakesleep.metrics.value import MetricValue

MISSING = "–"
CSV_HEADER = (
    "kind", "scenario", "agent", "preset", "seed", "folder", "learning_steps", "parameters", "replay_bytes", *METRICS,
)  # fmt: skip


def lifetime_table(result: ScenarioResult, columns: Sequence[str]) -> Table:
    """A row for every lifetime, then one for every agent; `columns` are names in `METRICS`."""
    rows: list[tuple[Entry, ...]] = [
        (found.run.agent, found.run.name, *(_entry(found.metrics.values[name]) for name in columns))
        for found in result.runs
    ]
    for agent in result.agents:
        count = f"mean of {agent.lifetimes}"
        rows.append((agent.agent, count, *(mean_entry(agent, name) for name in columns)))
    return _table(result, result.scenario or "lifetimes", ("agent", "lifetime"), columns, (), rows)


def agent_table(result: ScenarioResult, columns: Sequence[str], paper: PaperTable | None = None) -> Table:
    """A row for every agent, with marks and budget, and below it the paper's row where there is one."""
    rows: list[tuple[Entry, ...]] = []
    for agent in result.agents:
        cells = [mean_entry(agent, name) for name in columns]
        rows.append((agent.agent, str(agent.lifetimes), *cells, *budget_cells(agent.budget)))
        row = paper.find(result.scenario, agent.agent_name) if paper else None
        if paper and row:
            theirs: list[Entry] = [Number(*row.cells[name]) if name in row.cells else MISSING for name in columns]
            rows.append((f"paper: {row.name}", str(paper.lifetimes or "?"), *theirs, "", "", ""))
    title = (result.scenario or "lifetimes") + (f", baseline: {result.baseline}" if result.baseline else "")
    return _table(result, title, ("agent", "n"), columns, ("steps", "parameters", "replay"), rows)


def mean_entry(agent: AgentResult, name: str) -> Entry:
    """The cell of one metric of an agent. If it is defined in some lifetimes only, the cell says in how many."""
    if (found := agent.summaries[name]) is None:
        return MISSING
    note = "" if found.lifetimes == agent.lifetimes else f"of {found.lifetimes}"
    return Number(found.mean, found.half_width, agent.marks[name], note)


def budget_cells(budget: dict[str, float | None]) -> tuple[str, str, str]:
    """Learning steps, parameters and replay memory as text."""
    steps, parameters, size = (budget[name] for name in ("learning_steps", "parameters", "replay_bytes"))
    return (
        MISSING if steps is None else f"{steps:,.0f}",
        MISSING if parameters is None else f"{parameters:,.0f}",
        MISSING if size is None else f"{size / 1e6:,.2f} MB",
    )


def to_json(result: ScenarioResult, paper: PaperTable | None = None) -> dict[str, Any]:
    """All numbers of a scenario: those of each agent, of the paper, and of each lifetime."""
    agents = []
    for agent in result.agents:
        row = paper.find(result.scenario, agent.agent_name) if paper else None
        agents.append(
            {
                "agent": agent.agent,
                "lifetimes": agent.lifetimes,
                "budget": agent.budget,
                "metrics": {
                    name: None if found is None else _summary_json(found, result.comparisons[name], agent, name)
                    for name, found in agent.summaries.items()
                },
                **({"paper": _paper_json(row, paper, result, agent)} if paper and row else {}),
            }
        )
    return {
        "scenario": result.scenario,
        "baseline": result.baseline,
        "agents": agents,
        "lifetimes": [lifetime_json(found) for found in result.runs],
    }


def lifetime_json(result: RunResult) -> dict[str, Any]:
    """All numbers of one lifetime; metrics that are undefined are None, with a sentence under `reasons`."""
    run, metrics = result.run, result.metrics
    return {
        "folder": str(run.folder),
        "agent": run.agent,
        "preset": run.preset,
        "scenario": run.scenario,
        "seed": run.seed,
        "finished": run.finished,
        "budget": run.budget.__dict__,
        "metrics": {name: value.number for name, value in metrics.values.items()},
        "reasons": {name: value.reason for name, value in metrics.values.items() if value.reason},
        **_details(metrics),
        "notes": list(metrics.notes),
    }


def csv_rows(result: ScenarioResult) -> list[list[object]]:
    """The rows under `CSV_HEADER`: lifetimes, then mean, interval and interquartile mean of each agent."""
    rows: list[list[object]] = [
        ["lifetime", run.scenario, run.agent, run.preset, run.seed, str(run.folder),
         *run.budget.__dict__.values(), *(value.number for value in metrics.values.values())]
        for run, metrics in ((found.run, found.metrics) for found in result.runs)
    ]  # fmt: skip
    for agent in result.agents:
        found = agent.summaries.values()
        kinds = {
            "mean": [None if s is None else s.mean for s in found],
            "low": [None if s is None or s.interval is None else s.interval.low for s in found],
            "high": [None if s is None or s.interval is None else s.interval.high for s in found],
            "iqm": [None if s is None else s.iqm for s in found],
        }
        for kind, numbers in kinds.items():
            budget = agent.budget.values() if kind == "mean" else [None] * 3
            rows.append([kind, result.scenario, agent.agent, "", None, "", *budget, *numbers])
    return rows


def _details(metrics: LifetimeMetrics) -> dict[str, Any]:
    return {
        "task_metrics": {
            task: {name: value.number for name, value in values.items()} for task, values in metrics.tasks.items()
        },
        "transfers": {
            direction: [
                {"learned": s, "evaluated": o, "ratio": [step.ratio.number for step in steps],
                 "contrast": [step.contrast.number for step in steps]}
                for (s, o), steps in pairs.items()
            ]
            for direction, pairs in metrics.transfers._asdict().items()
        },
        "evaluations": [block._asdict() for block in metrics.evaluations],
        "expert_returns": {task: value.number for task, value in metrics.expert_returns.items()},
        "ranges": {task: list(bounds) for task, bounds in metrics.ranges.items()},
    }  # fmt: skip


def _paper_json(row: PaperRow, paper: PaperTable, result: ScenarioResult, agent: AgentResult) -> dict[str, Any]:
    return {
        "name": row.name,
        "lifetimes": paper.lifetimes,
        "metrics": {name: cell._asdict() for name, cell in row.cells.items()},
        "differences": agent_settings_note(result, agent, paper),
    }


def _summary_json(found: Summary, comparison: Comparison | None, agent: AgentResult, name: str) -> dict[str, Any]:
    about: dict[str, Any] = {**found._asdict(), "mark": agent.marks[name]}
    if comparison:
        about |= {"kruskal_p": comparison.kruskal_p, "dunn_p": comparison.dunn_p.get(agent.agent)}
    return about


def _entry(value: MetricValue) -> Entry:
    return MISSING if value.number is None else Number(value.number)


def _table(
    result: ScenarioResult, title: str, before: tuple[str, ...], columns: Sequence[str], after: tuple[str, ...],
    rows: list[tuple[Entry, ...]],
) -> Table:  # fmt: skip
    units = [f" ({result.unit})" if METRICS[name].unit else "" for name in columns]
    header = (*before, *(METRICS[name].title + unit for name, unit in zip(columns, units, strict=True)), *after)
    latex = (*before, *(METRICS[name].latex + unit for name, unit in zip(columns, units, strict=True)), *after)
    return Table(title, header, tuple(rows), latex)

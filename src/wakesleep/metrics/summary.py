"""Measured lifetimes as tables and as JSON: one row per lifetime, one per agent, the paper's row beside ours."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from wakesleep.metrics.lifetime import LifetimeMetrics
from wakesleep.metrics.names import METRICS
from wakesleep.metrics.paper import PaperRow, PaperTable
from wakesleep.metrics.runs import Budget, Measured
from wakesleep.metrics.statistics import Comparison, Summary, compare, summarise
from wakesleep.metrics.tables import Entry, Number, Table
from wakesleep.metrics.value import Value

ABSENT = "–"


class AgentResult(NamedTuple):
    """One agent over all its lifetimes of a scenario."""

    agent: str
    plain: str
    """Its name without the preset."""
    lifetimes: int
    summaries: dict[str, Summary | None]
    marks: dict[str, str]
    """Of each metric, against the baseline."""
    budget: dict[str, float | None]
    """Means over lifetimes."""


class ScenarioResult(NamedTuple):
    """All agents in one scenario."""

    scenario: str
    agents: list[AgentResult]
    baseline: str | None
    """The agent that the others are compared with, as it is called here."""
    why_unmarked: str
    """Why there is no baseline, if there is none."""
    comparisons: dict[str, Comparison | None]
    """Of each metric."""


def scenario_result(scenario: str, measured: Sequence[Measured], baseline: str | None) -> ScenarioResult:
    """Average and compare the lifetimes of one scenario. The baseline can be named with or without its preset."""
    plain = {one.run.agent: one.run.plain for one in measured}
    baseline, why_unmarked = _find_baseline(plain, baseline)
    agents = sorted(plain, key=lambda agent: agent != baseline)
    numbers = {name: {agent: _numbers(measured, agent, name) for agent in agents} for name in METRICS}
    comparisons = {name: compare(groups, baseline) if baseline else None for name, groups in numbers.items()}
    results = []
    for agent in agents:
        budgets = [one.run.budget for one in measured if one.run.agent == agent]
        summaries = {name: summarise(groups[agent]) for name, groups in numbers.items()}
        marks = {name: found.marks.get(agent, "") if found else "" for name, found in comparisons.items()}
        results.append(AgentResult(agent, plain[agent], len(budgets), summaries, marks, _mean_budget(budgets)))
    return ScenarioResult(scenario, results, baseline, why_unmarked, comparisons)


def _find_baseline(plain: dict[str, str], wanted: str | None) -> tuple[str | None, str]:
    """The agent that is called so, or the only one with that name in any preset; else why there is none."""
    found = [wanted] if wanted in plain else [agent for agent, name in plain.items() if name == wanted]
    if wanted is not None and len(found) == 1:
        return found[0], ""
    if not found:
        return None, f"no agent is called {wanted!r}: nothing is marked; name another with --baseline"
    choices = " or ".join(f'--baseline "{agent}"' for agent in found)
    return None, f"there is {wanted!r} in several presets: nothing is marked; choose {choices}"


def lifetime_table(result: ScenarioResult, measured: Sequence[Measured], columns: Sequence[str]) -> Table:
    """A row for every lifetime, then one for every agent."""
    rows: list[tuple[Entry, ...]] = [
        (one.run.agent, one.run.name, *(_entry(one.metrics.values[name]) for name in columns)) for one in measured
    ]
    for agent in result.agents:
        count = f"mean of {agent.lifetimes}"
        rows.append((agent.agent, count, *(_mean(agent.summaries[name], agent.lifetimes) for name in columns)))
    return _table(result.scenario or "lifetimes", ("agent", "lifetime"), columns, (), rows)


def agent_table(result: ScenarioResult, columns: Sequence[str], paper: PaperTable | None = None) -> Table:
    """A row for every agent, with what is significant and what it took; below it the paper's."""
    rows: list[tuple[Entry, ...]] = []
    for agent in result.agents:
        cells = [_mean(agent.summaries[name], agent.lifetimes, agent.marks[name]) for name in columns]
        rows.append((agent.agent, str(agent.lifetimes), *cells, *_budget_words(agent.budget)))
        row = paper.find(result.scenario, agent.plain) if paper else None
        if paper and row:
            theirs: list[Entry] = [Number(*row.cells[name]) if name in row.cells else ABSENT for name in columns]
            rows.append((f"paper: {row.name}", str(paper.lifetimes or "?"), *theirs, "", "", ""))
    title = (result.scenario or "lifetimes") + (f", baseline: {result.baseline}" if result.baseline else "")
    return _table(title, ("agent", "n"), columns, ("steps", "parameters", "replay"), rows)


def paper_notes(results: Sequence[ScenarioResult], paper: PaperTable) -> list[str]:
    """What the paper's numbers mean, what is odd about them, and where it has none."""
    return [
        *(f"the paper's table has no row for these agents in {result.scenario or 'this scenario'}" for result in results
          if not any(paper.find(result.scenario, agent.plain) for agent in result.agents)),
        f"paper: ± is {paper.spread}, {paper.title}",
        *paper.anomalies,
    ]  # fmt: skip


def reasons(measured: Sequence[Measured], columns: Sequence[str]) -> list[str]:
    """Why numbers are missing, each reason once."""
    found: dict[str, list[str]] = {}
    for one in measured:
        for name in columns:
            value = one.metrics.values[name]
            if not value.known:
                titles = found.setdefault(value.reason, [])
                if METRICS[name].title not in titles:
                    titles.append(METRICS[name].title)
    return [f"no {', '.join(titles)}: {reason}" for reason, titles in found.items()]


def to_json(result: ScenarioResult, measured: Sequence[Measured], paper: PaperTable | None = None) -> dict[str, Any]:
    """All that is known."""
    agents = []
    for agent in result.agents:
        row = paper.find(result.scenario, agent.plain) if paper else None
        agents.append(
            {
                "agent": agent.agent,
                "lifetimes": agent.lifetimes,
                "budget": agent.budget,
                "metrics": {
                    name: None if found is None else _summary_json(found, result.comparisons[name], agent, name)
                    for name, found in agent.summaries.items()
                },
                **({"paper": _paper_json(row, paper)} if paper and row else {}),
            }
        )
    return {
        "scenario": result.scenario,
        "baseline": result.baseline,
        "agents": agents,
        "lifetimes": [lifetime_json(one) for one in measured],
    }


def lifetime_json(one: Measured) -> dict[str, Any]:
    """One lifetime."""
    run, metrics = one.run, one.metrics
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


def csv_rows(result: ScenarioResult, measured: Sequence[Measured]) -> list[list[object]]:
    """Lifetimes, then of every agent mean, interval and interquartile mean; see `CSV_HEADER`."""
    rows: list[list[object]] = [
        ["lifetime", one.run.scenario, one.run.agent, one.run.preset, one.run.seed, str(one.run.folder),
         *one.run.budget.__dict__.values(), *(value.number for value in one.metrics.values.values())]
        for one in measured
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


CSV_HEADER = (
    "kind", "scenario", "agent", "preset", "seed", "folder", "learning_steps", "parameters", "replay_bytes", *METRICS,
)  # fmt: skip


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


def _paper_json(row: PaperRow, paper: PaperTable) -> dict[str, Any]:
    cells = {name: cell._asdict() for name, cell in row.cells.items()}
    return {"name": row.name, "lifetimes": paper.lifetimes, "metrics": cells}


def _summary_json(found: Summary, comparison: Comparison | None, agent: AgentResult, name: str) -> dict[str, Any]:
    about: dict[str, Any] = {**found._asdict(), "mark": agent.marks[name]}
    if comparison:
        about |= {"kruskal_p": comparison.kruskal_p, "dunn_p": comparison.dunn_p.get(agent.agent)}
    return about


def _numbers(measured: Sequence[Measured], agent: str, name: str) -> list[float]:
    values = [one.metrics.values[name].number for one in measured if one.run.agent == agent]
    return [number for number in values if number is not None]


def _mean_budget(budgets: Sequence[Budget]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in ("learning_steps", "parameters", "replay_bytes"):
        known = [value for budget in budgets if (value := getattr(budget, name)) is not None]
        means[name] = sum(known) / len(known) if len(known) == len(budgets) else None
    return means


def _budget_words(budget: dict[str, float | None]) -> tuple[str, str, str]:
    steps, parameters, size = (budget[name] for name in ("learning_steps", "parameters", "replay_bytes"))
    return (
        ABSENT if steps is None else f"{steps:,.0f}",
        ABSENT if parameters is None else f"{parameters:,.0f}",
        ABSENT if size is None else f"{size / 1e6:,.2f} MB",
    )


def _entry(value: Value) -> Entry:
    return ABSENT if value.number is None else Number(value.number)


def _mean(found: Summary | None, lifetimes: int, mark: str = "") -> Entry:
    """A mean; if some lifetimes do not have the metric, how many do."""
    if found is None:
        return ABSENT
    return Number(found.mean, found.half_width, mark, "" if found.lifetimes == lifetimes else f"of {found.lifetimes}")


def _table(
    title: str, before: tuple[str, ...], columns: Sequence[str], after: tuple[str, ...],
    rows: list[tuple[Entry, ...]],
) -> Table:  # fmt: skip
    header = (*before, *(METRICS[name].title for name in columns), *after)
    latex = (*before, *(METRICS[name].latex for name in columns), *after)
    return Table(title, header, tuple(rows), latex)

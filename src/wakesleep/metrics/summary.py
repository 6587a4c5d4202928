"""Metrics over the lifetimes of a scenario: means and intervals of each agent, differences from the baseline, notes."""

from collections.abc import Sequence
from typing import NamedTuple

from wakesleep.metrics.names import METRICS, POINTS, POINTS_NOTE
from wakesleep.metrics.paper import PaperTable
from wakesleep.metrics.paper_settings import settings_note
from wakesleep.metrics.runs import Budget, RunResult
from wakesleep.metrics.statistics import Comparison, Summary, compare_with_baseline, summarise


class AgentResult(NamedTuple):
    """One agent over all its lifetimes of a scenario."""

    agent: str
    """Its label in tables: its name, with its preset where several presets are shown."""
    agent_name: str
    """Its name without the preset."""
    lifetimes: int
    summaries: dict[str, Summary | None]
    """By metric; None where it is undefined in all lifetimes."""
    marks: dict[str, str]
    """By metric: `BETTER` or `WORSE` than the baseline, or an empty string."""
    budget: dict[str, float | None]
    """Means over lifetimes of learning_steps, parameters and replay_bytes."""


class ScenarioResult(NamedTuple):
    """All agents in one scenario."""

    scenario: str
    runs: list[RunResult]
    agents: list[AgentResult]
    """The baseline first."""
    baseline: str | None
    """The label of the agent that the others are compared with."""
    baseline_note: str
    """Why there is no baseline, where there is none."""
    comparisons: dict[str, Comparison | None]
    """By metric; None where there is nothing to compare."""
    unit: str = POINTS
    """Unit of performance, and so of PM: `POINTS`, or `return` where returns are not normalised."""


def scenario_result(
    scenario: str, runs: Sequence[RunResult], baseline: str | None, unit: str = POINTS
) -> ScenarioResult:
    """Average the runs of one scenario by agent, and test which agents differ from the baseline.

    Args:
        scenario: its name.
        runs: with their metrics.
        baseline: an agent by its label, or by its name without the preset.
        unit: of performance.
    """
    names = {result.run.agent: result.run.agent_name for result in runs}
    baseline, baseline_note = _find_baseline(names, baseline)
    labels = sorted(names, key=lambda agent: agent != baseline)
    numbers = {name: {agent: _numbers(runs, agent, name) for agent in labels} for name in METRICS}
    comparisons = {
        name: compare_with_baseline(groups, baseline) if baseline else None for name, groups in numbers.items()
    }
    agents = []
    for agent in labels:
        budgets = [result.run.budget for result in runs if result.run.agent == agent]
        summaries = {name: summarise(groups[agent]) for name, groups in numbers.items()}
        marks = {name: found.marks.get(agent, "") if found else "" for name, found in comparisons.items()}
        agents.append(AgentResult(agent, names[agent], len(budgets), summaries, marks, _mean_budget(budgets)))
    return ScenarioResult(scenario, list(runs), agents, baseline, baseline_note, comparisons, unit)


def paper_notes(result: ScenarioResult, paper: PaperTable) -> list[str]:
    """Sentences to print beside the paper's rows: how our settings differ, and how to read the paper's numbers."""
    shown = [agent for agent in result.agents if paper.find(result.scenario, agent.agent_name)]
    if not shown:
        return [f"the paper's table has no row for these agents in {result.scenario or 'this scenario'}"]
    return [
        *filter(None, (agent_settings_note(result, agent, paper) for agent in shown)),
        f"paper: ± is {paper.spread}, {paper.title}",
        *paper.anomalies,
    ]


def agent_settings_note(result: ScenarioResult, agent: AgentResult, paper: PaperTable) -> str:
    """One sentence on how an agent's settings differ from the paper's; empty where they do not."""
    return settings_note([found.run for found in result.runs if found.run.agent == agent.agent], paper)


def metric_notes(result: ScenarioResult, columns: Sequence[str]) -> list[str]:
    """Sentences on the metrics in these columns: the unit of PM, and why numbers are missing, each reason once."""
    found: dict[str, list[str]] = {}
    for run in result.runs:
        for name in columns:
            value = run.metrics.values[name]
            if not value.is_defined:
                titles = found.setdefault(value.reason, [])
                if METRICS[name].title not in titles:
                    titles.append(METRICS[name].title)
    unit = [POINTS_NOTE] if result.unit == POINTS and any(METRICS[name].unit for name in columns) else []
    return [*unit, *(f"no {', '.join(titles)}: {reason}" for reason, titles in found.items())]


def _find_baseline(names: dict[str, str], baseline: str | None) -> tuple[str | None, str]:
    """The label of the baseline, given by label or name; else None and the reason."""
    if baseline in names:
        return baseline, ""
    found = [agent for agent, name in names.items() if name == baseline]
    if len(found) == 1:
        return found[0], ""
    if not found:
        return None, f"no agent is called {baseline!r}: nothing is marked; name another with --baseline"
    choices = " or ".join(f'--baseline "{agent}"' for agent in found)
    return None, f"there is {baseline!r} in several presets: nothing is marked; choose {choices}"


def _numbers(runs: Sequence[RunResult], agent: str, name: str) -> list[float]:
    values = [result.metrics.values[name].number for result in runs if result.run.agent == agent]
    return [number for number in values if number is not None]


def _mean_budget(budgets: Sequence[Budget]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in ("learning_steps", "parameters", "replay_bytes"):
        known = [value for budget in budgets if (value := getattr(budget, name)) is not None]
        means[name] = sum(known) / len(known) if len(known) == len(budgets) else None
    return means

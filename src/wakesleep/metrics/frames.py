"""Metrics of folders of runs as pandas tables and dictionaries, for use from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wakesleep.errors import UserError
from wakesleep.metrics.experts import Experts, read_experts
from wakesleep.metrics.names import METRICS, PAPER
from wakesleep.metrics.output import budget_cells, mean_entry, to_json
from wakesleep.metrics.runs import Run, find_runs, group_by_scenario, run_results
from wakesleep.metrics.summary import ScenarioResult, metric_notes, scenario_result

if TYPE_CHECKING:
    import pandas as pd

WITHOUT_EXPERTS = PAPER[:3]
"""The metrics of the paper's tables that need no experts: PM, FT, BT."""
BEFORE_LEARNING = "at birth"


class RunComparison(NamedTuple):
    """Agents side by side."""

    table: "pd.DataFrame"
    """A row for each agent: lifetimes, steps, PM, FT, ... as text with intervals and marks."""
    json: list[dict[str, Any]]
    """All numbers, an entry for each scenario: what `wakesleep compare --json` prints."""
    notes: list[str]
    """Sentences on units, on numbers that are missing, and on runs that were left out."""


def compare_runs(
    folders: Sequence[Path], experts: Path | None = None, baseline: str = "baseline", unfinished: bool = False
) -> RunComparison:
    """Average the metrics of runs by agent, and mark what differs significantly from the baseline.

    Args:
        folders: each a run, or a folder of runs at any depth.
        experts: folder of single-task experts; without it the table has no RP and RR.
        baseline: the agent that the others are compared with, by its name or its label in the table.
        unfinished: whether runs that are still under way count.

    Returns:
        The table has the index `agent`, or `scenario` and `agent` where there are several scenarios.
    """
    import pandas as pd

    runs, notes = find_runs(folders, unfinished=unfinished)
    trained = _read_experts(experts, notes)
    columns = PAPER if trained else WITHOUT_EXPERTS
    results = [
        scenario_result(scenario, run_results(same, trained), baseline)
        for scenario, same in group_by_scenario(runs, several=True).items()
    ]
    frame = pd.DataFrame([row for result in results for row in _rows(result, columns)])
    frame = frame.set_index(["scenario", "agent"])
    for result in results:
        notes += [*([result.baseline_note] if result.baseline_note else []), *metric_notes(result, columns)]
    return RunComparison(
        frame if len(results) > 1 else frame.droplevel("scenario"),
        [to_json(result) for result in results],
        list(dict.fromkeys(notes)),
    )


def run_metrics(folder: Path, experts: Path | None = None) -> dict[str, float | None]:
    """The metrics of one run by their short names; None where a metric is undefined.

    Args:
        folder: of the run, finished or under way.
        experts: folder of single-task experts.

    Returns:
        `PM` (in points: each task's range of returns is normalised to 1..101), `FT` and `BT`; with experts also `RP`,
        `RR_Omega`, `RR_alpha`, `RR_sigma` and `RR_upsilon`.
    """
    trained = _read_experts(experts, [])
    (result,) = run_results([_single_run(folder)], trained)
    columns = PAPER if trained else WITHOUT_EXPERTS
    return {METRICS[name].short_name: result.metrics.values[name].number for name in columns}


def returns_table(folder: Path) -> "pd.DataFrame":
    """Mean returns of one run, as logged: evaluation blocks x tasks; NaN where a task was not evaluated.

    The rows are labelled `0: at birth`, `1: after DoorKey_S5`, ...
    """
    import pandas as pd

    (result,) = run_results([_single_run(folder)])
    blocks = result.metrics.evaluations
    labels = []
    for number, block in enumerate(blocks):
        when = f"after {', '.join(block.just_learned)}" if block.just_learned else BEFORE_LEARNING
        labels.append(f"{number}: {when if block.just_learned or not block.learned else 'again'}")
    tasks = [task for task in result.metrics.tasks if any(task in block.returns for block in blocks)]
    rows = [[block.returns.get(task, float("nan")) for task in tasks] for block in blocks]
    index = pd.Index(labels, name="evaluation", dtype=object)
    return pd.DataFrame(rows, index=index, columns=pd.Index(tasks, name="task", dtype=object), dtype=float)


def _single_run(folder: Path) -> Run:
    runs, _ = find_runs([folder], unfinished=True)
    if len(runs) != 1:
        raise UserError(f"{folder} holds {len(runs)} runs: name one of them")
    return runs[0]


def _read_experts(folder: Path | None, notes: list[str]) -> Experts | None:
    """The experts in a folder, if one is given; what is to be said about them is added to the notes."""
    if folder is None:
        return None
    experts = read_experts(folder)
    notes += [*experts.notes, experts.source_note]
    return experts


def _rows(result: ScenarioResult, columns: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for agent in result.agents:
        steps, parameters, replay = budget_cells(agent.budget)
        metrics = {METRICS[name].short_name: str(mean_entry(agent, name)) for name in columns}
        rows.append(
            {"scenario": result.scenario, "agent": agent.agent, "lifetimes": agent.lifetimes, "steps": steps, **metrics,
             "parameters": parameters, "replay": replay}
        )  # fmt: skip
    return rows

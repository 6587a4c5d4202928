"""How the settings of our runs differ from the paper's, in words, for tables that show both."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.metrics.paper import PaperTable
from wakesleep.metrics.runs import Run

_DOMAINS = {"minigrid": ("minigrid",), "starcraft": ("starcraft", "starcraft-game")}
"""By domain of a table: the domains of ours that have its tasks."""


def settings_note(runs: Sequence[Run], paper: PaperTable) -> str:
    """One sentence on how an agent's runs differ from the paper's in preset, settings, blocks or episodes.

    Args:
        runs: all of one agent; their config.json is read where it is there.
        paper: the table that they are compared with.

    Returns:
        The sentence, or an empty string where nothing differs or nothing is known.
    """
    counts = Counter(difference for run in runs for difference in _differences(run, paper))
    if not counts:
        return ""
    parts = [text if count == len(runs) else f"{text} (in {count} of {len(runs)})" for text, count in counts.items()]
    return f"{runs[0].agent} differs from the paper in its settings: {'; '.join(parts)}"


def _differences(run: Run, paper: PaperTable) -> list[str]:
    config = _load(run)
    found = []
    has_settings = config.get("settings", {}) is not None  # the random agent has none, whatever its preset
    if has_settings and (preset := config.get("preset", "paper")) != "paper":
        found.append(f"preset {preset}")
    overrides = config.get("overrides")
    expected = paper.settings.get(run.agent_name, {})
    for name, value in (overrides if isinstance(overrides, dict) else {}).items():
        if name not in expected or expected[name] != value:
            found.append(f"{name}={json.dumps(value)}")
    syllabus = config.get("syllabus")
    return found + _syllabus_differences(syllabus if isinstance(syllabus, dict) else {}, paper)


def _syllabus_differences(syllabus: dict[str, Any], paper: PaperTable) -> list[str]:
    """Differences in the tasks, the lengths of the learning blocks, and the episodes of an evaluation."""
    from wakesleep.worlds import registry

    known, found, scales = registry.tasks(), [], set()
    learning = syllabus.get("learning")
    blocks = [block for block in learning if isinstance(block, dict)] if isinstance(learning, list) else []
    foreign = dict[str, None]()
    for task, steps in ((str(block.get("task")), block.get("steps")) for block in blocks):
        info = registry.task_info(task) if task in known else None
        if info is None or not info.in_paper or info.domain not in _DOMAINS.get(paper.domain, ()):
            foreign[task] = None
        elif info.block_steps and isinstance(steps, int | float) and steps != info.block_steps:
            scales.add(steps / info.block_steps)
    if foreign:
        found.append(f"tasks that are not in the paper ({', '.join(foreign)})")
    if scales:
        low, high = f"{min(scales):.3g}", f"{max(scales):.3g}"
        found.append(f"learning blocks of {low if low == high else f'{low} to {high}'} times the steps")
    episodes = syllabus.get("episodes")
    if isinstance(episodes, int) and episodes != paper.episodes:
        found.append(f"{episodes} evaluation episodes instead of {paper.episodes}")
    return found


def _load(run: Run) -> dict[str, Any]:
    """config.json of a run; empty where there is none, or none that can be read."""
    try:
        return store.load_json(run.folder / "config.json")
    except UserError:
        return {}

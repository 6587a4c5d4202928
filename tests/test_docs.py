"""What README and docs show, runs."""

import re
from pathlib import Path

import numpy as np
import pytest

import wakesleep
from wakesleep.agents import presets
from wakesleep.worlds import registry
from wakesleep.worlds.minigrid.tasks import TASKS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page, monkeypatch, tmp_path):
    """The blocks of a page, one after the other, in one namespace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    monkeypatch.setattr(presets, "_AGENTS", dict(presets._AGENTS))
    names = {"wakesleep": wakesleep, "actions": np.zeros(8, int)}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
        if page.name == "worlds.md" and number == 0:
            import jax

            names |= {"world": wakesleep.make("DoorKey_S5"), "key": jax.random.key(0), "action": 2}
        exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_task_table_is_complete():
    rows = (ROOT / "docs" / "worlds.md").read_text()
    for name, task in TASKS.items():
        family, variant = name.split("_")
        row = next(line for line in rows.splitlines() if line.startswith(f"| {family}"))
        assert f"_{variant}" in row
        assert str(task.max_steps) in row

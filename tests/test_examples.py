"""The examples run, in a small form, and stay short."""

import json
import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

from wakesleep.agents import presets
from wakesleep.sleep import architectures
from wakesleep.wake import learners
from wakesleep.worlds import registry

mpl.use("agg")
FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
SMALL = 0.05


@pytest.fixture
def own_registries(monkeypatch, tmp_path):
    """What an example registers is gone after it, and what it writes is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for module, name in (
        (registry, "_TASKS"),
        (presets, "_AGENTS"),
        (architectures, "_MODELS"),
        (learners, "_LEARNERS"),
    ):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))
    return tmp_path


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_examples_run(script, own_registries, capsys):
    runpy.run_path(str(script))["main"](scale=SMALL)
    assert capsys.readouterr().out.strip()
    lives = list((own_registries / "runs").glob("*/summary.json"))
    assert lives


def test_the_notebook_runs(own_registries):
    """Its cells one after the other, with shorter learning blocks; what each shows is a value."""
    cells = json.loads((FOLDER / "07_forgetting.ipynb").read_text())["cells"]
    names = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        source = "".join(cell["source"]).replace("SCALE = 1.0", f"SCALE = {SMALL}")
        *_, last = source.strip().splitlines()
        exec(compile(source, "notebook", "exec"), names)
        if "=" not in last.split("(")[0]:
            assert eval(last.split("  #")[0], names) is not None
    assert (own_registries / "report.html").exists()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_examples_are_short(script):
    assert len(script.read_text().splitlines()) <= 80
    assert "from wakesleep." not in script.read_text(), "an example needs only `import wakesleep as ws`"

"""Tables and numbers of runs for Python: the same as those of the commands."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.metrics.logs import evaluate, learn, pairwise, write_expert, write_log
from tests.reporting.lives import write_life
from wakesleep import UserError
from wakesleep.logs import read_log
from wakesleep.metrics.experts import read_experts
from wakesleep.metrics.frames import compare_runs, returns_table, run_metrics
from wakesleep.metrics.lifetime import compute_metrics

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def experts(tmp_path):
    for task in ("DoorKey_S5", "DistShift_R2"):
        write_expert(tmp_path / "experts" / task, task)
    return tmp_path / "experts"


def test_metrics_of_one_run():
    life, experts = GOLDEN / "own" / "pairwise", GOLDEN / "own-experts"
    found = run_metrics(life, experts)
    assert list(found) == ["PM", "FT", "BT", "RP", "RR_Omega", "RR_alpha", "RR_sigma", "RR_upsilon"]
    values = compute_metrics(read_log(life), read_experts(experts)).values
    assert found["PM"] == values["perf_maintenance_mrlep"].number
    assert found["RR_upsilon"] == values["rr_upsilon"].number
    assert run_metrics(life) == {name: found[name] for name in ("PM", "FT", "BT")}


def test_an_undefined_metric_is_none(tmp_path):
    write_log(tmp_path / "life", [evaluate({"A_1": 0.1}), learn("A_1", [0.1] * 9), evaluate({"A_1": 0.9})])
    assert run_metrics(tmp_path / "life") == {"PM": None, "FT": None, "BT": None}
    with pytest.raises(UserError, match="holds 2 runs"):
        write_log(tmp_path / "other", pairwise())
        run_metrics(tmp_path)


def test_returns_of_evaluation_blocks_and_tasks(tmp_path):
    blocks = pairwise()
    del blocks[2]["returns"]["B_1"]
    blocks.append(evaluate({"A_1": 0.5}))
    blocks[-1]["subtype"] = "wake"
    table = returns_table(write_log(tmp_path / "life", blocks))
    assert list(table.index) == ["0: at birth", "1: after A_1", "2: after B_1", "3: again"]
    assert list(table.columns) == ["A_1", "B_1"]
    assert table.loc["1: after A_1", "A_1"] == pytest.approx(0.9)
    assert math.isnan(table.loc["1: after A_1", "B_1"])


def test_agents_side_by_side(tmp_path, experts):
    for seed in range(4):
        write_life(tmp_path / "lives" / f"baseline-{seed}", "baseline", seed, first=(0.0, 0.9, 0.1 + seed / 100))
        write_life(tmp_path / "lives" / f"hidden-{seed}", "hidden", seed, first=(0.0, 0.9, 0.8 + seed / 100))
    table, content, notes = compare_runs([tmp_path / "lives"], experts)
    assert table.index.name == "agent"
    assert list(table.index) == ["baseline", "hidden"]
    assert list(table.columns) == [
        "lifetimes", "steps", "PM", "FT", "BT", "RP", "RR_Omega", "RR_alpha", "RR_sigma", "RR_upsilon", "parameters",
        "replay",
    ]  # fmt: skip
    assert table.loc["hidden", "lifetimes"] == 4
    assert table.loc["hidden", "steps"] == "800"
    assert table.loc["hidden", "RR_Omega"].endswith(" •")
    assert " ± " in table.loc["baseline", "PM"]
    assert json.loads(json.dumps(content))[0]["agents"][1]["metrics"]["rr_omega"]["mark"] == "•"
    assert any("PM is in points" in note for note in notes)
    alone = compare_runs([tmp_path / "lives" / "hidden-0"])
    assert list(alone.table.columns) == ["lifetimes", "steps", "PM", "FT", "BT", "parameters", "replay"]
    assert any("no agent is called 'baseline'" in note for note in alone.notes)
    write_life(tmp_path / "lives" / "other", "hidden", scenario="mine")
    several = compare_runs([tmp_path / "lives"]).table
    assert list(several.index) == [("pairwise", "baseline"), ("pairwise", "hidden"), ("mine", "hidden")]


def test_importing_metrics_loads_nothing_heavy():
    script = "import sys, wakesleep.metrics.frames, wakesleep.reporting.figure; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    package = subprocess.run(
        [sys.executable, "-c", "import sys, wakesleep; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"pandas", "scipy", "scikit_posthocs", "matplotlib", "matplotlib.pyplot", "jax", "PIL"}
    assert heavy & (set(loaded) - set(package)) == set()

"""The studies of sleep in a single task: they measure what they say, go on where they were, and refuse nonsense."""

import json
import subprocess
import sys

import pytest

from wakesleep import UserError
from wakesleep.experiments import studies
from wakesleep.experts.expert import expert_folder, expert_spec, train_expert

NETWORK = [64, 64]
SMALL = {
    "sleep.iterations": 600, "wake_buffer_size": 2048, "model.network.hidden": NETWORK,
    "learner.network.hidden": NETWORK,
}  # fmt: skip


def ignore(part, note):
    pass


@pytest.fixture(scope="module")
def experts(tmp_path_factory):
    """One that has learned."""
    folder = tmp_path_factory.mktemp("experts")
    folder.joinpath("experts.json").write_text("{}")
    spec = expert_spec("DoorKey_S5", 0, 61_440, "fast", {"network.hidden": NETWORK})
    train_expert(expert_folder(folder, "DoorKey_S5", 0), spec, ignore)
    return folder


def test_an_expert_is_distilled(experts, tmp_path):
    file = tmp_path / "result.json"
    folder = expert_folder(experts, "DoorKey_S5", 0)
    studies.distil_expert(folder, "hidden", 0, "fast", {**SMALL, "sleep.iterations": 3000}, file, ignore)
    result = json.loads(file.read_text())
    assert result["expert"] > 0.7
    assert result["difference"] == pytest.approx(result["expert"] - result["sleep"])
    assert result["difference"] < 0.15
    studies.distil_expert(folder, "hidden", 1, "fast", {**SMALL, "sleep.iterations": 1}, file, ignore)
    assert json.loads(file.read_text())["difference"] > 0.5  # one step of sleep teaches nothing


def test_a_sleep_policy_follows(tmp_path):
    file = tmp_path / "result.json"
    studies.follow_task("DoorKey_S5", "hidden", 0, 2, "fast", SMALL, 0.205, file, ignore)
    result = json.loads(file.read_text())
    assert result["steps"] == [20_480, 40_960]
    assert result["wake"][-1] > 0.8
    assert result["sleep"][-1] > 0.5


def test_the_command_goes_on_and_prints_a_table(experts, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("hidden", "two-headed"):
        done = {"task": "DoorKey_S5", "architecture": name, "seed": 0, "expert": 0.9, "difference": 0.25}
        (out / f"DoorKey_S5-0-{name}-0.json").write_text(json.dumps(done))
    asked = {"study": "distil", "experts": str(experts.resolve()), "preset": "paper", "overrides": {}}
    (out / "study.json").write_text(json.dumps(asked))
    command = [sys.executable, "-m", "wakesleep", "study", "distil", str(experts), "--out", str(out)]
    shown = subprocess.run([*command, "--architectures", "hidden", "two-headed"], capture_output=True, text=True)
    assert shown.returncode == 0
    assert shown.stdout.count("0.250") == 4  # nothing was done again
    refused = subprocess.run([*command, "--architectures", "flat"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "no architecture is called 'flat'" in refused.stderr
    with pytest.raises(UserError, match="no preset of hidden is called 'papr'"):
        studies.distil(experts, tmp_path / "new", ["hidden"], 1, "papr", {})
    assert not (tmp_path / "new").exists()  # a slip of the finger claims no folder
    with pytest.raises(UserError, match="other settings"):
        studies.distil(experts, out, ["hidden"], 1, "fast", {})


def test_what_is_refused(tmp_path):
    with pytest.raises(UserError, match="not a folder of experts"):
        studies.distil(tmp_path, tmp_path, ["hidden"], 1, "paper", {})
    (tmp_path / "experts.json").write_text("{}")
    with pytest.raises(UserError, match="no expert in"):
        studies.distil(tmp_path, tmp_path, ["hidden"], 1, "paper", {})
    with pytest.raises(UserError, match="10 sleeps need at least"):
        studies.follow_task("DoorKey_S5", "hidden", 0, 10, "fast", {}, 0.01, tmp_path / "x.json", ignore)

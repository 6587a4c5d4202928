"""What a life leaves in its folder: policies that act again, modules to load, and folders of other versions."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.small import SMALL
from wakesleep import UserError
from wakesleep.lifetime import life as life_module
from wakesleep.lifetime.spec import LifetimeSpec, is_finished, stored_policy, stored_spec
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.wake.envs import evaluate
from wakesleep.wake.make_envs import make_envs

SYLLABUS = pairwise("DoorKey_S5", "DistShift_R2", seed=1, scale=0.01, episodes=3)  # 2,000 steps a block
LEARNER = {name.removeprefix("learner."): value for name, value in SMALL.items() if name.startswith("learner.")}
VIEWS = jax.random.randint(jax.random.key(0), (8, 7, 7, 3), 0, 3).astype(jnp.uint8)


def ignore(part, words):
    pass


def spec_of(agent="baseline", keep_policies=True):
    overrides = SMALL if agent == "hidden" else LEARNER
    return LifetimeSpec(agent, "paper", SYLLABUS, 0, overrides, keep_policies=keep_policies)


@pytest.mark.parametrize("agent", ["baseline", "hidden", "random"])
def test_policies_are_kept_and_act_again(agent, tmp_path):
    spec = LifetimeSpec("random", None, pairwise("DoorKey_S5", "DistShift_R2", 1, 0.02, 3), 0, keep_policies=True)
    spec = spec if agent == "random" else spec_of(agent)
    life = spec.open(tmp_path)
    life.run(ignore)
    assert is_finished(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["keep_policies"] is True
    assert sorted(file.name for file in (tmp_path / "policies").iterdir()) == ["block-01.npz", "block-02.npz"]
    first, last, end = (stored_policy(tmp_path, block)(VIEWS) for block in (1, 2, None))
    np.testing.assert_array_equal(last, end)
    np.testing.assert_allclose(end, life.agent.policy(life.state)(VIEWS), rtol=1e-6)
    assert bool((first != end).any()) == (agent != "random")
    episodes = evaluate(make_envs("DistShift_R2"), stored_policy(tmp_path, 1), jax.random.key(1), 5)
    assert episodes.total_reward.shape == (5,)
    with pytest.raises(UserError, match=r"there is no .*block-03\.npz: it was not kept"):
        stored_policy(tmp_path, 3)


def test_policies_of_a_life_that_was_cut_are_those_of_a_whole_one(tmp_path, monkeypatch):
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_SAVES", -1.0)
    spec_of().open(tmp_path / "whole").run(ignore)
    reports = []

    def cuts(part, words):
        reports.append(words)
        if words.startswith("learning, block 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spec_of().open(tmp_path / "cut").run(cuts)
    with pytest.raises(UserError, match=r"there is no .*policy\.npz: the life is not over"):
        stored_policy(tmp_path / "cut")
    assert stored_policy(tmp_path / "cut", 1)(VIEWS).shape == (8, 6)
    stored_spec(tmp_path / "cut").open(tmp_path / "cut").run(ignore)
    for block in (1, 2, None):
        one, two = (stored_policy(tmp_path / name, block)(VIEWS) for name in ("whole", "cut"))
        np.testing.assert_array_equal(one, two)


def test_policies_are_kept_only_if_asked_for(tmp_path):
    spec_of(keep_policies=False).open(tmp_path).run(ignore)
    assert not (tmp_path / "policies").exists()
    assert stored_policy(tmp_path)(VIEWS).shape == (8, 6)
    with pytest.raises(UserError, match=r"keep_policies"):
        stored_policy(tmp_path, 1)


@pytest.mark.parametrize("written", [1, 3])
def test_folders_of_another_version_are_refused_with_a_sentence(written, tmp_path):
    """Version 1 had no number. The command says so too, and leaves the folder as it is."""
    spec_of().open(tmp_path / "life").save()
    config = json.loads((tmp_path / "life" / "config.json").read_text())
    config.pop("format") if written == 1 else config.update(format=written)
    (tmp_path / "life" / "config.json").write_text(json.dumps(config))
    for read in (stored_spec, stored_policy):
        with pytest.raises(UserError, match=rf"written by another version of wakesleep \(format {written}, here 2\)"):
            read(tmp_path / "life")
    command = [sys.executable, "-m", "wakesleep", "resume", "life"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 2
    assert "go on with it in that version, or begin anew; its log can still be measured" in told.stderr
    assert json.loads((tmp_path / "life" / "config.json").read_text()) == config


def test_modules_to_load_are_kept_and_used_by_resume(tmp_path):
    """A module in the current folder registers the tasks; whoever resumes does not have to know it."""
    (tmp_path / "mine.py").write_text(
        "import wakesleep as ws\n"
        "for name in ('Mine_A', 'Mine_B'):\n"
        "    ws.register(name, lambda: ws.make('DoorKey_S5'), domain='mine', block_steps=2048)\n"
    )
    settings = [f"{name}={str(value).replace(' ', '')}" for name, value in LEARNER.items()]
    stops = (
        "import wakesleep.lifetime.life as life\ndo = life.Lifetime._train\n"
        "def train(self, unit, key):\n"
        "    do(self, unit, key)\n"
        "    if unit.block == 1: raise KeyboardInterrupt\n"
        "life.Lifetime._train = train\nfrom wakesleep.cli import main; main()"
    )
    begin = ["run", "--agent", "baseline", "--tasks", "Mine_A", "Mine_B", "--episodes", "3", "--set", *settings,
             "--out", "life", "--load", "mine"]  # fmt: skip
    cut = subprocess.run([sys.executable, "-c", stops, *begin], cwd=tmp_path, capture_output=True, text=True)
    assert cut.returncode == 130, cut.stderr
    config = json.loads((tmp_path / "life" / "config.json").read_text())
    assert config["load"] == ["mine"]
    command = [sys.executable, "-m", "wakesleep", "resume", "life"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert is_finished(tmp_path / "life")
    (tmp_path / "mine.py").unlink()
    with pytest.raises(UserError, match=r"config\.json: cannot load mine"):
        stored_spec(Path(tmp_path) / "life")

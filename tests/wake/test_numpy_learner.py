"""A learner of one's own, outside JAX: it learns, lives whole lives in both kinds of world, and can be resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from tests.experiments import corridors
from tests.lifetime import walks
from tests.wake.numpy_learner import Reinforce, ReinforceConfig
from wakesleep.lifetime import life as life_module
from wakesleep.lifetime.spec import LifetimeSpec, stored_policy
from wakesleep.sleep.hidden import HiddenReplay
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.wake.envs import evaluate
from wakesleep.wake.learner import Learner, num_parameters, policy_of
from wakesleep.wake.make_envs import make_envs
from wakesleep.wake.rollout import HostPolicy
from wakesleep.wake.train import train

assert corridors  # registers its tasks
assert walks

ROOT = Path(__file__).parents[2]
LOAD = ("tests.wake.numpy_learner", "tests.experiments.corridors", "tests.lifetime.walks")
TASKS = {"jax": ("Hallway_L5", "Hallway_L9"), "host": ("Walk_left", "Walk_right")}
SCALE = {"jax": 0.1, "host": 0.25}  # 1,024 steps a block
LEARNER = {"num_envs": 4, "num_steps": 32}
SLEEPER = {f"learner.{name}": value for name, value in LEARNER.items()} | {
    "model.network.hidden": [16], "model.latent": 8, "model.hidden": 16, "sleep.iterations": 20,
    "wake_buffer_size": 200, "random_replay_per_sleep": 16,
}  # fmt: skip
AGENTS = {"baseline": LEARNER, "hidden": SLEEPER}


def ignore(part, words):
    pass


def spec_of(agent, kind, seed=0):
    syllabus = pairwise(*TASKS[kind], seed=1, scale=SCALE[kind], episodes=4)
    return LifetimeSpec(agent, None, syllabus, seed, AGENTS[agent], learner="numpy-reinforce", load=LOAD)


def logged(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.tsv"))}


@pytest.mark.parametrize("task", ["Hallway_L9", "Walk_left"])
def test_it_learns(task):
    """10,240 steps; the best return is 1, chance has 0.3 to 0.7."""
    envs = make_envs(task, 8)
    learner = Reinforce(envs.observation_spec, envs.action_spec, ReinforceConfig())
    assert isinstance(learner, Learner)
    state = learner.init(jax.random.key(0))
    before = evaluate(envs, policy_of(learner, state), jax.random.key(1), 100).total_reward.mean()
    result = train(learner, state, envs, envs.reset(jax.random.key(2)), jax.random.key(3), 40)
    envs.close(result.envs_state)
    assert result.log.reward.shape == (40 * 32, 8)
    assert result.log.diagnostics["entropy"].shape == (40,)
    assert result.log.diagnostics["entropy"][-1] < result.log.diagnostics["entropy"][0]
    after = evaluate(envs, policy_of(learner, result.state), jax.random.key(1), 100).total_reward.mean()
    assert before < 0.75
    assert after > 0.95
    assert state.updates == 0  # what it was given is as it was
    assert num_parameters(learner, result.state) == result.state.weight.size


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("agent", AGENTS)
def test_it_lives_a_life_and_goes_on_where_it_was_cut(agent, kind, tmp_path, monkeypatch):
    """Cut in the middle of a block, and between two: in JAX both end in the same bytes, on the host the latter.

    There, episodes under way begin anew.
    """
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_SAVES", -1.0)
    monkeypatch.setattr("wakesleep.lifetime.plan.CHUNK_STEPS", 256)
    spec = spec_of(agent, kind)
    spec.open(tmp_path / "whole").run(ignore)
    summary = json.loads((tmp_path / "whole" / "summary.json").read_text())
    assert set(summary["final_returns"]) == set(TASKS[kind])
    for where in ("learning, block 2", "evaluating, block 2"):
        cut, reports = tmp_path / where[:5], []

        def cuts(part, words, where=where, reports=reports):
            reports.append(words)
            if sum(report.startswith(where) for report in reports) == (2 if where.startswith("learning") else 1):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            spec.open(cut).run(cuts)
        spec.open(cut).run(ignore)
        if kind == "jax" or where.startswith("evaluating"):
            assert logged(cut) == logged(tmp_path / "whole")
        assert set(logged(cut)) == set(logged(tmp_path / "whole"))


@pytest.mark.parametrize("agent", AGENTS)
def test_its_policy_can_be_loaded_and_acts(agent, tmp_path):
    spec = spec_of(agent, "jax")
    life = spec.open(tmp_path)
    life.run(ignore)
    policy, places = stored_policy(tmp_path), jnp.arange(5)[:, None]
    assert isinstance(policy, HostPolicy if agent == "baseline" else HiddenReplay)
    np.testing.assert_allclose(policy(places), life.agent.policy(life.state)(places), rtol=1e-6)
    episodes = evaluate(make_envs("Hallway_L5"), policy, jax.random.key(0), 10)
    assert episodes.length.max() <= 10
    loaded = wakesleep.load(tmp_path).policy
    assert loaded(np.asarray(places)).shape == (5, 2)
    for greedy in (False, True):
        assert loaded.act(np.array([3], np.int32), seed=1, greedy=greedy) in (0, 1)


def test_killed_for_real_and_resumed(tmp_path):
    """kill -9 in the middle of the second block, in a world in JAX; `resume` needs no `--load`."""
    program = (
        "import wakesleep.lifetime.life as life; life.SECONDS_BETWEEN_SAVES = 0.2; "
        "import wakesleep.lifetime.plan as plan; plan.CHUNK_STEPS = 256; from wakesleep.cli import main; main()"
    )
    command, quiet = [sys.executable, "-c", program], subprocess.DEVNULL
    settings = [f"{name}={value}" for name, value in LEARNER.items()]
    arguments = ["run", "--agent", "baseline", "--learner", "numpy-reinforce", "--set", *settings,
                 "--tasks", *TASKS["jax"], "--scale", "0.5", "--episodes", "4", "--load", *LOAD]  # fmt: skip
    subprocess.run([*command, *arguments, "--out", tmp_path / "whole"], cwd=ROOT, check=True, capture_output=True)
    process = subprocess.Popen([*command, *arguments, "--out", tmp_path / "cut"], cwd=ROOT, stdout=quiet, stderr=quiet)
    log, deadline = tmp_path / "cut" / "worker-default" / "3-train", time.monotonic() + 200
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
        if sum(file.stat().st_size for file in log.glob("*.tsv")) > 3000:
            os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cut" / "summary.json").exists()
    subprocess.run([*command, "resume", tmp_path / "cut"], cwd=ROOT, check=True, capture_output=True)
    assert logged(tmp_path / "cut") == logged(tmp_path / "whole")

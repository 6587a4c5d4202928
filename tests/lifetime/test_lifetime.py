"""Lifetimes: the log, resuming to the same bytes wherever they were cut, and what goes wrong."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from tests import small as by_name
from tests.agents.test_agents import LEARNER, SMALL, SPECS
from wakesleep import UserError, store
from wakesleep.agents.baselines import LearnerAgent
from wakesleep.agents.wake_sleep import WakeSleepAgent
from wakesleep.lifetime import life as life_module
from wakesleep.lifetime.life import Lifetime
from wakesleep.lifetime.plan import Kind, plan
from wakesleep.lifetime.spec import LifetimeSpec, run_lifetime, stored_spec
from wakesleep.syllabus.scenarios import alternating, pairwise

SYLLABUS = pairwise("DoorKey_S5", "DistShift_R2", seed=1, scale=0.01, episodes=3)  # 2,000 steps a block


def ignore(part, note):
    pass


def agent_of(sleeps=2):
    return WakeSleepAgent(*SPECS, replace(SMALL, sleeps_per_block=sleeps))


def logged(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.tsv"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A life that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    Lifetime(agent_of(), SYLLABUS, 0, folder, {}).run(ignore)
    return folder


def test_what_a_life_is_made_of():
    kinds = [unit.kind for unit in plan(agent_of(), SYLLABUS)]
    until_sleep = [Kind.WAKE, Kind.TRAIN, Kind.SLEEP]
    assert kinds == [
        Kind.EVALUATE,
        *until_sleep,
        *until_sleep,
        Kind.EVALUATE,
        *until_sleep,
        *until_sleep,
        Kind.EVALUATE,
    ]
    units = plan(LearnerAgent(*SPECS, LEARNER), alternating("DoorKey_S5", "DistShift_R2", 1))
    trained = [unit.iterations for unit in units if unit.kind is Kind.TRAIN]
    assert sum(trained) == 6 * (200_000 // 128)
    assert max(trained) == 10_240 // 128
    assert [unit.iterations for unit in units if unit.kind is Kind.WAKE] == [200_000 // 128] * 6
    assert [unit.kind for unit in units].count(Kind.EVALUATE) == 7
    with pytest.raises(UserError, match="too short"):
        plan(agent_of(), pairwise("DoorKey_S5", "DistShift_R2", 1, scale=0.0005))


def test_the_log_and_the_summary(whole):
    assert sorted(file.parent.name for file in whole.rglob("*.tsv")) == [
        "0-test", "1-train", "2-test", "3-train", "4-test",
    ]  # fmt: skip
    rows = (whole / "worker-default" / "4-test" / "data-log.tsv").read_text().splitlines()
    assert [row.split("\t")[5] for row in rows[1:]] == ["DoorKey_S5"] * 3 + ["DistShift_R2"] * 3
    summary = json.loads((whole / "summary.json").read_text())
    assert set(summary["final_returns"]) == {"DoorKey_S5", "DistShift_R2"}
    assert summary["replay_bytes"] == (512 + 64) * 151
    assert len(list((whole / "diagnostics").glob("sleep-*.npz"))) == 4
    assert not (whole / "checkpoint.npz").exists()
    with pytest.raises(UserError, match="is over"):
        Lifetime(agent_of(), SYLLABUS, 0, whole, {})


@pytest.mark.parametrize("cut", range(13))
def test_a_life_cut_after_any_unit_goes_on_to_the_same_bytes(whole, tmp_path, monkeypatch, cut):
    """Saved after every unit, or only now and then: what came after the last save is done again."""
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_SAVES", -1.0 if cut % 2 else 1e9)
    reports = []

    def cuts(part, note):
        reports.append(part)
        if len(reports) == cut + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Lifetime(agent_of(), SYLLABUS, 0, tmp_path, {}).run(cuts)
    Lifetime(agent_of(), SYLLABUS, 0, tmp_path, {}).run(ignore)
    assert logged(tmp_path) == logged(whole)
    with np.load(tmp_path / "policy.npz") as one, np.load(whole / "policy.npz") as two:
        assert all((one[name] == two[name]).all() for name in two.files)


def test_how_far_it_is_stands_on_disk_while_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_REPORTS", 0.0)
    told = []

    def look(part, words):
        told.append((part, words, store.load_json(tmp_path / "progress.json")))

    Lifetime(agent_of(), SYLLABUS, 0, tmp_path, {}).run(look)
    for part, words, progress in told:
        assert progress["part"] == pytest.approx(part, abs=1e-4)
        assert progress["words"] == words
    seconds = [progress["seconds"] for *_, progress in told]
    assert seconds == sorted(seconds)
    assert not (tmp_path / "progress.json").exists()


def test_another_seed_is_another_life(whole, tmp_path):
    Lifetime(agent_of(), SYLLABUS, 1, tmp_path, {}).run(ignore)
    assert logged(tmp_path) != logged(whole)


def test_labels_change_nothing(whole, tmp_path, monkeypatch):
    """The same worlds under other names: the same life, but for the names in its log."""
    from wakesleep.worlds import registry
    from wakesleep.worlds.minigrid.tasks import TASKS

    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    names = {"DoorKey_S5": "Alpha_1", "DistShift_R2": "Beta_2"}
    for old, new in names.items():
        registry.register(new, TASKS[old].world, domain="minigrid", block_steps=TASKS[old].block_steps)
    starts = life_module.evaluation_initial_states
    old_name = {new: old for old, new in names.items()}
    monkeypatch.setattr(life_module, "evaluation_initial_states", lambda task, *rest: starts(old_name[task], *rest))
    renamed = pairwise("Alpha_1", "Beta_2", seed=1, scale=0.01, episodes=3)
    Lifetime(agent_of(), renamed, 0, tmp_path, {}).run(ignore)
    for name, content in logged(whole).items():
        for old, new in names.items():
            content = content.replace(old.encode(), new.encode())
        assert logged(tmp_path)[name] == content


def test_a_full_disk_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    life = Lifetime(agent_of(), SYLLABUS, 0, tmp_path, {})
    life.save()
    good = (tmp_path / "checkpoint.npz").read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.np, "savez", full)
    with pytest.raises(UserError, match=r"No space left on device.*what was saved before is still there"):
        life.save()
    assert (tmp_path / "checkpoint.npz").read_bytes() == good


def test_folders_that_do_not_fit(whole, tmp_path):
    with pytest.raises(UserError, match="there is no lifetime"):
        stored_spec(tmp_path)
    (tmp_path / "config.json").write_text('{"format": 2, "agent": "hidden"}')
    with pytest.raises(UserError, match="does not describe a lifetime"):
        stored_spec(tmp_path)
    with pytest.raises(UserError, match="another life"):
        Lifetime(agent_of(), SYLLABUS, 0, tmp_path, {})
    other = tmp_path / "other"
    Lifetime(agent_of(), SYLLABUS, 0, other, {}).save()
    saved = other / "checkpoint.npz"
    saved.write_bytes(saved.read_bytes()[:-50])
    with pytest.raises(UserError, match="damaged"):
        Lifetime(agent_of(), SYLLABUS, 0, other, {})


def test_lifetimes_as_data(tmp_path):
    spec = LifetimeSpec("baseline", "fast", SYLLABUS, 7)
    assert LifetimeSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    full = LifetimeSpec(
        "hidden", "paper", SYLLABUS, 7, {"sleep.iterations": 3}, "mine", "vtrace", ("tests.lifetime.walks",), True
    )
    assert LifetimeSpec.from_json(json.loads(json.dumps(full.to_json()))) == full
    assert full.to_json()["format"] == 2
    assert full.to_json()["settings"]["sleep"]["iterations"] == 3
    default = LifetimeSpec("baseline", None, SYLLABUS, 7)
    assert default.to_json() == spec.to_json()  # fast is the default
    assert default.digest() == spec.digest() != full.digest()
    small = LifetimeSpec("hidden", "paper", SYLLABUS, 0, by_name.SMALL)
    assert "DoorKey_S5" in run_lifetime(small, tmp_path, report=ignore)
    assert stored_spec(tmp_path) == small


def test_killed_for_real_and_resumed(tmp_path):
    """kill -9 from outside, after the first sleep, in the middle of the second block; the end is that of an
    undisturbed run."""
    settings = [f"{name}={value}" for name, value in by_name.SMALL.items()]
    arguments = [
        "run", "--agent", "hidden", "--preset", "paper", "--set", *settings, "--tasks", "DistShift_R2", "DoorKey_S5",
        "--scale", "0.1", "--episodes", "3",
    ]  # fmt: skip
    often = "import wakesleep.lifetime.life as life; life.SECONDS_BETWEEN_SAVES = 0.5; "
    program = often + "from wakesleep.cli import main; main()"
    command = [sys.executable, "-c", program]
    subprocess.run([*command, *arguments, "--out", tmp_path / "whole"], check=True, capture_output=True)
    process = subprocess.Popen(
        [*command, *arguments, "--out", tmp_path / "cut"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    log, deadline = tmp_path / "cut" / "worker-default" / "3-train", time.monotonic() + 200
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        if sum(file.stat().st_size for file in log.glob("*.tsv")) > 1500:
            os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cut" / "summary.json").exists()
    subprocess.run([*command, "resume", tmp_path / "cut"], check=True, capture_output=True)
    assert logged(tmp_path / "cut") == logged(tmp_path / "whole")

"""Curves for TensorBoard and Weights & Biases."""

import struct
import sys
import types

import numpy as np
import pytest

from tests.reporting.lives import write_life
from tests.reporting.test_data import run
from wakesleep import UserError
from wakesleep.reporting.lives import find_lives, read_life
from wakesleep.reporting.scalars import POINTS, WeightsAndBiases, export, scalars


def events(folder):
    """Step and value of every scalar in event files by name."""
    from tensorboardX.proto.event_pb2 import Event

    (file,) = folder.glob("events.out.tfevents.*")
    content, found = file.read_bytes(), {}
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        event = Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def test_scalars_are_the_curves(lived):
    life = read_life(lived, "life")
    found = list(scalars(life))
    evaluated = [(one.step, one.value) for one in found if one.name == "evaluate/DoorKey_S5"]
    assert [step for step, _ in evaluated] == [0, 2000, 4000]
    assert evaluated[-1][1] == pytest.approx(life.summary["final_returns"]["DoorKey_S5"], abs=1e-4)
    learned = [one for one in found if one.name == "learn/DistShift_R2"]
    assert 0 < len(learned) <= POINTS
    assert 2000 < learned[0].step <= learned[-1].step <= 4000
    slept = [one for one in found if one.name == "sleep/experience/imitation"]
    assert [one.step for one in slept] == list(range(1, 41))
    assert {one.axis for one in slept} == {"iterations"}
    for axis in ("steps", "iterations"):
        assert (np.diff([one.step for one in found if one.axis == axis]) >= 0).all()


def test_tensorboard_reads_them_and_nothing_twice(monkeypatch, capsys, tmp_path, lives):
    for _ in range(2):
        run(monkeypatch, "export-logs", lives, "--tensorboard", tmp_path / "board")
        assert "8 lifetimes" in capsys.readouterr().out
    found = events(tmp_path / "board" / "baseline-0")
    assert found["evaluate/DoorKey_S5"] == [(step, pytest.approx(value, abs=1e-5)) for step, value in
                                            [(0, 0.0), (400, 0.9), (800, 0.1)]]  # fmt: skip
    assert len(found["learn/DoorKey_S5"]) == 40


def test_weights_and_biases_gets_them(monkeypatch, tmp_path):
    calls = []

    class FakeRun:
        def define_metric(self, name, step_metric):
            calls.append(("define", name, step_metric))

        def log(self, values):
            calls.append(("log", values))

        def finish(self):
            calls.append(("finish",))

    module = types.ModuleType("wandb")
    module.init = lambda **about: calls.append(("init", about)) or FakeRun()
    monkeypatch.setitem(sys.modules, "wandb", module)
    write_life(tmp_path / "life", "hidden")
    lives = find_lives([tmp_path])
    count = export(lives, lambda life: WeightsAndBiases("project", life))
    assert calls[0][1]["project"] == "project"
    assert calls[0][1]["config"]["agent"] == "hidden"
    assert ("define", "evaluate/*", "steps") in calls
    assert calls[-1] == ("finish",)
    logged = [call[1] for call in calls if call[0] == "log"]
    assert len(logged) == count
    assert {"steps": 400, "evaluate/DoorKey_S5": pytest.approx(0.9, abs=1e-5)} in logged


def test_mistakes(monkeypatch, capsys, lives):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"this needs wandb: pip install 'wakesleep\[wandb\]'"):
        export(find_lives([lives]), lambda life: WeightsAndBiases("project", life))
    for arguments, why in [((), "at least one folder"), ((lives,), "name where curves go")]:
        with pytest.raises(SystemExit):
            run(monkeypatch, "export-logs", *arguments)
        assert why in capsys.readouterr().err

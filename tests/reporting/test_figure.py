"""The figure of one lifetime: what it draws is what the log says."""

import subprocess
import sys

import numpy as np
import pytest

from tests.metrics.logs import evaluate, learn, write_log
from tests.reporting.lives import write_life
from wakesleep import UserError
from wakesleep.reporting.figure import plot_lifetime


def drawn(figure):
    (axes,) = figure.axes
    return {line.get_label(): line.get_xydata() for line in axes.lines if not line.get_label().startswith("_")}


def test_a_line_for_every_task_through_its_evaluations(tmp_path):
    figure = plot_lifetime(write_life(tmp_path / "life", "hidden"))
    lines = drawn(figure)
    np.testing.assert_allclose(lines["DoorKey_S5"], [(0, 0.0), (400, 0.9), (800, 0.5)], atol=1e-6)
    np.testing.assert_allclose(lines["DistShift_R2"], [(0, 0.1), (400, 0.2), (800, 0.8)], atol=1e-6)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["DoorKey_S5", "DistShift_R2"]
    assert axes.get_xlabel() == "environment steps of learning"
    assert figure.get_suptitle() == "hidden, pairwise, seed 0"
    figure.savefig(tmp_path / "life.png")


def test_a_life_under_way_and_a_log_of_others(tmp_path):
    figure = plot_lifetime(write_life(tmp_path / "life", "hidden", until=2))
    assert len(drawn(figure)["DoorKey_S5"]) == 1
    assert figure.axes[0].get_xlim() == (0, 800)
    tasks = [f"Task{number}_1" for number in range(10)]
    blocks = [evaluate(dict.fromkeys(tasks, 0.0))]
    for task in tasks:
        blocks += [learn(task, [0.0, 1.0]), evaluate(dict.fromkeys(tasks, 0.5))]
    many = plot_lifetime(write_log(tmp_path / "others" / "run", blocks))
    assert len(drawn(many)) == 10
    many.savefig(tmp_path / "many.png")
    silent = plot_lifetime(write_log(tmp_path / "silent", [learn("A_1", [0.0, 1.0])]))
    assert drawn(silent) == {}
    with pytest.raises(UserError, match="cannot be drawn: "):
        plot_lifetime(tmp_path / "nowhere")


def test_it_does_not_touch_pyplot(tmp_path):
    folder = write_life(tmp_path / "life", "hidden")
    script = (
        "import sys; from pathlib import Path; from wakesleep.reporting.figure import plot_lifetime;"
        "plot_lifetime(Path(sys.argv[1])).savefig(sys.argv[2]); print('matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(folder), str(tmp_path / "life.png")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"

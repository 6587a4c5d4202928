"""A user's mistakes on the command line: one sentence that says what is wrong, exit code 2, no traceback."""

import json
import sys

import pytest

from wakesleep import cli
from wakesleep.cli.main import exit_on_user_error

PAIR = ("--tasks", "DoorKey_S5", "DistShift_R2")
RUN = ("run", "--out", "life", *PAIR, "--agent", "baseline")


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("not a folder")
    (tmp_path / "hasty.py").write_text("1 / 0")
    for name, content in (("listed", []), ("strange", {"syllabus": "x"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((*RUN, "--seed", -1), "a seed is a whole number from 0, not -1"),
        ((*RUN, "--scale", "nan"), "scaled by a number above 0, not nan"),
        ((*RUN, "--scale", 0), "scaled by a number above 0, not 0"),
        ((*RUN, "--set", "num_envs=0"), "num_envs is a whole number from 1, not 0"),
        ((*RUN, "--set", "minibatch_size=0"), "minibatch_size is a whole number from 1"),
        ((*RUN, "--set", "network.hidden=[]"), "network.hidden is a list"),
        ((*RUN, "--load", "hasty"), "cannot load hasty: ZeroDivisionError: division by zero, hasty.py line 1"),
        (("run", "--out", "a-file", *PAIR), "a-file"),
        (("run", "--out", "life", "--tasks", "DoorKey_S7", "DoorKey_S5"), "DoorKey_S7 has no block length"),
        (("resume", "listed"), "not a JSON object"),
        (("resume", "strange"), "does not describe a lifetime"),
        (("experts", "train", "--out", "x", "--tasks", "DoorKey_S5", "DefeatRoaches_one"), "experts of one domain"),
        (("experts", "train", "--out", "a-file", "--tasks", "DoorKey_S5", "--steps", 9000), "a-file"),
        (("study", "follow", "--out", "x", "--sleeps", 0), "at least one seed and one sleep"),
        (("study", "follow", "--out", "strange"), "strange holds something else than a study"),
        (("metrics", "listed", "--noise", 0, -1), "noise has a mean and a spread from 0"),
    ],
)
def test_a_sentence(monkeypatch, capsys, arguments, why):
    monkeypatch.setattr(sys, "argv", ["wakesleep", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert why in told.replace("\n", " ")
    assert "Traceback" not in told


def test_a_reader_that_has_enough_is_no_failure(monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    with pytest.raises(SystemExit) as left, exit_on_user_error():
        raise BrokenPipeError
    assert left.value.code == 141

"""The command line as a user meets it, in a process of its own where that matters."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import wakesleep
from wakesleep import cli


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["wakesleep", *map(str, arguments)])
    cli.main()


def test_tasks(monkeypatch, capsys):
    run(monkeypatch, "tasks", "--paper")
    printed = capsys.readouterr().out
    assert "DoorKey_S5" in printed
    assert "DoorKey_S7" not in printed


def test_play_gif(monkeypatch, capsys, tmp_path):
    out = tmp_path / "episode.gif"
    run(monkeypatch, "play", "CustomFetch_S5T1N2", "--out", out, "--max-frames", 6)
    assert "steps, return" in capsys.readouterr().out
    assert 2 <= Image.open(out).n_frames <= 7


def test_play_optimal_strip(monkeypatch, capsys, tmp_path):
    out = tmp_path / "episode.png"
    run(monkeypatch, "play", "DistShift_R3", "--policy", "optimal", "--out", out)
    assert "11 steps, return 0.961" in capsys.readouterr().out
    picture = np.asarray(Image.open(out))
    assert picture.shape == (2 * (7 * 24 + 16), 8 * 9 * 24, 3)  # twelve pictures, eight in a row
    assert (picture == [0, 255, 0]).all(-1).any()  # the goal is green


def test_play_a_battle(monkeypatch, capsys, tmp_path):
    out = tmp_path / "battle.png"
    run(monkeypatch, "play", "DefeatRoaches_one", "--policy", "attack-move", "--max-frames", 2, "--out", out)
    assert "2 steps, return 0.000" in capsys.readouterr().out
    assert Image.open(out).size == (3 * 519, 387 + 16)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            ("DefeatRoaches_one", "--policy", "optimal", "--out", "x.gif"),
            "random, attack-move, focus-fire, alternate, bait",
        ),
        (("DoorKey_S5", "--policy", "bait", "--out", "x.gif"), "random, optimal, not 'bait'"),
        (("DefeatRoaches_three", "--out", "x.gif"), "DefeatRoaches has DefeatRoaches_one, DefeatRoaches_two"),
        (("DoorKey_S9", "--out", "x.gif"), "DoorKey has DoorKey_S5"),
        (("DoorKey_S5", "--out", "x.mp4"), ".gif or .png"),
        (("DoorKey_S5", "--out", "nowhere/x.gif"), "no folder nowhere"),
        (("DynObstacles_S6N1", "--policy", "optimal", "--out", "x.gif"), "moving balls"),
    ],
)
def test_mistakes_get_one_sentence(monkeypatch, capsys, arguments, why):
    with pytest.raises(SystemExit) as exit_info:
        run(monkeypatch, "play", *arguments)
    error = capsys.readouterr().err
    assert exit_info.value.code == 2
    assert why in error
    assert error.count("\n") == 1


def test_your_own_tasks_can_be_loaded(tmp_path):
    (tmp_path / "my_worlds.py").write_text(
        "import wakesleep\n"
        "wakesleep.register('Mine_A1', lambda: wakesleep.make('DoorKey_S5'), domain='mine', goal='my own')\n"
    )
    command = [sys.executable, "-m", "wakesleep", "tasks", "--load"]
    listed = subprocess.run([*command, "my_worlds"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Mine_A1" in listed.stdout
    missing = subprocess.run([*command, "no_worlds"], cwd=tmp_path, capture_output=True, text=True)
    assert missing.returncode == 2
    assert "cannot load no_worlds" in missing.stderr


def test_installed_command():
    answer = subprocess.run([sys.executable, "-m", "wakesleep", "--help"], capture_output=True, text=True, check=True)
    assert "play" in answer.stdout


def test_experts_from_training_to_export(monkeypatch, capsys, tmp_path):
    """Two tasks side by side in two processes, then shown and exported."""
    out = tmp_path / "experts"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.setenv("COLUMNS", "120")
    tasks = ("DistShift_R2", "CustomFetch_S5T1N2")
    arguments = ("experts", "train", "--out", out, "--tasks", *tasks, "--steps", 4096, "--learner", "vtrace")
    run(monkeypatch, *arguments, "--jobs", 2)
    printed = capsys.readouterr().out
    assert all(f"{task} seed 0: return" in printed for task in tasks)
    run(monkeypatch, "experts", "show", out)
    printed = capsys.readouterr().out
    assert all(task in printed for task in (*tasks, "0.954", "0.968"))  # the optimal returns
    assert (out / "similarity.csv").exists()
    run(monkeypatch, "experts", "export", out, "--episodes", 3)
    assert 'minari.load_dataset("wakesleep/DistShift_R2/expert-v0")' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("train", "--out", "x", "--preset", "quick"), "no preset of fresh-learner is called 'quick'"),
        (("train", "--out", "x", "--tasks", "DoorKey_S9"), "DoorKey has DoorKey_S5"),
        (("train", "--out", "x", "--domain", "atari"), "no domain is called 'atari'"),
        (("train", "--out", "x", "--learner", "dqn"), "no learner is called 'dqn': there are ppo, vtrace"),
        (("train", "--out", "x", "--set", "naps=3"), "no setting is called 'naps'"),
        (("train", "--out", "x", "--seeds", "0"), "at least one seed"),
        (
            ("train", "--out", "x", "--steps", "10"),
            "one iteration of this agent takes 2048 steps, and it wants at least 1",
        ),
        (("train", "--out", "x", "--jobs", "-1"), "at least one worker"),
        (("show", "nowhere"), "nowhere is not a folder of experts"),
        (("export", "nowhere"), "nowhere is not a folder of experts"),
        (("export", "nowhere", "--layout", "l2m"), "nowhere is not a folder of experts"),
    ],
)
def test_mistakes_with_experts(monkeypatch, capsys, tmp_path, arguments, why):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_info:
        run(monkeypatch, "experts", *arguments)
    assert exit_info.value.code == 2
    assert why in capsys.readouterr().err


def test_a_life_in_all_tasks_of_a_domain(monkeypatch, capsys):
    lives = []
    monkeypatch.setattr("wakesleep.cli.run._run", lambda spec, folder: lives.append(spec))
    run(monkeypatch, "run", "--scenario", "condensed", "--domain", "starcraft-small", "--agent", "random", "--out", "x")
    assert lives[0].syllabus.tasks == wakesleep.tasks("starcraft-small", paper_only=True)
    assert len(lives[0].syllabus.learning) == 6
    with pytest.raises(SystemExit):
        run(monkeypatch, "run", "--scenario", "condensed", "--domain", "atari", "--out", "x")
    assert "no domain is called 'atari'" in capsys.readouterr().err

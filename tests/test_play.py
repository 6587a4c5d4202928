"""`wakesleep play` and `wakesleep tasks` as a user meets them."""

import sys

import jax.numpy as jnp
import pytest
from PIL import Image

import wakesleep
from tests.worlds.test_rendering import Count, drawn_count
from wakesleep import GymnasiumWorld, cli
from wakesleep.worlds import registry


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["wakesleep", *map(str, arguments)])
    cli.main()


def refused(monkeypatch, capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        run(monkeypatch, *arguments)
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert told.count("\n") == 1
    return told


@pytest.fixture
def own_tasks(monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    makers = {
        "Pole_v1": lambda: GymnasiumWorld("CartPole-v1", 4),
        "Count_Drawn": lambda: GymnasiumWorld(drawn_count, 2),
        "Count_Blind": lambda: GymnasiumWorld(Count),
    }
    for name, make in makers.items():
        wakesleep.register(name, make, domain="mine", goal="count")


def policy_for(logits):
    """A policy that gives these logits whatever it observes."""
    return lambda observation: jnp.tile(jnp.asarray(logits, jnp.float32), (len(observation), 1))


def test_a_trained_policy_plays(monkeypatch, capsys, tmp_path):
    asked = []
    forward = policy_for([-99, -99, 99, -99, -99, -99])
    monkeypatch.setattr("wakesleep.cli.play._trained_policy", lambda folder: asked.append(folder) or forward)
    out = tmp_path / "episode.gif"
    run(monkeypatch, "play", "DistShift_R2", "--policy", tmp_path, "--out", out)
    assert asked == [tmp_path]
    assert "2 steps, return -1.000" in capsys.readouterr().out  # straight into the lava
    assert Image.open(out).n_frames == 3


def test_a_trained_policy_plays_under_a_mask(monkeypatch, capsys, tmp_path):
    def policy(observation):
        assert observation.view.shape == (1, 32, 32, 3)
        return jnp.zeros((1, sum(wakesleep.make("DefeatRoaches_oneSmall").action_spec.sizes)))

    monkeypatch.setattr("wakesleep.cli.play._trained_policy", lambda folder: policy)
    out = tmp_path / "episode.gif"
    run(monkeypatch, "play", "DefeatRoaches_oneSmall", "--policy", tmp_path, "--out", out, "--max-frames", 2)
    assert "2 steps" in capsys.readouterr().out


def test_a_trained_policy_of_another_domain(monkeypatch, capsys, tmp_path):
    play = ("play", "DoorKey_S5", "--policy", tmp_path, "--out", tmp_path / "x.gif")
    monkeypatch.setattr("wakesleep.cli.play._trained_policy", lambda folder: policy_for([0, 0]))
    assert "does not fit DoorKey_S5: it was trained on other actions" in refused(monkeypatch, capsys, *play)
    monkeypatch.setattr("wakesleep.cli.play._trained_policy", lambda folder: lambda seen: seen @ jnp.ones((9, 6)))
    assert "does not fit DoorKey_S5: it was trained on other observations" in refused(monkeypatch, capsys, *play)


@pytest.mark.usefixtures("own_tasks")
def test_gymnasium_tasks_are_played(monkeypatch, capsys, tmp_path):
    out = tmp_path / "episode.gif"
    run(monkeypatch, "play", "Pole_v1", "--out", out, "--max-frames", 3)
    assert "3 steps, return 3.000" in capsys.readouterr().out
    assert Image.open(out).size == (600, 400 + 16)
    run(monkeypatch, "play", "Count_Drawn", "--out", out)
    assert "3 steps, return 3.000" in capsys.readouterr().out
    monkeypatch.setattr("wakesleep.cli.play._trained_policy", lambda folder: policy_for([0, 9]))
    run(monkeypatch, "play", "Count_Drawn", "--policy", tmp_path, "--out", out)
    assert "3 steps" in capsys.readouterr().out


@pytest.mark.usefixtures("own_tasks")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("Count_Blind",), 'Count_Blind: this environment cannot be drawn: create it with render_mode="rgb_array"'),
        (("Count_Drawn", "--policy", "optimal"), "Count_Drawn can be played by random, not 'optimal'"),
        (("DoorKey_S5", "--policy", "runs/none"), "there is no folder of a lifetime or an expert of that name"),
        (("DoorKey_S5", "--seed", 2**32), "a seed is a whole number from 0 to 4294967295, not 4294967296"),
        (("DoorKey_S5", "--seed", -1), "a seed is a whole number from 0 to 4294967295, not -1"),
    ],
)
def test_mistakes(monkeypatch, capsys, tmp_path, arguments, why):
    assert why in refused(monkeypatch, capsys, "play", *arguments, "--out", tmp_path / "x.gif")


@pytest.mark.usefixtures("own_tasks")
def test_the_largest_seed(monkeypatch, capsys, tmp_path):
    for task in ("DistShift_R2", "Count_Drawn"):
        run(monkeypatch, "play", task, "--seed", 2**32 - 1, "--max-frames", 1, "--out", tmp_path / "x.png")
        assert "1 steps" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [80, 160])
def test_the_list_of_tasks_fits_a_terminal(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    run(monkeypatch, "tasks")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    words = [word for line in lines for word in line.split()]
    assert sorted(word for word in words if word in set(wakesleep.tasks())) == sorted(wakesleep.tasks())
    assert "minigrid: 18 tasks, 10 in the paper (*)" in lines
    assert "  * DoorKey_S6           fetch the key, open the door, reach the goal" in lines
    goal = wakesleep.task_info("DefeatRoaches_one").goal
    assert (f"      {goal}" in lines) == (columns == 80)  # below the name where there is no room beside it


@pytest.mark.usefixtures("own_tasks")
def test_the_list_of_one_domain(monkeypatch, capsys):
    run(monkeypatch, "tasks", "--domain", "mine")
    assert capsys.readouterr().out.splitlines()[0] == "mine: 3 tasks"


def test_version(monkeypatch, capsys):
    run(monkeypatch, "--version")
    assert capsys.readouterr().out == f"wakesleep {wakesleep.__version__}\n"

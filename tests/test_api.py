"""The front door: `import wakesleep as ws`."""

import resource
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.text import Text

import wakesleep as ws
from tests.small import SMALL
from wakesleep import store

TASKS = ["DoorKey_S5", "DistShift_R2"]
QUICK = {"scale": 0.01, "episodes": 3, "overrides": SMALL, "preset": "paper", "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("front-door")


@pytest.fixture(scope="module")
def life(folder):
    return ws.run("hidden", TASKS, out=folder / "hidden", keep_policies=True, **QUICK)


def test_a_life_says_what_it_was(life):
    assert life.finished
    assert (life.agent, life.tasks, life.seed) == ("hidden", tuple(TASKS), 0)
    assert life.summary["final_returns"].keys() == set(TASKS)
    assert "finished" in repr(life)


def test_returns_are_a_table_of_evaluation_blocks_and_tasks(life):
    assert list(life.returns.columns) == TASKS
    assert len(life.returns) == 3
    last = [life.summary["final_returns"][task] for task in TASKS]
    np.testing.assert_allclose(life.returns.iloc[-1], last, atol=1e-4)


def test_metrics_need_experts_only_for_what_is_relative(life, folder):
    assert set(life.metrics()) == {"PM", "FT", "BT"}
    for task in TASKS:
        out = folder / "experts" / task / "seed-0"
        expert = ws.train("ppo", task, steps=7000, out=out, progress=False)
        assert expert.steps == 6144
    store.save_json(folder / "experts" / "experts.json", {})
    assert {"RP", "RR_Omega", "RR_sigma", "RR_alpha", "RR_upsilon"} < set(life.metrics(experts=folder / "experts"))


def test_the_figure_shows_every_task(life):
    figure = life.plot()
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert set(TASKS) <= texts


def test_the_policy_acts(life):
    observation = np.zeros((7, 7, 3), np.uint8)
    for policy in (life.policy, life.policy_after(1), ws.load_policy(life.folder)):
        assert policy(observation[None]).shape == (1, 6)
        assert policy.act(observation, seed=1) == policy.act(observation, seed=1)
        assert policy.act(observation, greedy=True) == np.argmax(policy(observation[None]))
    with pytest.raises(ws.UserError, match="not kept"):
        life.policy_after(3)


def test_running_twice_gives_the_same_life(life, monkeypatch):
    monkeypatch.setattr("wakesleep.api.run_lifetime", None)  # nothing is run
    again = ws.run("hidden", TASKS, out=life.folder, keep_policies=True, **QUICK)
    assert again == life
    with pytest.raises(ws.UserError, match="another life"):
        ws.run("hidden", TASKS, seed=5, out=life.folder, keep_policies=True, **QUICK)


def test_folders_are_named_after_agent_tasks_seed_and_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = ws.run("random", TASKS, scale=0.011, episodes=2, progress=False)
    two = ws.run("random", TASKS, scale=0.012, episodes=2, progress=False)
    assert one.folder.name.startswith("random-DoorKey_S5-DistShift_R2-s0-")
    assert one.folder != two.folder
    assert one.folder.parent.name == "runs"


def test_compare_and_report_take_lives_and_folders(life, tmp_path):
    comparison = ws.compare([life, str(life.folder)])
    assert "hidden" in repr(comparison)
    assert comparison.to_dict()["pairwise"]["agents"]
    page = ws.report(life, tmp_path / "page.html", title="One life")
    assert "One life" in page.read_text()


def test_a_trained_learner_can_be_loaded_again(folder, tmp_path):
    expert = ws.train("ppo", TASKS[0], steps=6144, out=tmp_path / "expert", progress=False)
    again = ws.load_expert(expert.folder)
    assert again.mean_return == expert.mean_return
    assert expert.plot().axes[0].get_title() == f"ppo on {TASKS[0]}"


def test_loading_says_what_is_wrong(tmp_path):
    with pytest.raises(ws.UserError, match="no lifetime"):
        ws.load(tmp_path)
    store.save_json(tmp_path / "config.json", {"agent": "hidden", "changes": {}})
    with pytest.raises(ws.UserError, match="another version"):
        ws.load(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tasks": "DoorKey_S5"}, "list of names"),
        ({"tasks": TASKS, "agent": "hiden"}, "no agent is called"),
        ({"tasks": TASKS, "scenario": "pairwse"}, "no scenario is called"),
        ({"tasks": TASKS, "preset": "quick"}, "no preset"),
        ({"tasks": TASKS, "learner": "dqn"}, "no learner is called"),
        ({"tasks": TASKS, "overrides": {"sleep.iteration": 1}}, "no setting is called"),
        ({"tasks": TASKS, "syllabus": ws.pairwise(*TASKS, seed=0)}, "of its own"),
    ],
)
def test_mistakes_are_told_in_a_sentence(arguments, sentence, tmp_path):
    with pytest.raises(ws.UserError, match=sentence):
        ws.run(**{"agent": "baseline", "out": tmp_path / "life", "progress": False, **arguments})


def test_everything_promised_is_there():
    for name in ws.__all__:
        assert getattr(ws, name) is not None
    assert set(ws.__all__) <= set(dir(ws))
    with pytest.raises(AttributeError, match="nonsense"):
        ws.nonsense  # noqa: B018
    assert callable(ws.report)


def test_importing_is_quick():
    """0.6 s on an idle core; processor time, as other tests run beside this one."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    heavy = "import sys, wakesleep; assert not {'optax', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", heavy], check=True)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin < 3

"""Experts: trained, resumed, loaded, compared, exported; and what is half-written."""

import json

import gymnasium
import jax
import minari
import numpy as np
import pytest

import wakesleep
from wakesleep import UserError, logs
from wakesleep.experts import expert as expert_module
from wakesleep.experts.expert import Expert, expert_folder, expert_spec, load_expert, load_experts, train_expert
from wakesleep.experts.similarity import Similarity, save_csv, save_heat_map, similarity
from wakesleep.experts.train import train_experts
from wakesleep.experts.trajectories import export_minari, record
from wakesleep.jobs import Stopped
from wakesleep.lifetime import life as life_module
from wakesleep.wake.envs import evaluate
from wakesleep.wake.make_envs import make_envs

SMALL = {
    "num_envs": 8, "num_steps": 64, "minibatch_size": 128, "epochs": 2, "learning_rate": 1e-3,
    "network.hidden": [16, 16], "network.encoding": "scale",
}  # fmt: skip
TASKS = ("DistShift_R2", "CustomFetch_S5T1N2")
STEPS = 30_000


def ignore(part, note):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two small experts."""
    out = tmp_path_factory.mktemp("experts")
    train_experts(out, TASKS, [0], STEPS, overrides=SMALL)
    return out


def spec_of(task):
    return expert_spec(task, 0, STEPS, None, SMALL)


def test_what_is_finished_is_there_and_loads(folder):
    experts, unfinished = load_experts(folder)
    assert unfinished == []
    assert [expert.task for expert in experts] == list(TASKS)
    for expert in experts:
        assert expert.steps == 58 * 512
        assert expert.curve.steps[-1] <= expert.steps  # episodes under way at the end are not logged
        assert expert.curve.steps[-1] > expert.steps - 8 * 125 * 2
        assert 0 < expert.steps_to(0.8, window=20) <= expert.curve.steps[-1]
        assert (expert.learner, expert.seed) == ("ppo", 0)
        again = evaluate(make_envs(expert.task), expert.policy, jax.random.key(5), 100).total_reward
        assert np.mean(again) == pytest.approx(expert.mean_return, abs=0.2)  # it is the policy that was measured


def test_nothing_is_trained_twice_but_seeds_can_be_added(folder):
    file = expert_folder(folder, TASKS[0], 0) / "expert.json"
    before = file.stat().st_mtime_ns
    train_experts(folder, TASKS[:1], [0], STEPS, overrides=SMALL)
    assert file.stat().st_mtime_ns == before
    with pytest.raises(UserError, match="other settings"):
        train_experts(folder, TASKS, [0], STEPS + 512, overrides=SMALL)
    with pytest.raises(UserError, match="other settings"):
        train_experts(folder, TASKS, [0], STEPS, overrides=SMALL | {"epochs": 3})


def test_an_expert_is_a_lifetime_of_one_block(folder):
    one = expert_folder(folder, TASKS[0], 0)
    config = json.loads((one / "config.json").read_text())
    assert (config["format"], config["agent"], config["preset"]) == (2, "fresh-learner", "fast")
    assert config["syllabus"]["scenario"] == "single-task"
    assert [block["task"] for block in config["syllabus"]["learning"]] == [TASKS[0]]
    assert config["syllabus"]["episodes"] == 0
    assert config["settings"]["network"]["hidden"] == [16, 16]
    assert [file.parent.name for file in one.rglob("*.tsv")] == ["0-train"]  # no evaluation blocks
    assert json.loads((one / "scenario_info.json").read_text())["scenario_type"] == "ste"
    about = json.loads((one / "expert.json").read_text())
    assert about["learner"]["algorithm"] == "ppo"
    assert about["learner"]["network"]["hidden"] == [16, 16]
    assert len(about["returns"]) == 100


def contents(folder):
    about = json.loads((folder / "expert.json").read_text())
    del about["seconds"]
    log = (folder / "worker-default" / "0-train" / "data-log.tsv").read_bytes()
    with np.load(folder / "policy.npz") as archive:
        return about, log, {name: archive[name].tobytes() for name in archive.files}


@pytest.mark.parametrize("saves", ["often", "never"])
def test_interrupted_and_resumed_is_as_if_never_interrupted(folder, tmp_path, monkeypatch, saves):
    """Killed in the middle, with or without a save before: the same log, policy and returns, bit for bit."""
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_SAVES", -1.0 if saves == "often" else 1e9)
    out, task = tmp_path / "seed-0", TASKS[1]
    reports = []

    def interrupts(part, note):
        reports.append(part)
        if len(reports) == 3:  # woken, and two stretches of training
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_expert(out, spec_of(task), report=interrupts)
    assert (out / "checkpoint.npz").exists() == (saves == "often")
    log = out / "worker-default" / "0-train" / "data-log.tsv"
    log.write_bytes(log.read_bytes() + b"0\t99\tworker-def")  # the row that was being written
    parts = []
    train_expert(out, spec_of(task), report=lambda part, note: parts.append(part))
    assert (parts[0] > 0.5) == (saves == "often")
    assert not (out / "checkpoint.npz").exists()
    assert contents(out) == contents(expert_folder(folder, task, 0))


def test_killed_between_summary_and_expert_json_is_finished_by_the_next_call(folder, tmp_path, monkeypatch):
    """Training is over, the evaluation is not: only that is done again, by the same command."""

    def dies(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(expert_module, "evaluate", dies)
        train_experts(tmp_path, TASKS[1:], [0], STEPS, overrides=SMALL)
    out = expert_folder(tmp_path, TASKS[1], 0)
    assert (out / "summary.json").exists()
    with pytest.raises(UserError, match="is not finished"):
        load_expert(out)
    assert load_experts(tmp_path) == ([], [out])
    written = (out / "policy.npz").stat().st_mtime_ns
    train_experts(tmp_path, TASKS[1:], [0], STEPS, overrides=SMALL)
    assert (out / "policy.npz").stat().st_mtime_ns == written  # nothing was trained again
    assert contents(out) == contents(expert_folder(folder, TASKS[1], 0))


def test_other_learners_make_experts_too(tmp_path):
    overrides = {"num_envs": 4, "num_steps": 16, "network.hidden": [8]}
    train_experts(tmp_path, TASKS[:1], [3], 640, overrides=overrides, learner="vtrace", preset="paper")
    [expert], _ = load_experts(tmp_path)
    assert (expert.learner, expert.seed, expert.steps) == ("vtrace", 3, 640)
    with pytest.raises(UserError, match="other settings"):
        train_experts(tmp_path, TASKS[:1], [3], 640, overrides=SMALL)
    with pytest.raises(UserError, match="no learner is called 'dqn'"):
        train_experts(tmp_path / "new", TASKS[:1], [0], 640, learner="dqn")
    assert not (tmp_path / "new").exists()


def test_a_job_that_is_told_to_stop_saves_first(tmp_path):
    def stops(part, note):
        raise Stopped

    with pytest.raises(Stopped):
        train_expert(tmp_path / "seed-0", spec_of(TASKS[0]), report=stops)
    assert (tmp_path / "seed-0" / "checkpoint.npz").exists()


def test_half_written_and_damaged_folders_are_told(folder, tmp_path):
    with pytest.raises(UserError, match="not a folder of experts"):
        load_experts(tmp_path)
    with pytest.raises(UserError, match="there is no expert"):
        load_expert(tmp_path / "nowhere")
    half = tmp_path / "half" / TASKS[0] / "seed-0"
    logs.LogWriter(half, {})
    (tmp_path / "half" / "experts.json").write_text("{}")
    assert load_experts(tmp_path / "half") == ([], [half])
    with pytest.raises(UserError, match="not finished"):
        load_expert(half)
    good = expert_folder(folder, TASKS[0], 0)
    about = json.loads((good / "expert.json").read_text())
    (half / "expert.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="an older version's, whose policy cannot be read: train it again"):
        load_expert(half)
    (half / "config.json").write_bytes((good / "config.json").read_bytes())
    with pytest.raises(UserError, match=r"there is no .*policy\.npz"):
        load_expert(half)
    (half / "policy.npz").write_bytes((good / "policy.npz").read_bytes()[:-100])
    with pytest.raises(UserError, match="damaged"):
        load_expert(half)
    del about["returns"]
    (half / "expert.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="'returns'"):
        load_expert(half)


def test_too_few_steps_and_environments_are_refused(tmp_path):
    with pytest.raises(
        UserError, match=r"a block of 511 steps in DistShift_R2 is too short: one iteration .* 512 steps"
    ):
        train_experts(tmp_path, TASKS, [0], 511, overrides=SMALL)
    two = lambda: wakesleep.GymnasiumWorld(gymnasium.make_vec("CartPole-v1", num_envs=2))  # noqa: E731
    wakesleep.register("Pole_1", two, domain="pole")
    with pytest.raises(UserError, match="Pole_1: the agent acts in 8 environments, but there are always 2"):
        train_experts(tmp_path, ["Pole_1"], [0], STEPS, overrides=SMALL)
    assert not list(tmp_path.iterdir())  # nothing is claimed by what cannot be


def test_steps_to_a_part_of_the_peak_by_hand(tmp_path):
    writer = logs.LogWriter(tmp_path, {})
    writer.begin_block(logs.TRAIN)
    writer.write("DoorKey_S5", [logs.Episode(reward, 10) for reward in (0.0, 0.0, 0.4, 1.0, 1.0, 1.0)])
    expert = Expert("DoorKey_S5", 0, lambda view: view, np.zeros(1), 60, 1.0, tmp_path, "ppo")
    assert expert.steps_to(0.8, window=1) == 40
    assert expert.steps_to(0.8, window=2) == 50  # means 0, .2, .7, 1, 1
    assert expert.steps_to(0.6, window=2) == 40


def test_similarity_is_experts_playing_each_other(folder, tmp_path):
    experts, _ = load_experts(folder)
    result = similarity(experts)
    assert result.tasks == TASKS
    assert result.returns[0, 0] == pytest.approx(experts[0].mean_return, abs=0.25)
    assert result.returns[1, 0] < 0  # who fetches keys walks into lava
    save_csv(result, tmp_path / "s.csv")
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 5
    save_heat_map(result, tmp_path / "s.png")
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(UserError, match="png"):
        save_heat_map(result, tmp_path / "s.docx")
    with pytest.raises(UserError, match="no finished expert"):
        similarity([])
    nothing = Similarity(("A_1", "B_1"), np.array([[0.0, 0.2], [0.1, 0.5]]))
    assert np.isnan(nothing.relative[:, 0]).all()
    assert nothing.relative[:, 1].tolist() == [0.4, 1.0]


def test_trajectories_are_whole_episodes(folder):
    expert = load_experts(folder)[0][1]
    world = wakesleep.make(expert.task)
    episodes = record(world, expert.policy, jax.random.key(0), 130)
    assert len(episodes) == 130
    for episode in episodes:
        length = len(episode.action)
        assert episode.observation.shape == (length + 1, 7, 7, 3)
        ended = episode.terminated | episode.truncated
        assert ended[-1]
        assert not ended[:-1].any()
        assert (episode.reward[:-1] == 0).all()
    mean = np.mean([episode.reward.sum() for episode in episodes])
    assert mean == pytest.approx(expert.mean_return, abs=0.2)
    with pytest.raises(UserError, match="at least one"):
        record(world, expert.policy, jax.random.key(0), 0)


def test_offline_learners_load_them_with_one_line(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    expert = load_experts(folder)[0][1]
    world, name = wakesleep.make(expert.task), "wakesleep/CustomFetch_S5T1N2/expert-v0"
    export_minari(expert.task, world, expert.policy, jax.random.key(0), 5, name)
    data = minari.load_dataset(name)
    recorded = record(world, expert.policy, jax.random.key(0), 5)
    assert data.total_episodes == 5
    for found, made in zip(data.iterate_episodes(), recorded, strict=True):
        np.testing.assert_array_equal(found.observations, made.observation)  # without loss
        np.testing.assert_array_equal(found.actions, made.action)
        np.testing.assert_allclose(found.rewards, made.reward)
        np.testing.assert_array_equal(found.terminations, made.terminated)
    env = data.recover_environment()
    assert env.observation_space == data.observation_space
    with pytest.raises(UserError, match="already a dataset"):
        export_minari(expert.task, world, expert.policy, jax.random.key(0), 5, name)

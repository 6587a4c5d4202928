"""Lives and experts in environments on the host: a user's own Gymnasium environments, through the real commands."""

import csv
import json
import subprocess
import sys
from functools import partial, partialmethod
from pathlib import Path

import numpy as np
import pytest

from tests.lifetime.walks import Endless, Walk, broken
from wakesleep import GymnasiumWorld, UserError, cli
from wakesleep.errors import EnvironmentFailed
from wakesleep.jobs import is_crash
from wakesleep.lifetime import life as life_module
from wakesleep.lifetime.spec import LifetimeSpec, stored_spec
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.wake.host_envs import HostEnvs
from wakesleep.worlds import registry

ROOT = Path(__file__).parents[2]
LOAD = "tests.lifetime.walks"
LEARNER = {"num_envs": 4, "num_steps": 32, "minibatch_size": 64, "epochs": 2, "network.hidden": [16]}
SLEEPER = {
    **{f"learner.{name}": value for name, value in LEARNER.items()}, "model.network.hidden": [16], "model.latent": 8,
    "model.hidden": 16, "sleep.iterations": 20, "wake_buffer_size": 200, "random_replay_per_sleep": 16,
}  # fmt: skip
SHORT = pairwise("Walk_left", "Walk_right", seed=1, scale=0.25, episodes=5)  # 1,024 steps a block


def ignore(part, note):
    pass


@pytest.fixture(autouse=True)
def all_are_closed():
    """Whatever happens, no environment stays open."""
    before, Walk.fails_in, Walk.bad_reward_in = Walk.alive, None, None
    yield
    assert Walk.alive <= before  # garbage of other tests may go meanwhile


def settings(overrides):
    return [f"{name}={str(value).replace(' ', '')}" for name, value in overrides.items()]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["wakesleep", *map(str, arguments)])
    cli.main()


def rows(folder):
    """All rows of a log, block by block, as they stand there."""
    files = sorted(folder.rglob("data-log.tsv"), key=lambda file: int(file.parent.name.split("-")[0]))
    return [row for file in files for row in csv.DictReader(file.open(newline=""), delimiter="\t")]


def logged(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.tsv"))}


def spec_of(agent, overrides, syllabus=SHORT, seed=0):
    return LifetimeSpec(agent, "fast", syllabus, seed, overrides)


@pytest.mark.parametrize(
    ("agent", "overrides"),
    [
        ("random", {}),
        ("fresh-learner", LEARNER),
        ("sequential", SLEEPER),
        ("hidden", {**SLEEPER, "copy_weights": True}),
    ],
)
def test_agents_live_in_gymnasium_environments(agent, overrides, tmp_path):
    """The other wake-sleep agents differ from `hidden` in how they sleep. `copy_weights` adds evaluations at waking."""
    syllabus = pairwise("Walk_left", "Walk_right", seed=1, scale=0.5, episodes=5)  # chance takes 2,048 steps at a time
    words = spec_of(agent, overrides, syllabus).open(tmp_path).run(ignore)
    assert words.startswith("Walk_left ")
    found = rows(tmp_path)
    assert [int(row["exp_num"]) for row in found] == list(range(len(found)))
    assert [row["task_name"] for row in found if row["block_num"] == "4"] == ["Walk_left"] * 5 + ["Walk_right"] * 5
    for block, task in (("1", "Walk_left"), ("3", "Walk_right")):
        learned = [row for row in found if row["block_num"] == block]
        assert {row["task_name"] for row in learned} == {task}
        steps = sum(int(row["episode_step_count"]) for row in learned)
        assert 2048 - 16 * 10 <= steps <= 2048
        assert all(int(row["episode_step_count"]) <= 10 for row in learned)


def test_it_learns_and_forgets_as_in_jax(tmp_path):
    """4,096 steps of each; chance ends at about 0.6. What is seen says which end counts, so both can be known."""
    overrides = {**LEARNER, "num_envs": 8, "epochs": 4, "learning_rate": 3e-3}
    syllabus = pairwise("Walk_left", "Walk_right", seed=1, episodes=40)
    spec_of("baseline", overrides, syllabus).open(tmp_path).run(ignore)
    found = rows(tmp_path)

    def returns(block, task):
        return np.mean([float(row["reward"]) for row in found if (row["block_num"], row["task_name"]) == (block, task)])

    assert returns("0", "Walk_left") < 0.85
    assert returns("2", "Walk_left") > 0.97
    assert returns("4", "Walk_right") > 0.97


def test_evaluations_begin_alike_and_seeds_are_small(tmp_path):
    Walk.seeds = ()
    spec_of("baseline", LEARNER).open(tmp_path).run(ignore)
    first, second = (Walk.seeds[at : at + 8] for at in (0, 8))  # five episodes in four environments: two rounds
    assert first == tuple(range(first[0], first[0] + 8))
    rest = [Walk.seeds[at : at + 8] for at in range(16, len(Walk.seeds))]
    assert rest.count(first) == rest.count(second) == 2
    assert 0 <= min(Walk.seeds) <= max(Walk.seeds) < 2**31
    assert len(Walk.seeds) == 3 * 16 + 2 * 4


@pytest.mark.parametrize("agent", ["hidden", "baseline"])
def test_interrupted_through_the_real_command_line_and_resumed(agent, tmp_path, monkeypatch, capsys):
    """In the middle of the second block, by an environment that fails; then `resume`, metrics and the report."""
    out, overrides = tmp_path / agent, SLEEPER if agent == "hidden" else LEARNER
    arguments = [
        "--set",
        *settings(overrides),
        "--tasks",
        "Walk_left",
        "Walk_right",
        "--scale",
        "0.5",
        "--episodes",
        "5",
    ]
    monkeypatch.setattr("wakesleep.lifetime.plan.CHUNK_STEPS", 256)
    Walk.fails_in = 3200  # evaluations take up to 160 of them, blocks 2,048
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, "run", "--agent", agent, "--out", out, "--load", LOAD, *arguments)
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "Walk_right: an environment failed at step" in told
    assert "(RuntimeError: the robot fell over, walks.py line" in told
    assert f"`wakesleep resume {out}` goes on" in told
    assert "Traceback" not in told
    before = rows(out)
    assert json.loads((out / "config.json").read_text())["load"] == [LOAD]
    run(monkeypatch, "resume", out)
    found = rows(out)
    assert found[: len(before)] == before  # nothing is lost or done twice
    assert [int(row["exp_num"]) for row in found] == list(range(len(found)))
    assert [row["block_type"] for row in found if row["block_num"] == "4"] == ["test"] * 10
    steps = sum(int(row["episode_step_count"]) for row in found if row["block_num"] == "3")
    assert 2048 - 2 * 4 * 10 <= steps <= 2048  # at most two times four episodes were not finished
    assert json.loads((out / "summary.json").read_text())["final_returns"].keys() == {"Walk_left", "Walk_right"}
    run(monkeypatch, "metrics", out)
    run(monkeypatch, "report", out, "--out", tmp_path / "page.html", "--load", LOAD)
    printed = capsys.readouterr().out
    assert "1 lifetimes" in printed
    assert "no episodes of" not in printed
    assert "Walk_right" in (tmp_path / "page.html").read_text()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A life that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    spec_of("baseline", LEARNER).open(folder).run(ignore)
    return folder


@pytest.mark.parametrize("cut", range(7))
def test_cut_after_any_unit(whole, cut, tmp_path, monkeypatch):
    """Between blocks a life goes on to the same bytes; within one, episodes under way begin anew and all else holds."""
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_SAVES", -1.0)
    reports = []

    def cuts(part, note):
        reports.append(note)
        if len(reports) == cut + 1:
            raise KeyboardInterrupt

    spec = spec_of("baseline", LEARNER)
    with pytest.raises(KeyboardInterrupt):
        spec.open(tmp_path).run(cuts)
    assert stored_spec(tmp_path) == spec
    spec.open(tmp_path).run(ignore)
    if not reports[-1].startswith("waking"):  # in a block of one unit, only waking is in its midst
        assert logged(tmp_path) == logged(whole)
    found = rows(tmp_path)
    assert [int(row["exp_num"]) for row in found] == list(range(len(found)))
    assert {row["block_num"] for row in found} == {"0", "1", "2", "3", "4"}


def test_killed_in_a_process_of_its_own(tmp_path):
    """The whole way of a user: a module in the current folder, `run`, kill -9, `resume`."""
    (tmp_path / "mine.py").write_text(f"import sys\nsys.path.append({str(ROOT)!r})\nimport tests.lifetime.walks\n")
    kill = "import os, signal\nimport wakesleep.lifetime.life as life\nlife.SECONDS_BETWEEN_SAVES = -1.0\n"
    dies = (
        kill + "do = life.Lifetime._train\n"
        "def train(self, unit, key):\n"
        "    do(self, unit, key)\n"
        "    if unit.block == 1 and self.unit > 6: os.kill(os.getpid(), signal.SIGKILL)\n"
        "life.Lifetime._train = train\nfrom wakesleep.cli import main; main()"
    )
    overrides = settings(SLEEPER | {"sleeps_per_block": 2})
    command = ["run", "--agent", "hidden", "--set", *overrides, "--tasks", "Walk_left", "Walk_right", "--scale", "0.25",
               "--episodes", "3", "--out", "life", "--load", "mine"]  # fmt: skip
    died = subprocess.run([sys.executable, "-c", dies, *command], cwd=tmp_path, capture_output=True)
    assert died.returncode == -9, died.stderr.decode()
    assert (tmp_path / "life" / "checkpoint.npz").exists()
    again = [sys.executable, "-m", "wakesleep", "resume", "life"]  # config.json knows which module to load
    subprocess.run(again, cwd=tmp_path, check=True, capture_output=True)
    found = rows(tmp_path / "life")
    assert [int(row["exp_num"]) for row in found] == list(range(len(found)))
    assert {row["block_num"] for row in found} == {"0", "1", "2", "3", "4"}
    assert len(list((tmp_path / "life" / "diagnostics").glob("*.npz"))) == 4


def test_vector_environments_of_ones_own(tmp_path):
    """Next-step autoreset: rows that only reset are no steps, neither in the log nor in the wake buffer."""
    syllabus = pairwise("WalkVector_left", "WalkVector_right", seed=1, episodes=6)
    life = spec_of("hidden", SLEEPER, syllabus).open(tmp_path)
    life.run(ignore)
    learned = [row for row in rows(tmp_path) if row["block_num"] == "3"]
    steps, ends = sum(int(row["episode_step_count"]) for row in learned), len(learned)
    assert 1024 - ends - 4 * 10 <= steps <= 1024 - ends + 4
    seen = np.asarray(life.state.buffer.pairs.observation)
    assert (seen[:, 1] == 4).all()
    assert (seen[:, 0] < 4).all()  # at the end nothing is done any more


def test_what_cannot_be_spelled_out_is_read_as_numbers(tmp_path):
    """The preset's one-hot inputs do not suit CartPole; all settings are in config.json as they were used."""
    syllabus = pairwise("CartPole_v1", "CartPole_short", seed=1, scale=0.5, episodes=3)
    for agent, overrides in (("two-headed", SLEEPER), ("baseline", LEARNER)):
        spec = spec_of(agent, overrides, syllabus)
        spec.open(tmp_path / agent).run(ignore)
        written = json.loads((tmp_path / agent / "config.json").read_text())["settings"]
        assert written.get("learner", written)["network"]["encoding"] == "scale"
        assert not written.get("model", {}).get("categorical")
        assert LifetimeSpec.from_json(json.loads((tmp_path / agent / "config.json").read_text())) == spec
    short = [row for row in rows(tmp_path / "baseline") if row["task_name"] == "CartPole_short"]
    assert max(int(row["episode_step_count"]) for row in short) <= 20
    assert spec_of("baseline", LEARNER).config.network.encoding.value == "one-hot"  # five cells can be


def test_experts(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("wakesleep.lifetime.plan.CHUNK_STEPS", 256)
    out = tmp_path / "experts"
    train = ["experts", "train", "--out", out, "--domain", "walks", "--tasks", "Walk_left", "Walk_right", "--steps",
             "1024", "--jobs", "1", "--load", LOAD, "--set", *settings(LEARNER)]  # fmt: skip
    Walk.fails_in = 600
    with pytest.raises(SystemExit):
        run(monkeypatch, *train)
    told = capsys.readouterr()
    assert "1 of 2 jobs failed: see above" in told.err
    assert "Walk_left: an environment failed at step" in " ".join(told.out.split())
    assert (out / "Walk_left" / "seed-0" / "checkpoint.npz").exists()
    run(monkeypatch, *train)  # goes on with the first, and keeps the second
    run(monkeypatch, "experts", "show", out, "--load", LOAD)
    printed = capsys.readouterr().out
    assert "Walk_left" in printed
    assert (out / "similarity.csv").exists()
    made = json.loads((out / "Walk_left" / "seed-0" / "expert.json").read_text())
    assert (made["steps"], len(made["returns"])) == (1024, 100)
    found = rows(out / "Walk_left")
    assert [int(row["exp_num"]) for row in found] == list(range(len(found)))
    with pytest.raises(SystemExit):
        run(monkeypatch, "experts", "export", out, "--load", LOAD)
    assert "Walk_left runs outside JAX: export needs a world in JAX" in capsys.readouterr().err


def test_an_experiment(tmp_path, monkeypatch, capsys):
    text = "preset: fast\nsyllabi: [[Walk_left, Walk_right]]\nscale: 0.125\nepisodes: 3\nagents:\n"
    for name, overrides in (("baseline", LEARNER), ("hidden", SLEEPER)):
        text += f"  - {json.dumps({'name': name, 'settings': overrides})}\n"
    (tmp_path / "grid.yaml").write_text(text)
    monkeypatch.chdir(ROOT)
    run(monkeypatch, "experiment", tmp_path / "grid.yaml", "--out", tmp_path / "out", "--jobs", "1", "--load", LOAD)
    assert "2 lifetimes" in capsys.readouterr().out
    assert len(list((tmp_path / "out").rglob("summary.json"))) == 2
    (tmp_path / "grid.yaml").write_text(text.replace("Walk_", "WalkVector_").replace('"num_envs": 4', '"num_envs": 2'))
    with pytest.raises(SystemExit):
        run(monkeypatch, "experiment", tmp_path / "grid.yaml", "--out", tmp_path / "other", "--load", LOAD)
    assert "WalkVector_left: the agent acts in 2 environments, but there are always 4" in capsys.readouterr().err


def test_what_is_no_number(tmp_path):
    Walk.bad_reward_in = 900
    with pytest.raises(EnvironmentFailed, match=r"Walk_left: environment . gave a reward that is not a finite number"):
        spec_of("baseline", LEARNER).open(tmp_path).run(ignore)
    spec_of("baseline", LEARNER).open(tmp_path).run(ignore)
    assert all(np.isfinite(float(row["reward"])) for row in rows(tmp_path))


def test_what_does_not_go_together(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    registry.register("Endless_1", partial(GymnasiumWorld, partial(Endless, 0)), domain="walks", block_steps=1024)
    registry.register("Broken_1", broken, domain="walks", block_steps=1024)
    for tasks, why in (
        (("Walk_left", "CartPole_v1"), r"differ \(\(2,\) int32 and \(4,\) float32\)"),
        (("Walk_left", "Walk_tall"), "other bounds: give both worlds the same `observation_spec`"),
        (
            ("Broken_1", "Walk_left"),
            r"Broken_1 cannot be made \(FileNotFoundError: where is robot.xml\?, walks.py line",
        ),
    ):
        with pytest.raises(UserError, match=why):
            pairwise(*tasks, seed=1)
    vectors = pairwise("WalkVector_left", "WalkVector_right", seed=1, scale=2.0)
    with pytest.raises(UserError, match="WalkVector_left: the agent acts in 16 environments, but there are always 4"):
        spec_of("random", {}, vectors).open(tmp_path / "a")
    endless = spec_of("baseline", LEARNER, pairwise("Endless_1", "Walk_left", seed=1, episodes=3)).open(tmp_path / "b")
    with monkeypatch.context() as patch:
        patch.setattr(HostEnvs, "run_episodes", partialmethod(HostEnvs.run_episodes, max_steps=50))
        with pytest.raises(
            UserError, match="Endless_1: an episode had no end after 50 steps: give the environment a step limit"
        ):
            endless.run(ignore)


def test_failed_environments_are_tried_again_in_experiments():
    assert is_crash(EnvironmentFailed("fell over"))
    assert not is_crash(UserError("refused"))

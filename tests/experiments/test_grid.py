"""Grids of lifetimes: expanded in order, every preset file of the project too; mistakes are named with file and key."""

from pathlib import Path

import pytest

from wakesleep import UserError
from wakesleep.agents import presets
from wakesleep.agents.baselines import LearnerAgent
from wakesleep.experiments.grid import SHIPPED, find_grid, load_grid
from wakesleep.syllabus.scenarios import paper_syllabi
from wakesleep.wake.ppo import PPOConfig
from wakesleep.wake.vtrace import VTraceConfig
from wakesleep.worlds import registry

CONFIGS = sorted(SHIPPED.glob("*.yaml"))


def grid(folder, text):
    (folder / "grid.yaml").write_text(text)
    return load_grid(folder / "grid.yaml")


def test_expansion(tmp_path):
    planned = grid(tmp_path, """
scenario: [pairwise, condensed]
preset: fast
syllabi: 2
seeds: [3, 7]
scale: 0.5
episodes: 10
agents:
  - random
  - {name: hidden, label: twice, preset: paper, settings: {sleeps_per_block: 2}}
""")  # fmt: skip
    assert [life.name for life in planned[:8]] == [
        "pairwise/random/01-3", "pairwise/twice/01-3", "pairwise/random/01-7", "pairwise/twice/01-7",
        "pairwise/random/02-3", "pairwise/twice/02-3", "pairwise/random/02-7", "pairwise/twice/02-7",
    ]  # fmt: skip
    assert [life.name.replace("condensed", "pairwise") for life in planned[8:]] == [life.name for life in planned[:8]]
    spec = planned[3].spec
    assert (spec.agent, spec.label, spec.preset, spec.seed) == ("hidden", "twice", "paper", 7)
    assert spec.overrides == {"sleeps_per_block": 2}
    assert planned[0].spec.label == ""
    assert [planned[at].spec.syllabus for at in (0, 4)] == paper_syllabi("pairwise", 2, scale=0.5, episodes=10)
    assert spec.syllabus == planned[1].spec.syllabus  # the seed is the agent's
    assert planned[8].spec.syllabus.learning[0].steps in (100_000, 150_000, 175_000, 200_000, 250_000, 350_000)


def test_syllabi_of_your_own(tmp_path):
    pairs = grid(tmp_path, "syllabi: [[DoorKey_S5, DistShift_R2], [DistShift_R2, DoorKey_S5]]\nagents: [random]\n")
    assert [life.spec.syllabus.tasks[0] for life in pairs] == ["DoorKey_S5", "DistShift_R2"]
    (tmp_path / "mine.yaml").write_text("learn: [{task: DoorKey_S5, steps: 5000}]\nepisodes: 3\n")
    [life] = grid(tmp_path, "scenario: custom\nsyllabi: [mine.yaml]\nagents: [random]\n")
    assert life.name == "custom/random/01-0"
    assert life.spec.syllabus.steps == 5000


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_the_paper_s_experiments_can_be_expanded(file):
    planned = load_grid(file)
    assert len({life.name for life in planned}) == len(planned)
    if file.stem in ("minigrid-pairwise", "minigrid-condensed"):
        assert len(planned) == 8 * 36
    if file.stem in ("starcraft-replay", "starcraft-architectures"):
        assert len(planned) == 6 * 3 * 12
        assert {life.spec.syllabus.learning[0].steps for life in planned} == {2_000_000}
    domain = file.stem.split("-")[0]
    assert all(
        registry.task_info(task).domain.startswith(domain) for life in planned for task in life.spec.syllabus.tasks
    )
    for life in planned:
        if life.spec.syllabus.scenario == "dispersed" and life.spec.agent not in ("random", "baseline"):
            assert life.spec.overrides["advice_steps"] == 33_333


ONE = "agents: [random]\n"
PAIR = "syllabi: [[DoorKey_S5, DistShift_R2]]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents: [a", "is not YAML"),
        ("- agents", "is a mapping with the keys scenario"),
        (ONE + "sylabi: 3", "does not know 'sylabi'"),
        ("scenario: pairwise", "needs a list of `agents`"),
        ("agents: []", "needs a list of `agents`"),
        ("agents: [hiden]", "agent hiden: no agent is called 'hiden'"),
        ("agents: [random, 3]", "agent 2 is a mapping with the keys name"),
        ("agents: [{label: x}]", "agent 1 needs a `name`"),
        ("agents: [random, random]", "'random' is there twice; give one of them a label"),
        ("agents: [{name: random, label: a/b}]", "`label` is the name of a folder"),
        ("agents: [{name: hidden, settings: [1]}]", "`settings` is a mapping"),
        ("agents: [{name: hidden, settings: {naps: 1}}]", "agent hidden: no setting is called 'naps'"),
        ("agents: [{name: hidden, settings: {sleeps_per_block: 0}}]", "agent hidden: .*at least once"),
        (ONE + "preset: quick", "agent .*: no preset of random is called 'quick'"),
        (ONE + "preset: [fast]", "agent 1: `preset` is a name"),
        (ONE + "scenario: triple", "scenario: no scenario is called 'triple'"),
        (ONE + "scenario: [pairwise, pairwise]", "scenario: 'pairwise' is there twice"),
        (ONE + "scenario: []", "scenario: at least one"),
        (ONE + "domain: atari", "syllabi: no domain is called 'atari'"),
        ("agents: [{name: hidden, learner: dqn}]", "agent hidden: no learner is called 'dqn'"),
        ("agents: [{name: hidden, learner: 3}]", "agent 1: `learner` is a name"),
        (ONE + "domain: 3", "domain: a domain is a name"),
        (ONE + "syllabi: 0", "syllabi: 0 should be a whole number from 1"),
        (ONE + "syllabi: 1000", "syllabi: there are .* ordered pairs"),
        (ONE + "syllabi: []", "syllabi: at least one"),
        (ONE + "syllabi: [DoorKey_S5]", "syllabi: each is a list of tasks"),
        (ONE + "syllabi: [[DoorKey_S5]]", "syllabi: a pairwise syllabus takes two tasks"),
        (ONE + "syllabi: [[DoorKey_S5, DoorKey_S9]]", "syllabi: no task is called 'DoorKey_S9'"),
        (ONE + "seeds: -1", "seeds: -1 should be a whole number"),
        (ONE + "seeds: [0, 0]", "seeds: 0 is there twice"),
        (ONE + "seeds: []", "seeds: at least one"),
        (ONE + "seeds: [one]", "seeds: 'one' should be a whole number"),
        (ONE + "scale: 0", "scale: 0 should be a number above 0"),
        (ONE + "scale: .inf", "scale: inf should be a number above 0"),
        (ONE + "scale: yes", "scale: True should be"),
        (ONE + PAIR + "scale: 0.0001", "agent random: a block of 20 steps in DoorKey_S5 is too short"),
        (ONE + "episodes: 1.5", "episodes: 1.5 should be a whole number"),
        (ONE + "scenario: custom", "with scenario custom, it is a list of files"),
        (ONE + "scenario: custom\nsyllabi: [none.yaml]", "there is no .*none.yaml"),
        (ONE + "scenario: custom\nsyllabi: [none.yaml]\nscale: 2", "syllabi: files of your own say .* `scale`"),
    ],
)
def test_mistakes(tmp_path, text, words):
    with pytest.raises(UserError, match=words) as caught:
        grid(tmp_path, text)
    assert "grid.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match="there is no"):
        load_grid(tmp_path / "none.yaml")


def test_experiments_that_come_with_the_package_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_grid("minigrid-quick") == SHIPPED / "minigrid-quick.yaml"
    assert find_grid("mine.yaml") == Path("mine.yaml")
    (tmp_path / "minigrid-quick").write_text(ONE)  # a file of that very name comes first
    assert find_grid("minigrid-quick") == Path("minigrid-quick")
    with pytest.raises(
        UserError, match=r"no experiment is called 'quick': there are .*minigrid-quick, .*or name a YAML"
    ):
        find_grid("quick")


def test_other_learners_and_agents_without_presets(tmp_path, monkeypatch):
    """An experiment's preset is for those agents that have it."""
    monkeypatch.setattr(presets, "_AGENTS", dict(presets._AGENTS))
    presets.register_agent("plain", LearnerAgent, PPOConfig(num_envs=4, num_steps=32))
    agents = "agents: [plain, {name: hidden, learner: vtrace}]\n"
    plain, hidden = grid(tmp_path, "preset: fast\n" + PAIR + agents)
    assert (plain.spec.preset, plain.spec.learner) == (None, None)
    assert (hidden.spec.preset, hidden.spec.learner) == ("fast", "vtrace")
    assert isinstance(hidden.spec.config.learner, VTraceConfig)
    with pytest.raises(UserError, match="the agent 'plain' has no presets: leave the preset 'fast' out"):
        grid(tmp_path, PAIR + "agents: [{name: plain, preset: fast}]\n")

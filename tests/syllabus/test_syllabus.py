"""Syllabi: the scenarios, TELLA's chain of seeds, files of one's own, and what is refused."""

import jax
import numpy as np
import pytest

import wakesleep
from tests.worlds.toys import Corridor
from wakesleep import UserError
from wakesleep.syllabus.custom import load_syllabus
from wakesleep.syllabus.scenarios import (
    alternating,
    condensed,
    dispersed,
    pairwise,
    paper_pairs,
    paper_syllabi,
)
from wakesleep.syllabus.seeds import evaluation_initial_states, evaluation_seeds, lifetime_seed
from wakesleep.syllabus.syllabus import LearningBlock, Syllabus
from wakesleep.wake.envs import key_from_seed
from wakesleep.wake.make_envs import make_envs
from wakesleep.worlds import registry
from wakesleep.worlds.batch import draw_initial_states
from wakesleep.worlds.host import EpisodeSeeds
from wakesleep.worlds.minigrid import farama

PAPER = registry.tasks("minigrid", paper_only=True)


def test_tellas_chain_of_seeds():
    """Numbers that TELLA 2.1.0 itself gave for --curriculum-seed 0."""
    own = lifetime_seed(0, 0)
    assert own == 11749869230777074271
    assert [lifetime_seed(0, number) for number in (1, 2)] == [4976686463289251617, 755828109848996024]
    syllabus = condensed(PAPER, own)
    assert syllabus.evaluation_seed == 5474506302624902014
    assert evaluation_seeds(syllabus.evaluation_seed, 3) == [
        9053594427957499810, 14170547614113703081, 13534878838092024580,
    ]  # fmt: skip
    assert [PAPER.index(block.task) for block in syllabus.learning] == [4, 2, 0, 1, 3, 5, 6, 8, 9, 7]
    assert syllabus.learning[0].seed == 16813022310981267606


def test_scenarios():
    pair = pairwise("DoorKey_S5", "CustomFetch_S8T1N2", seed=1)
    assert [(block.task, block.steps) for block in pair.learning] == [
        ("DoorKey_S5", 200_000), ("CustomFetch_S8T1N2", 700_000),
    ]  # fmt: skip
    assert pair.steps == 900_000
    turns = alternating("DoorKey_S5", "DistShift_R2", seed=1, scale=0.1)
    assert [block.task for block in turns.learning] == ["DoorKey_S5", "DistShift_R2"] * 3
    assert {block.steps for block in turns.learning} == {20_000}
    assert len({block.seed for block in turns.learning}) == 6
    every = condensed(PAPER, seed=1)
    assert sorted(block.task for block in every.learning) == sorted(PAPER)
    assert every.steps == 3_500_000
    spread = dispersed(PAPER, seed=1)
    assert len(spread.learning) == 30
    assert spread.steps == 3_500_000
    passes = [tuple(block.task for block in spread.learning[at : at + 10]) for at in (0, 10, 20)]
    assert len(set(passes)) == 3
    assert all(sorted(one) == sorted(PAPER) for one in passes)


def test_the_choice_of_thirty_six():
    pairs = paper_pairs()
    assert len(set(pairs)) == 36
    assert all(first != second for first, second in pairs)
    assert {task for pair in pairs for task in pair} == set(PAPER)
    assert len(set(paper_pairs(90))) == 90
    for scenario in ("pairwise", "alternating", "condensed", "dispersed"):
        syllabi = paper_syllabi(scenario, 5)
        assert len(syllabi) == 5
        assert len({syllabus.evaluation_seed for syllabus in syllabi}) == 5
        assert syllabi == paper_syllabi(scenario, 5)
    assert len({tuple(block.task for block in one.learning) for one in paper_syllabi("condensed")}) == 36
    with pytest.raises(UserError, match="no scenario is called 'random'"):
        paper_syllabi("random")
    with pytest.raises(UserError, match="there are 90 ordered pairs"):
        paper_pairs(91)


def test_evaluation_layouts_are_the_real_environments():
    """Ours of a seed, and those of the minigrid package reset with it and then again and again."""
    for task in ("DoorKey_S6", "SimpleCrossing_S9N2"):
        starts = evaluation_initial_states(task, make_envs(task), 5474506302624902014, 5)
        env = farama.make_env(task)
        for episode in range(5):
            observation, _ = env.reset(seed=5474506302624902014 if episode == 0 else None)
            np.testing.assert_array_equal(starts.observation[episode], observation)
        assert len({bytes(np.asarray(grid)) for grid in starts.state.grid}) > 1


def test_other_worlds_are_evaluated_from_starts_of_their_own(monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    wakesleep.register("Corridor_L9", lambda: Corridor(jax.numpy.int32(9)), domain="corridor")
    starts, again, other = (
        evaluation_initial_states("Corridor_L9", make_envs("Corridor_L9"), seed, 50) for seed in (3, 3, 4)
    )
    assert (starts.observation == again.observation).all()
    assert (starts.observation != other.observation).any()
    assert len(set(starts.observation.ravel().tolist())) > 3
    assert (key_from_seed(2**40 + 1) != key_from_seed(1)).all()


def test_a_task_may_prescribe_its_evaluation_states(monkeypatch):
    """It is given the world, the seed and how many; environments on the host begin by consecutive seeds."""
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))

    def prescribed(world, seed, episodes):
        return draw_initial_states(world, jax.random.key(seed + episodes), episodes)

    wakesleep.register(
        "Corridor_P9", lambda: Corridor(jax.numpy.int32(9)), domain="corridor", evaluation_states=prescribed
    )
    starts = evaluation_initial_states("Corridor_P9", make_envs("Corridor_P9"), 3, 50)
    expected = draw_initial_states(Corridor(jax.numpy.int32(9)), jax.random.key(53), 50)
    assert (starts.observation == expected.observation).all()
    wakesleep.register("Pole_3", lambda: wakesleep.GymnasiumWorld("CartPole-v1", 2), domain="pole")
    assert evaluation_initial_states("Pole_3", make_envs("Pole_3"), 2**33 + 5, 50) == EpisodeSeeds(5, 50)


def write(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return file


def test_a_syllabus_of_ones_own(tmp_path):
    text = "episodes: 7\nlearn:\n  - DoorKey_S5\n  - {task: DistShift_R2, steps: 5000}\n  - DoorKey_S5\n"
    syllabus = load_syllabus(write(tmp_path, text), seed=3)
    assert syllabus.tasks == ("DoorKey_S5", "DistShift_R2")
    assert [block.steps for block in syllabus.learning] == [200_000, 5_000, 200_000]
    assert syllabus.episodes == 7
    more = load_syllabus(write(tmp_path, text + "tasks: [DistShift_R2, DoorKey_S5, DoorKey_S6]\n"), seed=3)
    assert more.tasks == ("DistShift_R2", "DoorKey_S5", "DoorKey_S6")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("learn: [", "is not YAML"),
        ("learn: []", "list of learning blocks"),
        ("- DoorKey_S5", "is a mapping"),
        ("learn: [DoorKey_S5]\nepisode: 3", "does not know 'episode'"),
        ("learn: [DoorKey_S5]\nepisodes: 0", "whole number from 1"),
        ("learn: [DoorKey_S5]\nepisodes: many", "whole number from 1"),
        ("learn: [DoorKey_S99]", "no task is called"),
        ("learn: [DoorKey_S7]", "no block length of its own"),
        ("learn: [{task: DoorKey_S5, steps: 0}]", "learning block 1: 0 should be"),
        ("learn: [{steps: 5}]", "needs the name of a `task`"),
        ("learn: [{task: DoorKey_S5, step: 5}]", "does not know 'step'"),
        ("learn: [DoorKey_S5]\ntasks: [DistShift_R2]", "is not among the tasks"),
        ("learn: [DoorKey_S5]\ntasks: DoorKey_S5", "list of names"),
        ("learn: [DoorKey_S5]\ntasks: [DoorKey_S5, DoorKey_S5]", "evaluated once"),
    ],
)
def test_what_a_file_may_not_say(tmp_path, text, why):
    with pytest.raises(UserError, match=why):
        load_syllabus(write(tmp_path, text), seed=0)


def test_impossible_syllabi(monkeypatch, tmp_path):
    with pytest.raises(UserError, match="there is no"):
        load_syllabus(tmp_path / "none.yaml", 0)
    with pytest.raises(UserError, match="two different tasks"):
        pairwise("DoorKey_S5", "DoorKey_S5", 0)
    with pytest.raises(UserError, match="at least one step"):
        LearningBlock("DoorKey_S5", 0, 1)
    with pytest.raises(UserError, match="at least one learning block"):
        Syllabus("custom", ("DoorKey_S5",), (), 0)
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    wakesleep.register("Corridor_L9", lambda: Corridor(jax.numpy.int32(9)), domain="corridor", block_steps=100)
    with pytest.raises(UserError, match="cannot be in one life"):
        pairwise("DoorKey_S5", "Corridor_L9", 0)
    wakesleep.register("Pole_2", lambda: wakesleep.GymnasiumWorld("CartPole-v1", 2), domain="pole", block_steps=100)
    with pytest.raises(UserError, match="cannot be in one life"):
        pairwise("Pole_2", "Corridor_L9", 0)

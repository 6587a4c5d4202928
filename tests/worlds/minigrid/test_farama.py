"""The reference side: TELLA's layouts, bit for bit, and its rules."""

import hashlib

import gymnasium
import numpy as np
import pytest

import wakesleep  # noqa: F401  (registers the environments)
from wakesleep.errors import UserError
from wakesleep.worlds.minigrid.farama import layout_of, make_env
from wakesleep.worlds.minigrid.tasks import TASKS

GOLDEN = {
    "SimpleCrossing_S9N1": "7020daf890aa6cb1",
    "SimpleCrossing_S9N2": "238435ad21f7f9b9",
    "DistShift_R2": "f0142361ade738ff",
    "DistShift_R3": "ca4e4c517d5e7fb6",
    "CustomFetch_S5T1N2": "0628ed210b154e03",
    "CustomFetch_S8T1N2": "0b926e512462916f",
    "CustomUnlock_S5": "d892744b7e32d991",
    "CustomUnlock_S7": "b7cb6e48a049ff7c",
    "DoorKey_S5": "528f49991ab5a041",
    "DoorKey_S6": "a3c93ba360e9b36d",
}
"""TELLA 2.1.0's first images, seeds 0 to 29, three resets each: first 16 hex digits of their SHA-256."""


@pytest.mark.parametrize("task", GOLDEN)
def test_layouts_are_tellas(task):
    env = make_env(task)
    digest = hashlib.sha256()
    for seed in range(30):
        for reset in range(3):
            image, _ = env.reset(seed=seed) if reset == 0 else env.reset()
            digest.update(np.ascontiguousarray(image).tobytes())
    assert digest.hexdigest()[:16] == GOLDEN[task]
    assert TASKS[task].in_paper


def test_the_paper_uses_ten_of_eighteen():
    assert {name for name, task in TASKS.items() if task.in_paper} == set(GOLDEN)
    assert len(TASKS) == 18


@pytest.mark.parametrize("task", TASKS)
def test_registered_environment_agrees_with_the_table(task):
    env = gymnasium.make(f"wakesleep/{task}")
    image, _ = env.reset(seed=0)
    row = TASKS[task]
    assert (env.unwrapped.width, env.unwrapped.height) == (row.width, row.height)
    assert env.unwrapped.max_steps == row.max_steps
    assert env.unwrapped.see_through_walls == bool(row.world().rules.see_through_walls)
    assert env.action_space == gymnasium.spaces.Discrete(6)
    assert image.shape == (7, 7, 3)
    assert image.dtype == np.uint8


@pytest.mark.parametrize(
    ("action", "why"), [(6, "0 to 5"), (-1, "0 to 5"), (2.0, "integers"), ([1], "one action"), (None, "integers")]
)
def test_refuses_what_is_no_action(action, why):
    env = make_env("DoorKey_S5")
    env.reset(seed=0)
    with pytest.raises(UserError, match=why):
        env.step(action)


def test_balls_cannot_be_carried_away():
    env = make_env("DynObstacles_S6N1")
    for seed in range(20):
        env.reset(seed=seed)
        for action in np.random.default_rng(seed).choice([0, 1, 3], 50):
            env.step(int(action))
        assert env.unwrapped.carrying is None


def test_layout_of_refuses_what_does_not_fit():
    with pytest.raises(UserError, match="does not fit"):
        env = gymnasium.make("MiniGrid-FourRooms-v0")
        env.reset(seed=0)
        layout_of(env)
    with pytest.raises(UserError, match="reset"):
        layout_of(make_env("DoorKey_S5"))
    with pytest.raises(UserError, match="not a Minigrid"):
        layout_of(gymnasium.make("CartPole-v1"))


def test_layout_of_takes_stock_environments():
    env = gymnasium.make("MiniGrid-Empty-8x8-v0")
    env.reset(seed=0)
    layout = layout_of(env)
    assert (int(layout.x), int(layout.y), int(layout.direction)) == (1, 1, 0)

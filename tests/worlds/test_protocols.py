"""What a world may offer besides stepping, and who offers it."""

import jax
import numpy as np
import pytest

import wakesleep
from tests.worlds.toys import Console, Corridor
from wakesleep import UserError
from wakesleep.worlds import registry
from wakesleep.worlds.minigrid import farama
from wakesleep.worlds.protocols import DescribesActions, Drawable, HasScriptedPolicies, as_drawable
from wakesleep.worlds.world import compiled_reset

SEED = 5474506302624902014


@pytest.mark.parametrize("task", ["DoorKey_S5", "DefeatRoaches_oneSmall"])
def test_our_worlds_offer_everything(task):
    world = wakesleep.make(task)
    state, _ = compiled_reset(world, jax.random.key(0))
    assert isinstance(world, Drawable)
    assert isinstance(world, DescribesActions)
    assert isinstance(world, HasScriptedPolicies)
    picture = world.draw(state)
    assert picture.dtype == np.uint8
    assert picture.shape[2:] == (3,)
    assert len(world.action_names) == world.action_spec.sizes[0]
    assert "random" not in world.scripted_policies(state)


def test_a_world_need_not_offer_anything():
    for world in (Console(), Corridor(np.int32(5))):
        assert not isinstance(world, Drawable | DescribesActions | HasScriptedPolicies)
        with pytest.raises(UserError, match=r"cannot be drawn: it has no `draw\(state\)`"):
            as_drawable(world)


def test_words_for_actions():
    assert wakesleep.make("DoorKey_S5").describe(3) == "pick up"
    battle = wakesleep.make("DefeatRoaches_one")
    assert battle.action_names[4] == "Attack_screen"
    assert battle.describe([4, 18, 0, 0, 0, 0]) == "Attack_screen screen 2,1"


@pytest.mark.parametrize("task", ["DoorKey_S6", "CustomUnlock_S5", "DynObstacles_S6N1"])
def test_evaluation_states_are_those_of_the_real_environment(task):
    """Seed for seed: the first reset takes the seed, those after it go on with its random numbers."""
    world = wakesleep.make(task)
    states = wakesleep.task_info(task).evaluation_states(world, SEED, 4)
    assert states.size == 4
    env = farama.make_env(task)
    for episode in range(4):
        observation, _ = env.reset(seed=SEED if episode == 0 else None)
        np.testing.assert_array_equal(states.observation[episode], observation)
        jax.tree.map(
            np.testing.assert_array_equal, jax.tree.map(lambda leaf, at=episode: leaf[at], states.state),
            farama.layout_of(env),
        )  # fmt: skip


def test_evaluation_states_are_registered_where_a_task_has_its_own(monkeypatch):
    monkeypatch.setattr(registry, "_TASKS", dict(registry._TASKS))
    assert all(wakesleep.task_info(task).evaluation_states for task in wakesleep.tasks("minigrid"))
    assert not any(wakesleep.task_info(task).evaluation_states for task in wakesleep.tasks("starcraft"))

    def mine(world, seed, episodes):
        raise NotImplementedError

    wakesleep.register("Corridor_L5", lambda: Corridor(np.int32(5)), domain="corridor", evaluation_states=mine)
    assert wakesleep.task_info("Corridor_L5").evaluation_states is mine


def test_worlds_of_a_domain_still_share_one_program():
    """Their names must not be in the pytree's structure."""
    structures = {jax.tree.structure(wakesleep.make(task)) for task in wakesleep.tasks("minigrid")}
    assert len(structures) == 1


def test_the_optimal_policy_plans_from_the_first_state():
    world = wakesleep.make("DistShift_R3")
    state, timestep = compiled_reset(world, jax.random.key(0))
    player = world.scripted_policies(state)["optimal"]
    actions = []
    while not timestep.terminated:
        actions.append(player(state, timestep.observation, jax.random.key(0)))
        state, timestep = world.step(state, actions[-1], jax.random.key(0))
    assert len(actions) == 11
    assert timestep.reward > 0.9
    moving = wakesleep.make("DynObstacles_S6N1")
    state, timestep = compiled_reset(moving, jax.random.key(0))
    with pytest.raises(UserError, match="moving balls"):
        moving.scripted_policies(state)["optimal"](state, timestep.observation, jax.random.key(0))

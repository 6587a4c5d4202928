"""Scripted players do what they say."""

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.orders import apply_action
from wakesleep.worlds.starcraft.tasks import TASKS
from wakesleep.worlds.starcraft.units import Order
from wakesleep.worlds.world import compiled_reset

OWN = 32


def start(name, seed=0):
    world = TASKS[name].world()
    state, timestep = compiled_reset(world, jax.random.key(seed))
    return world, state, timestep.observation


def chosen(world, player, state, observation):
    action = jax.jit(world.scripted_policies(state)[player])(state, observation, jax.random.key(0))
    return [int(part) for part in action], jax.jit(apply_action, static_argnums=2)(state.units, action, 64)


def test_focus_fire_clicks_the_weakest():
    world, state, observation = start("DefeatRoaches_one")
    found = []
    for weak in range(OWN, OWN + 4):
        wounded = state._replace(units=state.units._replace(life=state.units.life.at[weak].set(30.0)))
        action, units = chosen(world, "focus-fire", wounded, observation)
        assert action[0] == interface.ATTACK
        if int(units.order[0]) == Order.TARGET:
            found.append(int(units.aim[0]) == weak)
    assert found.count(True) >= 2  # the grid misses some units, then it takes the next


def test_attack_move_goes_for_the_nearest_enemy_and_lets_marines_fight():
    world, state, observation = start("DefeatRoaches_one")
    _, units = chosen(world, "attack-move", state, observation)
    assert (units.order[:9] == Order.ATTACK_MOVE).all()
    foes_x, marines_x = np.asarray(units.x[OWN : OWN + 4]), float(units.x[0])
    assert (np.sign(np.asarray(units.goal_x[:9]) - marines_x) == np.sign(foes_x.mean() - marines_x)).all()
    assert chosen(world, "attack-move", state._replace(units=units), observation)[0][0] == interface.NO_OP


def test_bait_selects_few_and_sends_them():
    world, state, observation = start("DefeatZerglingsAndBanelings_one")
    _, units = chosen(world, "bait", state, observation)
    assert 1 <= int(units.selected.sum()) <= 3
    _, units = chosen(world, "bait", state._replace(units=units), observation)
    assert 1 <= int((units.order == Order.MOVE).sum()) <= 3


def test_alternate_sends_each_marine_to_a_shard():
    world, state, observation = start("CollectMineralShards_nofog")
    for turn in range(2):
        _, units = chosen(world, "alternate", state._replace(steps=jnp.int32(2 * turn)), observation)
        assert units.selected[turn]
        state = state._replace(units=units, steps=jnp.int32(2 * turn + 1))
        _, units = chosen(world, "alternate", state, observation)
        assert units.order[turn] == Order.MOVE
        state = state._replace(units=units)
        distance = np.hypot(state.shards.x - units.goal_x[turn], state.shards.y - units.goal_y[turn])
        assert distance.min() < 1.1  # within the pick-up radius

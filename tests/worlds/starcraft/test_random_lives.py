"""What must hold in any episode of the six tasks: random lives, looked at afterwards."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep.worlds.batch import stack
from wakesleep.worlds.episode import random_player
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.tasks import TASKS
from wakesleep.worlds.starcraft.units import STATISTICS

NAMES = list(TASKS)
OWN = 32
ENVS, STEPS = 4, 240
WORLDS = {name: task.world(16) for name, task in TASKS.items()}
TWO = "DefeatZerglingsAndBanelings_two"
PLAYED = {**TASKS, TWO: replace(TASKS[TWO], by_group=True)}
"""Whose random lives are looked at: chance seldom kills both groups, and waves are wanted."""


@jax.jit
def play(worlds, key):
    """Random play of all tasks at once without restarts, leaves [time, task, environment, ...]."""
    player = random_player(WORLDS[NAMES[0]])

    def of_each(function):
        return jax.vmap(lambda world, *rest: jax.vmap(lambda *one: function(world, *one))(*rest))

    def keys(key):
        return jax.random.split(key, (len(NAMES), ENVS))

    def tick(now, key):
        state, observation = now
        act_key, step_key = jax.random.split(key)
        action = jax.vmap(jax.vmap(player))(state, observation, keys(act_key))
        state, timestep = of_each(lambda world, *rest: world.step(*rest))(worlds, state, action, keys(step_key))
        return (state, timestep.observation), (state, timestep, action)

    start_key, key = jax.random.split(key)
    first, timestep = of_each(lambda world, key: world.reset(key))(worlds, keys(start_key))
    _, (states, timesteps, actions) = jax.lax.scan(tick, (first, timestep.observation), jax.random.split(key, STEPS))
    states = jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, states)
    return states, timesteps, actions


@pytest.fixture(scope="module")
def lives():
    """A random life of every task; `running` marks steps before the episode's end."""
    states, timesteps, actions = jax.device_get(
        play(stack(*(task.world(16) for task in PLAYED.values())), jax.random.key(0))
    )
    ended = np.cumsum(timesteps.terminated, axis=0) - timesteps.terminated > 0
    return states, timesteps, actions, ~ended


def of_unit(statistic, units):
    return getattr(STATISTICS, statistic)[units.kind]


def test_nobody_leaves_the_arena(lives):
    units = lives[0].units
    assert ((units.x >= 22) & (units.x <= 44) & (units.y >= 20) & (units.y <= 36)).all()
    assert np.isfinite(units.life).all()


def test_nobody_overlaps_deeply(lives):
    units = lives[0].units
    radius, alive = of_unit("radius", units), units.life > 0
    distance = np.hypot(units.x[..., None] - units.x[..., None, :], units.y[..., None] - units.y[..., None, :])
    depth = radius[..., None] + radius[..., None, :] - distance
    both = alive[..., None] & alive[..., None, :] & ~np.eye(alive.shape[-1], dtype=bool)
    depth = depth[1:][both[1:]]
    assert (depth > 0).any()
    assert np.quantile(depth[depth > 0], 0.99) < 0.25
    assert depth.max() < 0.5


def test_life_rises_only_by_regeneration_and_reinforcement(lives):
    states = lives[0]
    life, units = states.units.life, states.units
    same_wave = np.diff(states.tally.waves, axis=0)[..., None] == 0
    growth = np.diff(life, axis=0)
    healed = 8 * of_unit("regeneration", units)[1:] + 1e-4
    assert (growth <= healed)[np.broadcast_to(same_wave, growth.shape)].all()
    wounded = (life[:-1] > 0) & (np.arange(life.shape[-1]) < OWN) & (growth > 0)
    assert (life[1:][wounded] == 45).all()  # Marines never heal: a new one took the slot of one that died in that step
    assert (life <= of_unit("life", units)).all()


def test_reward_is_the_bookkeeping_of_deaths_and_shards(lives):
    """Rewards against living units and shards counted in the states, wave by wave."""
    states, timesteps, _, running = lives
    living = states.units.life > 0
    own, foes = living[..., :OWN].sum(-1), living[..., OWN:].sum(-1)
    shards = states.shards.present.sum(-1)
    waves = np.diff(states.tally.waves, axis=0)
    assert waves[running].sum() > 5
    for number, task in enumerate(PLAYED.values()):
        reward, ran, wave = timesteps.reward[:, number], running[:, number], waves[:, number]
        if task.shards:
            taken = np.where(wave, shards[:-1, number], shards[:-1, number] - shards[1:, number])
            np.testing.assert_array_equal(reward[ran], taken[ran])
            assert (own[:, number] == 2).all()
            continue
        sizes = [len(group) for group in task.groups]
        group = np.repeat([0, 1], [sizes[0], sum(sizes) - sizes[0]])
        alive = living[:, number, :, OWN : OWN + sum(sizes)]
        lost = own[:-1, number] - own[1:, number]
        quiet = ran & (wave == 0)
        kills = foes[:-1, number] - foes[1:, number]
        np.testing.assert_array_equal(reward[quiet], (task.kill_reward * kills - lost)[quiet])
        for at in np.argwhere(ran & (wave > 0)):
            before, after = alive[at[0], at[1]], alive[at[0] + 1, at[1]]
            assert after[group == 0].all() or after[group == 1].all()
            joined = min(task.reinforcements, OWN - own[at[0], number, at[1]] + 9)
            if not task.by_group:
                losses = own[at[0], number, at[1]] + joined - own[at[0] + 1, number, at[1]]
                assert reward[tuple(at)] == task.kill_reward * before.sum() - losses


def test_waves_and_kills_add_up(lives):
    """What was killed, and what lives, is what came."""
    states, _, _, running = lives
    for number, task in enumerate(PLAYED.values()):
        if task.shards or task.by_group:
            continue
        size = sum(len(group) for group in task.groups)
        tally = jax.tree.map(lambda leaf, at=number: leaf[1:, at][running[:, at]], states.tally)
        foes = (states.units.life[1:, number, :, OWN:] > 0).sum(-1)[running[:, number]]
        np.testing.assert_array_equal(tally.kills + foes, size * (1 + tally.waves))


def test_episodes_end_with_the_last_marine_or_after_240_steps(lives):
    states, timesteps, _, running = lives
    none_left = (states.units.life[1:, ..., :OWN] > 0).sum(-1) == 0
    np.testing.assert_array_equal(timesteps.terminated[running], none_left[running])
    assert timesteps.terminated[running].any()
    assert not timesteps.terminated[:, :2].any()  # nobody dies collecting
    assert timesteps.truncated[-1].all()
    assert not timesteps.truncated[:-1].any()


def test_the_observation_is_a_function_of_the_state(lives):
    states, timesteps, *_ = lives
    seen = jax.jit(lambda worlds, states: jax.vmap(lambda world, state: jax.vmap(world.observe)(state))(worlds, states))
    for moment in (0, 17, 120):
        again = seen(stack(*WORLDS.values()), jax.tree.map(lambda leaf, at=moment: leaf[at + 1], states))
        np.testing.assert_array_equal(again.view, timesteps.observation.view[moment])
        np.testing.assert_array_equal(again.action_mask, timesteps.observation.action_mask[moment])


def test_the_observation_fits_its_spec(lives):
    view = lives[1].observation.view
    spec = WORLDS[NAMES[0]].observation_spec
    assert view.shape[3:] == spec.shape
    assert view.dtype == spec.dtype
    assert (view <= spec.high).all()
    assert view[..., interface.UNIT_DENSITY].max() > 1


def test_same_key_same_life(lives):
    again = jax.device_get(play(stack(*(task.world(16) for task in PLAYED.values())), jax.random.key(0)))
    other = jax.device_get(play(stack(*WORLDS.values()), jax.random.key(1)))
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(lives[0]), jax.tree.leaves(again[0]), strict=True))
    assert (other[0].units.x != again[0].units.x).any()

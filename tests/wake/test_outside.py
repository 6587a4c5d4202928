"""Acting and learning in environments outside JAX: rollouts, memory, evaluations, and rows that did not take place."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.lifetime.walks import Walk
from wakesleep import GymnasiumWorld, UserError
from wakesleep.logs import EpisodeCounter
from wakesleep.nets.policy import MLPConfig
from wakesleep.sleep.replay import wake_buffer
from wakesleep.wake.evaluate import evaluate, run_episodes
from wakesleep.wake.learner import train
from wakesleep.wake.outside import collect_outside
from wakesleep.wake.ppo import PPO, PPOConfig, gae
from wakesleep.wake.rollout import Advice, start_life
from wakesleep.wake.vtrace import vtrace
from wakesleep.worlds.host import EpisodeSeeds, HostWorldFactory
from wakesleep.worlds.world import AutoResetStep

CONFIG = PPOConfig(num_envs=4, num_steps=16, minibatch_size=32, epochs=1, network=MLPConfig((8,)))


def walks(mode=AutoresetMode.NEXT_STEP, num_envs=4):
    return GymnasiumWorld(SyncVectorEnv([partial(Walk, 4)] * num_envs, autoreset_mode=mode))


def towards(action):
    """A policy that does nearly nothing else."""
    return lambda seen: jnp.zeros((*seen.shape[:-1], 2)).at[..., action].set(20.0)


def test_only_what_took_place_is_remembered_and_counted():
    world = walks()
    specs = world.observation_spec, world.action_spec
    life = start_life(world, jax.random.key(0), 4, wake_buffer(*specs, 500))
    life, rollout = collect_outside(towards(1), life, jax.random.key(1), 50)
    valid = np.asarray(rollout.valid)
    assert 30 < (~valid).sum() < 100
    assert int(life.memory.written) == valid.sum()
    pairs = life.memory.pairs
    np.testing.assert_array_equal(pairs.observation[: valid.sum()], np.asarray(rollout.observation)[valid])
    np.testing.assert_array_equal(pairs.label[: valid.sum()], np.asarray(rollout.action)[valid])
    assert (np.asarray(pairs.observation)[: valid.sum(), 0] < 4).all()  # at the end nothing is done any more
    episodes = EpisodeCounter.fresh(4).add(rollout.reward, rollout.ended, rollout.valid)
    assert len(episodes) == np.asarray(rollout.ended).sum()
    assert {episode.length for episode in episodes} == {1, 2, 3}
    assert {episode.total_reward for episode in episodes} == {1.0}


@pytest.mark.parametrize("mode", AutoresetMode)
def test_ways_to_reset_make_no_difference_to_what_is_learned(mode):
    """Targets of real rows, by GAE and V-trace, are those of the same episodes without rows between them."""
    world = walks(mode, 1)
    life = start_life(world, jax.random.key(0), 1)
    _, rollout = collect_outside(towards(1), life, jax.random.key(1), 30)
    rows = np.flatnonzero(np.asarray(rollout.valid)[:, 0])
    value = lambda seen: jnp.sin(3.0 * seen[..., 0])  # noqa: E731  (any would do)

    def targets(rollout):
        values, following = (
            value(rollout.observation),
            jnp.where(rollout.terminated, 0, value(rollout.next_observation)),
        )
        one = gae(rollout.reward, values, following, rollout.ended, 0.9, 0.8)
        ratio = 0.5 + (rollout.observation[..., 0] % 3) / 2
        return one, *vtrace(rollout.reward, values, following, rollout.ended, ratio, 0.9)

    dense = jax.tree.map(lambda leaf: leaf[rows], rollout)
    for found, expected in zip(targets(rollout), targets(dense), strict=True):
        np.testing.assert_allclose(np.asarray(found)[rows], expected, rtol=1e-5, atol=1e-5)


def test_train_steps_them_and_takes_advice():
    make = partial(GymnasiumWorld, partial(Walk, 4))
    recipe = HostWorldFactory.of(make(), make).with_envs(4)
    learner = PPO(recipe.observation_spec, recipe.action_spec, CONFIG)
    memory = wake_buffer(recipe.observation_spec, recipe.action_spec, 3 * 64)
    life = start_life(recipe, jax.random.key(0), 4, memory)
    advice = Advice(towards(1), jnp.float32(1.0), jnp.float32(1 / 64))  # gone after the first rollout
    state, life, progress = train(
        learner, learner.init(jax.random.key(1)), recipe, life, jax.random.key(2), 3, 5, advice
    )
    assert progress.reward.shape == progress.valid.shape == (3, 16, 4)
    assert progress.done.all()
    assert int(state.updates) == 3 * 2
    right = np.asarray(life.memory.pairs.label).reshape(3, 16, 4)
    assert right[0, :4].mean() > 0.85
    assert 0.3 < right[1:].mean() < 0.7
    with pytest.raises(UserError, match="4 environments, not 2"):
        other = start_life(recipe, jax.random.key(0), 2)
        train(learner, state, recipe, other, jax.random.key(2), 1, 1)
    life.batch.close()
    other.batch.close()


def test_episodes_have_their_own_starts_in_however_many_environments():
    policy, found = towards(0), []
    for num_envs in (1, 3, 8):
        world = GymnasiumWorld(partial(Walk, 0), num_envs)
        found.append(run_episodes(world, policy, EpisodeSeeds(5, 7), jax.random.key(num_envs)))
        assert found[-1].total_reward.tolist() == [1.0] * 7
        assert found[-1].length.tolist() == found[0].length.tolist()
    env = Walk(0)
    assert found[0].length.tolist() == [int(env.reset(seed=5 + episode)[0][0]) for episode in range(7)]
    assert len(set(found[0].length.tolist())) > 1
    world = GymnasiumWorld(partial(Walk, 0), 3)
    assert evaluate(world, policy, jax.random.key(0), 10, greedy=True).total_reward.mean() == 1
    env.close()


class Crashing(GymnasiumWorld):
    """Its second environment crashes at the third step, as `GameWorld` shows it, and begins another episode."""

    count = 0

    def step(self, actions):
        stepped, self.count = super().step(actions), self.count + 1
        if self.count != 3:
            return stepped
        crashed = np.arange(self.num_envs) == 1
        self.reset(99)
        parts = stepped._replace(valid=~crashed, truncated=stepped.truncated | crashed, reward=stepped.reward + 100)
        return AutoResetStep(*parts)


def test_an_episode_that_a_crash_cut_is_played_anew():
    world = Crashing(partial(Walk, 0), 2)
    assert world.with_envs is None
    found = run_episodes(world, towards(1), EpisodeSeeds(0, 2), jax.random.key(0))  # away from the goal: ten steps each
    assert found.total_reward.tolist() == [100.0, 0.0]
    assert found.length[1] == 10


def test_nothing_flows_back_from_a_game_that_crashed():
    """The row before the crash ends its episode, by a cut: it has the value of where it was, not of the row after."""
    world = Crashing(partial(Walk, 0), 2)
    life, rollout = collect_outside(towards(1), start_life(world, jax.random.key(0), 2), jax.random.key(1), 6)
    assert np.asarray(rollout.valid)[:, 1].tolist() == [True, True, False, True, True, True]
    assert np.asarray(rollout.truncated)[:, 1].tolist() == [False, True, True, False, False, False]
    assert not np.asarray(rollout.ended)[:, 0].any()
    value = rollout.observation[..., 0].astype(jnp.float32)
    following = rollout.next_observation[..., 0].astype(jnp.float32)
    found = gae(rollout.reward, value, following, rollout.ended, 0.5, 1.0)[1, 1]
    assert found == 0 + 0.5 * following[1, 1] - value[1, 1]
    targets, _ = vtrace(rollout.reward, value, following, rollout.ended, jnp.ones_like(value), 0.5)
    assert targets[1, 1] == 0.5 * following[1, 1]
    counter = EpisodeCounter.fresh(2)
    lengths = [episode.length for episode in counter.add(rollout.reward, rollout.ended, rollout.valid)]
    assert lengths == [2]  # what was lived until then; the crash itself is no episode
    life.batch.close()

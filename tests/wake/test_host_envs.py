"""Acting and learning in environments outside JAX: rollouts, recording, evaluations, rows that did not take place."""

from functools import partial

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import wakesleep
from tests.lifetime.walks import Walk
from wakesleep import GymnasiumWorld, UserError
from wakesleep.logs import EpisodeCounter
from wakesleep.nets.policy import MLPConfig
from wakesleep.sleep.replay import wake_buffer
from wakesleep.wake.envs import Envs, evaluate
from wakesleep.wake.host_envs import HostEnvs
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.make_envs import jax_world, make_envs
from wakesleep.wake.ppo import PPO, PPOConfig, gae
from wakesleep.wake.rollout import Advice, HostPolicy
from wakesleep.wake.train import train
from wakesleep.wake.vtrace import VTrace, VTraceConfig, vtrace
from wakesleep.worlds.host import EpisodeSeeds, HostWorldFactory
from wakesleep.worlds.world import AutoResetStep

CONFIG = PPOConfig(num_envs=4, num_steps=16, minibatch_size=32, epochs=1, network=MLPConfig((8,)))


def envs_of(world):
    """The environments that this very world runs."""
    specs = world.observation_spec, world.action_spec
    return HostEnvs(HostWorldFactory(lambda num_envs: world, *specs, world.num_envs, fixed=True))


def walks(mode=AutoresetMode.NEXT_STEP, num_envs=4):
    return envs_of(GymnasiumWorld(SyncVectorEnv([partial(Walk, 4)] * num_envs, autoreset_mode=mode)))


class Spoiled(gymnasium.Env):
    """Gives what is no number: in a reward or an observation at its third step, or at its second start."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, where=""):
        self.where = where

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.starts = 0, getattr(self, "starts", 0) + 1
        return np.full(2, np.nan if self.starts == 2 and self.where == "start" else 0, np.float32), {}

    def step(self, action):
        self.steps += 1
        bad = self.steps == 3
        view = np.full(2, np.nan if bad and self.where == "observation" else 0, np.float32)
        return view, np.nan if bad and self.where == "reward" else 0.0, bad, False, {}


def towards(action):
    """A policy that does nearly nothing else."""
    return lambda seen: jnp.zeros((*seen.shape[:-1], 2)).at[..., action].set(20.0)


class GoesRight:
    """A learner that has nothing to learn and keeps what it is given to learn from."""

    def __init__(self, jittable, num_steps=50):
        self.jittable, self.num_envs, self.num_steps, self.rollouts = jittable, 4, num_steps, []

    def init(self, key):
        return jnp.zeros(())

    def policy(self, state):
        return towards(1)

    def update(self, state, rollout, key):
        jax.debug.callback(self.rollouts.append, rollout)
        return state + 1, {"loss": state}


@pytest.mark.parametrize("jittable", [True, False])
def test_only_what_took_place_is_recorded_and_counted(jittable):
    envs, learner = walks(), GoesRight(jittable)
    recorder = wake_buffer(envs.observation_spec, envs.action_spec, 500)
    result = train(
        learner, learner.init(None), envs, envs.reset(jax.random.key(0)), jax.random.key(1), 1, recorder=recorder
    )
    jax.effects_barrier()
    [rollout] = learner.rollouts
    valid = np.asarray(rollout.valid)
    assert 30 < (~valid).sum() < 100
    assert int(result.recorder.written) == valid.sum()
    pairs = result.recorder.pairs
    np.testing.assert_array_equal(pairs.observation[: valid.sum()], np.asarray(rollout.observation)[valid])
    np.testing.assert_array_equal(pairs.label[: valid.sum()], np.asarray(rollout.action)[valid])
    assert (np.asarray(pairs.observation)[: valid.sum(), 0] < 4).all()  # at the end nothing is done any more
    log = result.log
    np.testing.assert_array_equal(log.valid, valid)
    episodes = EpisodeCounter.fresh(4).add(log.reward, log.ended, log.valid)
    assert len(episodes) == log.ended.sum()
    assert {episode.length for episode in episodes} == {1, 2, 3}
    assert {episode.total_reward for episode in episodes} == {1.0}
    envs.close(result.envs_state)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_ways_to_reset_make_no_difference_to_what_is_learned(mode):
    """Targets of real rows, by GAE and V-trace, are those of the same episodes without rows between them."""
    envs = walks(mode, 1)
    state, rollout = envs.collect(towards(1), envs.reset(jax.random.key(0)), jax.random.key(1), 30)
    envs.close(state)
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
    envs = make_envs("Walk_right", 4)
    assert isinstance(envs, HostEnvs)
    assert isinstance(envs, Envs)
    learner = PPO(envs.observation_spec, envs.action_spec, CONFIG)
    recorder = wake_buffer(envs.observation_spec, envs.action_spec, 3 * 64)
    advice = Advice(towards(1), jnp.float32(1.0), jnp.float32(1 / 64))  # gone after the first rollout
    result = train(
        learner, learner.init(jax.random.key(1)), envs, envs.reset(jax.random.key(0)), jax.random.key(2), 3,
        chunk=5, advice=advice, recorder=recorder,
    )  # fmt: skip
    assert result.log.reward.shape == result.log.valid.shape == (3 * 16, 4)
    assert {values.shape for values in result.log.diagnostics.values()} == {(3,)}
    assert int(result.state.updates) == 3 * 2
    right = np.asarray(result.recorder.pairs.label).reshape(3, 16, 4)
    assert right[0, :4].mean() > 0.85
    assert 0.3 < right[1:].mean() < 0.7
    envs.close(result.envs_state)


def test_what_does_not_fit_is_refused():
    envs = make_envs("Walk_right", 4)
    learner = PPO(envs.observation_spec, envs.action_spec, CONFIG)
    state = learner.init(jax.random.key(1))
    with pytest.raises(UserError, match="4 environments, not 2"):
        train(learner, state, make_envs("Walk_right", 2), None, jax.random.key(2), 1)
    for iterations in (0, 3):
        with pytest.raises(UserError, match="1 to 2 iterations"):
            train(learner, state, envs, None, jax.random.key(2), iterations, chunk=2)
    liar = GymnasiumWorld(partial(Walk, 4), 3)
    with pytest.raises(UserError, match="the agent acts in 4 environments, the world has 3"):
        HostEnvs(HostWorldFactory(lambda _: liar, liar.observation_spec, liar.action_spec, 4, fixed=False)).reset(
            jax.random.key(0)
        )
    with pytest.raises(UserError, match="WalkVector_left: the agent acts in 2 environments, but there are always 4"):
        make_envs("WalkVector_left", 2)


def test_one_place_decides_between_jax_and_the_host():
    assert isinstance(make_envs("DoorKey_S5", 3), JaxEnvs)
    assert isinstance(make_envs("DoorKey_S5"), Envs)
    assert make_envs("DoorKey_S5", 3).num_envs == 3
    with pytest.raises(UserError, match="Walk_left runs outside JAX: drawing needs a world in JAX"):
        jax_world("Walk_left", "drawing")
    assert isinstance(jax_world("DoorKey_S5", "drawing"), wakesleep.World)


def test_what_runs_cannot_be_saved_and_begins_anew():
    envs = make_envs("Walk_right", 2)
    running = envs.reset(jax.random.key(0))
    assert envs.save(running) is None
    assert envs.saved_form() is None
    assert envs.restore(None) is None
    open_now = Walk.alive
    envs.close(running)
    assert Walk.alive == open_now - 2
    envs.close(None)
    inside = make_envs("DoorKey_S5", 2)
    state = inside.reset(jax.random.key(0))
    assert inside.restore(inside.save(state)) is state
    form = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), (inside.saved_form(), state))
    assert form[0] == form[1]
    inside.close(state)


@pytest.mark.parametrize("probability", [0.0, 0.5])
def test_a_policy_outside_jax_acts_as_the_same_policy_in_jax(probability):
    """The policy in JAX is compiled with what chooses; the other is called with arrays and never traced."""
    envs = make_envs("Walk_right", 4)
    own = MLPConfig((8,)).make(envs.observation_spec, envs.action_spec, jax.random.key(0)).policy
    compiled = eqx.filter_jit(own)

    def outside(seen):
        assert isinstance(seen, np.ndarray)
        return np.asarray(compiled(seen))

    advice, found = Advice(towards(1), jnp.float32(probability), 1 / 200), []
    for policy in (own, HostPolicy(outside)):
        state, rollout = envs.collect(policy, envs.reset(jax.random.key(0)), jax.random.key(1), 20, advice)
        envs.close(state)
        episodes = envs.run_episodes(policy, envs.seeded_initial_states(3, 6), jax.random.key(2))
        found.append(jax.tree.leaves((rollout, episodes)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_ppo_learns_cart_pole():
    """A random policy balances for about 22 steps."""
    config = PPOConfig(
        num_envs=8, num_steps=64, minibatch_size=128, epochs=6, learning_rate=1e-3, network=MLPConfig((64, 64))
    )
    envs = make_envs("CartPole_v1", config.num_envs)
    learner = PPO(envs.observation_spec, envs.action_spec, config)
    start_key, init_key, key = jax.random.split(jax.random.key(0), 3)
    result = train(learner, learner.init(init_key), envs, envs.reset(start_key), key, 40)
    episodes = EpisodeCounter.fresh(8).add(result.log.reward, result.log.ended, result.log.valid)
    totals = np.array([episode.total_reward for episode in episodes])
    assert totals[:50].mean() < 45
    assert totals[-20:].mean() > 90
    envs.close(result.envs_state)


@pytest.mark.parametrize("kind", ["ppo", "vtrace"])
def test_both_learners_run_on_real_minigrid(kind):
    spec = wakesleep.make("DoorKey_S5").observation_spec
    envs = envs_of(GymnasiumWorld("wakesleep/DoorKey_S5", 4, observation_spec=spec))
    network = MLPConfig((32,))
    if kind == "ppo":
        config = PPOConfig(num_envs=4, num_steps=16, minibatch_size=32, epochs=2, network=network)
        learner = PPO(envs.observation_spec, envs.action_spec, config)
    else:
        config = VTraceConfig(num_envs=4, num_steps=16, network=network)
        learner = VTrace(envs.observation_spec, envs.action_spec, config)
    runs = []
    for _ in range(2):
        result = train(
            learner, learner.init(jax.random.key(4)), envs, envs.reset(jax.random.key(5)), jax.random.key(6), 3
        )
        runs.append((result.state.networks.policy.head.weight, result.log.reward))
    assert result.log.reward.shape == (48, 4)
    assert all(np.isfinite(values).all() for values in result.log.diagnostics.values())
    np.testing.assert_array_equal(runs[0][0], runs[1][0])  # the same seed, the same result
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    envs.close(result.envs_state)


@pytest.mark.parametrize("where", ["reward", "observation", "start"])
def test_what_is_no_number_stops_training(where):
    """Before anything is learned from it."""
    named = "reward" if where == "reward" else "observation"
    both = [lambda: Spoiled(""), lambda: Spoiled(where)]
    envs = envs_of(GymnasiumWorld(SyncVectorEnv(both, autoreset_mode="Disabled")))
    learner = GoesRight(jittable=False, num_steps=5)
    learner.num_envs = 2
    running = envs.reset(jax.random.key(0))
    with pytest.raises(UserError, match=f"environment 1 gave .* {named} .* step 3"):
        train(learner, learner.init(None), envs, running, jax.random.key(1), 1)
    assert learner.rollouts == []
    envs.close(running)


def test_episodes_have_their_own_starts_in_however_many_environments():
    policy, found = towards(0), []
    for num_envs in (1, 3, 8):
        envs = make_envs("Walk_left", num_envs)
        found.append(envs.run_episodes(policy, EpisodeSeeds(5, 7), jax.random.key(num_envs)))
        assert found[-1].total_reward.tolist() == [1.0] * 7
        assert found[-1].length.tolist() == found[0].length.tolist()
    env = Walk(0)
    assert found[0].length.tolist() == [int(env.reset(seed=5 + episode)[0][0]) for episode in range(7)]
    assert len(set(found[0].length.tolist())) > 1
    envs = make_envs("Walk_left", 3)
    assert evaluate(envs, policy, jax.random.key(0), 10, greedy=True).total_reward.mean() == 1
    assert envs.seeded_initial_states(5, 7) == EpisodeSeeds(5, 7)
    assert envs.initial_states(jax.random.key(0), 7) != envs.initial_states(jax.random.key(1), 7)
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
    starts, key = EpisodeSeeds(0, 2), jax.random.key(0)
    found = envs_of(world).run_episodes(towards(1), starts, key)  # away from the goal: ten steps each
    assert found.total_reward.tolist() == [100.0, 0.0]
    assert found.length[1] == 10


def test_nothing_flows_back_from_a_game_that_crashed():
    """The row before the crash ends its episode, by a cut: it has the value of where it was, not of the row after."""
    envs = envs_of(Crashing(partial(Walk, 0), 2))
    state, rollout = envs.collect(towards(1), envs.reset(jax.random.key(0)), jax.random.key(1), 6)
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
    envs.close(state)

"""Acting, with and without advice."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from wakesleep.nets import actions
from wakesleep.nets.policy import MLPConfig
from wakesleep.sleep.replay import wake_buffer
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.ppo import PPO, PPOConfig
from wakesleep.wake.rollout import Advice, HostPolicy, Recorder, act
from wakesleep.wake.train import train
from wakesleep.wake.vtrace import VTrace, VTraceConfig

WORLD = wakesleep.make("DoorKey_S5")
SPEC = WORLD.action_spec


def policy_of(seed, loudness=1.0):
    policy = MLPConfig().make(WORLD.observation_spec, SPEC, jax.random.key(seed)).policy
    return eqx.tree_at(lambda p: p.head.weight, policy, policy.head.weight * loudness)


collect = eqx.filter_jit(JaxEnvs.collect)


@pytest.fixture(scope="module")
def rollout():
    """By a policy that takes half of its actions on advice."""
    envs, advice = JaxEnvs(WORLD, 8), Advice(policy_of(1, 300.0), jnp.float32(0.5))
    return collect(envs, policy_of(0), envs.reset(jax.random.key(0)), jax.random.key(1), 32, advice)[1]


def mixture(rollout, own, advisor, probability):
    own, advisor = (jnp.exp(actions.log_prob(SPEC, p(rollout.observation), rollout.action)) for p in (own, advisor))
    return jnp.log(probability * advisor + (1 - probability) * own)


def test_behaviour_is_the_mixture(rollout):
    expected = mixture(rollout, policy_of(0), policy_of(1, 300.0), 0.5)
    np.testing.assert_allclose(rollout.log_prob, expected, rtol=1e-4, atol=1e-5)


def test_actions_follow_the_mixture():
    count, probability = 20_000, 0.3
    _, first = WORLD.reset(jax.random.key(0))
    many = jnp.broadcast_to(first.observation, (count, 7, 7, 3))
    own, advisor = policy_of(0, 200.0), policy_of(1, 300.0)
    action, log_prob = act(SPEC, own, many, jax.random.key(2), Advice(advisor, jnp.float32(probability)))
    chances = probability * jax.nn.softmax(advisor(first.observation)) + (1 - probability) * jax.nn.softmax(
        own(first.observation)
    )
    np.testing.assert_allclose(np.bincount(action, minlength=6) / count, chances, atol=0.015)
    np.testing.assert_allclose(jnp.exp(log_prob), chances[action], rtol=1e-4)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_never_and_always(probability):
    _, first = WORLD.reset(jax.random.key(0))
    many = jnp.broadcast_to(first.observation, (100, 7, 7, 3))
    own, advisor = policy_of(0, 100.0), policy_of(1, 300.0)
    action, log_prob = act(SPEC, own, many, jax.random.key(2), Advice(advisor, jnp.float32(probability)))
    actor = advisor if probability else own
    np.testing.assert_allclose(log_prob, actions.log_prob(SPEC, actor(many), action), rtol=1e-4, atol=1e-5)
    if not probability:
        assert (action == act(SPEC, own, many, jax.random.key(2))[0]).all()


def test_no_advice_does_not_evaluate_the_advisor():
    """With p = 0 the advisor's branch is not taken: it is never asked, and nothing overrides."""
    asked = []

    def advisor(observation):
        jax.debug.callback(lambda: asked.append(1))
        return policy_of(1)(observation)

    _, first = WORLD.reset(jax.random.key(0))
    many = jnp.broadcast_to(first.observation, (10, 7, 7, 3))
    run = jax.jit(lambda p: act(SPEC, policy_of(0), many, jax.random.key(2), Advice(advisor, p)))
    plain = act(SPEC, policy_of(0), many, jax.random.key(2))
    unadvised = jax.block_until_ready(run(jnp.float32(0)))
    jax.effects_barrier()
    assert not asked
    assert (unadvised[0] == plain[0]).all()
    np.testing.assert_allclose(unadvised[1], plain[1], rtol=1e-6)
    jax.block_until_ready(run(jnp.float32(0.5)))
    jax.effects_barrier()
    assert asked


def test_ppo_ratio_is_against_the_mixture(rollout):
    """The gradient of PPO's surrogate at the behaviour's own parameters is that of pi / mixture."""
    only_policy = {"normalise_advantages": False, "clip_eps": 1e6, "entropy_coef": 0.0, "value_coef": 0.0}
    config = PPOConfig(num_envs=8, num_steps=32, **only_policy)
    learner = PPO(WORLD.observation_spec, SPEC, config)
    networks = MLPConfig().make(WORLD.observation_spec, SPEC, jax.random.key(0))
    targets = learner.targets(networks, rollout)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (rollout, targets))
    loss, _ = learner.loss(networks, *flat)
    behaviour = mixture(rollout, policy_of(0), policy_of(1, 300.0), 0.5)
    own = actions.log_prob(SPEC, networks.policy(rollout.observation), rollout.action)
    assert loss == pytest.approx(-float(jnp.mean(jnp.exp(own - behaviour) * targets.advantage)), rel=1e-3)


def test_vtrace_rho_is_against_the_mixture(rollout, monkeypatch):
    seen = {}

    def spy(reward, value, next_value, ended, ratio, *rest):
        seen["ratio"] = ratio
        return value, reward

    monkeypatch.setattr("wakesleep.wake.vtrace.vtrace", spy)
    learner = VTrace(WORLD.observation_spec, SPEC, VTraceConfig(num_envs=8, num_steps=32))
    networks = MLPConfig().make(WORLD.observation_spec, SPEC, jax.random.key(0))
    learner.loss(networks, rollout)
    own = actions.log_prob(SPEC, networks.policy(rollout.observation), rollout.action)
    expected = jnp.exp(own - mixture(rollout, policy_of(0), policy_of(1, 300.0), 0.5))
    np.testing.assert_allclose(seen["ratio"], expected, rtol=1e-3)


def test_episodes_go_on_between_rollouts():
    envs = JaxEnvs(WORLD, 4)
    middle, one = collect(envs, policy_of(0), envs.reset(jax.random.key(0)), jax.random.key(1), 8)
    _, two = collect(envs, policy_of(0), middle, jax.random.key(2), 8)
    assert (two.observation[0] == middle.observation).all()
    going_on = ~one.ended[-1]
    assert (two.observation[0][going_on] == one.next_observation[-1][going_on]).all()


def test_advice_decays_step_by_step():
    """From 1 to 0 in half of the rollout: the advisor always turns left, the own policy never does."""
    left, right = (lambda view, at=at: jnp.zeros((*view.shape[:-3], 6)).at[..., at].set(50.0) for at in (0, 1))
    advice = Advice(left, jnp.float32(1.0), jnp.float32(1 / (64 * 50)))
    envs = JaxEnvs(WORLD, 64)
    _, rollout = envs.collect(right, envs.reset(jax.random.key(0)), jax.random.key(1), 100, advice)
    advised = np.asarray(rollout.action == 0).mean(axis=1)
    np.testing.assert_allclose(advised[:50], 1 - np.arange(50) / 50, atol=0.2)
    assert (advised[50:] == 0).all()
    assert advice.after(64 * 25).probability == pytest.approx(0.5)
    assert advice.after(10**6).probability == 0


@pytest.mark.parametrize("probability", [0.0, 0.5])
def test_a_policy_outside_jax_acts_as_the_same_policy_in_jax(probability):
    """Stepped from Python or compiled: the same actions, the same log-probabilities, the same episodes."""
    envs, own, calls = JaxEnvs(WORLD, 4), policy_of(0, 100.0), []
    advice = Advice(policy_of(1, 300.0), jnp.float32(probability), 1 / 100)
    compiled = eqx.filter_jit(own)

    def outside(seen):
        calls.append(isinstance(seen, jax.core.Tracer))
        return np.asarray(compiled(seen))

    state = envs.reset(jax.random.key(0))
    (_, inside), (_, stepped) = (
        envs.collect(policy, state, jax.random.key(1), 12, advice) for policy in (own, HostPolicy(outside))
    )
    assert calls == [False] * 12  # it is called with values, once for each step
    for one, two in zip(jax.tree.leaves(inside), jax.tree.leaves(stepped), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
    starts = envs.initial_states(jax.random.key(2), 5)
    for greedy in (False, True):
        one, two = (
            envs.run_episodes(policy, starts, jax.random.key(3), greedy) for policy in (own, HostPolicy(outside))
        )
        np.testing.assert_array_equal(one.length, two.length)
        np.testing.assert_allclose(one.total_reward, two.total_reward, rtol=1e-5)


def test_train_carries_the_decay_on_and_records():
    """Advice that ends within the first of three rollouts is gone in the others."""
    left = lambda view: jnp.zeros((*view.shape[:-3], 6)).at[..., 0].set(50.0)  # noqa: E731
    config = PPOConfig(num_envs=4, num_steps=16, minibatch_size=64, epochs=1, learning_rate=0.0)
    learner = PPO(WORLD.observation_spec, SPEC, config)
    advice = Advice(left, jnp.float32(1.0), jnp.float32(1 / 64))
    envs, recorder = JaxEnvs(WORLD, 4), wake_buffer(WORLD.observation_spec, SPEC, 3 * 64)
    assert isinstance(recorder, Recorder)
    result = train(
        learner, learner.init(jax.random.key(1)), envs, envs.reset(jax.random.key(0)), jax.random.key(2), 3,
        advice=advice, recorder=recorder,
    )  # fmt: skip
    turned = np.asarray(result.recorder.pairs.label == 0).reshape(3, 16, 4)
    assert turned[0, :4].mean() > 0.8
    assert turned[1:].mean() < 0.4  # a newborn turns left once in six
    assert result.recorder.written == 3 * 64

"""Agents: what happens at waking, training and sleeping, and that none can know its task."""

import inspect
from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import wakesleep
from wakesleep import ObservationSpec, UserError
from wakesleep.agents import presets
from wakesleep.agents.agent import Agent
from wakesleep.agents.baselines import LearnerAgent, RandomAgent
from wakesleep.agents.presets import (
    agent_config,
    agent_names,
    check_preset,
    has_presets,
    make_agent,
    register_agent,
    register_presets,
    with_supported_encoding,
)
from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
from wakesleep.nets.encode import Encoding
from wakesleep.nets.policy import MLPConfig
from wakesleep.sleep.architectures import TWO_HEADED, ModelConfig
from wakesleep.sleep.consolidate import SleepConfig
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.ppo import FAST, PAPER, PPOConfig
from wakesleep.wake.vtrace import VTraceConfig

WORLD = wakesleep.make("DoorKey_S5")
SPECS = (WORLD.observation_spec, WORLD.action_spec)
ENVS = JaxEnvs(WORLD, 4)
STEPS = 4000
NETWORK = MLPConfig((32, 16))
LEARNER = PPOConfig(num_envs=4, num_steps=32, minibatch_size=64, epochs=1, network=NETWORK)
SMALL = WakeSleepConfig(
    LEARNER, ModelConfig(network=NETWORK, latent=8, hidden=32), SleepConfig(iterations=20), wake_buffer_size=4 * 128,
    random_replay_per_sleep=16, random_replay_capacity=64, advice_steps=1000,
)  # fmt: skip


def equal(one, two):
    return jax.tree.all(jax.tree.map(lambda a, b: bool((np.asarray(a) == np.asarray(b)).all()), one, two))


def train_once(agent, state, iterations=2, world=WORLD):
    envs = JaxEnvs(world, agent.num_envs)
    return agent.train(state, envs, envs.reset(jax.random.key(1)), jax.random.key(2), iterations, 4)


def test_a_day_and_a_night():
    agent = WakeSleepAgent(*SPECS, SMALL)
    born = agent.init(jax.random.key(0))
    state = agent.wake(born, ENVS, jax.random.key(1), STEPS)
    state, envs_state, log = train_once(agent, state)
    assert log.reward.shape == (2 * 32, 4)
    assert envs_state.observation.shape == (4, 7, 7, 3)
    assert int(state.buffer.filled) == 2 * 128
    assert int(state.awake) == 2 * 128
    assert equal(state.model, born.model)  # awake, the sleep policy stays as it is
    assert not equal(state.learner.networks, born.learner.networks)
    slept, sleep_log = agent.sleep(state, jax.random.key(3))
    assert not equal(slept.model.policy, born.model.policy)
    assert slept.replay.filled == 16
    assert slept.sleeps == 1
    assert sleep_log.arrays["curves"].experience.imitation.shape == (20,)
    assert set(sleep_log.arrays["sleep"]) == {0}
    assert agent.policy(slept) is slept.model
    morning = agent.wake(slept, ENVS, jax.random.key(4), STEPS)
    assert int(morning.buffer.filled) == 0
    assert int(morning.awake) == 0
    assert not equal(morning.learner.networks, slept.learner.networks)  # born anew
    assert int(morning.learner.updates) == 0
    assert equal(morning.model, slept.model)
    budget = agent.budget(morning)
    assert budget.replay_bytes == (512 + 64) * (147 + 4)
    policy = 148 * 32 + 33 * 16 + 17 * 6
    assert budget.parameters == 2 * policy + (148 * 32 + 33 * 16 + 17) + (17 * 32 + 33 * 16 + 9 * 32 + 33 * 16)


def test_advice_comes_with_the_first_sleep_and_fades():
    """The sleep policy is made to turn left always: how often the agent does tells how often it asked."""
    agent = WakeSleepAgent(*SPECS, SMALL)
    state = agent.wake(agent.init(jax.random.key(0)), ENVS, jax.random.key(1), STEPS)
    head = state.model.policy.head
    stubborn = eqx.tree_at(lambda model: model.policy.head.bias, state.model, head.bias.at[0].set(100.0))

    def turns(state):
        state, _, _ = train_once(agent, state, 4)
        return np.asarray(state.buffer.pairs.label == 0).reshape(16, 32).mean(1)

    assert turns(state._replace(model=stubborn)).mean() < 0.4  # it has never slept: no advice
    advised = turns(state._replace(model=stubborn, sleeps=np.array(1)))
    assert advised[0] > 0.75
    expected = 0.9 * (1 - 256 / 1000)
    assert advised.mean() == pytest.approx(expected + (1 - expected) / 6, abs=0.15)
    late = state._replace(model=stubborn, sleeps=np.array(1), awake=jnp.int32(1000))
    assert turns(late).mean() < 0.4


def test_weights_are_copied_only_where_they_help():
    agent = WakeSleepAgent(*SPECS, replace(SMALL, copy_weights=True))
    envs = JaxEnvs(wakesleep.make("DistShift_R2"), 4)
    state = agent.init(jax.random.key(0))._replace(sleeps=np.array(1))

    def with_bias(action):
        place = lambda model: model.policy.head.bias  # noqa: E731
        bias = jnp.zeros(6).at[action].set(100.0)
        return state._replace(model=eqx.tree_at(place, state.model, bias))

    careful, reckless = with_bias(0), with_bias(2)  # turning on the spot loses nothing; forward is lava
    for slept, copied in ((careful, True), (reckless, False)):
        woken = agent.wake(slept, envs, jax.random.key(1), STEPS)
        assert equal(woken.learner.networks.policy, slept.model.policy) == copied


def test_the_baseline_goes_on_and_the_fresh_learner_begins_anew():
    for fresh in (False, True):
        agent = LearnerAgent(*SPECS, LEARNER, fresh)
        state, _, _ = train_once(agent, agent.init(jax.random.key(0)))
        assert equal(agent.wake(state, ENVS, jax.random.key(5), STEPS), state) == (not fresh)
        assert agent.budget(state).replay_bytes == 0


def test_chance():
    agent = RandomAgent(*SPECS)
    state, _, log = train_once(agent, agent.init(jax.random.key(0)), 1, wakesleep.make("DistShift_R2"))
    logits = agent.policy(state)(jnp.zeros((3, 7, 7, 3), jnp.uint8))
    assert logits.shape == (3, 6)
    assert not logits.any()
    assert log.reward.min() == -1  # into the lava


def test_every_agent_of_the_tables():
    ours = ("random", "baseline", "fresh-learner", "hidden", "hidden-er", "hidden-er-rar", "hidden-er-gr", "two-headed",
            "sequential")  # fmt: skip
    assert set(ours) <= set(agent_names())
    for name in ours:
        for preset in ("paper", "fast"):
            agent = make_agent(name, *SPECS, agent_config(name, preset))
            assert isinstance(agent, Agent)
            assert agent.sleeps_per_block == (0 if name in ("random", "baseline", "fresh-learner") else 1)
    paper = agent_config("hidden", "paper")
    assert paper.learner is PAPER
    assert (paper.sleep.iterations, paper.sleep.batch_size) == (20_000, 32)
    assert tuple(paper.sleep.loss_weights) == (3.0, 1.0, 0.03)
    assert (paper.wake_buffer_size, paper.random_replay_per_sleep, paper.random_replay_capacity) == (20_000, 256, 4096)
    assert (paper.advice, paper.advice_steps, paper.copy_weights) == (0.9, 100_000, False)
    assert agent_config("hidden", "fast").learner is agent_config("hidden").learner is FAST
    flags = {name: agent_config(name, "paper").sleep for name in ours if name.startswith("hidden")}
    assert {name: (sleep.generative_replay, sleep.random_replay) for name, sleep in flags.items()} == {
        "hidden": (True, True), "hidden-er": (False, False), "hidden-er-rar": (False, True),
        "hidden-er-gr": (True, False),
    }  # fmt: skip
    assert agent_config("two-headed").model.architecture == TWO_HEADED


def test_advice_ends_in_the_middle_of_a_short_waking():
    agent = WakeSleepAgent(*SPECS, replace(SMALL, advice_steps=100_000))
    born = agent.init(jax.random.key(0))
    for steps, expected in ((400_000, 100_000), (200_000, 100_000), (20_000, 10_000)):
        assert int(agent.wake(born, ENVS, jax.random.key(1), steps).advised) == expected


@pytest.fixture
def registries(monkeypatch):
    """What is registered in a test is forgotten after it."""
    monkeypatch.setattr(presets, "_AGENTS", dict(presets._AGENTS))
    monkeypatch.setattr(presets, "_WAKE_SLEEP", dict(presets._WAKE_SLEEP))


@pytest.mark.usefixtures("registries")
def test_an_agent_of_ones_own():
    register_agent("own", LearnerAgent, LEARNER)
    config = agent_config("own", overrides={"epochs": 3})
    assert config == replace(LEARNER, epochs=3)
    assert isinstance(make_agent("own", *SPECS, config), LearnerAgent)
    assert (check_preset("own", None), has_presets("own")) == ("", False)
    assert "own" in agent_names()
    with pytest.raises(UserError, match="already an agent called 'own'"):
        register_agent("own", LearnerAgent)
    for preset in ("fast", "paper"):
        with pytest.raises(UserError, match=f"the agent 'own' has no presets: leave the preset '{preset}' out"):
            agent_config("own", preset)
    with pytest.raises(UserError, match="the agent 'own' has no wake learner to replace"):
        agent_config("own", learner="vtrace")


@pytest.mark.usefixtures("registries")
def test_an_agent_of_ones_own_with_presets():
    slow, quick = replace(LEARNER, epochs=9), LEARNER
    register_agent("own", LearnerAgent, presets={"slow": slow, "fast": quick})
    assert agent_config("own") is quick
    assert agent_config("own", "slow", domain="anything") is slow
    assert has_presets("own")
    register_agent("only-slow", LearnerAgent, presets={"slow": slow})
    assert check_preset("only-slow", None) == "slow"
    with pytest.raises(UserError, match="no preset of own is called 'paper': there are slow, fast"):
        agent_config("own", "paper")
    with pytest.raises(UserError, match="either one config or presets"):
        register_agent("both", LearnerAgent, LEARNER, {"fast": quick})


@pytest.mark.usefixtures("registries")
def test_a_domain_of_ones_own_has_presets_of_its_own(monkeypatch):
    assert agent_config("hidden", "fast", domain="mine") == agent_config("hidden", "fast")  # Minigrid's until then
    tiny = replace(SMALL, sleeps_per_block=3)
    register_presets("mine", {"tiny": SMALL, "fast": tiny})
    assert agent_config("hidden", domain="mine") == tiny
    assert agent_config("hidden", "tiny", domain="mine") == SMALL
    assert agent_config("baseline", "tiny", domain="mine") == LEARNER
    assert agent_config("fresh-learner", "tiny", domain="mine") == LEARNER
    two_headed = agent_config("two-headed", "tiny", {"advice": 0.5}, "mine")
    assert two_headed == replace(SMALL, advice=0.5, model=replace(SMALL.model, architecture=TWO_HEADED))
    assert agent_config("random", "tiny", domain="mine") is None
    with pytest.raises(UserError, match="no preset of hidden is called 'paper': there are tiny, fast"):
        agent_config("hidden", "paper", domain="mine")
    with pytest.raises(UserError, match="no preset of hidden is called 'tiny': there are paper, fast"):
        agent_config("hidden", "tiny")  # other domains have their own
    with pytest.raises(UserError, match="the domain 'mine' already has presets"):
        register_presets("mine", {"tiny": SMALL})
    with pytest.raises(UserError, match="the domain 'minigrid' already has presets"):
        register_presets("minigrid", {"tiny": SMALL})
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users run
    for nothing in ({}, {"tiny": LEARNER}):
        with pytest.raises(UserError, match="one or more WakeSleepConfigs"):
            register_presets("other", nothing)


@pytest.mark.usefixtures("registries")
def test_another_wake_learner_by_name():
    for name in ("baseline", "fresh-learner"):
        assert isinstance(agent_config(name, learner="vtrace"), VTraceConfig)
    hidden = agent_config("hidden", "fast", learner="vtrace")
    assert isinstance(hidden.learner, VTraceConfig)
    assert hidden.model.network == hidden.learner.network  # the sleep policy has the wake policy's form
    assert hidden.sleep == agent_config("hidden", "fast").sleep
    assert agent_config("hidden", "fast", {"learner.num_steps": 7}, learner="vtrace").learner.num_steps == 7
    with pytest.raises(UserError, match="no learner is called 'dqn': there are ppo, vtrace"):
        agent_config("hidden", learner="dqn")
    with pytest.raises(UserError, match="the agent 'random' has no wake learner to replace"):
        agent_config("random", learner="vtrace")
    register_presets("mine", {"tiny": SMALL})
    assert isinstance(agent_config("hidden", "tiny", domain="mine", learner="vtrace").learner, VTraceConfig)
    assert agent_config("baseline", "tiny", domain="mine", learner="ppo") == LEARNER  # the domain's own PPO
    assert agent_config("hidden", "tiny", domain="mine", learner="ppo") == SMALL
    starcraft = agent_config("two-headed", "fast", domain="starcraft", learner="vtrace")
    assert starcraft == agent_config("two-headed", "fast", domain="starcraft")


@pytest.mark.usefixtures("registries")
def test_settings_are_fitted_to_what_is_observed():
    """One-hot inputs of real numbers cannot be: wherever settings ask for them, inputs are numbers instead."""
    numbers = ObservationSpec.of((4,), np.float32, -np.inf, np.inf)
    one_hot = MLPConfig((8,), Encoding.ONE_HOT)

    @dataclass(frozen=True)
    class Own:
        actor: PPOConfig = PPOConfig(network=one_hot)
        networks: MLPConfig = one_hot
        sleeps: ModelConfig = ModelConfig(network=one_hot, categorical=True)

    register_agent("own", LearnerAgent, Own())
    fitted = agent_config("own", observation=numbers)
    assert fitted.actor.network == fitted.networks == fitted.sleeps.network == MLPConfig((8,), Encoding.SCALE)
    assert not fitted.sleeps.categorical
    assert agent_config("own", observation=SPECS[0]) == Own()  # cells can be spelled out
    assert with_supported_encoding(Own(), numbers) == fitted
    assert agent_config("hidden", "fast", observation=numbers).learner.network.encoding is Encoding.SCALE
    forced = agent_config("own", overrides={"networks.encoding": "one-hot"}, observation=numbers)
    assert forced.networks == one_hot  # who asks for it by name gets it


def test_no_agent_is_ever_given_a_task():
    """What goes into an agent's functions: its state, environments without a name, random keys, numbers."""
    allowed = {"self", "state", "envs", "envs_state", "key", "iterations", "chunk", "steps"}
    for kind in (WakeSleepAgent, LearnerAgent, RandomAgent):
        for name in ("init", "wake", "train", "sleep", "policy", "budget"):
            assert set(inspect.signature(getattr(kind, name)).parameters) <= allowed
    leaves = jax.tree.leaves(ENVS)
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)


def test_what_agents_refuse():
    with pytest.raises(UserError, match="no agent is called 'sleepy'"):
        agent_config("sleepy")
    with pytest.raises(UserError, match="no preset of hidden is called 'slow'"):
        agent_config("hidden", "slow")
    with pytest.raises(UserError, match="at least once"):
        WakeSleepConfig(sleeps_per_block=0)
    with pytest.raises(UserError, match="probability"):
        WakeSleepConfig(advice=1.0)

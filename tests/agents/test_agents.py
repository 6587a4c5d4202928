"""Agents: what happens at waking, living and sleeping, and that none can know its task."""

import inspect
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from wakesleep import UserError
from wakesleep.agents import presets
from wakesleep.agents.agent import Agent
from wakesleep.agents.baselines import LearnerAgent, RandomAgent
from wakesleep.agents.presets import agent_config, agents, make_agent, register_agent
from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
from wakesleep.nets.policy import MLPConfig
from wakesleep.sleep.architectures import Architecture, ModelConfig
from wakesleep.sleep.consolidate import SleepConfig
from wakesleep.wake.ppo import FAST, PAPER, PPOConfig
from wakesleep.wake.rollout import start_life

WORLD = wakesleep.make("DoorKey_S5")
SPECS = (WORLD.observation_spec, WORLD.action_spec)
STEPS = 4000
NETWORK = MLPConfig((32, 16))
LEARNER = PPOConfig(num_envs=4, num_steps=32, minibatch_size=64, epochs=1, network=NETWORK)
SMALL = WakeSleepConfig(
    LEARNER, ModelConfig(network=NETWORK, latent=8, hidden=32), SleepConfig(iterations=20), wake_buffer_size=4 * 128,
    random_replay_per_sleep=16, random_replay_capacity=64, advice_steps=1000,
)  # fmt: skip


def equal(one, two):
    return jax.tree.all(jax.tree.map(lambda a, b: bool((np.asarray(a) == np.asarray(b)).all()), one, two))


def live_once(agent, state, iterations=2, world=WORLD):
    life = start_life(world, jax.random.key(1), agent.num_envs)
    return agent.live(state, world, life, jax.random.key(2), iterations, 4)


def test_a_day_and_a_night():
    agent = WakeSleepAgent(*SPECS, SMALL)
    born = agent.init(jax.random.key(0))
    state = agent.wake(born, WORLD, jax.random.key(1), STEPS)
    state, life, progress = live_once(agent, state)
    assert progress.reward.shape == (4, 32, 4)
    assert life.memory is None  # the agent keeps it
    assert int(state.buffer.filled) == 2 * 128
    assert int(state.awake) == 2 * 128
    assert equal(state.model, born.model)  # awake, the sleep policy stays as it is
    assert not equal(state.learner.networks, born.learner.networks)
    slept, diary = agent.sleep(state, jax.random.key(3))
    assert not equal(slept.model.policy, born.model.policy)
    assert slept.replay.filled == 16
    assert slept.sleeps == 1
    assert diary.numbers["curves"].experience.imitation.shape == (20,)
    assert set(diary.numbers["sleep"]) == {0}
    assert agent.policy(slept) is slept.model
    morning = agent.wake(slept, WORLD, jax.random.key(4), STEPS)
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
    state = agent.wake(agent.init(jax.random.key(0)), WORLD, jax.random.key(1), STEPS)
    head = state.model.policy.head
    stubborn = eqx.tree_at(lambda model: model.policy.head.bias, state.model, head.bias.at[0].set(100.0))

    def turns(state):
        state, _, _ = live_once(agent, state, 4)
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
    world = wakesleep.make("DistShift_R2")
    state = agent.init(jax.random.key(0))._replace(sleeps=np.array(1))

    def with_bias(action):
        place = lambda model: model.policy.head.bias  # noqa: E731
        bias = jnp.zeros(6).at[action].set(100.0)
        return state._replace(model=eqx.tree_at(place, state.model, bias))

    careful, reckless = with_bias(0), with_bias(2)  # turning on the spot loses nothing; forward is lava
    for slept, copied in ((careful, True), (reckless, False)):
        woken = agent.wake(slept, world, jax.random.key(1), STEPS)
        assert equal(woken.learner.networks.policy, slept.model.policy) == copied


def test_the_baseline_goes_on_and_the_expert_begins_anew():
    for fresh in (False, True):
        agent = LearnerAgent(*SPECS, LEARNER, fresh)
        state, _, _ = live_once(agent, agent.init(jax.random.key(0)))
        assert equal(agent.wake(state, WORLD, jax.random.key(5), STEPS), state) == (not fresh)
        assert agent.budget(state).replay_bytes == 0


def test_chance():
    agent = RandomAgent(*SPECS)
    state, _, progress = live_once(agent, agent.init(jax.random.key(0)), 1, wakesleep.make("DistShift_R2"))
    logits = agent.policy(state)(jnp.zeros((3, 7, 7, 3), jnp.uint8))
    assert logits.shape == (3, 6)
    assert not logits.any()
    assert progress.reward.min() == -1  # into the lava


def test_every_agent_of_the_tables():
    ours = ("random", "baseline", "expert", "hidden", "hidden-er", "hidden-er-rar", "hidden-er-gr", "two-headed",
            "sequential")  # fmt: skip
    assert set(ours) <= set(agents())
    for name in ours:
        for preset in ("paper", "fast"):
            agent = make_agent(name, *SPECS, agent_config(name, preset))
            assert isinstance(agent, Agent)
            assert agent.sleeps_per_block == (0 if name in ("random", "baseline", "expert") else 1)
    paper = agent_config("hidden")
    assert paper.learner is PAPER
    assert (paper.sleep.iterations, paper.sleep.batch_size) == (20_000, 32)
    assert tuple(paper.sleep.loss_weights) == (3.0, 1.0, 0.03)
    assert (paper.wake_buffer_size, paper.random_replay_per_sleep, paper.random_replay_capacity) == (20_000, 256, 4096)
    assert (paper.advice, paper.advice_steps, paper.copy_weights) == (0.9, 100_000, False)
    assert agent_config("hidden", "fast").learner is FAST
    flags = {name: agent_config(name).sleep for name in ours if name.startswith("hidden")}
    assert {name: (sleep.generative_replay, sleep.random_replay) for name, sleep in flags.items()} == {
        "hidden": (True, True), "hidden-er": (False, False), "hidden-er-rar": (False, True),
        "hidden-er-gr": (True, False),
    }  # fmt: skip
    assert agent_config("two-headed").model.architecture is Architecture.TWO_HEADED


def test_advice_ends_in_the_middle_of_a_short_waking():
    agent = WakeSleepAgent(*SPECS, replace(SMALL, advice_steps=100_000))
    born = agent.init(jax.random.key(0))
    for steps, expected in ((400_000, 100_000), (200_000, 100_000), (20_000, 10_000)):
        assert int(agent.wake(born, WORLD, jax.random.key(1), steps).advised) == expected


def test_an_agent_of_ones_own(monkeypatch):
    monkeypatch.setattr(presets, "_AGENTS", dict(presets._AGENTS))
    register_agent("own", LearnerAgent, LEARNER)
    config = agent_config("own", "fast", {"epochs": 3})
    assert config == replace(LEARNER, epochs=3)
    assert isinstance(make_agent("own", *SPECS, config), LearnerAgent)
    with pytest.raises(UserError, match="already an agent called 'own'"):
        register_agent("own", LearnerAgent)


def test_no_agent_is_ever_given_a_task():
    """What goes into an agent's functions: its state, a world without a name, random keys, numbers."""
    allowed = {"self", "state", "world", "life", "key", "iterations", "chunk", "steps"}
    for kind in (WakeSleepAgent, LearnerAgent, RandomAgent):
        for name in ("init", "wake", "live", "sleep", "policy", "budget"):
            assert set(inspect.signature(getattr(kind, name)).parameters) <= allowed
    leaves = jax.tree.leaves(WORLD)
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)


def test_what_agents_refuse():
    with pytest.raises(UserError, match="no agent is called 'sleepy'"):
        agent_config("sleepy")
    with pytest.raises(UserError, match="no preset is called 'slow'"):
        agent_config("hidden", "slow")
    with pytest.raises(UserError, match="at least once"):
        WakeSleepConfig(sleeps_per_block=0)
    with pytest.raises(UserError, match="probability"):
        WakeSleepConfig(advice=1.0)

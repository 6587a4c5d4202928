"""Every agent of the paper in StarCraft II, by name: a day and a night on a small screen, with small networks."""

import equinox as eqx
import jax
import numpy as np
import pytest

import wakesleep
from wakesleep.agents.presets import agent_config, agent_names, make_agent
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.worlds.starcraft.tasks import TASKS

WORLD = TASKS["DefeatZerglingsAndBanelings_two"].world(16, marine_slots=16)
NETWORK = {"channels": [4, 4, 4], "hidden": 16}
LEARNER = {"num_envs": 4, "num_steps": 8} | {f"network.{name}": value for name, value in NETWORK.items()}
SMALL = {
    "sleep.iterations": 2, "sleep.batch_size": 8, "wake_buffer_size": 64, "random_replay_per_sleep": 8,
    "random_replay_capacity": 32,
    "mini_evaluation_episodes": 2, "model.latent": 4, "model.hidden": 16, "model.channels": 4,
} | {f"learner.{name}": value for name, value in LEARNER.items()} | {
    f"model.network.{name}": value for name, value in NETWORK.items()
}  # fmt: skip
WAKE_SLEEP = ["hidden", "hidden-er", "hidden-er-rar", "hidden-er-gr", "two-headed", "sequential"]
OURS = ["random", "baseline", "fresh-learner", *WAKE_SLEEP]
assert set(OURS) <= set(agent_names())


def made(name, overrides, world=WORLD):
    config = agent_config(name, "fast", overrides, "starcraft-small")
    return make_agent(name, world.observation_spec, world.action_spec, config)


def finite(tree):
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree) if np.issubdtype(leaf.dtype, np.floating))


@pytest.mark.parametrize("name", ["hidden", "hidden-er", "two-headed", "sequential"])
def test_a_day_and_a_night(name):
    agent = made(name, SMALL)
    born = agent.init(jax.random.key(0))
    envs = JaxEnvs(WORLD, agent.num_envs)
    envs_state = envs.reset(jax.random.key(1))
    state = agent.wake(born, envs, jax.random.key(2), 64)
    state, envs_state, log = agent.train(state, envs, envs_state, jax.random.key(3), 2, 2)
    assert log.reward.shape == (2 * 8, 4)
    assert int(state.buffer.filled) == 64
    assert np.issubdtype(state.buffer.pairs.label.dtype, np.floating)  # the policy's logits are imitated
    state, slept = agent.sleep(state, jax.random.key(4))
    assert finite(state.model)
    assert state.replay.filled == 8
    assert slept.arrays["curves"].generative is None  # nothing to remember yet
    if name == "hidden":  # the next day begins with a trial of the sleep policy, and the next night replays
        state = agent.wake(state, envs, jax.random.key(5), 64)
        state, _, _ = agent.train(state, envs, envs_state, jax.random.key(6), 2, 2)
        state, slept = agent.sleep(state, jax.random.key(7))
        assert finite(slept.arrays["curves"])
        assert slept.arrays["curves"].random is not None
        assert state.replay.filled == 16
    logits = agent.policy(state)(envs_state.observation)
    assert logits.shape == (4, 13 + 3 * 256 + 2 + 4)
    assert finite(logits)


def test_the_baseline_learns():
    agent = made("baseline", LEARNER)
    state = agent.init(jax.random.key(0))
    envs = JaxEnvs(WORLD, agent.num_envs)
    after, _, log = agent.train(state, envs, envs.reset(jax.random.key(1)), jax.random.key(3), 2, 2)
    assert int(after.updates) == 2 * agent.learner.config.epochs
    assert finite(after.networks)
    assert np.isfinite(log.reward).all()


@pytest.mark.parametrize("domain", ["starcraft", "starcraft-small"])
@pytest.mark.parametrize("preset", ["paper", "fast"])
@pytest.mark.parametrize("name", OURS)
def test_every_agent_can_be_made_for_every_task(name, preset, domain):
    """Sizes as they are; nothing is computed."""
    world = wakesleep.make(wakesleep.tasks(domain)[0])
    config = agent_config(name, preset, domain=domain)
    agent = make_agent(name, world.observation_spec, world.action_spec, config)
    if name in WAKE_SLEEP:
        learner = eqx.filter_eval_shape(lambda key: agent.learner.init(key).networks.policy, jax.random.key(0))
        model = eqx.filter_eval_shape(lambda key: config.model.make(agent.observation_spec, agent.action_spec, key),
                               jax.random.key(0))  # fmt: skip
        assert jax.tree.structure(model.policy) == jax.tree.structure(learner)  # weights can be copied
        sizes = [[leaf.shape for leaf in jax.tree.leaves(tree)] for tree in (learner, model.policy)]
        assert sizes[0] == sizes[1]
        assert config.sleeps_per_block == (3 if name in ("two-headed", "sequential") else 2)
    else:
        assert agent.sleeps_per_block == 0

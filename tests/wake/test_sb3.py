"""stable-baselines3's own PPO as the wake learner. Runs where it is installed: `make test-sb3`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from tests.lifetime import walks
from wakesleep import ActionSpec, GymnasiumWorld, UserError
from wakesleep.lifetime import life as life_module
from wakesleep.lifetime.spec import LifetimeSpec, stored_policy
from wakesleep.logs import EpisodeCounter
from wakesleep.nets.policy import MLPConfig
from wakesleep.syllabus.scenarios import pairwise
from wakesleep.wake.learners import learner_config, learner_names, make_learner
from wakesleep.wake.make_envs import make_envs
from wakesleep.wake.ppo import PPO, PPOConfig
from wakesleep.wake.sb3 import SB3PPO, SB3PPOConfig, SB3State
from wakesleep.wake.train import train

assert walks  # registers its tasks


def test_it_learns_cart_pole():
    """A random policy balances for about 22 steps."""
    config = SB3PPOConfig(8, 64, minibatch_size=128, epochs=6, learning_rate=1e-3)
    envs = make_envs("CartPole_v1", 8)
    learner = SB3PPO(envs.observation_spec, envs.action_spec, config)
    start_key, init_key, key = jax.random.split(jax.random.key(0), 3)
    result = train(learner, learner.init(init_key), envs, envs.reset(start_key), key, 40)
    envs.close(result.envs_state)
    episodes = EpisodeCounter.fresh(8).add(result.log.reward, result.log.ended, result.log.valid)
    totals = np.array([episode.total_reward for episode in episodes])
    assert totals[:50].mean() < 45
    assert totals[-20:].mean() > 90


@pytest.fixture
def pair():
    """Our learner and stable-baselines3's with the same settings and weights, and a rollout with every ending."""
    same = {
        "num_envs": 4, "num_steps": 32, "minibatch_size": 128, "epochs": 5, "learning_rate": 1e-3, "clip_eps": 0.1,
        "entropy_coef": 0.01, "value_coef": 0.75, "max_grad_norm": 0.5,
    }  # fmt: skip
    envs = make_envs("CartPole_short", 4)
    specs = envs.observation_spec, envs.action_spec
    ours = PPO(*specs, PPOConfig(network=MLPConfig((16, 16)), **same))
    theirs = SB3PPO(*specs, SB3PPOConfig(hidden=(16, 16), **same))
    state, model = ours.init(jax.random.key(0)), theirs.init(jax.random.key(1))
    parameters = dict(model.parameters)
    for linear, name in zip(linears(state.networks), LAYERS, strict=True):
        parameters[f"{name}.weight"] = np.array(linear.weight.T)
        parameters[f"{name}.bias"] = np.array(linear.bias)
    model = model._replace(parameters=parameters)
    running, rollout = envs.collect(ours.policy(state), envs.reset(jax.random.key(0)), jax.random.key(2), 32)
    envs.close(running)
    assert (rollout.truncated & ~rollout.terminated).any()
    assert rollout.terminated.any()
    return ours, state, theirs, model, rollout


def linears(networks):
    policy, value = networks.policy, networks.critic
    return [*policy.extractor.layers, policy.head, *value.extractor.layers, value.head]


LAYERS = ("mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net", "mlp_extractor.value_net.0",
          "mlp_extractor.value_net.2", "value_net")  # fmt: skip


def test_our_ppo_is_theirs_step_for_step(pair):
    """Five gradient steps on the same rollout, truncated episodes in it, lead to the same weights."""
    ours, state, theirs, model, rollout = pair
    learned, _ = ours.update(state, rollout, jax.random.key(3))
    model, diagnostics = theirs.update(model, rollout, jax.random.key(3))
    for before, linear, name in zip(linears(state.networks), linears(learned.networks), LAYERS, strict=True):
        moved = np.abs(np.asarray(linear.weight - before.weight)).max()
        assert moved > 1e-3
        np.testing.assert_allclose(linear.weight.T, model.parameters[f"{name}.weight"], atol=2e-5)
        np.testing.assert_allclose(linear.bias, model.parameters[f"{name}.bias"], atol=2e-5)
    assert all(np.isfinite(value) for value in diagnostics.values())


def test_its_state_is_all_that_it_knows(pair):
    """Another learner, given the state after one update, goes on as the first does, Adam's moments included."""
    *_, theirs, model, rollout = pair
    other = SB3PPO(theirs.observation_spec, theirs.action_spec, theirs.config)
    other.init(jax.random.key(9))
    middle, _ = theirs.update(model, rollout, jax.random.key(3))
    kept = jax.tree.map(np.array, middle)
    one, _ = theirs.update(middle, rollout, jax.random.key(4))
    two, _ = other.update(SB3State(*kept), rollout, jax.random.key(4))
    for mine, its in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(mine, its)
    for mine, its in zip(jax.tree.leaves(middle), jax.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(mine, its)  # an update leaves the state that it was given as it is
    again, _ = theirs.update(model, rollout, jax.random.key(3))  # and can be repeated from there
    for mine, its in zip(jax.tree.leaves(again), jax.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_its_policy_gives_its_own_logits(pair):
    ours, state, theirs, model, rollout = pair
    view = rollout.observation[0]
    expected = jax.nn.log_softmax(ours.policy(state)(view))
    np.testing.assert_allclose(theirs.policy(model)(view), expected, atol=1e-5)


def test_it_refuses_rows_that_only_reset(pair):
    *_, theirs, model, rollout = pair
    with pytest.raises(UserError, match="autoreset"):
        theirs.update(model, rollout._replace(valid=rollout.valid.at[0, 0].set(False)), jax.random.key(0))


def test_it_refuses_factored_actions():
    world = GymnasiumWorld("CartPole-v1", 1)
    with pytest.raises(UserError, match="one unmasked choice"):
        SB3PPO(world.observation_spec, ActionSpec((("a", 2), ("b", 2))))


def test_it_is_known_by_name():
    assert "sb3-ppo" in learner_names()
    config = learner_config("fast", learner="sb3-ppo")
    assert config == SB3PPOConfig()
    world = GymnasiumWorld("CartPole-v1", 1)
    assert isinstance(make_learner(config, world.observation_spec, world.action_spec), SB3PPO)
    with pytest.raises(UserError, match=r"no setting is called 'network\.hidden'"):
        LifetimeSpec("baseline", None, SYLLABUS, 0, {"network.hidden": [8]}, learner="sb3-ppo").make_agent()


SYLLABUS = pairwise("DoorKey_S5", "DistShift_R2", seed=1, scale=0.005, episodes=3)  # 1,000 steps a block
LEARNER = {"num_envs": 4, "num_steps": 32, "minibatch_size": 64, "epochs": 2, "hidden": [16]}
SLEEPER = {f"learner.{name}": value for name, value in LEARNER.items()} | {
    "model.network.hidden": [16], "model.latent": 8, "model.hidden": 16, "sleep.iterations": 20,
    "wake_buffer_size": 200, "random_replay_per_sleep": 16,
}  # fmt: skip


@pytest.mark.parametrize(("agent", "overrides"), [("baseline", LEARNER), ("hidden", SLEEPER)])
def test_a_life_with_it_is_saved_and_resumed_to_the_same_bytes(agent, overrides, tmp_path, monkeypatch):
    monkeypatch.setattr(life_module, "SECONDS_BETWEEN_SAVES", -1.0)
    monkeypatch.setattr("wakesleep.lifetime.plan.CHUNK_STEPS", 256)
    spec, reports = LifetimeSpec(agent, None, SYLLABUS, 0, overrides, learner="sb3-ppo"), []
    spec.open(tmp_path / "whole").run(lambda part, words: None)

    def cut(part, words):
        reports.append(words)
        if len(reports) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spec.open(tmp_path / "cut").run(cut)
    assert reports[-1].startswith("learning")
    spec.open(tmp_path / "cut").run(lambda part, words: None)
    logged = [
        {str(file.relative_to(tmp_path / name)): file.read_bytes() for file in (tmp_path / name).rglob("*.tsv")}
        for name in ("whole", "cut")
    ]
    assert logged[0] == logged[1]
    logits = stored_policy(tmp_path / "cut")(jnp.zeros((3, 7, 7, 3), jnp.uint8))
    assert logits.shape == (3, 6)
    np.testing.assert_array_equal(logits, stored_policy(tmp_path / "whole")(jnp.zeros((3, 7, 7, 3), jnp.uint8)))

"""stable-baselines3's own PPO as the wake learner. Runs where it is installed: `make test-sb3`."""

import jax
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
import torch

from wakesleep import ActionSpec, GymnasiumWorld, UserError
from wakesleep.logs import EpisodeCounter
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake.host import HostTrainer
from wakesleep.wake.outside import collect_outside
from wakesleep.wake.ppo import PPO, PPOConfig
from wakesleep.wake.rollout import Life
from wakesleep.wake.sb3 import SB3PPO
from wakesleep.worlds import host


def test_it_learns_cart_pole():
    """A random policy balances for about 22 steps."""
    world = GymnasiumWorld("CartPole-v1", 8)
    learner = SB3PPO(world.observation_spec, world.action_spec, 8, 64, batch_size=128, n_epochs=6, learning_rate=1e-3)
    progress = HostTrainer(learner, world, seed=0).train(iterations=40)
    episodes = EpisodeCounter.fresh(8).add(progress.reward, progress.ended)
    totals = np.array([episode.total_reward for episode in episodes])
    assert totals[:50].mean() < 45
    assert totals[-20:].mean() > 90


SETTINGS = {"n_epochs": 5, "learning_rate": 1e-3, "clip_range": 0.1, "ent_coef": 0.01, "vf_coef": 0.75}
NETWORK = {"activation_fn": torch.nn.ReLU, "net_arch": {"pi": [16, 16], "vf": [16, 16]}}


@pytest.fixture
def pair():
    """Our learner and stable-baselines3's with the same settings and weights, and a rollout with every ending."""
    config = PPOConfig(
        num_envs=4, num_steps=32, minibatch_size=128, epochs=5, learning_rate=1e-3, clip_eps=0.1, entropy_coef=0.01,
        value_coef=0.75, max_grad_norm=0.5, network=MLPConfig((16, 16)),
    )  # fmt: skip
    world = GymnasiumWorld("CartPole-v1", 4, max_episode_steps=12)
    ours = PPO(world.observation_spec, world.action_spec, config)
    theirs = SB3PPO(
        world.observation_spec, world.action_spec, 4, 32, batch_size=128, max_grad_norm=0.5, policy_kwargs=NETWORK,
        **SETTINGS,
    )  # fmt: skip
    state, model = ours.init(jax.random.key(0)), theirs.init(jax.random.key(1))
    with torch.no_grad():
        for linear, layer in zip(linears(state.networks), modules(model), strict=True):
            layer.weight.copy_(torch.as_tensor(np.array(linear.weight.T)))
            layer.bias.copy_(torch.as_tensor(np.array(linear.bias)))
    life = Life(host.begin(world, ours.num_envs, 2), None)
    _, rollout = collect_outside(ours.policy(state), life, jax.random.key(2), ours.num_steps)
    assert (rollout.truncated & ~rollout.terminated).any()
    assert rollout.terminated.any()
    return ours, state, theirs, model, rollout


def linears(networks):
    policy, value = networks.policy, networks.critic
    return [*policy.extractor.layers, policy.head, *value.extractor.layers, value.head]


def modules(model):
    policy = model.policy
    hidden, value = policy.mlp_extractor.policy_net, policy.mlp_extractor.value_net
    return [hidden[0], hidden[2], policy.action_net, value[0], value[2], policy.value_net]


def test_our_ppo_is_theirs_step_for_step(pair):
    """Five gradient steps on the same rollout, truncated episodes in it, lead to the same weights."""
    ours, state, theirs, model, rollout = pair
    learned, _ = ours.learn(state, rollout, jax.random.key(3))
    theirs.learn(model, rollout, jax.random.key(3))
    for before, linear, layer in zip(linears(state.networks), linears(learned.networks), modules(model), strict=True):
        moved = np.abs(np.asarray(linear.weight - before.weight)).max()
        assert moved > 1e-3
        np.testing.assert_allclose(linear.weight.T, layer.weight.detach().numpy(), atol=2e-5)
        np.testing.assert_allclose(linear.bias, layer.bias.detach().numpy(), atol=2e-5)


def test_its_policy_gives_its_own_logits(pair):
    ours, state, theirs, model, rollout = pair
    view = rollout.observation[0]
    expected = jax.nn.log_softmax(ours.policy(state)(view))
    np.testing.assert_allclose(theirs.policy(model)(view), expected, atol=1e-5)


def test_it_refuses_rows_that_only_reset(pair):
    *_, theirs, model, rollout = pair
    with pytest.raises(UserError, match="autoreset"):
        theirs.learn(model, rollout._replace(valid=rollout.valid.at[0, 0].set(False)), jax.random.key(0))


def test_it_refuses_factored_actions():
    world = GymnasiumWorld("CartPole-v1", 1)
    with pytest.raises(UserError, match="one unmasked choice"):
        SB3PPO(world.observation_spec, ActionSpec((("a", 2), ("b", 2))))

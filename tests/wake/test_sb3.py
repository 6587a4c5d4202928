"""stable-baselines3's own PPO as the wake learner. Runs where it is installed: `make test-sb3`."""

import jax
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from wakesleep import ActionSpec, GymnasiumWorld, UserError
from wakesleep.wake.host import HostTrainer, episode_returns
from wakesleep.wake.sb3 import SB3PPO


def test_it_learns_cart_pole():
    """A random policy balances for about 22 steps."""
    world = GymnasiumWorld("CartPole-v1", 8)
    learner = SB3PPO(world.observation_spec, world.action_spec, 8, 64, batch_size=128, n_epochs=6, learning_rate=1e-3)
    progress = HostTrainer(learner, world, seed=0).train(iterations=40)
    totals, _, _ = episode_returns(progress.reward, progress.ended)
    assert totals[:50].mean() < 45
    assert totals[-20:].mean() > 90


def test_its_policy_gives_its_own_logits():
    world = GymnasiumWorld("CartPole-v1", 2)
    learner = SB3PPO(world.observation_spec, world.action_spec, 2, 16, batch_size=32)
    model = learner.init(jax.random.key(0))
    logits = learner.policy(model)(np.ones((2, 4), np.float32))
    assert logits.shape == (2, 2)
    np.testing.assert_allclose(np.exp(logits).sum(1), 1, rtol=1e-5)


def test_it_refuses_factored_actions():
    world = GymnasiumWorld("CartPole-v1", 1)
    with pytest.raises(UserError, match="one unmasked choice"):
        SB3PPO(world.observation_spec, ActionSpec((("a", 2), ("b", 2))))

"""Learning in environments that live outside JAX."""

import gymnasium
import numpy as np
import pytest

import wakesleep
from wakesleep import GymnasiumWorld, UserError
from wakesleep.logs import EpisodeCounter
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake.host import HostTrainer
from wakesleep.wake.ppo import PPO, PPOConfig
from wakesleep.wake.vtrace import VTrace, VTraceConfig


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


def test_ppo_learns_cart_pole():
    """A random policy balances for about 22 steps."""
    config = PPOConfig(
        num_envs=8, num_steps=64, minibatch_size=128, epochs=6, learning_rate=1e-3, network=MLPConfig((64, 64))
    )
    world = GymnasiumWorld("CartPole-v1", config.num_envs)
    trainer = HostTrainer(PPO(world.observation_spec, world.action_spec, config), world, seed=0)
    progress = trainer.train(iterations=40)
    episodes = EpisodeCounter.fresh(8).add(progress.reward, progress.ended)
    totals = np.array([episode.total_reward for episode in episodes])
    assert totals[:50].mean() < 45
    assert totals[-20:].mean() > 90


@pytest.mark.parametrize("learner", ["ppo", "vtrace"])
def test_both_learners_run_on_real_minigrid(learner):
    spec = wakesleep.make("DoorKey_S5").observation_spec
    world = GymnasiumWorld("wakesleep/DoorKey_S5", 4, observation_spec=spec)
    if learner == "ppo":
        config = PPOConfig(num_envs=4, num_steps=16, minibatch_size=32, epochs=2, network=MLPConfig((32,)))
        made = PPO(world.observation_spec, world.action_spec, config)
    else:
        made = VTrace(
            world.observation_spec,
            world.action_spec,
            VTraceConfig(num_envs=4, num_steps=16, network=MLPConfig((32,))),
        )
    runs = []
    for _ in range(2):
        trainer = HostTrainer(made, world, seed=5)
        progress = trainer.train(iterations=3)
        runs.append((trainer.state.networks.policy.head.weight, progress.reward))
    assert progress.reward.shape == (48, 4)
    assert all(np.isfinite(value) for terms in progress.terms for value in terms.values())
    np.testing.assert_array_equal(runs[0][0], runs[1][0])  # the same seed, the same result


@pytest.mark.parametrize("where", ["reward", "observation", "start"])
def test_what_is_no_number_stops_training(where):
    named = "reward" if where == "reward" else "observation"
    envs = [lambda: Spoiled(""), lambda: Spoiled(where)]
    world = GymnasiumWorld(gymnasium.vector.SyncVectorEnv(envs, autoreset_mode="Disabled"))
    config = VTraceConfig(num_envs=2, num_steps=5, network=MLPConfig((8,)))
    trainer = HostTrainer(VTrace(world.observation_spec, world.action_spec, config), world, seed=0)
    with pytest.raises(UserError, match=f"environment 1 gave .* {named} .* step 3"):
        trainer.train(iterations=1)
    assert trainer.state.updates == 0


def test_what_does_not_fit_is_refused():
    world = GymnasiumWorld("CartPole-v1", 2)
    with pytest.raises(UserError, match="4 environments, the world has 2"):
        HostTrainer(VTrace(world.observation_spec, world.action_spec, VTraceConfig(num_envs=4)), world, seed=0)
    trainer = HostTrainer(VTrace(world.observation_spec, world.action_spec, VTraceConfig(num_envs=2)), world, seed=0)
    with pytest.raises(UserError, match="at least one iteration"):
        trainer.train(0)

"""stable-baselines3's own PPO as a wake learner: proof that an off-the-shelf learner can be put in (extra `sb3`).

    learner = SB3PPO(world.observation_spec, world.action_spec, n_steps=512)
    HostTrainer(learner, world, seed=0).train(iterations=100)

Its state is the stable-baselines3 model itself, which `learn` changes in place.
"""

from typing import Any

import gymnasium
import jax
import numpy as np

from wakesleep.errors import UserError
from wakesleep.wake.rollout import Rollout, Terms
from wakesleep.worlds.world import ActionSpec, ObservationSpec

try:
    import torch
    from stable_baselines3 import PPO as Reference
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import DummyVecEnv
except ImportError as error:  # pragma: no cover
    raise UserError("this learner needs stable-baselines3: pip install 'wakesleep[sb3]'") from error


class _Spaces(gymnasium.Env[Any, Any]):
    """An environment that only says what it looks like: stable-baselines3 wants one to build its networks."""

    def __init__(self, observation: ObservationSpec, action: ActionSpec) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, observation.shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(action.sizes[0])


class SB3PPO:
    """stable-baselines3's PPO behind the `Learner` interface. Observations are divided by their spec's scale."""

    jittable = False

    def __init__(
        self, observation: ObservationSpec, action: ActionSpec, num_envs: int = 1, n_steps: int = 512, **settings: Any
    ) -> None:
        """`settings` go to stable-baselines3's constructor."""
        if not action.is_single or action.masked:
            raise UserError("stable-baselines3's PPO takes one unmasked choice per step; use our PPO or V-trace")
        self.observation_spec, self.action_spec, self.settings = observation, action, settings
        self.num_envs, self.num_steps = num_envs, n_steps

    def init(self, key: jax.Array) -> Reference:
        """A fresh model."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        env = DummyVecEnv([lambda: _Spaces(self.observation_spec, self.action_spec)] * self.num_envs)
        model = Reference("MlpPolicy", env, n_steps=self.num_steps, seed=seed, device="cpu", **self.settings)
        model.set_logger(Logger(None, []))
        return model

    def policy(self, state: Reference) -> Any:
        """Logits from the model's policy."""

        def logits(observation: Any) -> jax.Array:
            with torch.no_grad():
                distribution = state.policy.get_distribution(self._tensor(observation))
            return jax.numpy.asarray(distribution.distribution.logits.numpy())

        return logits

    def learn(self, state: Reference, rollout: Rollout, key: jax.Array) -> tuple[Reference, Terms]:
        """Fill the model's own buffer and let it train."""
        del key  # the model has its own random numbers
        if not np.all(rollout.valid):
            raise UserError("stable-baselines3 cannot leave out rows that only reset: turn next-step autoreset off")
        buffer, gamma = state.rollout_buffer, state.gamma
        buffer.reset()
        starts = np.ones(self.num_envs)
        for step in range(self.num_steps):
            observation, next_observation = (
                self._tensor(part[step]) for part in (rollout.observation, rollout.next_observation)
            )
            with torch.no_grad():
                values, next_values = (
                    state.policy.predict_values(observation),
                    state.policy.predict_values(next_observation),
                )
            cut = rollout.truncated[step] & ~rollout.terminated[step]
            reward = rollout.reward[step] + gamma * cut * next_values.numpy()[:, 0]
            log_prob = torch.as_tensor(np.array(rollout.log_prob[step]))
            action = np.asarray(rollout.action[step]).reshape(self.num_envs, 1)
            buffer.add(observation.numpy(), action, reward, starts, values, log_prob)
            starts = np.asarray(rollout.ended[step], float)
        buffer.compute_returns_and_advantage(last_values=next_values, dones=starts)
        state.train()
        return state, {name: jax.numpy.float32(value) for name, value in state.logger.name_to_value.items()}

    def _tensor(self, observation: Any) -> Any:
        scale = self.observation_spec.scale.astype(np.float32)
        return torch.as_tensor(np.asarray(observation, np.float32) / scale)

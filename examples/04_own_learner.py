"""A wake learner of your own, in plain NumPy: REINFORCE with a linear policy, in a whole life with sleep.

    python examples/04_own_learner.py

A learner has `init`, `policy` and `update` over a state of arrays. One in JAX sets `jittable = True` and is compiled
with the environments; this one is called from Python, and still it can be killed and resumed like any other.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import wakesleep as ws


@dataclass(frozen=True)
class ReinforceConfig:
    """Settings, which `--set` and `overrides` can change."""

    num_envs: int = 16
    """Environments that act at the same time."""
    num_steps: int = 64
    """Steps of every environment in a rollout."""
    learning_rate: float = 0.1
    discount: float = 0.95


class Reinforce:
    """Policy gradient with the mean return as baseline (Williams 1992)."""

    jittable = False

    def __init__(self, observation: ws.ObservationSpec, action: ws.ActionSpec, config: ReinforceConfig) -> None:
        self.observation, self.action, self.config = observation, action, config
        self.num_envs, self.num_steps = config.num_envs, config.num_steps

    def init(self, key: jax.Array) -> np.ndarray:
        """The state is one matrix: every action equally likely."""
        return np.zeros((int(np.prod(self.observation.shape)) + 1, self.action.sizes[0]), np.float32)

    def policy(self, state: np.ndarray) -> Any:
        """From observations to logits."""
        return lambda observation: self._inputs(observation) @ state

    def update(self, state: np.ndarray, rollout: ws.Rollout, key: jax.Array) -> tuple[np.ndarray, dict[str, Any]]:
        """One gradient step on the whole rollout."""
        returns, future = np.zeros(rollout.reward.shape), np.zeros(self.num_envs)
        for step in reversed(range(self.num_steps)):
            future = np.asarray(rollout.reward[step]) + self.config.discount * future * ~np.asarray(rollout.ended[step])
            returns[step] = future
        inputs = self._inputs(rollout.observation)
        logits = inputs @ state
        probabilities = np.asarray(jax.nn.softmax(logits))
        errors = np.eye(self.action.sizes[0])[np.asarray(rollout.action)] - probabilities
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        gradient = np.einsum("tei,tea->ia", inputs, errors * advantage[..., None]) / returns.size
        return (state + self.config.learning_rate * gradient).astype(np.float32), {"return": np.float32(returns.mean())}

    def _inputs(self, observation: Any) -> np.ndarray:
        scaled = np.asarray(observation, np.float32) / self.observation.scale
        flat = scaled.reshape(*scaled.shape[: scaled.ndim - len(self.observation.shape)], -1)
        return np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], -1).astype(np.float32)


ws.register_learner("reinforce", ReinforceConfig, Reinforce)


def main(scale: float = 1.0) -> None:
    """Train it alone, then as the wake learner of an agent that sleeps."""
    expert = ws.train("reinforce", "DistShift_R2", steps=int(100_000 * scale) + 1024)
    print(f"alone: {expert.mean_return:.2f}")
    quick = {"sleep.iterations": int(2000 * scale) + 10}
    life = ws.run("hidden", ["DistShift_R2", "DoorKey_S5"], learner="reinforce", scale=scale, overrides=quick)
    print(life.returns.round(2))


if __name__ == "__main__":
    main()

"""Training where the environment lives outside JAX, by hand: a learner that keeps its environments going.

Lifetimes and experts do the same by name (`docs/worlds.md`). A learner need not be in JAX either: all it needs is
`jittable = False` and a `policy` that turns observations into logits (see `wake/sb3.py`).
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from wakesleep.errors import UserError
from wakesleep.wake.learner import Learner, train
from wakesleep.wake.rollout import Advice, Life
from wakesleep.worlds import host
from wakesleep.worlds.world import HostWorld


class HostProgress(NamedTuple):
    """What training brought, axes: time, environment."""

    reward: np.ndarray
    ended: np.ndarray
    valid: np.ndarray
    terms: list[dict[str, float]]


class HostTrainer:
    """A learner in a host world: keeps the environments going from call to call.

    trainer = HostTrainer(learner, GymnasiumWorld("CartPole-v1", learner.num_envs), seed=0)
    progress = trainer.train(iterations=10)
    """

    def __init__(self, learner: Learner, world: HostWorld, seed: int, state: Any = None) -> None:
        """Begin with a newborn learner, or go on with a given state."""
        self.learner, self.world = learner, world
        init_key, self._key = jax.random.split(jax.random.key(seed))
        self.state = learner.init(init_key) if state is None else state
        self._life = Life(host.begin(world, learner.num_envs, seed), None)

    def train(self, iterations: int, advice: Advice | None = None) -> HostProgress:
        """Collect and learn from so many rollouts. If one goes wrong, the learner is as the one before left it."""
        if iterations < 1:
            raise UserError(f"training takes at least one iteration, not {iterations}")
        parts, terms = [], []
        for number in range(iterations):
            self._key, key = jax.random.split(self._key)
            now = advice and advice.later(number * self.learner.num_steps * self.learner.num_envs)
            self.state, self._life, brought = train(self.learner, self.state, self.world, self._life, key, 1, 1, now)
            parts.append((brought.reward[0], brought.ended[0], brought.valid[0]))
            terms.append({name: float(value[0]) for name, value in brought.terms.items()})
        reward, ended, valid = (np.concatenate(rows) for rows in zip(*parts, strict=True))
        return HostProgress(reward, ended, valid, terms)

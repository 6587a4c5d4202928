"""Training where the environment lives outside JAX: the same learners, stepped from Python.

Any Gymnasium environment comes in this way (`GymnasiumWorld`), real Farama Minigrid among them. Rollouts are collected
in batches on the host; the update is the learner's own compiled one. A learner need not be in JAX either: all it needs
is `compiles = False` and a `policy` that turns observations into logits (see `wake/sb3.py`).
"""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.errors import UserError
from wakesleep.wake.learner import Learner
from wakesleep.wake.rollout import Advice, Rollout, act, row_of
from wakesleep.worlds.world import HostWorld

_compiled_act = eqx.filter_jit(act)


class HostProgress(NamedTuple):
    """What training brought, axes: time, environment."""

    reward: np.ndarray
    ended: np.ndarray
    valid: np.ndarray
    terms: list[dict[str, float]]


@partial(jax.jit, static_argnums=0)
def _compiled_learn(learner: Learner, state: Any, rollout: Rollout, key: jax.Array) -> Any:
    return learner.learn(state, rollout, key)


class HostTrainer:
    """A learner in a host world: keeps the environments going from call to call.

    trainer = HostTrainer(learner, GymnasiumWorld("CartPole-v1", learner.num_envs), seed=0)
    progress = trainer.train(iterations=10)
    """

    def __init__(self, learner: Learner, world: HostWorld, seed: int, state: Any = None) -> None:
        """Begin with a newborn learner, or go on with a given state."""
        if world.num_envs != learner.num_envs:
            raise UserError(f"the learner acts in {learner.num_envs} environments, the world has {world.num_envs}")
        self.learner, self.world = learner, world
        init_key, self._key = jax.random.split(jax.random.key(seed))
        self.state = learner.init(init_key) if state is None else state
        self._steps = 0
        self._observation = self._checked(world.reset(seed), "observation")

    def train(self, iterations: int, advice: Advice | None = None) -> HostProgress:
        """Collect and learn from so many rollouts."""
        if iterations < 1:
            raise UserError(f"training takes at least one iteration, not {iterations}")
        rollouts, terms = [], []
        for number in range(iterations):
            self._key, learn_key = jax.random.split(self._key)
            now = advice and advice.later(number * self.learner.num_steps * self.learner.num_envs)
            rollout = self._collect(now)
            learn = partial(_compiled_learn, self.learner) if self.learner.compiles else self.learner.learn
            self.state, brought = learn(self.state, rollout, learn_key)
            rollouts.append((rollout.reward, rollout.ended, rollout.valid))
            terms.append({name: float(value) for name, value in brought.items()})
        reward, ended, valid = (np.concatenate(parts) for parts in zip(*rollouts, strict=True))
        return HostProgress(reward, ended, valid, terms)

    def _collect(self, advice: Advice | None) -> Rollout:
        spec, policy, rows = self.world.action_spec, self.learner.policy(self.state), []
        choose = _compiled_act if self.learner.compiles else act
        for number in range(self.learner.num_steps):
            self._key, act_key = jax.random.split(self._key)
            now = advice and advice.later(number * self.learner.num_envs)
            action, log_prob = choose(spec, policy, self._observation, act_key, now)
            stepped = self.world.step(np.asarray(action))
            self._steps += 1
            self._checked(stepped.reward, "reward")
            self._checked(stepped.successor, "observation")
            self._checked(stepped.observation, "observation")
            rows.append(row_of(self._observation, action, log_prob, stepped))
            self._observation = stepped.observation
        return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *rows)

    def _checked(self, values: Any, what: str) -> Any:
        """Stop at the first number that is none, before it spoils the networks."""
        for leaf in jax.tree.leaves(values):
            if np.issubdtype(leaf.dtype, np.floating) and not np.isfinite(leaf).all():
                bad = np.argwhere(~np.isfinite(leaf.reshape(self.world.num_envs, -1)).all(axis=1))[0, 0]
                raise UserError(
                    f"environment {bad} gave a {what} that is not a finite number at step {self._steps}:"
                    " training stopped before learning from it; the learner is as its last complete rollout left it"
                )
        return values

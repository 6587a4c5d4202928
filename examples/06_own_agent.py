"""A baseline agent of your own: shrink and perturb, which keeps a learner plastic between tasks (Ash & Adams 2020).

    python examples/06_own_agent.py

An agent has `init`, `wake`, `train`, `sleep`, `policy` and `budget` over a state of arrays. It is never told its task.
This one is the wake learner alone, but for what it does at night.
"""

from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax

import wakesleep as ws


@dataclass(frozen=True)
class ShrinkConfig:
    """Settings, which `--set` and `overrides` can change."""

    learner: Any = field(default_factory=lambda: ws.agent_config("baseline", "fast"))
    """Settings of the wake learner."""
    shrink: float = 0.6
    """What is left of the weights after a sleep."""
    perturb: float = 0.1
    """How much of fresh weights is added."""


class ShrinkAndPerturb(ws.LearnerAgent):
    """The wake learner, whose weights are drawn towards fresh ones at the end of every block."""

    sleeps_per_block = 1

    def __init__(self, observation: ws.ObservationSpec, action: ws.ActionSpec, config: ShrinkConfig) -> None:
        super().__init__(observation, action, config.learner)
        self.config = config

    def sleep(self, state: Any, key: jax.Array) -> tuple[Any, ws.SleepLog]:
        """Shrink and perturb the networks; the optimiser begins anew."""
        fresh = self.learner.init(key)

        def mix(old: Any, new: Any) -> Any:
            return self.config.shrink * old + self.config.perturb * new if eqx.is_inexact_array(old) else old

        networks = jax.tree.map(mix, state.networks, fresh.networks)
        return fresh._replace(networks=networks), ws.SleepLog({})


ws.register_agent("shrink-and-perturb", ShrinkAndPerturb, ShrinkConfig())


def main(scale: float = 1.0) -> None:
    """Compare it with the plain learner on the same tasks."""
    tasks = ["DistShift_R3", "CustomUnlock_S5"]
    lives = [ws.run(agent, tasks, scale=scale, episodes=20, seed=1) for agent in ("baseline", "shrink-and-perturb")]
    print(ws.compare(lives))


if __name__ == "__main__":
    main()

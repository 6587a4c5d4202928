"""Short corridors, and agents to disturb: what the tests of experiments `--load`."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import jax.numpy as jnp

from tests.worlds.toys import Corridor
from wakesleep import register
from wakesleep.agents.baselines import LearnerAgent
from wakesleep.agents.presets import register_agent
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake.ppo import PPOConfig

SMALL = PPOConfig(num_envs=4, num_steps=32, minibatch_size=64, epochs=1, network=MLPConfig(hidden=(8,)))
PIDS = "WAKESLEEP_TEST_PIDS"
"""Environment variable: a folder in which workers leave their process ids, and stumbling ones a mark."""


class Slow(LearnerAgent):
    """Takes its time, so that it can be interrupted."""

    def train(self, *arguments):
        if folder := os.environ.get(PIDS):
            (Path(folder) / str(os.getpid())).touch()
            time.sleep(0.1)
        return super().train(*arguments)


class Stumbling(LearnerAgent):
    """Fails the first time that it trains: by an error, or (`deadly`) with its whole process."""

    deadly = False

    def train(self, *arguments):
        mark = Path(os.environ[PIDS]) / f"stumbled-{self.deadly}"
        if not mark.exists():
            mark.touch()
            if self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ZeroDivisionError("stumbled")
        return super().train(*arguments)


class Dying(Stumbling):
    """Dies with its process."""

    deadly = True


class Hopeless(LearnerAgent):
    """Always fails."""

    def train(self, *arguments):
        raise ZeroDivisionError("hopeless")


for length in (5, 9):
    register(f"Hallway_L{length}", partial(Corridor, jnp.int32(length)), domain="corridors", block_steps=10_240)
for name, agent in {"slow": Slow, "stumbling": Stumbling, "dying": Dying, "hopeless": Hopeless}.items():
    register_agent(name, agent, SMALL)

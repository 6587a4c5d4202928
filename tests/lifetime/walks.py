"""Small Gymnasium environments, registered as tasks: what the tests of lives outside JAX `--load`."""

from functools import partial

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wakesleep import GymnasiumWorld, ObservationSpec, register


class Walk(gymnasium.Env):
    """Walk to one end of five cells in at most ten steps; what is seen is where one is, and which end counts."""

    observation_space = Box(0, 4, (2,), np.int64)
    action_space = Discrete(2)
    alive, seeds = 0, ()  # how many are open, and with what they were begun
    fails_in, bad_reward_in = None, None  # so many steps from now, in all environments together

    def __init__(self, goal):
        self.goal, self.open = goal, True
        Walk.alive += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            Walk.seeds = (*Walk.seeds, seed)
        self.place, self.steps = int(self.np_random.integers(1, 4)), 0
        return self._see(), {}

    def step(self, action):
        if _runs_out("fails_in"):
            raise RuntimeError("the robot fell over.\nBadly.")
        self.place, self.steps = min(max(self.place + 2 * int(action) - 1, 0), 4), self.steps + 1
        reward = float("nan") if _runs_out("bad_reward_in") else float(self.place == self.goal)
        return self._see(), reward, self.place == self.goal, self.steps >= 10, {}

    def close(self):
        Walk.alive -= self.open
        self.open = False

    def _see(self):
        return np.array([self.place, self.goal])


def _runs_out(name):
    left = getattr(Walk, name)
    setattr(Walk, name, None if left in (None, 0) else left - 1)
    return left == 0


class Endless(Walk):
    """Never ends."""

    def step(self, action):
        return self._see(), 0.0, False, False, {}


def vector(goal):
    return GymnasiumWorld(SyncVectorEnv([partial(Walk, goal)] * 4, autoreset_mode=AutoresetMode.NEXT_STEP))


def broken():
    raise FileNotFoundError("where is robot.xml?")


for side, goal in (("left", 0), ("right", 4)):
    register(f"Walk_{side}", partial(GymnasiumWorld, partial(Walk, goal)), domain="walks", block_steps=4096)
    register(f"WalkVector_{side}", partial(vector, goal), domain="walks", block_steps=1024)
register("CartPole_v1", lambda: GymnasiumWorld("CartPole-v1"), domain="poles", block_steps=1024)
register(
    "CartPole_short", lambda: GymnasiumWorld("CartPole-v1", max_episode_steps=20), domain="poles", block_steps=1024
)
register(
    "Walk_tall",
    lambda: GymnasiumWorld(partial(Walk, 0), observation_spec=ObservationSpec.of((2,), np.int32, 0, 9)),
    domain="walks",
    block_steps=1024,
)

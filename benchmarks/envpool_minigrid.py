"""Steps per second of EnvPool's own Minigrid, run by worlds.py inside the benchmark's own environment. Prints JSON."""

import json
import sys
import time

import envpool
import numpy as np


def measure(task: str, num_envs: int, seconds: float) -> float:
    """Steps per second with random actions on one thread."""
    envs = envpool.make_gymnasium(task, num_envs=num_envs, num_threads=1, seed=0)
    envs.reset()
    actions = np.random.default_rng(0).integers(0, 6, (64, num_envs)).astype(np.int32)
    if envs.action_space.n < 6:
        actions %= envs.action_space.n
    best, start = 0.0, time.perf_counter()
    while time.perf_counter() - start < seconds:  # the best of many short rounds, as for the others
        begin = time.perf_counter()
        for row in actions:
            envs.step(row)
        best = max(best, actions.size / (time.perf_counter() - begin))
    return best


tasks, sizes, seconds = json.loads(sys.argv[1])
print(json.dumps({task: {size: measure(task, size, seconds) for size in sizes} for task in tasks}))

"""Steps per second of stable-baselines3's PPO with the paper's settings, run by learners.py in its own environment."""

import sys
import time

import torch
from stable_baselines3 import PPO

from sb3_curves import NETWORK, PAPER, make

torch.set_num_threads(1)
model = PPO("MlpPolicy", make(sys.argv[1]), seed=0, device="cpu", policy_kwargs=NETWORK, **PAPER)
model.learn(512)  # warm up
best, start = 0.0, time.perf_counter()
while time.perf_counter() - start < float(sys.argv[2]):  # the best of many rounds, as for our own
    begin = time.perf_counter()
    model.learn(512, reset_num_timesteps=False)
    best = max(best, 512 / (time.perf_counter() - begin))
print(best)

"""Learning curves of stable-baselines3's PPO with the paper's settings: the reference that our PPO is compared with.

    .venv-sb3/bin/python benchmarks/sb3_curves.py --tasks DoorKey_S5 DistShift_R2 --seeds 0 1 2

runs in an environment of its own (`pip install torch==2.13.0 stable-baselines3` and this package), on one core, for the
block length that the paper gives each task. Observations are scaled by each channel's maximum. Appends to
results/sb3_curves.csv one row per 10,000 steps: mean return and number of the episodes that ended in them; and at the
end a row `final` with the mean return of 100 episodes of the frozen policy, actions sampled, and the processor seconds
of the run (none for the first nine: they were timed by the clock while being paused). Finished runs are skipped.
"""

import argparse
import csv
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from wakesleep.worlds.minigrid.tasks import BLOCK_STEPS  # importing it registers the environments

PAPER = {
    "n_steps": 512, "batch_size": 32, "gae_lambda": 0.95, "gamma": 0.99, "n_epochs": 10, "ent_coef": 5e-5,
    "learning_rate": 2.5e-4, "clip_range": 0.3, "vf_coef": 0.75, "max_grad_norm": 5.0,
}  # fmt: skip
NETWORK = {"activation_fn": torch.nn.ReLU, "net_arch": {"pi": [256, 256], "vf": [256, 256]}}
WINDOW = 10_000
OUT = Path(__file__).parent / "results" / "sb3_curves.csv"
COLUMNS = ("task", "seed", "steps", "mean_return", "episodes", "seconds")


def make(task: str) -> gymnasium.Env:
    """The task on the real minigrid package, each channel scaled by its maximum."""
    scale = np.array([10, 5, 2], np.float32)
    space = gymnasium.spaces.Box(0, 1, (7, 7, 3), np.float32)
    env = gymnasium.make(f"wakesleep/{task}")
    return Monitor(gymnasium.wrappers.TransformObservation(env, lambda view: (view / scale).astype(np.float32), space))


class Curve(BaseCallback):
    """Collects the returns of episodes by windows of steps."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: dict[int, list[float]] = {}

    def _on_step(self) -> bool:
        window = (self.num_timesteps + WINDOW - 1) // WINDOW * WINDOW
        returns = self.windows.setdefault(window, [])
        returns.extend(info["episode"]["r"] for info in self.locals["infos"] if "episode" in info)
        return True


def run(task: str, seed: int, steps: int) -> list[tuple]:
    """Train once; the rows of one run."""
    env, curve, begin = make(task), Curve(), time.process_time()
    model = PPO("MlpPolicy", env, seed=seed, device="cpu", policy_kwargs=NETWORK, **PAPER)
    model.learn(steps, curve)
    seconds = round(time.process_time() - begin, 1)
    rows = [
        (task, seed, window, round(float(np.mean(returns)), 4) if returns else "", len(returns), "")
        for window, returns in curve.windows.items()
    ]
    mean, _ = evaluate_policy(model, env, n_eval_episodes=100, deterministic=False)
    return [*rows, (task, seed, "final", round(float(mean), 4), 100, seconds)]


def main() -> None:
    """Run what is asked for and not yet there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(BLOCK_STEPS), choices=list(BLOCK_STEPS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, help="instead of the paper's block length")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    OUT.parent.mkdir(exist_ok=True)
    done = set()
    if OUT.exists():
        with OUT.open() as file:
            done = {(row["task"], int(row["seed"])) for row in csv.DictReader(file) if row["steps"] == "final"}
    for seed in arguments.seeds:
        for task in arguments.tasks:
            if (task, seed) in done:
                continue
            rows = run(task, seed, arguments.steps or BLOCK_STEPS[task])
            is_new = not OUT.exists()
            with OUT.open("a", newline="") as file:
                writer = csv.writer(file)
                if is_new:
                    writer.writerow(COLUMNS)
                writer.writerows(rows)
            print(*rows[-1], flush=True)


if __name__ == "__main__":
    main()

"""How fast the Minigrid worlds are: our engine, Farama's `minigrid` and EnvPool in one run, as ratios.

    make bench

Random actions, observations computed and episodes restarted in all three, everything on one core. Timings on a
shared machine are noisy: every number is the best of many short rounds.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import wakesleep
from wakesleep import AutoResetStep, runtime
from wakesleep.worlds.batch import random_rollout
from wakesleep.worlds.minigrid.farama import make_env

SIZES = (1, 16, 64, 1024)
STOCK = {
    "SimpleCrossing_S9N1": "MiniGrid-SimpleCrossingS9N1-v0",
    "SimpleCrossing_S9N2": "MiniGrid-SimpleCrossingS9N2-v0",
    "DistShift_R2": "MiniGrid-DistShift1-v0",
    "DoorKey_S5": "MiniGrid-DoorKey-5x5-v0",
    "DoorKey_S6": "MiniGrid-DoorKey-6x6-v0",
}
"""Our tasks that are stock Minigrid, apart from the reward of lava: what EnvPool can be compared on."""


def best_rate(run: Callable[[int], int], seconds: float) -> float:
    """Steps per second in the best of many rounds: what the machine can do when nothing disturbs it.

    `run` is given the number of the round and returns how many steps it took.
    """
    best, number, start = 0.0, 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        steps = run(number)
        best, number = max(best, steps / (time.perf_counter() - begin)), number + 1
    return best


def farama_rate(task: str, seconds: float) -> float:
    """Steps per second of one environment of the real package."""
    env = make_env(task)
    env.reset(seed=0)

    def run(number: int) -> int:
        for action in np.random.default_rng(number).integers(0, 6, 500).tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return 500

    return best_rate(run, seconds)


def compile_engine(num_envs: int, num_steps: int) -> tuple[Callable[..., AutoResetStep], float]:
    """The engine's rollout for this many environments, compiled, and how long that took.

    A rollout draws its pool of starts, as a learner's chunk of work does, and keeps everything it saw.
    """
    start = time.perf_counter()
    rollout = jax.jit(random_rollout, static_argnums=(2, 3))
    compiled = rollout.lower(wakesleep.make("DoorKey_S5"), jax.random.key(0), num_envs, num_steps).compile()
    return compiled, time.perf_counter() - start


def engine_rate(rollout: Callable[..., AutoResetStep], task: str, steps: int, seconds: float) -> float:
    """Steps per second of a compiled rollout of so many steps."""
    world = wakesleep.make(task)

    def run(number: int) -> int:
        jax.block_until_ready(rollout(world, jax.random.key(number)))
        return steps

    run(0)
    return best_rate(run, seconds)


def envpool_rates(python: Path | None, seconds: float) -> dict[str, dict[str, float]]:
    """EnvPool's steps per second by our task and number of environments; empty where there is no EnvPool."""
    if python is None or not python.exists():
        return {}
    script = Path(__file__).parent / "envpool_minigrid.py"
    question = json.dumps([list(STOCK.values()), SIZES, seconds])
    answer = subprocess.run([python, script, question], capture_output=True, text=True, check=True)
    by_stock = json.loads(answer.stdout)
    return {task: by_stock[stock] for task, stock in STOCK.items()}


def main(seconds: float = 1.0, core: int = 0, envpool_python: Path | None = None) -> None:
    """Measure and print.

    Args:
        seconds: how long to measure each number.
        core: which core to run on.
        envpool_python: the Python of an environment that has EnvPool; without it that comparison is left out.
    """
    os.sched_setaffinity(0, {core})
    os.environ[runtime.CACHE_VARIABLE] = ""  # compile times are those of a first run
    runtime.set_up()
    tasks = wakesleep.tasks("minigrid")
    engines, compile_seconds = {}, {}
    for size in SIZES:
        num_steps = max(25_000 // size, 50)
        rollout, compile_seconds[size] = compile_engine(size, num_steps)
        engines[size] = {task: engine_rate(rollout, task, size * num_steps, seconds) for task in tasks}
    farama = {task: farama_rate(task, seconds) for task in tasks}
    envpool = envpool_rates(envpool_python, seconds)

    table = Table(title="Minigrid steps per second on one core (times Farama minigrid)")
    for column in ("task", "Farama", *(f"engine, {size} env" + "s" * (size > 1) for size in SIZES), "EnvPool, 64 envs"):
        table.add_column(column, justify="left" if column == "task" else "right")
    for task in tasks:
        ours = [f"{engines[size][task]:,.0f} ({engines[size][task] / farama[task]:.0f}x)" for size in SIZES]
        theirs = envpool.get(task, {}).get("64")
        other = f"{theirs:,.0f} ({theirs / farama[task]:.0f}x)" if theirs else ""
        table.add_row(task, f"{farama[task]:,.0f}", *ours, other)
    mean = {size: np.exp(np.mean([np.log(engines[size][task] / farama[task]) for task in tasks])) for size in SIZES}
    table.add_section()
    table.add_row("geometric mean", "", *(f"{mean[size]:.0f}x" for size in SIZES), "")
    console = Console(width=150)
    console.print(table)
    growth = np.mean([engines[1024][task] / engines[64][task] for task in tasks])
    console.print(f"1024 environments do {growth:.2f} times the steps per second of 64 (1.00: cost grows linearly).")
    console.print(
        "Compiled once for all tasks, cold: "
        + ", ".join(f"{size} envs {spent:.1f} s" for size, spent in compile_seconds.items())
    )
    if envpool:
        ratio = np.exp(np.mean([np.log(engines[64][task] / envpool[task]["64"]) for task in STOCK]))
        console.print(f"Against EnvPool, 64 environments, five stock tasks: {ratio:.1f}x (geometric mean).")


if __name__ == "__main__":
    tyro.cli(main)

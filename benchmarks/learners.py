"""How fast the wake learners are: whole training loops, beside stable-baselines3 in the same run, as ratios.

    make bench

One core. PPO with the paper's settings (one environment, 512 steps, minibatches of 32, ten epochs, two 256-256
networks) against stable-baselines3 with the same on the real minigrid package; the update against its own matrix
products alone; the preset fast, and V-trace with its defaults.
"""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import tyro
from rich.console import Console
from rich.table import Table

import wakesleep
from wakesleep import runtime
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.learner import Learner
from wakesleep.wake.make_envs import make_envs
from wakesleep.wake.ppo import FAST, PAPER, PPO
from wakesleep.wake.train import train
from wakesleep.wake.vtrace import VTrace

TASK = "DoorKey_S5"


def training_rate(learner: Learner, seconds: float) -> tuple[float, float]:
    """Environment steps per second of the whole loop, and seconds until the first chunk was there (compilation)."""
    envs, key = make_envs(TASK, learner.num_envs), jax.random.key(0)
    state, envs_state = learner.init(key), envs.reset(key)
    chunk = 4
    begin = time.perf_counter()
    jax.block_until_ready(train(learner, state, envs, envs_state, key, chunk))
    first, best, start = time.perf_counter() - begin, 0.0, time.perf_counter()
    while time.perf_counter() - start < seconds:  # the best of many rounds: a shared machine is noisy
        key, chunk_key = jax.random.split(key)
        begin = time.perf_counter()
        state, envs_state, _, log = jax.block_until_ready(train(learner, state, envs, envs_state, chunk_key, chunk))
        best = max(best, log.reward.size / (time.perf_counter() - begin))
    return best, first


def best_seconds(run: Callable[[], Any], rounds: int = 10) -> float:
    """The least time that a call takes."""
    jax.block_until_ready(run())
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - begin)
    return min(times)


def update_rates() -> tuple[float, float, float]:
    """Operations per second of PPO's update, of its matrix products alone, and of the best-shaped of them."""
    envs, key = JaxEnvs(wakesleep.make(TASK)), jax.random.key(0)
    learner = PPO(envs.observation_spec, envs.action_spec, PAPER)
    state, batch = learner.init(key), PAPER.minibatch_size
    _, rollout = envs.collect(learner.policy(state), envs.reset(key), key, learner.num_steps)
    update = jax.jit(learner.update)
    steps = PAPER.epochs * learner.num_steps // batch
    networks = [(147, 256), (256, 256), (256, 6)], [(147, 256), (256, 256), (256, 1)]

    @jax.jit
    def products(inputs: jax.Array, weights: list) -> list:
        """The products of all gradient steps and nothing else: each step's results are the next one's weights."""

        def step(_: int, weights: list) -> list:
            gradients = []
            for layers in weights:
                into = [inputs]
                for weight in layers:
                    into.append(into[-1] @ weight)
                back, changes = into[-1], []
                for number in reversed(range(len(layers))):
                    changes.append(into[number].T @ back)
                    back = back @ layers[number].T if number else back
                gradients.append(changes[::-1])
            return gradients

        return jax.lax.fori_loop(0, steps, step, weights)

    @jax.jit
    def multiply(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 500, lambda _, x: (x @ weights) * 0.01, x)

    zeros = [[jnp.zeros(shape) for shape in layers] for layers in networks]
    # per layer: forward, gradient of the weights and, but for the first layer, gradient of the inputs
    work = steps * sum(
        2 * batch * inputs * outputs * (3 if number else 2)
        for layers in networks
        for number, (inputs, outputs) in enumerate(layers)
    )
    x, square = jnp.ones((batch, 256)), jnp.ones((256, 256))
    alone = work / best_seconds(lambda: products(jnp.zeros((batch, 147)), zeros))
    best_shape = 500 * 2 * batch * 256 * 256 / best_seconds(lambda: multiply(x, square))
    return work / best_seconds(lambda: update(state, rollout, key)), alone, best_shape


def main(seconds: float = 8.0, core: int = 0, sb3_python: Path | None = None) -> None:
    """Measure and print.

    Args:
        seconds: how long to measure each loop.
        core: which core to run on.
        sb3_python: the Python of an environment that has stable-baselines3; without it that comparison is left out.
    """
    os.sched_setaffinity(0, {core})
    os.environ[runtime.CACHE_VARIABLE] = ""  # compile times are those of a first run
    runtime.set_up()
    world = wakesleep.make(TASK)
    specs = world.observation_spec, world.action_spec
    reference = None
    if sb3_python is not None and sb3_python.exists():
        command = [sb3_python, Path(__file__).parent / "sb3_rate.py", TASK, str(seconds)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        reference = float(answer.stdout.split()[-1])
    table = Table(
        "learner", "steps/s", "times stable-baselines3", "compile, cold", title=f"Training on {TASK}, one core"
    )
    if reference:
        table.add_row("stable-baselines3 PPO, paper's settings", f"{reference:,.0f}", "1", "")
    learners = (
        ("PPO, preset paper", PPO(*specs, PAPER)),
        ("PPO, preset fast", PPO(*specs, FAST)),
        ("V-trace, defaults", VTrace(*specs)),
    )
    for name, learner in learners:
        rate, first = training_rate(learner, seconds)
        table.add_row(name, f"{rate:,.0f}", f"{rate / reference:.1f}" if reference else "", f"{first:.1f} s")
    console = Console()
    console.print(table)
    update, alone, best_shape = update_rates()
    console.print(
        f"PPO's update: {update / 1e9:.1f} GFLOP/s, {update / alone:.0%} of the {alone / 1e9:.1f} that this core does"
        f" in the same matrix products alone, {update / best_shape:.0%} of its {best_shape / 1e9:.1f} on"
        f" {PAPER.minibatch_size} x 256 x 256, the best-shaped of them."
    )


if __name__ == "__main__":
    tyro.cli(main)

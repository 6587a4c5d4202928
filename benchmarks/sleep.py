"""How fast sleep is: iterations per second at the paper's settings, beside plain eager PyTorch in the same run.

    make bench

One core, second sleep (experience, generative and random replay, batches of 32 each), all three architectures; PyTorch
runs hidden replay. The matrix products of hidden replay alone, with nothing between them, show how far that can go. All
are measured in turn, several times over, and the best of each counts: what else the machine does hits all alike.
"""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import tyro
from rich.console import Console
from rich.table import Table

import wakesleep
from wakesleep import runtime
from wakesleep.agents.presets import agent_config
from wakesleep.sleep.consolidate import consolidate
from wakesleep.sleep.replay import Pairs, random_replay, wake_buffer

ITERATIONS = 1000
ROUNDS = 3
Run = Callable[[], object]
"""So many iterations, begun."""


def best_rate(run: Run, seconds: float) -> float:
    """Best iterations per second."""
    best, start = 0.0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        jax.block_until_ready(run())
        best = max(best, ITERATIONS / (time.perf_counter() - begin))
    return best


def sleeping(name: str) -> tuple[Run, float]:
    """A sleep of an architecture, compiled, and the seconds that the first one took."""
    world, config = wakesleep.make("DoorKey_S5"), agent_config(name, "paper", {"sleep.iterations": ITERATIONS})
    specs, keys = (world.observation_spec, world.action_spec), jax.random.split(jax.random.key(0), 4)
    seen = jax.random.randint(keys[0], (config.wake_buffer_size, 7, 7, 3), 0, 3).astype(jnp.uint8)
    done = jax.random.randint(keys[1], (config.wake_buffer_size,), 0, 6)
    buffer = wake_buffer(*specs, config.wake_buffer_size).add(Pairs(seen, done))
    replay = random_replay(*specs, config.random_replay_capacity).add(buffer, 256, keys[2])
    model = config.model.make(*specs, keys[3])

    def run() -> object:
        return consolidate(model, buffer, replay, keys[0], config.sleep, first=False)[1]

    begin = time.perf_counter()
    jax.block_until_ready(run())
    return run, time.perf_counter() - begin


def products() -> Run:
    """What an iteration of hidden replay multiplies, and nothing else; compiled."""
    real, dreamed = 64, 32
    layers = [(147, 256), (256, 256), (256, 256), (256, 256), (128, 256), (256, 256)]  # extractor, encoder, decoder
    key = jax.random.key(0)
    inputs = [jax.random.normal(key, (real if number < 2 else real + dreamed, size[0])) for number, size in
              enumerate(layers)]  # fmt: skip
    answers = [jax.random.normal(key, (len(batch), size[1])) for batch, size in zip(inputs, layers, strict=True)]

    @jax.jit
    def multiply(weights: list[jax.Array]) -> list[jax.Array]:
        def step(_: int, weights: list[jax.Array]) -> list[jax.Array]:
            changes = []
            for number, (batch, answer, weight) in enumerate(zip(inputs, answers, weights, strict=True)):
                error = answer + batch @ weight
                change = jax.lax.optimization_barrier(batch.T) @ error  # the order that XLA is fastest in
                if number:  # what goes further back
                    change = change.at[0].add(jnp.max(error @ weight.T))
                if number > 3:  # the dream itself
                    change = change.at[0].add(jnp.max(batch[:dreamed] @ weight, axis=0))
                changes.append(1e-6 * change)
            return changes

        return jax.lax.fori_loop(0, ITERATIONS, step, weights)

    weights = [jnp.zeros(size) for size in layers]
    jax.block_until_ready(multiply(weights))
    return lambda: multiply(weights)


def main(seconds: float = 3.0, core: int = 0, torch_python: Path | None = None) -> None:
    """Measure and print.

    Args:
        seconds: how long to measure each loop in each of three rounds.
        core: which core to run on.
        torch_python: the Python of an environment that has PyTorch; without it that comparison is left out.
    """
    os.sched_setaffinity(0, {core})
    os.environ[runtime.CACHE_VARIABLE] = ""  # compile times are those of a first run
    runtime.set_up()
    torch_there = torch_python is not None and torch_python.exists()
    names = ("hidden", "two-headed", "sequential")
    slept = {name: sleeping(name) for name in names}
    runs = {"matrix products of hidden replay alone": products()} | {name: run for name, (run, _) in slept.items()}
    rates, reference = dict.fromkeys(runs, 0.0), 0.0
    for _ in range(ROUNDS):
        if torch_there:
            command = [str(torch_python), Path(__file__).parent / "torch_sleep.py", str(seconds)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            reference = max(reference, float(done.stdout))
        for name, run in runs.items():
            rates[name] = max(rates[name], best_rate(run, seconds))
    columns = ("model", "iterations/s", "times PyTorch", "20,000 iterations", "compile, cold")
    table = Table(*columns, title="Sleep, one core")
    if torch_there:
        table.add_row("hidden replay, eager PyTorch", f"{reference:,.0f}", "1", f"{20_000 / reference:.0f} s", "")
    for name, rate in rates.items():
        times = f"{rate / reference:.2f}" if torch_there and "hidden" in name else ""
        compiled = f"{slept[name][1] - ITERATIONS / rate:.1f} s" if name in slept else ""
        table.add_row(name, f"{rate:,.0f}", times, f"{20_000 / rate:.0f} s", compiled)
    Console().print(table)


if __name__ == "__main__":
    tyro.cli(main)

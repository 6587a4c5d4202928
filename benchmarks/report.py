"""How long the report over 100 lifetimes takes.

    .venv/bin/python benchmarks/report.py

A real lifetime of each of two agents (short ones, with sleeps, diagnostics and policies), copied under other seeds to
100 in all; the page is made of all of them, animations of the final policies included.
"""

import shutil
import tempfile
import time
from pathlib import Path

import tyro

from wakesleep import runtime, store
from wakesleep.cli.report import report
from wakesleep.lifetime.spec import LifetimeSpec, run_lifetime
from wakesleep.syllabus.scenarios import pairwise

AGENTS = ("baseline", "hidden")
TASKS = ("DoorKey_S5", "DistShift_R2")


def main(lifetimes: int = 100) -> None:
    """Measure and print.

    Args:
        lifetimes: how many.
    """
    runtime.set_up()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        syllabus = pairwise(*TASKS, seed=1, scale=0.1)
        for agent in AGENTS:
            spec = LifetimeSpec(agent, "fast", syllabus, 0, {} if agent == "baseline" else {"sleep.iterations": 200})
            run_lifetime(spec, root / agent / "0", lambda *_: None)
            for number in range(1, lifetimes // len(AGENTS)):
                copy = root / agent / str(number)
                shutil.copytree(root / agent / "0", copy)
                store.save_json(copy / "config.json", {**store.load_json(copy / "config.json"), "seed": number})
        begin, used = time.monotonic(), time.process_time()
        report((root,), out=root / "report.html")
        took, used = time.monotonic() - begin, time.process_time() - used
        size = (root / "report.html").stat().st_size / 1e6
        print(
            f"report over {lifetimes} lifetimes: {took:.1f} s ({used:.1f} s of processor time), page of {size:.1f} MB"
        )


if __name__ == "__main__":
    tyro.cli(main)

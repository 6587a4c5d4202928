"""Kill a lifetime with kill -9 at random instants and resume it: does it end with the bytes of an undisturbed one?

    .venv/bin/python benchmarks/resume_after_kill.py --count 20

The lifetime is a short one of the wake-sleep agent that saves itself every half second; instants are drawn uniformly
over its running time. Prints what each life was doing when it was killed.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tyro

PROGRAM = (
    "import wakesleep.lifetime.life as life; life.SECONDS_BETWEEN_SAVES = 0.5; from wakesleep.cli import main; main()"
)
LIFE = (
    "run", "--agent", "hidden", "--preset", "fast", "--tasks", "DistShift_R2", "DoorKey_S5", "--scale", "0.08",
    "--episodes", "20", "--set", "sleep.iterations=800", "sleeps_per_block=2", "--out",
)  # fmt: skip


def logged(folder: Path) -> dict[str, bytes]:
    """All that the log holds."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.tsv"))}


def start(folder: Path) -> subprocess.Popen:
    """A lifetime in a process group of its own."""
    command = [sys.executable, "-c", PROGRAM, *LIFE, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def doing(folder: Path) -> str:
    """What is under way, told by what is on disk."""
    blocks = sorted(path.name for path in folder.glob("worker-default/*"))
    sleeps = len(list(folder.glob("diagnostics/*.npz")))
    half = [path.name for path in folder.rglob(".*.new")]
    return f"last block {blocks[-1] if blocks else 'none yet'}, {sleeps} sleeps, half-written: {half or 'nothing'}"


def main(count: int = 20, seed: int = 0) -> None:
    """Kill so many lives.

    Args:
        count: how many.
        seed: of the instants.
    """
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        start(root / "warm").wait()  # compiles
        begin = time.monotonic()
        start(root / "whole").wait()
        lasted, expected = time.monotonic() - begin, logged(root / "whole")
        same = 0
        for number, instant in enumerate(np.random.default_rng(seed).uniform(1, lasted, count)):
            folder = root / f"cut-{number}"
            process = start(folder)
            time.sleep(instant)
            over = process.poll() is not None
            if not over:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            what = "it was over" if over else doing(folder)
            if not over:
                start(folder).wait()
            equal = logged(folder) == expected
            same += equal
            print(
                f"{number + 1:2d}. after {instant:5.1f} s: {what}; {'same bytes' if equal else 'DIFFERS'}", flush=True
            )
        print(f"{same} of {count} ended with the same bytes; an undisturbed life took {lasted:.1f} s")


if __name__ == "__main__":
    tyro.cli(main)

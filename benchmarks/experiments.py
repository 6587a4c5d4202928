"""What the runner of experiments costs: eight small lifetimes bare, and under `wakesleep experiment` with 1 and 2 jobs.

    python benchmarks/experiments.py

Seconds on the clock depend on who else uses the machine; seconds of processor time hardly do.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tyro

GRID = "scenario: pairwise\npreset: fast\nsyllabi: 4\nseeds: 2\nscale: 0.1\nepisodes: 2\nagents: [random]\n"
BARE = """
import sys; from pathlib import Path; from wakesleep import runtime; runtime.set_up()
from wakesleep.experiments.grid import load_grid
for name, spec in load_grid(Path(sys.argv[1])): spec.open(Path(sys.argv[2], name)).run(lambda part, note: None)
"""


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds on the clock and of processor time."""
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begin, used


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        grid = Path(scratch) / "grid.yaml"
        grid.write_text(GRID)
        bare = [sys.executable, "-c", BARE, str(grid)]
        experiment = [sys.executable, "-m", "wakesleep", "experiment", str(grid)]
        runs = {"bare, compiling": [*bare, f"{scratch}/0"], "bare": [*bare, f"{scratch}/1"]}
        runs |= {f"--jobs {jobs}": [*experiment, "--jobs", str(jobs), "--out", f"{scratch}/j{jobs}"] for jobs in (1, 2)}
        for name, command in runs.items():
            clock, used = measure(command)
            print(f"{name:16s} {clock:6.1f} s on the clock  {used:6.1f} s of processor time", flush=True)


if __name__ == "__main__":
    tyro.cli(main)

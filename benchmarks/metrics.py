"""How long the metrics of one lifetime of 100,000 episodes take, against one core.

    python benchmarks/metrics.py

A condensed lifetime of ten tasks with 100 episodes per task in an evaluation, and an expert for each task; the log is
read and measured anew each time, the experts are read once.
"""

import csv
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import tyro

from wakesleep.logs import read_log
from wakesleep.metrics.experts import read_experts
from wakesleep.metrics.lifetime import compute_metrics

COLUMNS = (
    "block_num",
    "exp_num",
    "block_type",
    "task_name",
    "task_params",
    "exp_status",
    "episode_step_count",
    "reward",
)
TASKS = [f"Task{number}_1" for number in range(10)]


def write(folder: Path, blocks: list[tuple[str, list[str], int]]) -> None:
    """A log of random returns: blocks of kind, tasks, episodes of each."""
    random, count = np.random.default_rng(0), 0
    for number, (kind, tasks, episodes) in enumerate(blocks):
        file = folder / f"{number}-{kind}" / "data-log.tsv"
        file.parent.mkdir(parents=True)
        with file.open("w", newline="") as opened:
            writer = csv.writer(opened, delimiter="\t", lineterminator="\n")
            writer.writerow(COLUMNS)
            for task in tasks:
                for reward in random.random(episodes).round(3).tolist():
                    writer.writerow((number, count, kind, task, "{}", "complete", 20, reward))
                    count += 1
    (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"]}))


def main() -> None:
    """Print seconds, best of five."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        evaluation = ("test", TASKS, 100)
        write(folder / "life", [evaluation, *(b for task in TASKS for b in (("train", [task], 8_900), evaluation))])
        for task in TASKS:
            write(folder / "experts" / task, [("train", [task], 9_000)])
        experts, times = read_experts(folder / "experts"), []
        for _ in range(5):
            begin = time.process_time(), time.perf_counter()
            log = read_log(folder / "life")
            compute_metrics(log, experts)
            times.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
        processor, wall = map(min, zip(*times, strict=True))
        print(f"{len(log):,} episodes: {processor:.2f} s of processor time, {wall:.2f} s by the clock")


if __name__ == "__main__":
    tyro.cli(main)

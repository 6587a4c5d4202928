"""Lives on disk that nobody lived: as much of a folder as a report reads."""

import json

from wakesleep.lifetime.spec import FORMAT
from wakesleep.logs import TEST, TRAIN, Episode, LogWriter

ORDER = ("DoorKey_S5", "DistShift_R2")


def write_life(
    folder, agent, seed=0, first=(0.0, 0.9, 0.5), second=(0.1, 0.2, 0.8), order=ORDER, until=5, steps=400,
    scenario="pairwise", preset="paper", **progress,
):  # fmt: skip
    """Returns of the first and the second task in three EBs; `until` so many of its five blocks are written."""
    learning = [{"task": task, "steps": steps, "seed": 1} for task in order]
    syllabus = {"scenario": scenario, "tasks": list(order), "learning": learning, "evaluation_seed": 3, "episodes": 2}
    about = {
        "format": FORMAT, "agent": agent, "preset": preset, "overrides": {}, "seed": seed, "syllabus": syllabus,
        "settings": {"sleep": {"iterations": 20}}, "versions": {"wakesleep": "0"},
    }  # fmt: skip
    writer = LogWriter(folder, {"scenario_type": "custom", **about})
    (folder / "config.json").write_text(json.dumps(about))
    for block in range(until):
        if block % 2:
            writer.begin_block(TRAIN)
            low, high = (first, second)[block // 2][block // 2 : block // 2 + 2]
            for number in range(40):
                writer.write(order[block // 2], [Episode(low + (high - low) * number / 39, 10)])
        else:
            writer.begin_block(TEST)
            for task, returns in zip(order, (first, second), strict=True):
                writer.write(task, [Episode(returns[block // 2] + shift, 10) for shift in (-0.05, 0.05)])
    if until == 5:
        summary = {"seconds": 12.5, "environment_steps": 920, "parameters": 1000, "replay_bytes": 2_000_000}
        (folder / "summary.json").write_text(json.dumps(summary))
    elif progress:
        (folder / "progress.json").write_text(json.dumps(progress))
    return folder

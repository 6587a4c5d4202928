"""Small logs for tests: blocks of returns, written as l2logger does."""

import csv
import json

COLUMNS = (
    "block_num", "exp_num", "worker_id", "block_type", "block_subtype", "task_name", "task_params", "exp_status",
    "timestamp", "episode_step_count", "reward",
)  # fmt: skip


def learn(task, returns, **more):
    return {"kind": "train", "returns": {task: returns}, **more}


def evaluate(returns, **more):
    """Mean returns, or lists of returns, of tasks."""
    lists = {task: [value] * 4 if isinstance(value, int | float) else value for task, value in returns.items()}
    return {"kind": "test", "returns": lists, **more}


def write_log(folder, blocks, info=None, change=None):
    """Write a log; `change(rows)` may spoil it. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"], "log_format_version": "1.1"}))
    (folder / "scenario_info.json").write_text(json.dumps({"scenario_type": "custom", **(info or {})}))
    count = 0
    for number, block in enumerate(blocks):
        rows = []
        for task, returns in block["returns"].items():
            for value in returns:
                head = [number, count, "w", block["kind"], block.get("subtype", "wake"), task]
                rows.append([*head, block.get("params", "{}"), "complete", "20260101T000000.000000", 10, value])
                count += 1
        if change:
            rows = change(rows) or rows
        file = folder / "w" / f"{number}-{block['kind']}" / "data-log.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", newline="") as opened:
            writer = csv.writer(opened, delimiter="\t", lineterminator="\n")
            writer.writerows([COLUMNS, *rows])
    return folder


def pairwise(a=(0.1, 0.9, 0.3), b=(0.2, 0.4, 0.8)):
    """Evaluations of A_1 and B_1 before, between and after learning A_1, then B_1."""
    return [
        evaluate({"A_1": a[0], "B_1": b[0]}),
        learn("A_1", [a[0]] * 10 + [a[1]] * 10),
        evaluate({"A_1": a[1], "B_1": b[1]}),
        learn("B_1", [b[1]] * 10 + [b[2]] * 10),
        evaluate({"A_1": a[2], "B_1": b[2]}),
    ]


def write_expert(folder, task, end=1.0, rows=20, more=()):
    return write_log(folder, [learn(task, [0.0] * (rows // 2) + [end] * (rows - rows // 2)), *more])

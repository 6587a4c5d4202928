"""Makes the golden values: what l2metrics 3.1.0 itself says about the small logs in golden/. Not run by the tests.

    python3.11 -m venv .venv-l2
    .venv-l2/bin/pip install l2metrics==3.1.0 l2logger==1.8.2 numpy==1.26.4 pandas==2.3.3 pyarrow==25.0.1 \
        scipy==1.17.1 matplotlib==3.11.2 seaborn==0.13.2
    wakesleep run --out own/pairwise --agent baseline --tasks DoorKey_S5 DistShift_R2 --scale 0.03 --episodes 8
    wakesleep run --out own/alternating --agent baseline --scenario alternating \
        --tasks SimpleCrossing_S9N1 DistShift_R2 --scale 0.02 --episodes 5 --seed 1
    wakesleep experts train --out own-experts --tasks DoorKey_S5 DistShift_R2 --steps 9000 --seeds 2
    .venv-l2/bin/python tests/metrics/make_golden.py own own-experts

The last two folders are copied (logs and JSON files only) to golden/own and golden/own-experts; without them, what is
there stays. Everything else is made up here from seeds: logs with drifting random rewards, so that no value is special.
"""

import csv
import itertools
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent / "golden"
COLUMNS = (
    "block_num", "exp_num", "worker_id", "block_type", "block_subtype", "task_name", "task_params", "exp_status",
    "timestamp", "reward", "score",
)  # fmt: skip
TASKS = ("Alpha_1", "Alpha_2", "Beta_1", "Gamma_X")
LEVELS = {"Alpha_1": (0.0, 1.0), "Alpha_2": (-1.0, 0.8), "Beta_1": (5.0, 30.0), "Gamma_X": (-3.0, -0.5)}
RANGE = {
    "alpha_1": (-0.5, 1.2), "alpha_2": (-1.5, 1.0), "beta_1": (0.0, 40.0), "gamma_x": (-4.0, 0.5),
    "doorkey_s5": (0.0, 1.0), "distshift_r2": (-1.0, 1.0), "simplecrossing_s9n1": (-0.1, 1.1),
}  # fmt: skip
CHOICES = {
    "variants": ("aware", "agnostic"),
    "averaging": ("metrics", "time"),
    "aggregation": ("mean", "median"),
    "normalization": ("task", "run", "none"),
    "smoothing": ("flat", "hanning", "hamming", "bartlett", "blackman", "none"),
    "smooth_evaluations": (False, True),
    "window": (None, 2, 7, 10, 500),
    "clamp": (False, True),
    "data_range": (False, True),
}
"""The first of each is the default."""
RANDOM_COMBINATIONS = 24
NAMES = (
    "perf_recovery", "avg_train_perf", "avg_eval_perf", "perf_maintenance_mrlep", "perf_maintenance_mrtlp",
    "forward_transfer_ratio", "backward_transfer_ratio", "forward_transfer_contrast", "backward_transfer_contrast",
    "ste_rel_perf", "sample_efficiency",
)  # fmt: skip
"""The order of the lifetime's values in values.json."""
THEIR_NAMES = {
    "variants": "variant_mode", "averaging": "ste_averaging_method", "aggregation": "aggregation_method",
    "normalization": "normalization_method", "smoothing": "smoothing_method",
    "smooth_evaluations": "do_smooth_eval_data", "window": "window_length", "clamp": "clamp_outliers",
}  # fmt: skip


class Maker:
    """Writes a made-up log."""

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        self.folder, self.random, self.block, self.experience = folder, np.random.default_rng(seed), 0, 0
        folder.mkdir(parents=True)
        self._json("logger_info.json", {"metrics_columns": ["reward", "score"], "log_format_version": "1.1"})
        info = {"author": "made up", "complexity": "1-low", "difficulty": "1-easy", "scenario_type": kind}
        self._json("scenario_info.json", info)

    def add(self, kind, tasks, episodes, skill, subtype="wake", repeat=1, broken=0.0, whole=False):
        """A block: `skill(task, part)` in 0..1 says how good the agent is; `broken`: part of rows to be left out."""
        rows = []
        for task in tasks:
            low, high = LEVELS[task]
            for number in range(episodes):
                level = skill(task, number / episodes)
                reward = low + (high - low) * np.clip(level + self.random.normal(0, 0.15), 0, 1)
                reward = round(reward) if whole else round(reward, 3)
                status = "incomplete" if self.random.random() < broken else "complete"
                shown = "" if self.random.random() < broken else reward
                time = f"20260101T000000.{self.experience:06d}"
                head = (self.block, self.experience, "w", kind, subtype, task, "{}", status, time)
                rows.append((*head, shown, round(float(self.random.normal()), 2)))
                if (number + 1) % repeat == 0:
                    self.experience += 1
            self.experience += 1
        file = self.folder / "w" / f"{self.block}-{kind}" / "data-log.tsv"
        file.parent.mkdir(parents=True)
        with file.open("w", newline="") as opened:
            writer = csv.writer(opened, delimiter="\t", lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)
        self.block += 1

    def _json(self, name, content):
        (self.folder / name).write_text(json.dumps(content, indent=2) + "\n")


def make_lifetime(name, seed, order, tasks, lengths, episodes, first=True, **more):
    """Learns each task to some level and half forgets the others."""
    maker = Maker(GOLDEN / "logs" / name, seed, "custom")
    skills = {task: maker.random.uniform(0.05, 0.2) for task in tasks}
    evaluation = {"subtype": more.pop("evaluated", "wake")}
    if first:
        maker.add("test", tasks, episodes, lambda task, _: skills[task], **evaluation)
    for number, task in enumerate(order):
        begin, end = skills[task], maker.random.uniform(0.5, 0.95)
        maker.add(
            "train", [task], lengths[number % len(lengths)],
            lambda _, part, b=begin, e=end: b + (e - b) * min(1, 1.6 * part), **more,
        )  # fmt: skip
        skills = {other: skill * maker.random.uniform(0.4, 1.3) for other, skill in skills.items()} | {task: end}
        if evaluation["subtype"] == "sleep":  # the waking policy is evaluated too; that does not count
            maker.add("test", tasks, episodes, lambda task, _, s=skills: s[task] * 0.9)
        maker.add("test", tasks, episodes, lambda task, _, s=skills: s[task], **evaluation)


def make_logs():
    for folder in ("logs", "experts"):
        shutil.rmtree(GOLDEN / folder, ignore_errors=True)
    make_lifetime("pairwise-0", 1, ("Alpha_1", "Beta_1"), ("Alpha_1", "Beta_1"), (130, 97), 12)
    make_lifetime("pairwise-1", 2, ("Beta_1", "Alpha_2"), ("Beta_1", "Alpha_2"), (60, 14), 5)
    make_lifetime("alternating", 3, ("Alpha_1", "Beta_1") * 3, ("Alpha_1", "Beta_1"), (45, 52, 61), 6)
    make_lifetime("condensed", 4, ("Gamma_X", "Alpha_2", "Beta_1", "Alpha_1"), TASKS, (70, 83, 58), 8)
    make_lifetime("unlearned", 5, ("Alpha_1", "Beta_1"), ("Alpha_1", "Beta_1", "Gamma_X"), (50,), 6, first=False)
    make_lifetime("several-rows", 6, ("Beta_1", "Alpha_1", "Beta_1"), ("Beta_1", "Alpha_1"), (80,), 6, repeat=3)
    make_lifetime("broken-rows", 7, ("Alpha_1", "Gamma_X"), ("Alpha_1", "Gamma_X"), (70,), 9, broken=0.1)
    make_lifetime("sleep", 8, ("Alpha_1", "Beta_1"), ("Alpha_1", "Beta_1"), (40,), 6, evaluated="sleep")
    make_lifetime("whole-rewards", 9, ("Beta_1", "Alpha_1"), ("Beta_1", "Alpha_1"), (40,), 6, whole=True)
    for task, seed in itertools.product(TASKS[:3], range(2)):  # none of Gamma_X
        maker = Maker(GOLDEN / "experts" / f"{task}-{seed}", 100 + 10 * TASKS.index(task) + seed, "ste")
        for begin, end in ((0.1, 0.6), (0.6, 0.95)):
            maker.add("train", [task], 45 + 11 * seed, lambda _, part, b=begin, e=end: b + (e - b) * part)


def copy_own(source: Path, target: Path):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.npz", "*.png", "*.csv"))


def combinations(seed):
    defaults = {name: values[0] for name, values in CHOICES.items()}
    yield defaults
    for name, values in CHOICES.items():
        for value in values[1:]:
            yield {**defaults, name: value}
    chooser = random.Random(seed)
    for _ in range(RANDOM_COMBINATIONS):
        yield {name: chooser.choice(values) for name, values in CHOICES.items()}


def changed(options):
    """Those that are not the default."""
    return {name: value for name, value in options.items() if value != CHOICES[name][0]}


def plain(value):
    """As JSON: nothing where there is no number."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    return None if value is None or np.isnan(value) else float(f"{value:.13g}")


def values_of(log: Path, options, with_tasks, measure="reward"):
    from l2metrics.report import MetricsReport

    given = {THEIR_NAMES[name]: value for name, value in options.items() if name in THEIR_NAMES}
    if options["data_range"]:
        given["data_range"] = {task: {"min": low, "max": high} for task, (low, high) in RANGE.items()}
    report = MetricsReport(
        log_dir=str(log), perf_measure=measure, maintenance_method="both", transfer_method="both", **given
    )
    report.calculate()
    found = report.lifetime_metrics_df
    assert set(found.columns) == set(NAMES)
    case = {"lifetime": [plain(found[name][0]) if len(found) else None for name in NAMES]}
    if with_tasks:
        case["tasks"] = plain(report.task_metrics_df.drop(columns="task_name", errors="ignore").T.to_dict())
        if report.normalizer:
            case["ranges"] = {task: [row["min"], row["max"]] for task, row in report.normalizer.data_range.items()}
    return case


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    make_logs()
    for source, name in zip(sys.argv[1:], ("own", "own-experts"), strict=False):
        copy_own(Path(source), GOLDEN / name)
    cases = []
    for logs, experts in (("logs", "experts"), ("own", "own-experts"), ("logs", None)):
        with tempfile.TemporaryDirectory() as store:
            os.environ["L2DATA"] = store
            from l2metrics.util import store_ste_data

            for info in sorted((GOLDEN / experts).rglob("logger_info.json")) if experts else ():
                store_ste_data(info.parent, "a")
            for number, log in enumerate(sorted((GOLDEN / logs).iterdir())):
                for index, options in enumerate(combinations(number)):
                    if experts is None and index:
                        break
                    about = {"log": f"{logs}/{log.name}", "experts": experts, "options": changed(options)}
                    cases.append(about | values_of(log, options, with_tasks=index == 0))
                if logs == "logs" and experts:
                    about = {**about, "measure": "score"}
                    cases.append(about | values_of(log, options, False, "score"))
                print(log.name, len(cases))
    made_with = {name: version(name) for name in ("l2metrics", "l2logger", "numpy", "pandas", "scipy")}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / "values.json").write_text(
        f'{{"made_with": {json.dumps(made_with)},\n"range": {json.dumps(RANGE)},\n"names": {json.dumps(NAMES)},\n'
        f'"cases": [\n{lines}\n]}}\n'
    )


if __name__ == "__main__":
    main()

"""Equal to l2metrics 3.1.0: on every golden log, with every option (see make_golden.py)."""

import itertools
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from wakesleep.logs import read_log
from wakesleep.metrics import relative
from wakesleep.metrics.curves import Saturation, smooth
from wakesleep.metrics.experts import read_experts
from wakesleep.metrics.lifetime import compute_metrics
from wakesleep.metrics.prepare import Options, Range

GOLDEN = Path(__file__).parent / "golden"
STORED = json.loads((GOLDEN / "values.json").read_text())
RANGE = {task: Range(*bounds) for task, bounds in STORED["range"].items()}
LOGS = sorted({case["log"] for case in STORED["cases"]})
CLOSE = {"rel": 1e-9, "abs": 1e-9}


@cache
def experts_of(name, measured):
    return read_experts(GOLDEN / name, measured) if name else None


@cache
def log_of(name, measured):
    return read_log(GOLDEN / name, measured)


def ours(case):
    measured, options = case.get("measure", "reward"), {**case["options"]}
    options["data_range"] = RANGE if options.get("data_range") else None
    return compute_metrics(
        log_of(case["log"], measured), experts_of(case["experts"], measured), Options(measure=measured, **options)
    )


def same(found, expected):
    return found is None if expected is None else found is not None and found == pytest.approx(expected, **CLOSE)


def efficiencies(case, monkeypatch):
    """Sample efficiency for every choice among peaks that are equal but for rounding.

    Mirrored ends make such peaks whenever a curve is highest there. We take the first; in l2metrics the last digit
    decides, and so the processor.
    """
    ties, chosen = [], iter(())

    def every(values):
        smoothed = smooth(values)
        peaks = np.flatnonzero(np.isclose(smoothed, smoothed.max(), rtol=1e-12, atol=0))
        ties.append(len(peaks))
        at = peaks[next(chosen, 0)]
        return Saturation(float(smoothed[at]), int(at))

    monkeypatch.setattr(relative, "saturation", every)
    found = [ours(case)]
    for choice in itertools.product(*map(range, tuple(ties))):
        chosen = iter(choice)
        found.append(ours(case))
    monkeypatch.undo()
    return [measured.values["sample_efficiency"].number for measured in found]


def test_nothing_is_untested():
    cases = STORED["cases"]
    assert STORED["made_with"]["l2metrics"] == "3.1.0"
    for name, values in {
        "variants": ["agnostic"], "averaging": ["time"], "aggregation": ["median"], "normalization": ["none", "run"],
        "smoothing": ["bartlett", "blackman", "hamming", "hanning", "none"], "smooth_evaluations": [True],
        "window": [2, 7, 10, 500], "clamp": [True], "data_range": [True],
    }.items():  # fmt: skip
        assert sorted({case["options"][name] for case in cases if name in case["options"]}) == values
        assert sum(list(case["options"]) == [name] for case in cases) >= len(LOGS) * len(values)
    for number, name in enumerate(STORED["names"]):
        known = sum(case["lifetime"][number] is not None for case in cases)
        assert known > 40, name
    assert sum(len(case["options"]) > 3 for case in cases) > 200


@pytest.mark.parametrize("log", LOGS)
def test_lifetime_metrics_equal_l2metrics(log, monkeypatch):
    for case in STORED["cases"]:
        if case["log"] != log:
            continue
        found = ours(case).values
        for name, expected in zip(STORED["names"], case["lifetime"], strict=True):
            equal = same(found[name].number, expected)
            if not equal and name == "sample_efficiency":
                equal = any(same(number, expected) for number in efficiencies(case, monkeypatch))
            assert equal, (name, case["options"])
            assert found[name].is_defined or found[name].reason


@pytest.mark.parametrize("log", LOGS)
def test_task_metrics_equal_l2metrics(log):
    for case in STORED["cases"]:
        if case["log"] != log or "tasks" not in case:
            continue
        found = ours(case)
        for task, expected in case["tasks"].items():
            (name,) = [name for name in found.tasks if name.lower() == task]
            for metric, value in found.tasks[name].items():
                assert same(value.number, expected[metric]), (task, metric)
            if expected["perf_recovery"] is not None:
                assert found.recovery_times[name] == expected["recovery_times"]
            kept = found.maintenance[name]
            for method in ("mrlep", "mrtlp"):
                differences = [number for part in expected[f"maintenance_val_{method}"] for number in part]
                assert getattr(kept, f"differences_{method}") == pytest.approx(differences, **CLOSE)
            for direction, pairs in found.transfers._asdict().items():
                for method in ("ratio", "contrast"):
                    mine = {o.lower(): [getattr(step, method).number for step in steps]
                            for (s, o), steps in pairs.items() if s == name}  # fmt: skip
                    assert mine == {
                        other: pytest.approx(numbers, **CLOSE)
                        for other, numbers in (expected[f"{direction}_transfer_{method}"] or {}).items()
                    }
        assert {task.lower(): list(bounds) for task, bounds in found.ranges.items()} == {
            task: pytest.approx(bounds, **CLOSE) for task, bounds in case["ranges"].items()
        }

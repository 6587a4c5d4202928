"""Experts as metrics see them: ours and others', and where R* comes from."""

import json
from pathlib import Path

import pytest

from tests.metrics.logs import evaluate, learn, write_expert, write_log
from wakesleep import UserError
from wakesleep.metrics.experts import read_experts

OURS = Path(__file__).parent / "golden" / "own-experts"


def test_ours_are_judged_by_their_stored_evaluation():
    experts = read_experts(OURS)
    assert experts.tasks == ("DistShift_R2", "DoorKey_S5")
    assert len(experts.runs_of("doorkey_s5")) == 2
    stored = [json.loads((OURS / "DoorKey_S5" / f"seed-{seed}" / "expert.json").read_text()) for seed in (0, 1)]
    means = [sum(one["returns"]) / len(one["returns"]) for one in stored]
    assert [len(one["returns"]) for one in stored] == [100, 100]
    assert experts.expert_return("DoorKey_S5").number == pytest.approx(sum(means) / 2)
    assert experts.notes == ()
    assert "frozen experts' evaluation (DistShift_R2, DoorKey_S5)" in experts.source_note
    by_curve = read_experts(OURS, source="curve")
    ends = [run.log.value[int(0.9 * len(run.log)) :].mean() for run in by_curve.runs_of("DoorKey_S5")]
    assert by_curve.expert_return("DoorKey_S5").number == pytest.approx(sum(ends) / 2)


def test_others_are_judged_by_their_curve_and_it_is_said(tmp_path):
    write_expert(tmp_path / "deep" / "er" / "one", "A_1", end=0.7)
    experts = read_experts(tmp_path)
    assert experts.expert_return("a_1").number == pytest.approx(0.7)
    assert experts.expert_return("B_1") == (None, "B_1 has no expert")
    assert experts.source_note == "R* is the last tenth of the experts' curves (A_1), mean over experts"


def test_unfinished_experts_do_not_count(tmp_path):
    write_expert(tmp_path / "A_1" / "seed-0", "A_1")
    write_expert(tmp_path / "A_1" / "seed-1", "A_1")
    (tmp_path / "experts.json").write_text("{}")
    with pytest.raises(UserError, match="no finished expert"):
        read_experts(tmp_path)
    (tmp_path / "A_1" / "seed-0" / "expert.json").write_text('{"returns": [1.0, 0.5]}')
    experts = read_experts(tmp_path)
    assert experts.expert_return("A_1").number == 0.75
    assert "seed-1 is not finished" in experts.notes[0]


def test_mistakes(tmp_path):
    with pytest.raises(UserError, match="there is no folder"):
        read_experts(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no finished expert"):
        read_experts(tmp_path)
    write_log(tmp_path / "two" / "x", [learn("A_1", [0.0]), learn("B_1", [0.0])])
    with pytest.raises(UserError, match="learns A_1, B_1: an expert learns one task"):
        read_experts(tmp_path / "two")
    write_log(tmp_path / "none" / "x", [evaluate({"A_1": 1.0})])
    with pytest.raises(UserError, match="learns nothing"):
        read_experts(tmp_path / "none")
    write_expert(tmp_path / "odd" / "x", "A_1")
    (tmp_path / "odd" / "x" / "expert.json").write_text('{"returns": "many"}')
    with pytest.raises(UserError, match="no usable 'returns'"):
        read_experts(tmp_path / "odd")
    with pytest.raises(UserError, match="'evaluation' or 'curve'"):
        read_experts(tmp_path, source="guess")

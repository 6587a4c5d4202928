"""Groups and their curves: what the page draws is what the logs say."""

import numpy as np
import pytest
from scipy import stats

from tests.metrics.logs import evaluate, learn, write_log
from tests.reporting.lives import ORDER, write_life
from wakesleep.reporting.curves import group_curves, lifetime_curves, points_per_block
from wakesleep.reporting.lives import find_lives


def test_evaluations_stand_where_they_were_made(lives):
    life = find_lives([lives])[0]
    shown = lifetime_curves(life, 10)
    assert shown.unit == "steps"
    assert shown.order == ORDER
    assert shown.evaluations == [0, 1, 2]
    np.testing.assert_allclose(shown.returns["DoorKey_S5"], [0.0, 0.9, 0.1], atol=1e-6)
    np.testing.assert_allclose(shown.returns["DistShift_R2"], [0.1, 0.2, 0.8], atol=1e-6)


def test_learning_curves_are_means_over_equal_stretches(lives):
    life = find_lives([lives])[0]
    first = lifetime_curves(life, 10).blocks[0]
    returns = 0.9 * np.arange(40) / 39
    np.testing.assert_allclose(first.curve, returns.reshape(10, 4).mean(1), atol=1e-5)
    assert first.size == 400
    sparse = lifetime_curves(life, 100).blocks[0].curve  # 40 episodes over 100 stretches
    assert len(sparse) == 100
    assert np.isnan(sparse).sum() == 60
    np.testing.assert_allclose(np.nanmean(sparse), returns.mean(), atol=1e-5)


def test_a_group_is_an_agent_in_one_order_with_an_interval(lives):
    write_life(lives / "other-way", "hidden", order=ORDER[::-1])
    write_life(lives / "shorter", "hidden", steps=300)
    found = group_curves(find_lives([lives]), 10)
    sizes = [(group["agent"], len(group["lives"])) for group in found]
    assert sizes == [("baseline", 4), ("hidden", 4), ("hidden", 1), ("hidden", 1)]
    curve = found[0]["returns"]["DoorKey_S5"]
    ends = [0.10, 0.11, 0.12, 0.13]
    low, high = stats.t.interval(0.95, 3, np.mean(ends), stats.sem(ends))
    assert curve["mean"][2] == pytest.approx(0.115, abs=1e-4)
    assert [curve["low"][2], curve["high"][2]] == pytest.approx([low, high], abs=2e-4)
    assert [row[2] for row in curve["each"]] == pytest.approx(ends, abs=1e-4)
    assert "low" not in found[2]["returns"]["DoorKey_S5"]


def test_a_life_under_way_stands_alone_and_shows_what_is_to_come(lives):
    write_life(lives / "now", "hidden", 9, until=2)
    group = group_curves(find_lives([lives]), 10)[-1]
    assert not group["finished"]
    assert group["evaluations"] == [0]
    assert [block["task"] for block in group["blocks"]] == list(ORDER)
    assert [len(block["mean"]) for block in group["blocks"]] == [10, 0]


def test_logs_of_others_need_no_steps_and_no_config(tmp_path):
    blocks = [evaluate({"A_1": 0.1, "B_1": 0.2}), learn("A_1", [0.0, 1.0]), evaluate({"A_1": 0.9, "B_1": 0.3})]
    write_log(tmp_path / "them" / "run", blocks)
    for file in tmp_path.rglob("data-log.tsv"):
        rows = [line.split("\t") for line in file.read_text().splitlines()]
        file.write_text("".join("\t".join([*row[:9], row[10]]) + "\n" for row in rows))
    (life,) = find_lives([tmp_path])
    assert life.finished
    assert life.agent == "them"
    shown = lifetime_curves(life, 2)
    assert shown.unit == "episodes"
    assert shown.blocks[0].size == 2
    assert shown.blocks[0].curve == [0.0, 1.0]


def test_many_curves_get_fewer_points(lives):
    few = find_lives([lives])
    assert points_per_block(few) == 60
    assert points_per_block(few * 500) == 8

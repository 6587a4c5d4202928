"""Logs: the layout, cutting back, and episodes out of streams of rewards."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wakesleep import UserError
from wakesleep.logs import COLUMNS, TEST, TRAIN, Episode, EpisodeCounter, LogWriter, read_log


def write_some(writer):
    writer.begin_block(TRAIN)
    writer.write("DoorKey_S5", [Episode(0.964, 10), Episode(0.0, 250)])
    writer.begin_block(TEST)
    writer.write("DoorKey_S5", [Episode(0.5, 20)])
    writer.write("DistShift_R2", [Episode(-1.0, 3)])


def files(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_the_layout_is_l2loggers(tmp_path):
    write_some(LogWriter(tmp_path, {"scenario_type": "ste"}))
    assert json.loads((tmp_path / "logger_info.json").read_text())["metrics_columns"] == ["reward"]
    assert json.loads((tmp_path / "scenario_info.json").read_text()) == {"scenario_type": "ste"}
    with (tmp_path / "worker-default" / "1-test" / "data-log.tsv").open(newline="") as opened:
        header, *rows = csv.reader(opened, delimiter="\t")
    assert header == list(COLUMNS)
    assert header[9:] == sorted(header[9:])
    assert [row[1] for row in rows] == ["2", "3"]  # episodes count through the whole log
    assert rows[1][3:] == ["test", "wake", "DistShift_R2", "{}", "complete", "20000101T000000.283000", "3", "-1.0"]


def test_a_block_without_episodes_leaves_no_folder(tmp_path):
    writer = LogWriter(tmp_path, {})
    writer.begin_block(TRAIN)
    writer.write("DoorKey_S5", [])
    assert not (tmp_path / "worker-default").exists()


@pytest.mark.parametrize("later", [0, 1, 2])
def test_going_on_from_a_position_writes_the_same_bytes(tmp_path, later):
    """What was written after the position, blocks and all, is gone."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    write_some(LogWriter(whole, {}))
    writer = LogWriter(cut, {})
    writer.begin_block(TRAIN)
    positions = [writer.position]
    writer.write("DoorKey_S5", [Episode(0.964, 10), Episode(0.0, 250)])
    positions.append(writer.position)
    writer.begin_block(TEST)
    writer.write("DoorKey_S5", [Episode(0.5, 20)])
    positions.append(writer.position)
    writer.write("DoorKey_S5", [Episode(0.1, 77)])
    writer.begin_block(TRAIN)
    writer.write("DoorKey_S5", [Episode(0.1, 77)])

    again = LogWriter(cut, {}, positions[later])
    if later == 0:
        again.write("DoorKey_S5", [Episode(0.964, 10), Episode(0.0, 250)])
    if later <= 1:
        again.begin_block(TEST)
        again.write("DoorKey_S5", [Episode(0.5, 20)])
    again.write("DistShift_R2", [Episode(-1.0, 3)])
    assert files(cut) == files(whole)


def test_a_log_shorter_than_its_position_cannot_go_on(tmp_path):
    writer = LogWriter(tmp_path, {})
    write_some(writer)
    (tmp_path / "worker-default" / "1-test" / "data-log.tsv").write_text("")
    with pytest.raises(UserError, match="shorter"):
        LogWriter(tmp_path, {}, writer.position)


def test_wrong_use_is_refused(tmp_path):
    writer = LogWriter(tmp_path, {})
    with pytest.raises(UserError, match="begin_block"):
        writer.write("DoorKey_S5", [Episode(0.0, 1)])
    with pytest.raises(UserError, match="'train' or 'test'"):
        writer.begin_block("learning")


def test_what_was_written_comes_back(tmp_path):
    writer = LogWriter(tmp_path, {})
    write_some(writer)
    writer.begin_block(TRAIN)
    writer.write("DistShift_R2", [Episode(0.25, 30)])
    log = read_log(tmp_path)
    curve = log.learning_curve()
    assert curve.returns.tolist() == [0.964, 0.0, 0.25]
    assert curve.lengths.tolist() == [10, 250, 30]
    assert curve.steps.tolist() == [10, 260, 290]
    assert log.learning_curve("DistShift_R2").steps.tolist() == [30]
    assert {task: values.tolist() for task, values in log.returns(1).items()} == {
        "DoorKey_S5": [0.5],
        "DistShift_R2": [-1.0],
    }
    with pytest.raises(UserError, match=r"no episode of block 7 .* there are blocks 0, 1, 2"):
        log.returns(7)
    with pytest.raises(UserError, match="has no task 'Fetch_S5T1'"):
        log.learning_curve("Fetch_S5T1")


def test_a_row_that_was_cut_off_is_named(tmp_path):
    write_some(LogWriter(tmp_path, {}))
    file = tmp_path / "worker-default" / "0-train" / "data-log.tsv"
    file.write_text(file.read_text()[:-8])
    with pytest.raises(UserError, match="line 3"):
        read_log(tmp_path)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 4), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_episodes_do_not_depend_on_how_the_stream_is_cut(seed, envs, cuts):
    """Against a loop that goes step by step."""
    numbers = np.random.default_rng(seed)
    total = sum(cuts)
    reward, ended = numbers.normal(size=(total, envs)), numbers.random((total, envs)) < 0.3
    counter, found, at = EpisodeCounter.fresh(envs), [], 0
    for cut in cuts:
        found += counter.add(reward[at : at + cut], ended[at : at + cut])
        at += cut
    expected, sums, lengths = [], np.zeros(envs), np.zeros(envs, int)
    for step in range(total):
        sums, lengths = sums + reward[step], lengths + 1
        for env in np.flatnonzero(ended[step]):
            expected.append((sums[env], lengths[env]))
            sums[env] = lengths[env] = 0
    assert [episode.length for episode in found] == [length for _, length in expected]
    np.testing.assert_allclose([episode.total_reward for episode in found], [value for value, _ in expected])
    np.testing.assert_allclose(counter.total_reward, sums)


def test_steps_that_only_reset_do_not_count():
    counter = EpisodeCounter.fresh(1)
    valid = np.array([[True], [False], [True]])
    episodes = counter.add(np.array([[1.0], [0], [2]]), np.array([[True], [False], [True]]), valid)
    assert episodes == [Episode(1.0, 1), Episode(2.0, 1)]

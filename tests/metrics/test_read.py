"""Reading logs: everybody's, strictly, and fast."""

import time

import numpy as np
import pytest

from tests.metrics.logs import evaluate, learn, pairwise, write_log
from wakesleep import UserError, logs
from wakesleep.logs import read_log
from wakesleep.metrics.experts import read_experts
from wakesleep.metrics.lifetime import compute_metrics


def first_file(folder):
    return folder / "w" / "0-test" / "data-log.tsv"


def spoil(folder, old, new):
    file = first_file(folder)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_a_log_in_columns(tmp_path):
    log = read_log(write_log(tmp_path, pairwise()))
    assert len(log) == 4 * 2 * 3 + 2 * 20
    assert log.tasks == ("A_1", "B_1")
    assert log.block.tolist()[:9] == [0] * 8 + [1]
    assert log.value[:8].tolist() == [0.1] * 4 + [0.2] * 4
    assert log.is_train.sum() == 40
    assert log.learning_steps == 400
    assert log.notes == ()


def test_what_our_writer_writes_can_be_read(tmp_path):
    writer = logs.LogWriter(tmp_path, {})
    for kind, reward in ((logs.TEST, 0.25), (logs.TRAIN, 0.964), (logs.TEST, -1.0)):
        writer.begin_block(kind)
        writer.write("DoorKey_S5", [logs.Episode(reward, 7)] * 3)
    log = read_log(tmp_path)
    assert log.value.tolist() == [0.25] * 3 + [0.964] * 3 + [-1.0] * 3
    assert log.learning_steps == 21


def test_rows_come_in_the_order_of_experiences_from_any_number_of_workers(tmp_path):
    folder = write_log(tmp_path, pairwise())
    whole = read_log(folder)
    file = folder / "w" / "1-train" / "data-log.tsv"
    header, *rows = file.read_text().splitlines(keepends=True)
    file.write_text("".join([header, *rows[1::2]]))
    other = folder / "deep" / "er" / "1-train" / "data-log.tsv"
    other.parent.mkdir(parents=True)
    other.write_text("".join([header, *rows[0::2][::-1]]))
    again = read_log(folder)
    np.testing.assert_array_equal(again.value, whole.value)
    np.testing.assert_array_equal(again.experience, whole.experience)


def test_incomplete_and_empty_rows_are_left_out_and_said(tmp_path):
    folder = write_log(tmp_path, pairwise())
    spoil(folder, "complete", "incomplete")
    spoil(folder, "\t0.2\n", "\t\n")
    log = read_log(folder)
    assert len(log) == 62
    assert log.notes == ("1 incomplete episodes left out", "1 episodes without a reward left out")


def test_a_missing_block_is_said(tmp_path):
    folder = write_log(tmp_path, pairwise())
    (folder / "w" / "1-train" / "data-log.tsv").unlink()
    assert "no episode ended in block 1" in read_log(folder).notes[0]


def test_old_logs_without_subtype_are_all_wake(tmp_path):
    folder = write_log(tmp_path, pairwise())
    for file in folder.rglob("data-log.tsv"):
        rows = [line.split("\t") for line in file.read_text().splitlines()]
        file.write_text("".join("\t".join(row[:4] + row[5:]) + "\n" for row in rows))
    assert not read_log(folder).is_sleep.any()


def cut_in_the_last_line(folder):
    file = first_file(folder)
    file.write_text(file.read_text()[:-3])


def cut_after_a_field(folder):
    file = first_file(folder)
    file.write_text(file.read_text().rsplit("\t", 2)[0] + "\n")


def empty_file(folder):
    first_file(folder).write_text("")


def bytes_of_something_else(folder):
    first_file(folder).write_bytes(b"\x89PNG\xff\xfe")


def no_files(folder):
    for file in folder.rglob("data-log.tsv"):
        file.unlink()


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (cut_in_the_last_line, "line 9 of .* is damaged or cut off"),
        (cut_after_a_field, "line 9 of .* is damaged or cut off"),
        (empty_file, "is empty"),
        (bytes_of_something_else, "cannot be read"),
        (no_files, "holds no data-log.tsv"),
        (lambda folder: spoil(folder, "reward", "score"), "has no column 'reward': it has block_num"),
        (lambda folder: spoil(folder, "task_name", "task"), "has no column 'task_name'"),
        (
            lambda folder: spoil(folder, "\tcomplete", "\tfinished"),
            "exp_status in line 2 of .*'finished', not complete",
        ),
        (lambda folder: spoil(folder, "\ttest\t", "\teval\t"), "block_type in line 2 of .*'eval', not train or test"),
        (lambda folder: spoil(folder, "\twake\t", "\tnap\t"), "block_subtype in line 2 of .*'nap'"),
        (lambda folder: spoil(folder, "\t0.1\n", "\tgood\n"), "reward in line 2 of .*'good', not a finite number"),
        (lambda folder: spoil(folder, "\t0.1\n", "\tinf\n"), "not a finite number"),
        (lambda folder: spoil(folder, "\n0\t1\t", "\n0\t-1\t"), "exp_num in line 3 of .*not a whole number"),
        (lambda folder: spoil(folder, "\n0\t1\t", "\n7\t1\t"), "block_num goes down"),
        (lambda folder: spoil(folder, "{}", "{"), "task_params in line 2 of .* is not JSON"),
        (lambda folder: (folder / "logger_info.json").unlink(), "no logger_info.json"),
        (lambda folder: (folder / "logger_info.json").write_text("{}"), "no metric called 'reward'"),
        (lambda folder: (folder / "logger_info.json").write_text("[]"), "not a JSON object"),
        (lambda folder: (folder / "logger_info.json").write_text("{"), "cannot be read as JSON"),
    ],
)
def test_damaged_logs_are_refused_in_one_sentence(tmp_path, break_it, why):
    folder = write_log(tmp_path, pairwise())
    break_it(folder)
    with pytest.raises(UserError, match=why) as error:
        read_log(folder)
    assert "\n" not in str(error.value)


def test_quoted_fields_are_read(tmp_path):
    params = '{"a": [1, 2], "b": "x y"}'
    blocks = [{**block, "params": params} for block in pairwise()]
    log = read_log(write_log(tmp_path, blocks))
    assert '""a""' in first_file(tmp_path).read_text()
    assert len(log) == 64
    assert log.notes == ()


def test_step_counts_are_not_needed(tmp_path):
    folder = write_log(tmp_path, pairwise())
    spoil(folder, "\t10\t", "\t\t")
    assert read_log(folder).learning_steps is None


def test_nothing_complete_and_no_folder(tmp_path):
    def spoiled(rows):
        return [[*row[:7], "incomplete", *row[8:]] for row in rows]

    with pytest.raises(UserError, match="no complete episode"):
        read_log(write_log(tmp_path / "log", pairwise(), change=spoiled))
    with pytest.raises(UserError, match="no complete episode"):
        read_log(write_log(tmp_path / "header", pairwise()[:1], change=lambda rows: rows.clear()))
    with pytest.raises(UserError, match="there is no folder"):
        read_log(tmp_path / "nowhere")


def test_a_hundred_thousand_rows_take_under_a_second(tmp_path):
    random = np.random.default_rng(0)
    tasks = [f"Task{number}_1" for number in range(10)]
    test = {task: random.random(100).round(3).tolist() for task in tasks}
    blocks = [evaluate(test)]
    for task in tasks:
        blocks += [learn(task, random.random(8_900).round(3).tolist()), evaluate(test)]
    folder = write_log(tmp_path / "life", blocks)
    for task in tasks[:3]:
        write_log(tmp_path / "experts" / task, [learn(task, random.random(9_000).round(3).tolist())])
    experts = read_experts(tmp_path / "experts")
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        log = read_log(folder)
        compute_metrics(log, experts)
        seconds.append(time.process_time() - begin)
    assert len(log) == 100_000
    assert min(seconds) < 1.0  # measured: docs/results/speed.md; the processor's time, so that others do not disturb

"""Metrics by hand, what is undefined when, and the traps that l2metrics falls into."""

import numpy as np
import pytest

from tests.metrics.logs import evaluate, learn, pairwise, write_expert, write_log
from wakesleep import UserError
from wakesleep.logs import read_log
from wakesleep.metrics.curves import smooth
from wakesleep.metrics.experts import read_experts
from wakesleep.metrics.lifetime import compute_metrics
from wakesleep.metrics.names import METRICS
from wakesleep.metrics.prepare import Options, Range, prepare, read_ranges, shared_ranges

RAW = Options(normalization="none", smoothing="none")


def measured(folder, blocks, options=RAW, experts=None, **more):
    return compute_metrics(read_log(write_log(folder, blocks, **more)), experts, options)


def numbers(found):
    return {name: value.number for name, value in found.values.items()}


def same_numbers(one, other):
    left, right = numbers(one), numbers(other)
    assert {name for name in left if left[name] is None} == {name for name in right if right[name] is None}
    return all(left[name] == pytest.approx(right[name], abs=1e-12) for name in left if left[name] is not None)


@pytest.fixture
def experts(tmp_path):
    for task, end in (("A_1", 1.0), ("B_1", 0.5)):
        write_expert(tmp_path / "experts" / task, task, end)
    return read_experts(tmp_path / "experts")


def test_pairwise_by_hand(tmp_path, experts):
    found = measured(tmp_path / "life", pairwise(), experts=experts)
    expected = {
        "perf_maintenance_mrlep": 0.3 - 0.9,  # only A_1 is evaluated again after its learning
        "perf_maintenance_mrtlp": 0.3 - 0.9,
        "forward_transfer_ratio": 0.4 / 0.2,
        "backward_transfer_ratio": 0.3 / 0.9,
        "forward_transfer_contrast": 0.2 / 0.6,
        "backward_transfer_contrast": -0.6 / 1.2,
        "ste_rel_perf": np.mean([(1 + 9) / 10, (4 + 8) / 5]),
        "perf_recovery": None,
        "avg_train_perf": np.mean([0.5, 0.6]),
        "avg_eval_perf": np.mean([np.mean([0.1, 0.9, 0.3]), np.mean([0.2, 0.4, 0.8])]),
        "rr_omega": np.mean([0.3 / 1, 0.8 / 0.5]),
        "rr_alpha": np.mean([0.9 / 1, 0.8 / 0.5]),
        "rr_sigma": np.mean([0.9, np.mean([0.3, 1.6])]),
        "rr_upsilon": np.mean([np.mean([0.1, 0.4]), 0.8]),
        "rr_upsilon_without_first": 0.8,
    }
    for name, value in expected.items():
        number = found.values[name].number
        assert number is None if value is None else number == pytest.approx(value), name
    assert found.values["perf_recovery"].reason
    assert found.values["perf_maintenance_mrlep"].reason == (
        "without B_1 (no later evaluation of B_1 follows the one right after its learning)"
    )


def test_sigma_is_the_mean_of_what_was_just_learned_and_omega(tmp_path, experts):
    """The check of the paper's pairwise tables; an evaluation before all learning that counted would break it."""
    found = measured(tmp_path / "life", pairwise(), experts=experts)
    just_learned = found.evaluations[1].returns["A_1"] / found.expert_returns["A_1"].number
    values = numbers(found)
    assert values["rr_sigma"] == pytest.approx((just_learned + values["rr_omega"]) / 2)
    changed = measured(tmp_path / "other", pairwise(a=(0.7, 0.9, 0.3)), experts=experts)
    assert numbers(changed)["rr_sigma"] == values["rr_sigma"]
    assert numbers(changed)["rr_alpha"] == values["rr_alpha"]
    assert numbers(changed)["rr_upsilon"] != values["rr_upsilon"]
    assert numbers(changed)["rr_upsilon_without_first"] == values["rr_upsilon_without_first"]


def test_scaled_relative_reward_does_not_depend_on_where_zero_is(tmp_path):
    found = []
    for shift in (0.0, 5.0):
        folder = tmp_path / str(shift)
        for task, end in (("A_1", 1.0), ("B_1", 0.5)):
            write_log(folder / "experts" / task, [learn(task, [shift] * 10 + [end + shift] * 10)])
        life = pairwise(a=(0.1 + shift, 0.9 + shift, 0.3 + shift), b=(0.2 + shift, 0.4 + shift, 0.8 + shift))
        found.append(measured(folder / "life", life, experts=read_experts(folder / "experts")))
    for name in ("omega", "alpha", "sigma", "upsilon", "upsilon_without_first"):
        raw, scaled = ([one.values[f"rr_{name}{end}"].number for one in found] for end in ("", "_scaled"))
        assert raw[0] != pytest.approx(raw[1], abs=0.01)
        assert scaled[0] == pytest.approx(scaled[1])


def test_alternating_recovery(tmp_path):
    blocks, levels = [evaluate({"A_1": 0.0, "B_1": 0.0})], {"A_1": 0.0, "B_1": 0.0}
    for late in (5, 3, 1):
        for task in ("A_1", "B_1"):
            blocks += [learn(task, [0.0] * late + [1.0] * 10), evaluate(levels | {task: 1.0})]
    found = measured(tmp_path, blocks)
    assert found.recovery_times == {"A_1": [3, 1], "B_1": [3, 1]}
    assert found.values["perf_recovery"].number == 2.0
    assert found.values["forward_transfer_ratio"].number is None
    assert "the first evaluation of B_1 is 0" in found.values["forward_transfer_ratio"].reason


def test_nothing_undefined_is_silent(tmp_path):
    alone = measured(tmp_path / "alone", [learn("A_1", [0.5] * 20)])
    assert set(alone.values) == set(METRICS)
    known = {name for name, value in alone.values.items() if value.is_defined}
    assert known == {"avg_train_perf"}
    assert all(value.reason for value in alone.values.values() if not value.is_defined)
    assert alone.values["ste_rel_perf"].reason == "no experts were given"
    assert "never evaluated" in alone.values["perf_maintenance_mrlep"].reason


def test_a_log_that_ends_with_learning_has_no_final_evaluation(tmp_path, experts):
    found = measured(tmp_path / "life", pairwise()[:-1], experts=experts)
    assert "ends with learning" in found.values["rr_omega"].reason
    assert found.values["rr_alpha"].number == pytest.approx(0.9)


def test_a_task_that_is_not_evaluated_makes_relative_reward_absent(tmp_path, experts):
    blocks = pairwise()
    blocks[-1] = evaluate({"B_1": 0.8})
    found = measured(tmp_path / "life", blocks, experts=experts)
    assert found.values["rr_omega"] == (None, "A_1 is not evaluated in block 4")
    assert found.values["rr_alpha"].is_defined


def test_an_expert_of_return_zero_is_no_measure(tmp_path):
    write_expert(tmp_path / "experts" / "A", "A_1", end=0.0)
    write_expert(tmp_path / "experts" / "B", "B_1", end=1.0)
    found = measured(tmp_path / "life", pairwise(), experts=read_experts(tmp_path / "experts"))
    assert "R* of A_1 is 0" in found.values["rr_omega"].reason
    assert "sums to 0" in found.tasks["A_1"]["ste_rel_perf"].reason


def test_interleaved_evaluations_are_put_together(tmp_path, experts):
    """l2metrics cuts them into one regime per row."""

    def interleave(rows):
        if rows[0][3] == "train":
            return rows
        half = len(rows) // 2
        mixed = [row for pair in zip(rows[:half], rows[half:], strict=True) for row in pair]
        return [[row[0], first[1], *row[2:]] for row, first in zip(mixed, rows, strict=True)]

    plain = measured(tmp_path / "plain", pairwise(), Options(), experts)
    mixed = measured(tmp_path / "mixed", pairwise(), Options(), experts, change=interleave)
    assert same_numbers(plain, mixed)
    assert "take turns" in mixed.notes[0]
    assert not plain.notes


def test_varying_task_params_change_nothing(tmp_path, experts):
    """In l2metrics one deviating row shifts the numbers of all regimes after it."""

    def vary(rows):
        return [[*row[:6], '{"size": 5}', *row[7:]] if number == 1 else row for number, row in enumerate(rows)]

    plain = measured(tmp_path / "plain", pairwise(), Options(), experts)
    varied = measured(tmp_path / "varied", pairwise(), Options(), experts, change=vary)
    assert same_numbers(plain, varied)
    assert "task_params change inside a block" in varied.notes[0]


def test_sleep_as_a_kind_of_learning_keeps_the_evaluations(tmp_path, experts):
    """l2metrics throws all wake evaluations away when any block is called sleep."""
    blocks = pairwise()
    slept = [*blocks[:2], learn("A_1", [0.9] * 20, subtype="sleep"), *blocks[2:]]
    plain, found = measured(tmp_path / "a", blocks, experts=experts), measured(tmp_path / "b", slept, experts=experts)
    for name in (
        "perf_maintenance_mrlep",
        "forward_transfer_ratio",
        "backward_transfer_ratio",
        "ste_rel_perf",
        "rr_sigma",
    ):
        assert found.values[name].number == pytest.approx(plain.values[name].number), name


def test_sleep_evaluations_count_instead_of_wake_ones(tmp_path, experts):
    blocks = []
    for block in pairwise():
        if block["kind"] == "test":
            blocks += [evaluate({"A_1": 7.0, "B_1": 7.0}), {**block, "subtype": "sleep"}]
        else:
            blocks.append(block)
    plain = measured(tmp_path / "a", pairwise(), experts=experts)
    assert same_numbers(plain, measured(tmp_path / "b", blocks, experts=experts))


def test_two_blocks_of_learning_between_evaluations_transfer_to_nobody(tmp_path):
    """l2metrics credits one of the two, and takes a task's own learning for transfer."""
    first, learn_a, _, learn_b, last = pairwise()
    found = measured(tmp_path, [first, learn_a, learn_b, last])
    for name in ("forward_transfer_ratio", "backward_transfer_ratio"):
        assert not found.values[name].is_defined
    assert "was learned between the same evaluations" in found.values["forward_transfer_ratio"].reason


def test_expert_logs_may_hold_evaluations_of_any_task(tmp_path, experts):
    """l2metrics stops with an error unless they are removed by hand."""
    for task, end in (("A_1", 1.0), ("B_1", 0.5)):
        more = [evaluate({"A_1": 9.0, "B_1": 9.0, "Stranger_1": 9.0})]
        write_expert(tmp_path / "with" / task, task, end, more=more)
    one = measured(tmp_path / "life", pairwise(), Options(), experts)
    assert same_numbers(one, compute_metrics(read_log(tmp_path / "life"), read_experts(tmp_path / "with"), Options()))


def test_agnostic_mode_does_not_mistake_a_name_for_the_beginning_of_another(tmp_path):
    """l2metrics takes the experts of task10_1 for those of task1, and the ranges of anything that contains the name."""
    names = {"A_1": "Task1_X", "B_1": "Task10_X"}
    blocks = [
        {**block, "returns": {names[task]: values for task, values in block["returns"].items()}} for block in pairwise()
    ]
    for task, end in (("Task1_X", 1.0), ("Task1_Y", 1.0), ("Task10_X", 0.5)):
        write_expert(tmp_path / "experts" / task, task, end)
    experts = read_experts(tmp_path / "experts")
    ranges = {"Task1_X": Range(0, 1), "Task1_Y": Range(-1, 0), "Task10_X": Range(0, 100)}
    found = measured(tmp_path / "life", blocks, Options(variants="agnostic", data_range=ranges), experts)
    assert found.ranges == {"Task1": (-1, 1), "Task10": (0, 100)}
    assert found.expert_returns["Task1"].number == 1.0
    assert found.expert_returns["Task10"].number == 0.5
    assert len(experts.runs_of("Task1", agnostic=True)) == 2


def test_spelling_of_task_names_does_not_matter(tmp_path, experts):
    def shout(rows):
        return [
            [*row[:5], row[5].upper() if number % 2 else row[5].lower(), *row[6:]] for number, row in enumerate(rows)
        ]

    plain = measured(tmp_path / "a", pairwise(), experts=experts)
    assert same_numbers(plain, measured(tmp_path / "b", pairwise(), experts=experts, change=shout))


def test_pm_does_not_depend_on_an_offset_and_scales(tmp_path):
    low = measured(tmp_path / "a", pairwise())
    high = measured(tmp_path / "b", pairwise(a=(3.2, 4.8, 3.6), b=(3.4, 3.8, 4.6)))  # twice as far, and 3 higher
    assert numbers(high)["perf_maintenance_mrlep"] == pytest.approx(2 * numbers(low)["perf_maintenance_mrlep"])


def test_a_task_that_never_changes(tmp_path):
    found = measured(tmp_path, pairwise(a=(0.5, 0.5, 0.5)), Options())
    assert found.ranges["A_1"] == (0.5, 0.5)
    assert found.maintenance["A_1"].mrlep.number == 0.0
    whole = measured(tmp_path, pairwise(a=(0.5, 0.5, 0.5), b=(0.5, 0.5, 0.5)), Options(normalization="run"))
    assert whole.values["avg_eval_perf"].number == 1.0


@pytest.mark.parametrize("length", [2, 3, 4, 7, 10])
def test_smoothing_is_a_mirrored_moving_average(length):
    values = np.random.default_rng(0).random(40)
    smoothed = smooth(values, length=length)
    assert len(smoothed) == 40
    if length < 3:
        np.testing.assert_array_equal(smoothed, values)
        return
    begin = 20 - length // 2 - length % 2
    assert smoothed[20] == pytest.approx(values[begin : begin + length].mean())
    mirrored = np.concatenate([values[:0:-1], values, values[-2::-1]])
    for at in (0, 1, 38, 39):
        begin = 39 + at - length // 2 - length % 2
        assert smoothed[at] == pytest.approx(mirrored[begin : begin + length].mean())


def test_ranges_given_shared_and_wrong(tmp_path):
    logs = [read_log(write_log(tmp_path / str(top), pairwise(a=(0.1, top, 0.3)))) for top in (0.5, 0.9)]
    shared = shared_ranges(prepare(log, None, Options()) for log in logs)
    assert shared == {"A_1": (0.1, 0.9), "B_1": (0.2, 0.8)}
    found = compute_metrics(logs[0], None, Options(data_range=shared))
    assert found.values["perf_maintenance_mrlep"].number == pytest.approx(100 * (0.3 - 0.5) / 0.8)
    with pytest.raises(UserError, match="no entry for B_1"):
        compute_metrics(logs[0], None, Options(data_range={"a_1": Range(0, 1)}))
    with pytest.raises(UserError, match="must go up"):
        Options(data_range={"A_1": Range(1, 0)})
    file = tmp_path / "range.json"
    file.write_text('{"A_1": {"min": 0, "max": 1}}')
    assert read_ranges(file) == {"A_1": (0, 1)}
    file.write_text('{"A_1": {"min": 0}}')
    with pytest.raises(UserError, match="must give each task a range"):
        read_ranges(file)


def test_noise_is_seeded(tmp_path):
    log = read_log(write_log(tmp_path, pairwise()))
    noisy = [
        compute_metrics(log, None, Options(noise=(0.0, 1.0), seed=seed)).values["avg_eval_perf"].number
        for seed in (1, 1, 2)
    ]
    assert noisy[0] == noisy[1] != noisy[2]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"smoothing": "round"}, "smoothing is flat"),
        ({"window": 0}, "at least one episode"),
        ({"variants": "x"}, "aware or"),
    ],
)
def test_options_are_checked(wrong, why):
    with pytest.raises(UserError, match=why):
        Options(**wrong)

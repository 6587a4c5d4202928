"""Statistics over lifetimes, against the libraries and by hand."""

import numpy as np
import pytest
from scipy import stats

from wakesleep.metrics.statistics import compare_with_baseline, summarise

RANDOM = np.random.default_rng(0)
BASE, BETTER, ALIKE = (RANDOM.normal(mean, 1, 12).tolist() for mean in (0, 3, 0))
WORSE = [-value for value in BETTER[:9]]


def test_mean_and_intervals():
    found = summarise(BASE)
    low, high = stats.t.interval(0.95, 11, np.mean(BASE), stats.sem(BASE))
    assert found.mean == pytest.approx(np.mean(BASE))
    assert found.interval == pytest.approx((low, high))
    assert found.half_width == pytest.approx((high - low) / 2)
    theirs = stats.bootstrap((BASE,), np.mean, method="percentile", rng=1, n_resamples=10_000).confidence_interval
    assert found.bootstrap == pytest.approx(tuple(theirs), abs=0.03)
    assert found.bootstrap == summarise(BASE).bootstrap
    assert found.iqm == pytest.approx(np.sort(BASE)[3:9].mean())
    assert found.deviation == pytest.approx(np.std(BASE, ddof=1))


def test_one_lifetime_has_no_interval_and_none_has_nothing():
    assert summarise([2.0]) == (1, 2.0, None, None, 2.0, None)
    assert summarise([]) is None


def dunn_by_hand(groups, one, other):
    """Dunn 1964, without ties."""
    ranks = stats.rankdata(np.concatenate(groups))
    sizes = [len(group) for group in groups]
    means = [part.mean() for part in np.split(ranks, np.cumsum(sizes)[:-1])]
    total = sum(sizes)
    spread = np.sqrt(total * (total + 1) / 12 * (1 / sizes[one] + 1 / sizes[other]))
    pairs = len(groups) * (len(groups) - 1) / 2
    return min(1, pairs * 2 * stats.norm.sf(abs(means[one] - means[other]) / spread))


def test_kruskal_wallis_then_dunn_against_the_baseline():
    found = compare_with_baseline({"alike": ALIKE, "baseline": BASE, "better": BETTER, "worse": WORSE}, "baseline")
    groups = (ALIKE, BASE, BETTER, WORSE)
    assert found.kruskal_p == pytest.approx(stats.kruskal(*groups).pvalue)
    for number, agent in ((0, "alike"), (2, "better"), (3, "worse")):
        assert found.dunn_p[agent] == pytest.approx(dunn_by_hand(groups, 1, number))
    assert found.marks == {"alike": "", "better": "•", "worse": "∘"}


def test_without_a_difference_nothing_is_marked():
    found = compare_with_baseline({"baseline": BASE, "alike": ALIKE}, "baseline")
    assert found.kruskal_p > 0.05
    assert found.marks == {"alike": ""}
    constant = compare_with_baseline({"baseline": [1.0, 1.0], "alike": [1.0, 1.0]}, "baseline")
    assert constant == (1.0, {"alike": 1.0}, {"alike": ""})


def test_comparing_needs_a_baseline_and_two_lifetimes_each():
    assert compare_with_baseline({"baseline": BASE, "one": [1.0]}, "baseline") is None
    assert compare_with_baseline({"a": BASE, "b": BETTER}, "baseline") is None
    assert compare_with_baseline({"baseline": [1.0], "b": BETTER}, "baseline") is None

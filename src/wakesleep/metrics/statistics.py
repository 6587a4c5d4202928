"""Statistics over lifetimes: means with intervals, interquartile means, significant differences from the baseline.

Significance as in the paper: a Kruskal-Wallis test over all agents; if it says that they differ, Dunn's test of all
pairs with Bonferroni's correction. An agent that differs from the baseline is marked • if its mean rank is higher,
else ∘.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wakesleep.metrics.paper import BETTER, WORSE

CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
RESAMPLES = 10_000


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Summary(NamedTuple):
    """One metric of one agent over its lifetimes."""

    lifetimes: int
    """Lifetimes in which the metric is defined."""
    mean: float
    interval: Interval | None
    """95 % confidence, Student's t; none with fewer than two lifetimes."""
    bootstrap: Interval | None
    """95 % confidence, percentile bootstrap of the mean; none with fewer than two lifetimes."""
    iqm: float
    """Interquartile mean: of the middle half."""
    deviation: float | None
    """Standard deviation; none with fewer than two lifetimes."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the t interval: the number after ±."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / 2


class Comparison(NamedTuple):
    """Agents compared with the baseline on one metric."""

    kruskal_p: float
    """p of the Kruskal-Wallis test over all agents."""
    dunn_p: dict[str, float]
    """By agent: p of Dunn's test against the baseline, with Bonferroni's correction."""
    marks: dict[str, str]
    """By agent: `BETTER`, `WORSE`, or an empty string."""


def summarise(numbers: Sequence[float], seed: int = 0) -> Summary | None:
    """Mean, intervals, interquartile mean and deviation of some numbers; None if there are none.

    `seed` is that of the bootstrap.
    """
    from scipy import stats

    if not numbers:
        return None
    values = np.asarray(numbers, float)
    mean, iqm = float(values.mean()), float(stats.trim_mean(values, 0.25))
    if len(values) < 2:
        return Summary(1, mean, None, None, iqm, None)
    deviation = float(values.std(ddof=1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * deviation / len(values) ** 0.5
    draws = np.random.default_rng(seed).choice(values, (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return Summary(len(values), mean, Interval(mean - half, mean + half), Interval(low, high), iqm, deviation)


def compare_with_baseline(groups: Mapping[str, Sequence[float]], baseline: str) -> Comparison | None:
    """Test which agents differ from the baseline on one metric.

    Args:
        groups: by agent, the metric of each of its lifetimes. Agents with fewer than two are left out.
        baseline: the agent that the others are compared with.

    Returns:
        None where the baseline or all others are left out.
    """
    known = {agent: np.asarray(numbers, float) for agent, numbers in groups.items() if len(numbers) > 1}
    if baseline not in known or len(known) < 2:
        return None
    from scikit_posthocs import posthoc_dunn
    from scipy import stats

    values = np.concatenate(list(known.values()))
    names = np.repeat(list(known), [len(numbers) for numbers in known.values()])
    others = [agent for agent in known if agent != baseline]
    if (values == values[0]).all():
        return Comparison(1.0, dict.fromkeys(others, 1.0), dict.fromkeys(others, ""))
    kruskal_p = float(stats.kruskal(*known.values()).pvalue)
    dunn = posthoc_dunn(list(known.values()), p_adjust="bonferroni").to_numpy()[list(known).index(baseline)]
    dunn_p = {agent: float(p) for agent, p in zip(known, dunn, strict=True) if agent != baseline}
    ranks = stats.rankdata(values)
    mean_rank = {agent: float(ranks[names == agent].mean()) for agent in known}
    marks = {}
    for agent in others:
        differs = kruskal_p < SIGNIFICANCE and dunn_p[agent] < SIGNIFICANCE
        marks[agent] = (BETTER if mean_rank[agent] > mean_rank[baseline] else WORSE) if differs else ""
    return Comparison(kruskal_p, dunn_p, marks)

"""Statistics over lifetimes: means with intervals, interquartile means, and who differs from the baseline.

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
    """From, to."""

    low: float
    high: float


class Summary(NamedTuple):
    """A metric over lifetimes."""

    lifetimes: int
    """Those that have it."""
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
        """What stands behind ±."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / 2


class Comparison(NamedTuple):
    """Agents compared with the baseline on one metric."""

    kruskal_p: float
    """Chance of such differences if all agents were alike."""
    dunn_p: dict[str, float]
    """Of each other agent against the baseline, corrected."""
    marks: dict[str, str]
    """Better, worse, or nothing."""


def summarise(numbers: Sequence[float], seed: int = 0) -> Summary | None:
    """Mean and all that belongs to it; None if there is no number."""
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


def compare(groups: Mapping[str, Sequence[float]], baseline: str) -> Comparison | None:
    """Compare all agents that have at least two lifetimes with the baseline; None if there is nothing to compare."""
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

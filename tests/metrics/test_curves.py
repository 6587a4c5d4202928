"""Where a curve is highest."""

import numpy as np

from wakesleep.metrics.curves import saturation


def test_rounding_does_not_decide_where_a_plateau_begins():
    steps = np.repeat([0.0, 0.7], [40, 60])
    begins = saturation(steps)
    assert 45 <= begins.experiences <= 60  # a smoothed step is at its height half a window later
    assert np.isclose(begins.value, 0.7)
    for seed in range(5):
        rounding = np.random.default_rng(seed).normal(0, 1e-16, 100)
        assert saturation(steps + rounding).experiences == begins.experiences


def test_a_higher_point_is_no_rounding():
    rising = np.linspace(0, 1, 100)
    assert saturation(rising).experiences > 90
    assert saturation(rising[::-1]).experiences < 10

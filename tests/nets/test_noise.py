"""Noise is normal, of every shape, another with every key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from wakesleep.nets.noise import _quantile, normal


def test_it_is_normal():
    drawn = np.asarray(normal(jax.random.key(0), (200, 301))).ravel()
    assert np.isfinite(drawn).all()
    assert stats.kstest(drawn, "norm").pvalue > 0.01
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.02


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 4), (3, 5, 7), (0, 4)])
def test_any_shape(shape):
    assert normal(jax.random.key(0), shape).shape == shape


def test_many_at_once_are_those_drawn_one_by_one():
    keys = jax.random.split(jax.random.key(1), 3)
    together = jax.vmap(lambda key: normal(key, (4, 3)))(keys)
    for row, key in zip(together, keys, strict=True):
        np.testing.assert_allclose(row, normal(key, (4, 3)), rtol=1e-5)
    assert not np.allclose(together[0], together[1])


def test_the_quantiles_are_scipy_s():
    uniform = np.concatenate([np.linspace(-0.9999, 0.9999, 2001), [1 - 2**-20, 2**-24 - 1]]).astype(np.float32)
    expected = stats.norm.ppf((1 + uniform.astype(float)) / 2)
    np.testing.assert_allclose(_quantile(jnp.asarray(uniform)), expected, rtol=2e-5, atol=1e-6)

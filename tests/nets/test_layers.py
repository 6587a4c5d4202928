"""Convolutions: the gradients are those that JAX itself finds."""

import jax
import numpy as np
import pytest

from wakesleep.nets.layers import Conv, convolve

LAYOUT = ("NHWC", "HWIO", "NHWC")


SHAPES = [(16, 3, 1), (8, 5, 1), (8, 3, 2), (16, 7, 4), (9, 3, 2), (8, 1, 1), (7, 2, 1), (10, 5, 4)]


@pytest.mark.parametrize(("side", "size", "stride"), SHAPES)
def test_gradients_are_jax_s_own(side, size, stride):
    keys = jax.random.split(jax.random.key(0), 3)
    images, weight = jax.random.normal(keys[0], (3, side, side, 2)), jax.random.normal(keys[1], (size, size, 2, 4))

    def plain(images, weight):
        return jax.lax.conv_general_dilated(images, weight, (stride, stride), "SAME", dimension_numbers=LAYOUT)

    theirs, pull_theirs = jax.vjp(plain, images, weight)
    ours, pull_ours = jax.vjp(lambda *both: convolve(*both, stride), images, weight)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    change = jax.random.normal(keys[2], theirs.shape)
    for found, expected in zip(pull_ours(change), pull_theirs(change), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_patches_are_a_convolution_too():
    conv = Conv(3, 5, 4, 4, jax.random.key(0))
    images = jax.random.normal(jax.random.key(1), (2, 16, 16, 3))
    np.testing.assert_allclose(conv(images), convolve(images, conv.weight, 4) + conv.bias, atol=1e-4)

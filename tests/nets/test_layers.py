"""Layers: the gradients are those that JAX itself finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep.nets.layers import Conv, convolve, multiply, relu

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


@pytest.mark.parametrize("shape", [(7, 5), (3, 2, 5), (5,)])
def test_gradients_of_products_are_jax_s_own(shape):
    keys = jax.random.split(jax.random.key(0), 3)
    inputs, weight = jax.random.normal(keys[0], shape), jax.random.normal(keys[1], (5, 4))
    theirs, pull_theirs = jax.vjp(jnp.matmul, inputs, weight)
    ours, pull_ours = jax.vjp(multiply, inputs, weight)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    change = jax.random.normal(keys[2], theirs.shape)
    for found, expected in zip(pull_ours(change), pull_theirs(change), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_fixed_rows_teach_the_weight_and_are_not_taught():
    keys = jax.random.split(jax.random.key(0), 3)
    inputs, weight = jax.random.normal(keys[0], (7, 5)), jax.random.normal(keys[1], (5, 4))
    change = jax.random.normal(keys[2], (7, 4))
    of_inputs, of_weight = jax.vjp(jnp.matmul, inputs, weight)[1](change)
    found, found_weight = jax.vjp(lambda *both: multiply(*both, 3), inputs, weight)[1](change)
    np.testing.assert_allclose(found, of_inputs.at[4:].set(0), atol=1e-5)
    np.testing.assert_allclose(found_weight, of_weight, atol=1e-5)


@pytest.mark.parametrize("shape", [(7, 5), (1, 5), (0, 5), (3, 2, 5), (5,)])
def test_the_rectifier_is_jax_s(shape):
    inputs, change = (jax.random.normal(key, shape) for key in jax.random.split(jax.random.key(0)))
    theirs, pull_theirs = jax.vjp(jax.nn.relu, inputs)
    ours, pull_ours = jax.vjp(relu, inputs)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(*pull_ours(change), *pull_theirs(change))

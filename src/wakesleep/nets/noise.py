"""Gaussian noise, three times faster than `jax.random.normal` on a CPU.

A VAE needs tens of thousands of draws in every iteration of a sleep.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

# The inverse error function in single precision: polynomials by M. Giles (GPU Computing Gems, 2012), for the middle and
# for the tails. XLA's own has the same ones, but comes to them by a logarithm that takes three times as long as `log`.
_MIDDLE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_TAILS = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def normal(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Return independent draws from a standard normal distribution, by the inverse of its distribution function.

    The loop over two halves keeps XLA from computing the random bits again wherever the inverse function needs them.
    """
    count = math.prod(shape)
    least = np.nextafter(np.float32(-1), np.float32(0))
    uniform = jax.random.uniform(key, (2, (count + 1) // 2), minval=least)
    return jax.lax.map(_quantile, uniform).reshape(-1)[:count].reshape(shape)


def _quantile(uniform: Float[Array, "count"]) -> Float[Array, "count"]:
    """Normal draws from uniform ones between -1 and 1, neither included."""
    away = -jnp.log((1 - uniform) * (1 + uniform))
    middle = jnp.polyval(jnp.array(_MIDDLE, jnp.float32), away - 2.5, unroll=len(_MIDDLE))
    tails = jnp.polyval(jnp.array(_TAILS, jnp.float32), jnp.sqrt(away) - 3, unroll=len(_TAILS))
    return np.float32(2**0.5) * uniform * jnp.where(away < 5, middle, tails)

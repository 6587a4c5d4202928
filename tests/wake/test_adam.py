"""Our Adam is Optax's."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from wakesleep.wake.adam import clipped_adam


@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_equals_the_same_two_things_chained_from_optax(max_norm: float) -> None:
    """Where the norm is cut and where it is not, over steps enough for both corrections to fade."""
    shapes = {"weight": (5, 3), "bias": (3,)}
    ours = clipped_adam(1e-2, max_norm, eps=1e-5)
    theirs = optax.chain(optax.clip_by_global_norm(max_norm), optax.adam(1e-2, eps=1e-5))
    parameters = {name: jnp.ones(shape) for name, shape in shapes.items()}

    @jax.jit
    def step(key, both):
        keys = jax.random.split(key, 2)
        gradient = {
            name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items(), strict=True)
        }
        for at, optimiser in enumerate((ours, theirs)):
            updates, state = optimiser.update(gradient, both[at][1], both[at][0])
            both[at] = [optax.apply_updates(both[at][0], updates), state]
        return both

    both = [[parameters, optimiser.init(parameters)] for optimiser in (ours, theirs)]
    for number in range(300):
        both = step(jax.random.key(number), both)
    assert not np.allclose(both[0][0]["weight"], 1, atol=0.05)  # it went somewhere
    for name in shapes:
        np.testing.assert_allclose(both[0][0][name], both[1][0][name], rtol=2e-5, atol=2e-6)


def test_a_zero_gradient_changes_nothing() -> None:
    """The norm's division by zero must not reach the parameters."""
    optimiser = clipped_adam(1e-2, 1.0)
    parameters = {"weight": jnp.ones(3)}
    updates, _ = optimiser.update({"weight": jnp.zeros(3)}, optimiser.init(parameters))
    np.testing.assert_array_equal(updates["weight"], 0)

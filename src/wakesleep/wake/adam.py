"""Adam (Kingma & Ba 2015) behind a limit on the gradient's norm, in as few passes over memory as XLA allows.

Small networks with small minibatches spend a good part of an update in the optimiser. The same two things chained from
Optax divide every entry of every gradient by scalars that could be folded into one factor; here they are. It is an
Optax transformation like any other, and a test holds it equal to Optax's own.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int


class AdamState(NamedTuple):
    """Running means of the gradient and of its square."""

    steps: Int[Array, ""]
    mean: Any
    square: Any


def clipped_adam(
    learning_rate: float, max_norm: float, eps: float = 1e-8, b1: float = 0.9, b2: float = 0.999
) -> optax.GradientTransformation:
    """Adam on gradients that are scaled down where their norm, over all parameters, is greater than `max_norm`."""

    def init(parameters: Any) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return AdamState(jnp.int32(0), zeros, zeros)

    def update(gradient: Any, state: AdamState, parameters: Any = None) -> tuple[Any, AdamState]:
        del parameters
        steps = state.steps + 1
        norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient)))
        scale = jnp.minimum(1.0, max_norm / norm)
        new, new_square = (1 - b1) * scale, (1 - b2) * scale**2
        mean = jax.tree.map(lambda old, leaf: b1 * old + new * leaf, state.mean, gradient)
        square = jax.tree.map(lambda old, leaf: b2 * old + new_square * leaf * leaf, state.square, gradient)
        # both corrections of the young running means, folded into the step size and into eps
        correction = jnp.sqrt(1 - b2**steps)
        step, least = learning_rate * correction / (1 - b1**steps), eps * correction
        change = jax.tree.map(lambda m, s: -step * m / (jnp.sqrt(s) + least), mean, square)
        return change, AdamState(steps, mean, square)

    return optax.GradientTransformation(init, update)

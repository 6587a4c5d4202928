"""Linear layers and perceptrons over any leading axes, and convolutions over images.

Weights are stored input by output, so that a layer is `inputs @ weight + bias` on whole batches. Initialisation is
orthogonal, as in stable-baselines3.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


class Linear(eqx.Module):
    """inputs @ weight + bias."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, "outputs"]

    def __init__(self, inputs: int, outputs: int, key: Key[Array, ""], gain: float = 2**0.5) -> None:
        """Orthogonal weights of the given gain (sqrt 2 suits ReLU), no bias."""
        self.weight = jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
        """Apply the layer to the last axis."""
        return inputs @ self.weight + self.bias


class Conv(eqx.Module):
    """A convolution over height and width, channels last; the border is padded with zeros."""

    weight: Float[Array, "size size inputs outputs"]
    bias: Float[Array, "outputs"]
    stride: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, key: Key[Array, ""]) -> None:
        """Orthogonal weights that suit ReLU, no bias."""
        self.weight = jax.nn.initializers.orthogonal(2**0.5)(key, (size, size, inputs, outputs))
        self.bias = jnp.zeros(outputs)
        self.stride = stride

    def __call__(self, images: Float[Array, "batch height width inputs"]) -> Float[Array, "batch _ _ outputs"]:
        """Apply to a batch of images."""
        if self.weight.shape[0] == self.stride:  # patches side by side: a matrix product
            count, height, width, inputs = images.shape
            side = self.stride
            patches = images.reshape(count, height // side, side, width // side, side, inputs).swapaxes(2, 3)
            return patches.reshape(*patches.shape[:3], -1) @ self.weight.reshape(-1, len(self.bias)) + self.bias
        strides, layout = (self.stride, self.stride), ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(images, self.weight, strides, "SAME", dimension_numbers=layout) + self.bias


class MLP(eqx.Module):
    """Linear layers, each followed by a ReLU: a feature extractor for vectors."""

    layers: tuple[Linear, ...]

    def __init__(self, inputs: int, hidden: Sequence[int], key: Key[Array, ""]) -> None:
        """Layers of the given widths; the last one is the number of features."""
        widths, keys = (inputs, *hidden), jax.random.split(key, len(hidden))
        self.layers = tuple(Linear(widths[at], widths[at + 1], keys[at]) for at in range(len(hidden)))

    def __call__(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """Features of the last axis."""
        for layer in self.layers:
            inputs = jax.nn.relu(layer(inputs))
        return inputs

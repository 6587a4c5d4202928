"""Linear layers and perceptrons over any leading axes, and convolutions over images.

Weights are stored input by output, so that a layer is `inputs @ weight + bias` on whole batches. Initialisation is
orthogonal, as in stable-baselines3.
"""

from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

Inputs = Float[Array, "*batch inputs"]
Images = Float[Array, "_ _ _ _"]
Kernel = Float[Array, "_ _ _ _"]


class Linear(eqx.Module):
    """A linear layer: inputs @ weight + bias."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, "outputs"]

    def __init__(self, inputs: int, outputs: int, key: Key[Array, ""], gain: float = 2**0.5) -> None:
        """Make a layer with orthogonal weights of the given gain (sqrt 2 suits ReLU) and zero bias."""
        self.weight = jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, inputs: Float[Array, "*batch inputs"], fixed: int = 0) -> Float[Array, "*batch outputs"]:
        """Apply the layer to the last axis.

        Args:
            inputs: any leading axes.
            fixed: for so many last rows of a batch with one leading axis, the inputs get no gradient.
        """
        return multiply(inputs, self.weight, fixed) + self.bias


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def multiply(inputs: Inputs, weight: Float[Array, "inputs outputs"], fixed: int = 0) -> Float[Array, "*batch _"]:
    """Return inputs @ weight, with a gradient of the weight that is faster than XLA's.

    That gradient multiplies from the left with the inputs transposed. XLA would do both in one operation, for which it
    has slower code: up to a fifth slower with wide layers, more than twice with narrow ones such as heads.
    """
    del fixed
    return inputs @ weight


def _multiply_forward(inputs: Inputs, weight: Array, fixed: int) -> tuple[Array, tuple[Inputs, Array]]:
    del fixed
    return inputs @ weight, (inputs, weight)


def _multiply_backward(fixed: int, saved: tuple[Inputs, Array], gradient: Array) -> tuple[Array, Array]:
    inputs, weight = saved
    rows, gradients = (part.reshape(-1, part.shape[-1]) for part in (inputs, gradient))
    input_gradient = gradient @ weight.T if not fixed else jnp.pad(gradient[:-fixed] @ weight.T, [(0, fixed), (0, 0)])
    return input_gradient, jax.lax.optimization_barrier(rows.T) @ gradients


multiply.defvjp(_multiply_forward, _multiply_backward)


@jax.custom_vjp
def relu(inputs: Inputs) -> Inputs:
    """Return max(inputs, 0), computed in two halves that are concatenated.

    This makes XLA keep the result. Otherwise it computes it again where the gradient of the next layer needs it
    transposed (see `multiply`), against the order in memory, which takes four times as long as transposing alone.
    """
    half = len(inputs) // 2
    return jnp.concatenate([jnp.maximum(inputs[:half], 0), jnp.maximum(inputs[half:], 0)])


def _relu_forward(inputs: Inputs) -> tuple[Inputs, Inputs]:
    outputs = relu(inputs)
    return outputs, outputs


def _relu_backward(outputs: Inputs, gradient: Inputs) -> tuple[Inputs]:
    return (jnp.where(outputs > 0, gradient, 0),)


relu.defvjp(_relu_forward, _relu_backward)


class Conv(eqx.Module):
    """A convolution over height and width, channels last; the border is padded with zeros."""

    weight: Float[Array, "size size inputs outputs"]
    bias: Float[Array, "outputs"]
    stride: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, key: Key[Array, ""]) -> None:
        """Make a convolution with orthogonal weights that suit ReLU and zero bias.

        Args:
            inputs: channels it reads.
            outputs: channels it makes.
            size: of the kernel each way.
            stride: each way.
            key: of the weights.
        """
        self.weight = jax.nn.initializers.orthogonal(2**0.5)(key, (size, size, inputs, outputs))
        self.bias = jnp.zeros(outputs)
        self.stride = stride

    def __call__(self, images: Float[Array, "batch height width inputs"]) -> Float[Array, "batch _ _ outputs"]:
        """Apply the convolution to a batch of images."""
        if self.weight.shape[0] == self.stride:  # patches side by side: a matrix product
            count, height, width, inputs = images.shape
            side = self.stride
            patches = images.reshape(count, height // side, side, width // side, side, inputs).swapaxes(2, 3)
            return (
                patches.reshape(*patches.shape[:3], side * side * inputs) @ self.weight.reshape(-1, len(self.bias))
                + self.bias
            )
        return convolve(images, self.weight, self.stride) + self.bias


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def convolve(images: Images, weight: Kernel, stride: int) -> Images:
    """Return the convolution of images with a kernel, with gradients in the order of axes that XLA's fast code takes.

    XLA brings others into this order only outside of loops. In a loop, where all learning happens, it uses code that
    is up to thirty times slower on a CPU.
    """
    return _fast_convolution(images, weight, _same_padding(images.shape[1], weight.shape[0], stride), stride=stride)


def _convolve_forward(images: Images, weight: Kernel, stride: int) -> tuple[Images, tuple[Images, Kernel]]:
    return convolve(images, weight, stride), (images, weight)


def _convolve_backward(stride: int, saved: tuple[Images, Kernel], gradient: Images) -> tuple[Images, Kernel]:
    images, weight = saved
    size, length = weight.shape[0], images.shape[1]
    before, after = _same_padding(length, size, stride)
    rest = length + before + after - (gradient.shape[1] - 1) * stride - size  # pixels that no kernel reaches
    mirrored = weight[::-1, ::-1].swapaxes(2, 3)
    padding = size - 1 - before, size - 1 - after + rest
    image_gradient = _fast_convolution(gradient, mirrored, padding, input_dilation=stride)
    # each input channel is an image whose channels are the batch, and the gradient a kernel as large as it
    channels_first, kernel = images.transpose(3, 1, 2, 0), gradient.transpose(1, 2, 0, 3)
    weight_gradient = _fast_convolution(channels_first, kernel, (before, after - rest), kernel_dilation=stride)
    return image_gradient, weight_gradient.transpose(1, 2, 0, 3)


convolve.defvjp(_convolve_forward, _convolve_backward)


def _fast_convolution(
    images: Images,
    kernel: Kernel,
    padding: tuple[int, int],
    stride: int = 1,
    input_dilation: int = 1,
    kernel_dilation: int = 1,
) -> Images:
    """A convolution over square images, in the order of axes that XLA's fast code takes."""
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        images,
        kernel,
        (stride, stride),
        (padding, padding),
        (input_dilation, input_dilation),
        (kernel_dilation, kernel_dilation),
        layout,
    )


def _same_padding(length: int, size: int, stride: int) -> tuple[int, int]:
    """Zeros before and after, so that every `stride`-th pixel has a kernel around it."""
    before, after = jax.lax.padtype_to_pads((length,), (size,), (stride,), "SAME")[0]
    return before, after


class MLP(eqx.Module):
    """Linear layers, each followed by a ReLU: a feature extractor for vectors."""

    layers: tuple[Linear, ...]

    def __init__(self, inputs: int, hidden: Sequence[int], key: Key[Array, ""]) -> None:
        """Make layers of the widths `hidden`; the last one is the number of features."""
        widths, keys = (inputs, *hidden), jax.random.split(key, len(hidden))
        self.layers = tuple(Linear(widths[at], widths[at + 1], keys[at]) for at in range(len(hidden)))

    def __call__(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """Return features of the last axis."""
        for layer in self.layers:
            inputs = relu(layer(inputs))
        return inputs

"""A convolutional VAE for maps (appendix B, StarCraft II).

Encoder and decoder have five convolutions each, all but the last with batch normalisation and ReLU. In training,
batch normalisation takes mean and variance from the batch. Acting and dreaming take those of all data, which
`with_batch_stats` measures once a sleep is over. There is no moving average: a loss is a function of model and batch.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from wakesleep.errors import UserError
from wakesleep.nets.layers import Conv, Linear
from wakesleep.nets.noise import normal
from wakesleep.nets.vae import Posterior, posterior_of

Images = Float[Array, "batch _ _ _"]
BOTTLENECK_SIDE = 4
"""Height and width between encoder and decoder."""


class BatchNorm(eqx.Module):
    """Batch normalisation over channels. `mean` and `variance` are measured, not learned."""

    scale: Float[Array, "channels"]
    shift: Float[Array, "channels"]
    mean: Float[Array, "channels"]
    variance: Float[Array, "channels"]

    def __init__(self, channels: int) -> None:
        self.scale, self.shift = jnp.ones(channels), jnp.zeros(channels)
        self.mean, self.variance = jnp.zeros(channels), jnp.ones(channels)

    def __call__(self, images: Images, training: bool) -> Images:
        """Normalise [batch, height, width, channels] by the batch (training) or by `mean` and `variance`."""
        mean, variance = _moments(images) if training else jax.lax.stop_gradient((self.mean, self.variance))
        return (images - mean) * jax.lax.rsqrt(variance + 1e-5) * self.scale + self.shift

    def with_batch_stats(self, images: Images) -> "BatchNorm":
        """Return the layer with mean and variance of these images."""
        return eqx.tree_at(lambda norm: (norm.mean, norm.variance), self, _moments(images))


class ConvBlock(eqx.Module):
    """Upsampling, a convolution, batch normalisation and ReLU."""

    convolution: Conv
    norm: BatchNorm | None
    """None in the last block of a decoder, which has no ReLU either."""
    upsample: int = eqx.field(static=True, default=1)
    """How many times each pixel is repeated each way before the convolution."""

    def before_norm(self, images: Images) -> Images:
        """Return the output of the convolution alone."""
        for axis in (1, 2):
            images = jnp.repeat(images, self.upsample, axis=axis)
        return self.convolution(images)

    def __call__(self, images: Images, training: bool) -> Images:
        """Return the output of the block, [batch, height, width, channels]."""
        images = self.before_norm(images)
        return images if self.norm is None else jax.nn.relu(self.norm(images, training))

    def with_batch_stats(self, images: Images) -> tuple["ConvBlock", Images]:
        """Return the block with statistics measured on these images, and its output for them."""
        images = self.before_norm(images)
        if self.norm is None:
            return self, images
        norm = self.norm.with_batch_stats(images)
        return eqx.tree_at(lambda block: block.norm, self, norm), jax.nn.relu(norm(images, training=False))


class ConvVAE(eqx.Module):
    """A VAE with the methods of `VAE`. Inputs and outputs are flat vectors of images."""

    encoder: tuple[ConvBlock, ...]
    to_latent: Linear
    from_latent: Linear
    decoder: tuple[ConvBlock, ...]
    inputs_image: tuple[int, int, int] = eqx.field(static=True)

    def __init__(
        self, inputs: tuple[int, int, int], outputs: tuple[int, int, int], key: Key[Array, ""], channels: int = 32,
        latent: int = 128,
    ) -> None:  # fmt: skip
        """Make a VAE with random weights.

        Args:
            inputs: height, width and channels of the images it reads; sides are powers of two from 4 to 128.
            outputs: height, width and channels of the images it makes.
            key: of the weights.
            channels: of the first two convolutions; the other three have twice as many.
            latent: dimensions of the latent vector.
        """
        keys = iter(jax.random.split(key, 12))
        widths = (channels, channels, *(2 * channels,) * 3)
        self.encoder = _blocks(inputs[2], widths, _strides(inputs[0]), keys, _encoder_block)
        flat = BOTTLENECK_SIDE * BOTTLENECK_SIDE * widths[-1]
        self.to_latent = Linear(flat, 2 * latent, next(keys), gain=1.0)
        self.from_latent = Linear(latent, flat, next(keys))
        upsamplings = _strides(outputs[0])[::-1]
        self.decoder = _blocks(widths[-1], (*widths[:-1][::-1], outputs[2]), upsamplings, keys, _decoder_block)
        self.inputs_image = inputs

    @property
    def latent(self) -> int:
        """Dimensions of the latent vector."""
        return self.from_latent.weight.shape[0]

    def encode(self, inputs: Float[Array, "*batch inputs"], training: bool = False) -> Posterior:
        """Return the distribution of the latent vector."""
        images = inputs.reshape(-1, *self.inputs_image)
        for block in self.encoder:
            images = block(images, training)
        return posterior_of(self.to_latent(images.reshape(*inputs.shape[:-1], -1)))

    def decode(self, latent: Float[Array, "*batch latent"], training: bool = False) -> Float[Array, "*batch outputs"]:
        """Return the outputs of latent vectors."""
        images = self._latent_image(latent)
        for block in self.decoder:
            images = block(images, training)
        return images.reshape(*latent.shape[:-1], -1)

    def dream(self, key: Key[Array, ""], count: int) -> Float[Array, "count outputs"]:
        """Return the outputs of `count` latent vectors drawn from the prior."""
        return self.decode(normal(key, (count, self.latent)))

    def with_batch_stats(self, inputs: Float[Array, "count inputs"], key: Key[Array, ""]) -> "ConvVAE":
        """Return the VAE with batch statistics measured on inputs.

        Args:
            inputs: what the encoder's statistics are measured on.
            key: of the latent vectors that the decoder's statistics are measured on.
        """
        encoder, images = [], inputs.reshape(-1, *self.inputs_image)
        for block in self.encoder:
            block, images = block.with_batch_stats(images)
            encoder.append(block)
        latent = posterior_of(self.to_latent(images.reshape(len(inputs), -1))).sample(key)
        decoder, images = [], self._latent_image(latent)
        for block in self.decoder:
            block, images = block.with_batch_stats(images)
            decoder.append(block)
        return eqx.tree_at(lambda vae: (vae.encoder, vae.decoder), self, (tuple(encoder), tuple(decoder)))

    def _latent_image(self, latent: Float[Array, "*batch latent"]) -> Images:
        return jax.nn.relu(self.from_latent(latent)).reshape(
            -1, BOTTLENECK_SIDE, BOTTLENECK_SIDE, self.encoder[-1].convolution.bias.size
        )


def _moments(images: Images) -> tuple[Float[Array, "channels"], Float[Array, "channels"]]:
    return jnp.mean(images, axis=(0, 1, 2)), jnp.var(images, axis=(0, 1, 2))


def _strides(side: int) -> tuple[int, ...]:
    """Strides of the five layers that bring an image to `BOTTLENECK_SIDE`."""
    count = int(np.log2(side // BOTTLENECK_SIDE)) if side >= BOTTLENECK_SIDE else -1
    if not 0 <= count <= 5 or BOTTLENECK_SIDE * 2**count != side:
        raise UserError(f"a VAE of convolutions wants maps of 4, 8, 16, 32, 64 or 128 cells each way, not {side}")
    return (2,) * count + (1,) * (5 - count)


def _encoder_block(inputs: int, outputs: int, factor: int, last: bool, key: Key[Array, ""]) -> ConvBlock:
    del last
    return ConvBlock(Conv(inputs, outputs, 3, factor, key), BatchNorm(outputs))


def _decoder_block(inputs: int, outputs: int, factor: int, last: bool, key: Key[Array, ""]) -> ConvBlock:
    return ConvBlock(Conv(inputs, outputs, 3, 1, key), None if last else BatchNorm(outputs), factor)


def _blocks(
    inputs: int, widths: tuple[int, ...], factors: tuple[int, ...], keys: "object", make: Callable[..., ConvBlock]
) -> tuple[ConvBlock, ...]:
    made = []
    for number, (width, factor) in enumerate(zip(widths, factors, strict=True)):
        made.append(make(inputs, width, factor, number == len(widths) - 1, next(keys)))  # type: ignore[call-overload]
        inputs = width
    return tuple(made)

"""The VAE for maps (appendix B, StarCraft II): five convolutions down, five up, each with batch normalisation and ReLU.

In training, batch normalisation takes mean and variance from the batch at hand. Acting and dreaming take those of the
whole population, which `settled` measures once a sleep is over, as its inventors did; there is no moving average, and
so a loss stays a function of the model and a batch.
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
SMALLEST = 4
"""Height and width between encoder and decoder."""


class BatchNorm(eqx.Module):
    """Normalises channels, then scales and shifts them. `mean` and `variance` are measured, not learned."""

    scale: Float[Array, "channels"]
    shift: Float[Array, "channels"]
    mean: Float[Array, "channels"]
    variance: Float[Array, "channels"]

    def __init__(self, channels: int) -> None:
        self.scale, self.shift = jnp.ones(channels), jnp.zeros(channels)
        self.mean, self.variance = jnp.zeros(channels), jnp.ones(channels)

    def __call__(self, images: Images, training: bool) -> Images:
        """Normalised by the batch (training) or by the population."""
        mean, variance = _moments(images) if training else jax.lax.stop_gradient((self.mean, self.variance))
        return (images - mean) * jax.lax.rsqrt(variance + 1e-5) * self.scale + self.shift

    def with_batch_stats(self, images: Images) -> "BatchNorm":
        """With the moments of these images for the population's."""
        return eqx.tree_at(lambda norm: (norm.mean, norm.variance), self, _moments(images))


class Block(eqx.Module):
    """A convolution, perhaps after enlarging the image, batch normalisation and ReLU; the last of all is plain."""

    convolution: Conv
    norm: BatchNorm | None
    enlarge: int = eqx.field(static=True, default=1)

    def before_norm(self, images: Images) -> Images:
        """The convolution alone."""
        for axis in (1, 2):
            images = jnp.repeat(images, self.enlarge, axis=axis)
        return self.convolution(images)

    def __call__(self, images: Images, training: bool) -> Images:
        """All of it."""
        images = self.before_norm(images)
        return images if self.norm is None else jax.nn.relu(self.norm(images, training))

    def with_batch_stats(self, images: Images) -> tuple["Block", Images]:
        """The block with the moments of what it makes of these images, and that."""
        images = self.before_norm(images)
        if self.norm is None:
            return self, images
        norm = self.norm.with_batch_stats(images)
        return eqx.tree_at(lambda block: block.norm, self, norm), jax.nn.relu(norm(images, training=False))


class ConvVAE(eqx.Module):
    """The same functions as `VAE`, over flat images."""

    encoder: tuple[Block, ...]
    to_latent: Linear
    from_latent: Linear
    decoder: tuple[Block, ...]
    inputs_image: tuple[int, int, int] = eqx.field(static=True)

    def __init__(
        self, inputs: tuple[int, int, int], outputs: tuple[int, int, int], key: Key[Array, ""], channels: int = 32,
        latent: int = 128,
    ) -> None:  # fmt: skip
        """Images are height x width x channels; sides are powers of two from 4."""
        keys = iter(jax.random.split(key, 12))
        widths = (channels, channels, *(2 * channels,) * 3)
        self.encoder = _blocks(inputs[2], widths, _halvings(inputs[0]), keys, _smaller)
        flat = SMALLEST * SMALLEST * widths[-1]
        self.to_latent = Linear(flat, 2 * latent, next(keys), gain=1.0)
        self.from_latent = Linear(latent, flat, next(keys))
        enlargements = _halvings(outputs[0])[::-1]
        self.decoder = _blocks(widths[-1], (*widths[:-1][::-1], outputs[2]), enlargements, keys, _larger)
        self.inputs_image = inputs

    @property
    def latent(self) -> int:
        """Dimensions of the latent vector."""
        return self.from_latent.weight.shape[0]

    def encode(self, inputs: Float[Array, "*batch inputs"], training: bool = False) -> Posterior:
        """What the latent vector may be."""
        images = inputs.reshape(-1, *self.inputs_image)
        for block in self.encoder:
            images = block(images, training)
        return posterior_of(self.to_latent(images.reshape(*inputs.shape[:-1], -1)))

    def decode(self, latent: Float[Array, "*batch latent"], training: bool = False) -> Float[Array, "*batch outputs"]:
        """Outputs of a latent vector."""
        images = self._unfolded(latent)
        for block in self.decoder:
            images = block(images, training)
        return images.reshape(*latent.shape[:-1], -1)

    def dream(self, key: Key[Array, ""], count: int) -> Float[Array, "count outputs"]:
        """Outputs of latent vectors drawn from the prior."""
        return self.decode(normal(key, (count, self.latent)))

    def with_batch_stats(self, inputs: Float[Array, "count inputs"], key: Key[Array, ""]) -> "ConvVAE":
        """With the population's moments measured on inputs, and on what is decoded of them."""
        encoder, images = [], inputs.reshape(-1, *self.inputs_image)
        for block in self.encoder:
            block, images = block.with_batch_stats(images)
            encoder.append(block)
        latent = posterior_of(self.to_latent(images.reshape(len(inputs), -1))).sample(key)
        decoder, images = [], self._unfolded(latent)
        for block in self.decoder:
            block, images = block.with_batch_stats(images)
            decoder.append(block)
        return eqx.tree_at(lambda vae: (vae.encoder, vae.decoder), self, (tuple(encoder), tuple(decoder)))

    def _unfolded(self, latent: Float[Array, "*batch latent"]) -> Images:
        return jax.nn.relu(self.from_latent(latent)).reshape(
            -1, SMALLEST, SMALLEST, self.encoder[-1].convolution.bias.size
        )


def _moments(images: Images) -> tuple[Float[Array, "channels"], Float[Array, "channels"]]:
    return jnp.mean(images, axis=(0, 1, 2)), jnp.var(images, axis=(0, 1, 2))


def _halvings(side: int) -> tuple[int, ...]:
    """By how much each of the five layers makes the image smaller."""
    count = int(np.log2(side // SMALLEST)) if side >= SMALLEST else -1
    if not 0 <= count <= 5 or SMALLEST * 2**count != side:
        raise UserError(f"a VAE of convolutions wants maps of 4, 8, 16, 32, 64 or 128 cells each way, not {side}")
    return (2,) * count + (1,) * (5 - count)


def _smaller(inputs: int, outputs: int, factor: int, last: bool, key: Key[Array, ""]) -> Block:
    del last
    return Block(Conv(inputs, outputs, 3, factor, key), BatchNorm(outputs))


def _larger(inputs: int, outputs: int, factor: int, last: bool, key: Key[Array, ""]) -> Block:
    return Block(Conv(inputs, outputs, 3, 1, key), None if last else BatchNorm(outputs), factor)


def _blocks(
    inputs: int, widths: tuple[int, ...], factors: tuple[int, ...], keys: "object", make: Callable[..., Block]
) -> tuple[Block, ...]:
    made = []
    for number, (width, factor) in enumerate(zip(widths, factors, strict=True)):
        made.append(make(inputs, width, factor, number == len(widths) - 1, next(keys)))  # type: ignore[call-overload]
        inputs = width
    return tuple(made)

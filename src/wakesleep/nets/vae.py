"""The variational autoencoder of sleep: a Gaussian prior, an MLP of two layers each way (appendix B).

The logarithm of the variance is held in [-5, 5] by a scaled tanh. Both terms of the loss are means over their
dimensions: with the paper's loss weights, none of them then outweighs the others.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.nets.layers import Linear, relu
from wakesleep.nets.noise import normal

MAX_LOG_VARIANCE = 5.0


class Posterior(NamedTuple):
    """The encoder's distribution of the latent vector: a Gaussian with a diagonal covariance."""

    mean: Float[Array, "*batch latent"]
    log_variance: Float[Array, "*batch latent"]

    @property
    def deviation(self) -> Float[Array, "*batch latent"]:
        """The standard deviation."""
        return jnp.exp(self.log_variance / 2)

    def sample(self, key: Key[Array, ""]) -> Float[Array, "*batch latent"]:
        """Return a sample, differentiable in mean and variance."""
        return self.mean + self.deviation * normal(key, self.mean.shape)

    def kl(self) -> Float[Array, "*batch"]:
        """Return the KL divergence from the prior, the mean over latent dimensions."""
        terms = jnp.square(self.mean) + jnp.square(self.deviation) - 1 - self.log_variance
        return jnp.mean(terms, axis=-1) / 2


def posterior_of(outputs: Float[Array, "*batch outputs"]) -> Posterior:
    """Return the posterior from an encoder's outputs: means, then logarithms of variances before they are bounded."""
    mean, raw = jnp.split(outputs, 2, axis=-1)
    return Posterior(mean, MAX_LOG_VARIANCE * jnp.tanh(raw / MAX_LOG_VARIANCE))


class VAE(eqx.Module):
    """A VAE of MLPs, from inputs to a latent vector and from that to outputs."""

    encoder: tuple[Linear, Linear]
    decoder: tuple[Linear, Linear]

    def __init__(self, inputs: int, outputs: int, key: Key[Array, ""], hidden: int = 256, latent: int = 128) -> None:
        """Make a VAE with random weights and hidden layers of width `hidden`."""
        keys = jax.random.split(key, 4)
        self.encoder = Linear(inputs, hidden, keys[0]), Linear(hidden, 2 * latent, keys[1], gain=1.0)
        self.decoder = Linear(latent, hidden, keys[2]), Linear(hidden, outputs, keys[3], gain=1.0)

    @property
    def latent(self) -> int:
        """Dimensions of the latent vector."""
        return self.decoder[0].weight.shape[0]

    def encode(self, inputs: Float[Array, "*batch inputs"], training: bool = False, fixed: int = 0) -> Posterior:
        """Return the distribution of the latent vector.

        Args:
            inputs: any leading axes.
            training: makes no difference here.
            fixed: for so many last rows of a batch with one leading axis, the inputs get no gradient.
        """
        del training
        first, second = self.encoder
        return posterior_of(second(relu(first(inputs, fixed))))

    def decode(self, latent: Float[Array, "*batch latent"], training: bool = False) -> Float[Array, "*batch outputs"]:
        """Return the outputs of latent vectors. `training` makes no difference here."""
        del training
        first, second = self.decoder
        return second(relu(first(latent)))

    def with_batch_stats(self, inputs: Float[Array, "count inputs"], key: Key[Array, ""]) -> "VAE":
        """Return the VAE itself: it has no batch statistics."""
        del inputs, key
        return self

    def dream(self, key: Key[Array, ""], count: int) -> Float[Array, "count outputs"]:
        """Return the outputs of `count` latent vectors drawn from the prior."""
        return self.decode(normal(key, (count, self.latent)))

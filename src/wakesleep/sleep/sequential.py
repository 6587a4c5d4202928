"""The sequential architecture (section 3, Fig. 2 top; Algorithm 1): the policy sees only what the VAE makes of things.

    observation -> VAE -> reconstruction -> extractor -> head -> action

A dream is a decoded draw from the prior, labelled by the policy. What imitation teaches flows back into the VAE.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.nets.actions import Logits
from wakesleep.sleep.dreams_observations import DreamsObservations
from wakesleep.sleep.model import Dream, Losses, imitation_loss, reconstruction_loss
from wakesleep.sleep.replay import Pairs


class Sequential(DreamsObservations):
    """The sleep model of this architecture."""

    def __call__(self, observation: Any) -> Logits:
        """Act by the reconstruction of what is seen, from the mean of the latent vector."""
        return self.policy.head(self.features(observation))

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Reconstruct, and imitate by the reconstruction."""
        posterior = self.vae.encode(self._inputs_of_all(pairs, dream), training=True)
        outputs = self.vae.decode(posterior.sample(key), training=True)
        imitation = imitation_loss(self.action, self.label(self.reconstruction.inputs(outputs)), pairs, dream)
        return Losses(imitation, reconstruction_loss(self.reconstruction, outputs, pairs, dream), posterior.kl())

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "Sequential":
        """The model with the VAE's batch statistics measured on these rows."""
        vae = self.vae.with_batch_stats(self._inputs_of_all(pairs, dream), key)
        return eqx.tree_at(lambda model: model.vae, self, vae)

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head receives: features of the reconstruction."""
        return self.policy.extractor(self.reconstruct(self.inputs(observation)))

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """Encoded observations through the VAE and back, without noise."""
        return self.reconstruction.inputs(self.vae.decode(self.vae.encode(inputs).mean))

    def _inputs_of_all(self, pairs: Pairs, dream: Dream) -> Float[Array, "rows inputs"]:
        return jnp.concatenate([self.inputs(pairs.observation), dream.inputs])

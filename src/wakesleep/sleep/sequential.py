"""The sequential architecture (section 3, Fig. 2 top; Algorithm 1): the policy sees only what the VAE makes of things.

    observation -> VAE -> reconstruction -> extractor -> head -> action

A dream is a decoded draw from the prior, labelled by the policy. What imitation teaches flows back into the VAE.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.nets.actions import Logits
from wakesleep.nets.conv_vae import ConvVAE
from wakesleep.nets.policy import Policy, view_of
from wakesleep.nets.reconstruct import Reconstruction
from wakesleep.nets.vae import VAE
from wakesleep.sleep.model import Dream, Losses, imitation_loss, reconstruction_loss, refine
from wakesleep.sleep.replay import Pairs
from wakesleep.worlds.world import ActionSpec


class Sequential(eqx.Module):
    """The model."""

    policy: Policy
    vae: VAE | ConvVAE
    """From encoded observations to what `reconstruction` makes an observation of."""
    reconstruction: Reconstruction
    action: ActionSpec = eqx.field(static=True)

    def __call__(self, observation: Any) -> Logits:
        """Act by the reconstruction of what is seen, from the mean of the latent vector."""
        return self.policy.head(self.features(observation))

    def dream(self, key: Key[Array, ""], count: int, loops: int = 0) -> Dream:
        """An observation from the prior, labelled by the policy."""
        inputs = refine(self, self.reconstruction.inputs(self.vae.dream(key, count)), loops)
        return Dream(inputs, self._answer(inputs))

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Reconstruct, and imitate by the reconstruction."""
        posterior = self.vae.encode(self._inputs_of_all(pairs, dream), training=True)
        outputs = self.vae.decode(posterior.sample(key), training=True)
        imitation = imitation_loss(self.action, self._answer(self.reconstruction.inputs(outputs)), pairs, dream)
        return Losses(imitation, reconstruction_loss(self.reconstruction, outputs, pairs, dream), posterior.kl())

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "Sequential":
        """What the VAE measures rather than learns."""
        vae = self.vae.with_batch_stats(self._inputs_of_all(pairs, dream), key)
        return eqx.tree_at(lambda model: model.vae, self, vae)

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head sees: features of the reconstruction."""
        return self.policy.extractor(self.reconstruct(self.inputs(observation)))

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """The observation, encoded."""
        return self.policy.encoder(view_of(observation))

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """The observation, reconstructed."""
        return self.reconstruction.inputs(self.vae.decode(self.vae.encode(inputs).mean))

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """By the extractor: inputs are taken for reconstructions."""
        return self.policy.extractor(inputs)

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> Array:
        """The observation."""
        return self.reconstruction.encoder.nearest(inputs)

    def _inputs_of_all(self, pairs: Pairs, dream: Dream) -> Float[Array, "rows inputs"]:
        return jnp.concatenate([self.inputs(pairs.observation), dream.inputs])

    def _answer(self, inputs: Float[Array, "*batch inputs"]) -> Logits:
        return self.policy.head(self.policy.extractor(inputs))

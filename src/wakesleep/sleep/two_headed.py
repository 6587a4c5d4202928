"""The two-headed architecture (section 3, Fig. 2 middle; Algorithm 1): features serve the policy and the VAE apart.

    observation -> extractor -> features -> head -> action
                                features -> VAE -> observation

A dream is an observation that goes through the extractor again to be labelled.
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


class TwoHeaded(eqx.Module):
    """The model."""

    policy: Policy
    vae: VAE | ConvVAE
    """From features to what `reconstruction` makes an observation of."""
    reconstruction: Reconstruction
    action: ActionSpec = eqx.field(static=True)

    def __call__(self, observation: Any) -> Logits:
        """Act by the features of what is seen."""
        return self.policy(observation)

    def dream(self, key: Key[Array, ""], count: int, loops: int = 0) -> Dream:
        """An observation from the prior, labelled by way of its features."""
        inputs = refine(self, self.reconstruction.inputs(self.vae.dream(key, count)), loops)
        return Dream(inputs, self.policy.head(self.policy.extractor(inputs)))

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Imitate, and reconstruct the observation from the features."""
        features = self._features_of_all(pairs, dream)
        posterior = self.vae.encode(features, training=True)
        outputs = self.vae.decode(posterior.sample(key), training=True)
        imitation = imitation_loss(self.action, self.policy.head(features), pairs, dream)
        return Losses(imitation, reconstruction_loss(self.reconstruction, outputs, pairs, dream), posterior.kl())

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "TwoHeaded":
        """What the VAE measures rather than learns."""
        vae = self.vae.with_batch_stats(self._features_of_all(pairs, dream), key)
        return eqx.tree_at(lambda model: model.vae, self, vae)

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head sees."""
        return self.policy.features(observation)

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """The observation, encoded."""
        return self.policy.encoder(view_of(observation))

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """The observation, reconstructed from its features."""
        return self.reconstruction.inputs(self.vae.decode(self.vae.encode(self.policy.extractor(inputs)).mean))

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """By the extractor."""
        return self.policy.extractor(inputs)

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> Array:
        """The observation."""
        return self.reconstruction.encoder.nearest(inputs)

    def _features_of_all(self, pairs: Pairs, dream: Dream) -> Float[Array, "rows features"]:
        return self.policy.extractor(jnp.concatenate([self.inputs(pairs.observation), dream.inputs]))

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
from wakesleep.sleep.dreams_observations import DreamsObservations
from wakesleep.sleep.model import Dream, Losses, imitation_loss, reconstruction_loss
from wakesleep.sleep.replay import Pairs


class TwoHeaded(DreamsObservations):
    """The sleep model of this architecture."""

    def __call__(self, observation: Any) -> Logits:
        """Act by the features of what is seen."""
        return self.policy(observation)

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Imitate, and reconstruct the observation from the features."""
        features = self._features_of_all(pairs, dream)
        posterior = self.vae.encode(features, training=True)
        outputs = self.vae.decode(posterior.sample(key), training=True)
        imitation = imitation_loss(self.action, self.policy.head(features), pairs, dream)
        return Losses(imitation, reconstruction_loss(self.reconstruction, outputs, pairs, dream), posterior.kl())

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "TwoHeaded":
        """The model with the VAE's batch statistics measured on these rows."""
        vae = self.vae.with_batch_stats(self._features_of_all(pairs, dream), key)
        return eqx.tree_at(lambda model: model.vae, self, vae)

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head receives."""
        return self.policy.features(observation)

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """Encoded observations, reconstructed from their features."""
        return self.reconstruction.inputs(self.vae.decode(self.vae.encode(self.policy.extractor(inputs)).mean))

    def _features_of_all(self, pairs: Pairs, dream: Dream) -> Float[Array, "rows features"]:
        return self.policy.extractor(jnp.concatenate([self.inputs(pairs.observation), dream.inputs]))

"""Hidden replay (section 3, Fig. 2 bottom; Algorithm 2): the VAE dreams features, not observations.

    observation -> extractor -> features -> head -> action
                                features -> VAE -> features

Dreams are features that the head labels; only real pairs reach the extractor.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.nets.actions import Logits
from wakesleep.nets.policy import Policy
from wakesleep.nets.vae import VAE
from wakesleep.sleep.model import Dream, Losses, imitation_loss
from wakesleep.sleep.replay import Pairs
from wakesleep.worlds.world import ActionSpec


class HiddenReplay(eqx.Module):
    """The model. With `moving_target`, features also learn to be easy to reconstruct."""

    policy: Policy
    vae: VAE
    action: ActionSpec = eqx.field(static=True)
    moving_target: bool = eqx.field(static=True, default=False)

    def __call__(self, observation: Any) -> Logits:
        """Act by the features of what is seen."""
        return self.policy(observation)

    def dream(self, key: Key[Array, ""], count: int) -> Dream:
        """Features from the prior, labelled by the head."""
        features = self.vae.dream(key, count)
        return Dream(features, self.label(features))

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Imitate, and reconstruct the features: those of the pairs by the extractor, the dream's as they are."""
        features = jnp.concatenate([self.policy.features(pairs.observation), dream.inputs])
        posterior = self.vae.encode(features, training=True, fixed=len(dream.inputs))
        target = features if self.moving_target else jax.lax.stop_gradient(features)
        error = jnp.square(self.vae.decode(posterior.sample(key), training=True) - target)
        imitation = imitation_loss(self.action, self.policy.head(features), pairs, dream)
        return Losses(imitation, jnp.mean(error, axis=-1), posterior.kl())

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head sees."""
        return self.policy.features(observation)

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """The extractor's features of an observation."""
        return self.policy.features(observation)

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """Features through the VAE and back, without noise."""
        return self.vae.decode(self.vae.encode(inputs).mean)

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """The inputs themselves: dreams are features."""
        return inputs

    def label(self, inputs: Float[Array, "*batch inputs"]) -> Logits:
        """The head's answer to features."""
        return self.policy.head(inputs)

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> None:
        """None: features are not observations."""
        del inputs

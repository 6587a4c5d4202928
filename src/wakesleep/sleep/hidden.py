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
from wakesleep.sleep.model import Dream, Losses, imitation_loss, refine
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

    def dream(self, key: Key[Array, ""], count: int, loops: int = 0) -> Dream:
        """Features from the prior, labelled by the head."""
        features = refine(self, self.vae.dream(key, count), loops)
        return Dream(features, self.policy.head(features))

    def loss(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> Losses:
        """Imitate, and reconstruct the features: those of the pairs by the extractor, the dream's as they are."""
        features = jnp.concatenate([self.policy.features(pairs.observation), dream.inputs])
        posterior = self.vae.encode(features, training=True, fixed=len(dream.inputs))
        target = features if self.moving_target else jax.lax.stop_gradient(features)
        error = jnp.square(self.vae.decode(posterior.sample(key), training=True) - target)
        imitation = imitation_loss(self.action, self.policy.head(features), pairs, dream)
        return Losses(imitation, jnp.mean(error, axis=-1), posterior.kl())

    def with_batch_stats(self, pairs: Pairs, dream: Dream, key: Key[Array, ""]) -> "HiddenReplay":
        """Nothing here is measured."""
        del pairs, dream, key
        return self

    def features(self, observation: Any) -> Float[Array, "*batch features"]:
        """What the head sees."""
        return self.policy.features(observation)

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """Features."""
        return self.policy.features(observation)

    def reconstruct(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch inputs"]:
        """Features, reconstructed."""
        return self.vae.decode(self.vae.encode(inputs).mean)

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """They are features."""
        return inputs

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> None:
        """Features have no looks."""
        del inputs

"""What the sequential and the two-headed architecture share: their VAE generates observations."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key

from wakesleep.nets.actions import Logits
from wakesleep.nets.conv_vae import ConvVAE
from wakesleep.nets.policy import Policy, view_of
from wakesleep.nets.reconstruct import Reconstruction
from wakesleep.nets.vae import VAE
from wakesleep.sleep.model import Dream
from wakesleep.worlds.world import ActionSpec


class DreamsObservations(eqx.Module):
    """A policy and a VAE whose outputs `reconstruction` turns into observations. Inputs are encoded observations."""

    policy: Policy
    vae: VAE | ConvVAE
    reconstruction: Reconstruction
    action: ActionSpec = eqx.field(static=True)

    def dream(self, key: Key[Array, ""], count: int) -> Dream:
        """Observations decoded from the prior, labelled by the policy."""
        inputs = self.reconstruction.inputs(self.vae.dream(key, count))
        return Dream(inputs, self.label(inputs))

    def inputs(self, observation: Any) -> Float[Array, "*batch inputs"]:
        """An observation as the network reads it."""
        return self.policy.encoder(view_of(observation))

    def features_from_inputs(self, inputs: Float[Array, "*batch inputs"]) -> Float[Array, "*batch features"]:
        """The extractor's features of encoded observations."""
        return self.policy.extractor(inputs)

    def label(self, inputs: Float[Array, "*batch inputs"]) -> Logits:
        """The policy's answer to encoded observations."""
        return self.policy.head(self.policy.extractor(inputs))

    def to_observation(self, inputs: Float[Array, "*batch inputs"]) -> Array:
        """The nearest observations to encoded ones."""
        return self.reconstruction.encoder.nearest(inputs)

"""The three architectures by name, made of a wake learner's own network settings."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax
from jaxtyping import Array, Key

from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoder
from wakesleep.nets.policy import NetworkConfig, Perceptrons
from wakesleep.nets.reconstruct import CategoricalReconstruction, PlainReconstruction
from wakesleep.nets.vae import VAE
from wakesleep.sleep.hidden import HiddenReplay
from wakesleep.sleep.sequential import Sequential
from wakesleep.sleep.two_headed import TwoHeaded
from wakesleep.worlds.world import ActionSpec, ObservationSpec


class Architecture(Enum):
    """Where in the network the VAE stands."""

    HIDDEN = "hidden"
    TWO_HEADED = "two-headed"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True)
class ModelConfig:
    """What a sleep model is told. The sizes are the paper's for Minigrid."""

    architecture: Architecture = Architecture.HIDDEN
    network: NetworkConfig = Perceptrons()
    """Extractor and head: those of the wake learner's policy."""
    latent: int = 128
    hidden: int = 256
    """Width of the VAE's layers."""
    categorical: bool = False
    """Whether reconstructed observations are distributions over values rather than numbers."""
    moving_target: bool = False
    """Hidden replay only: whether features also learn to be easy to reconstruct."""

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> Any:
        """A newborn model."""
        policy_key, vae_key = jax.random.split(key)
        policy = self.network.make(observation, action, policy_key).policy
        features = jax.eval_shape(policy.features, jax.ShapeDtypeStruct(observation.shape, observation.dtype)).shape[0]
        if self.architecture is Architecture.HIDDEN:
            vae = VAE(features, features, vae_key, self.hidden, self.latent)
            return HiddenReplay(policy, vae, action, self.moving_target)
        if not isinstance(policy.encoder, Encoder):
            raise UserError(
                f"the architecture {self.architecture.value!r} needs observations that are encoded as vectors"
            )
        kind = CategoricalReconstruction if self.categorical else PlainReconstruction
        reconstruction, inputs = kind(policy.encoder), policy.encoder.size
        if self.architecture is Architecture.TWO_HEADED:
            vae = VAE(features, reconstruction.size, vae_key, self.hidden, self.latent)
            return TwoHeaded(policy, vae, reconstruction, action)
        return Sequential(
            policy, VAE(inputs, reconstruction.size, vae_key, self.hidden, self.latent), reconstruction, action
        )

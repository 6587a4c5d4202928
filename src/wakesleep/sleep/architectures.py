"""The three architectures by name, made of a wake learner's own network settings."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax
from jaxtyping import Array, Key

from wakesleep.errors import UserError
from wakesleep.nets.conv_vae import ConvVAE
from wakesleep.nets.encode import Encoder
from wakesleep.nets.fully_conv import FeatureLayerEncoder
from wakesleep.nets.policy import MLPConfig, NetworkConfig
from wakesleep.nets.reconstruct import CategoricalReconstruction, LayerReconstruction, PlainReconstruction
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
    network: NetworkConfig = MLPConfig()
    """Extractor and head: those of the wake learner's policy."""
    latent: int = 128
    hidden: int = 256
    """Width of the VAE's layers."""
    channels: int = 32
    """Of the first convolutions of a VAE for maps; the later have twice as many."""
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
        model = TwoHeaded if self.architecture is Architecture.TWO_HEADED else Sequential
        if isinstance(policy.encoder, FeatureLayerEncoder):
            outputs, grid = policy.encoder.image, policy.extractor.grid
            image = (grid, grid, features // grid**2) if model is TwoHeaded else outputs
            conv_vae = ConvVAE(image, outputs, vae_key, self.channels, self.latent)
            return model(policy, conv_vae, LayerReconstruction(policy.encoder), action)
        if not isinstance(policy.encoder, Encoder):
            raise UserError(
                f"the architecture {model.__name__} needs observations that are vectors or maps, encoded by ours"
            )
        kind = CategoricalReconstruction if self.categorical else PlainReconstruction
        reconstruction = kind(policy.encoder)
        inputs = features if model is TwoHeaded else policy.encoder.size
        vae = VAE(inputs, reconstruction.size, vae_key, self.hidden, self.latent)
        return model(policy, vae, reconstruction, action)

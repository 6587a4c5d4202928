"""Sleep models by name: the three architectures of the paper, made of a wake learner's own network settings.

    register_sleep_model("my-model", make)

makes a model of your own known as the setting `model.architecture`; `make(config, observation_spec, action_spec, key)`
returns a fresh `SleepModel`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
from wakesleep.sleep.model import SleepModel
from wakesleep.sleep.sequential import Sequential
from wakesleep.sleep.two_headed import TwoHeaded
from wakesleep.worlds.world import ActionSpec, ObservationSpec

HIDDEN, TWO_HEADED, SEQUENTIAL = PAPER_ARCHITECTURES = ("hidden", "two-headed", "sequential")
"""Where in the network the VAE stands: the paper's three."""


@dataclass(frozen=True)
class ModelConfig:
    """Settings of a sleep model. The sizes are the paper's for Minigrid."""

    architecture: str = HIDDEN
    """hidden, two-headed or sequential, or a model that `register_sleep_model` made known."""
    network: NetworkConfig = MLPConfig()
    """Extractor and head: those of the wake learner's policy."""
    latent: int = 128
    """Size of the VAE's latent vector."""
    hidden: int = 256
    """Width of the VAE's layers."""
    channels: int = 32
    """Of the first convolutions of a VAE for maps; the later have twice as many."""
    categorical: bool = False
    """Whether reconstructed observations are distributions over values rather than numbers."""
    moving_target: bool = False
    """Hidden replay only: whether features also learn to be easy to reconstruct."""

    def __post_init__(self) -> None:
        if self.architecture not in _MODELS:
            raise UserError(f"no sleep model is called {self.architecture!r}: there are {', '.join(_MODELS)}")

    def make(self, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]) -> SleepModel:
        """A fresh model for what is observed and done."""
        return _MODELS[self.architecture](self, observation, action, key)


MakeModel = Callable[[ModelConfig, ObservationSpec, ActionSpec, Key[Array, ""]], SleepModel]


def register_sleep_model(name: str, make: MakeModel) -> None:
    """Make a sleep model of your own known by name.

    Args:
        name: what the setting `model.architecture` calls it.
        make: makes a fresh model of a `ModelConfig`, an observation spec, an action spec and a key.
    """
    if name in _MODELS:
        raise UserError(f"there is already a sleep model called {name!r}")
    _MODELS[name] = make


def _make_hidden(
    config: ModelConfig, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]
) -> SleepModel:
    policy, features, vae_key = _make_policy(config, observation, action, key)
    vae = VAE(features, features, vae_key, config.hidden, config.latent)
    return HiddenReplay(policy, vae, action, config.moving_target)


def _make_dreaming_observations(
    model: type[TwoHeaded] | type[Sequential],
    config: ModelConfig,
    observation: ObservationSpec,
    action: ActionSpec,
    key: Key[Array, ""],
) -> SleepModel:
    policy, features, vae_key = _make_policy(config, observation, action, key)
    if isinstance(policy.encoder, FeatureLayerEncoder):
        outputs, grid = policy.encoder.image, policy.extractor.grid
        image = (grid, grid, features // grid**2) if model is TwoHeaded else outputs
        conv_vae = ConvVAE(image, outputs, vae_key, config.channels, config.latent)
        return model(policy, conv_vae, LayerReconstruction(policy.encoder), action)
    if not isinstance(policy.encoder, Encoder):
        raise UserError(
            f"the architecture {config.architecture} needs observations that are vectors or maps, encoded by ours"
        )
    kind = CategoricalReconstruction if config.categorical else PlainReconstruction
    reconstruction = kind(policy.encoder)
    inputs = features if model is TwoHeaded else policy.encoder.size
    vae = VAE(inputs, reconstruction.size, vae_key, config.hidden, config.latent)
    return model(policy, vae, reconstruction, action)


def _make_policy(
    config: ModelConfig, observation: ObservationSpec, action: ActionSpec, key: Key[Array, ""]
) -> tuple[Any, int, Key[Array, ""]]:
    """A fresh policy, the number of its features, and a key for the VAE."""
    policy_key, vae_key = jax.random.split(key)
    policy = config.network.make(observation, action, policy_key).policy
    one = jax.ShapeDtypeStruct(observation.shape, observation.dtype)
    return policy, jax.eval_shape(policy.features, one).shape[0], vae_key


_MODELS: dict[str, MakeModel] = {
    HIDDEN: _make_hidden,
    TWO_HEADED: partial(_make_dreaming_observations, TwoHeaded),
    SEQUENTIAL: partial(_make_dreaming_observations, Sequential),
}

"""Wake learners by name, and a learner as plain data, so that what it learned can be read back years later."""

from dataclasses import asdict, replace
from typing import Any

from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.fully_conv import FullyConvConfig
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake.ppo import FAST, PAPER, PPO, PPOConfig
from wakesleep.wake.vtrace import VTrace, VTraceConfig
from wakesleep.worlds.starcraft.interface import CATEGORICAL, PLACES
from wakesleep.worlds.world import ActionSpec, ObservationSpec

Config = PPOConfig | VTraceConfig

_MAP = FullyConvConfig(CATEGORICAL, PLACES, normalise=True)
_SMALL_MAP = replace(_MAP, channels=(16, 8, 8), hidden=128, place_scale=32.0, patches=True)

PRESETS: dict[str, dict[str, Config]] = {
    "minigrid": {
        "paper": PAPER,
        "fast": FAST,
        "vtrace": VTraceConfig(
            num_steps=32, epochs=4, learning_rate=5e-4, adam_eps=1e-5, entropy_coef=1e-2, max_grad_norm=0.5,
            gae_lambda=0.95, normalise_advantages=True, min_advantage_std=0.05,
            network=MLPConfig(encoding=Encoding.ONE_HOT),
        ),
    },
    "starcraft": {
        "paper": VTraceConfig(network=_MAP),
        "fast": VTraceConfig(
            epochs=2, learning_rate=7e-4, adam_eps=1e-5, discount=0.97, reward_scale=0.1, entropy_coef=2e-2,
            max_grad_norm=1.0, gae_lambda=0.9, normalise_advantages=True, network=_SMALL_MAP,
        ),
    },
}  # fmt: skip
"""By domain. In Minigrid `paper` and `fast` are PPO; in StarCraft II all are V-trace."""

_MOST_INPUTS = 10_000
"""One-hot inputs of a picture would be millions."""
_NETWORKS: dict[str, type[Any]] = {"perceptrons": MLPConfig, "fully-conv": FullyConvConfig}
_LEARNERS: dict[str, tuple[type[Any], type[Any]]] = {"ppo": (PPOConfig, PPO), "vtrace": (VTraceConfig, VTrace)}


def preset_group(domain: str) -> str:
    """Whose settings serve a domain; domains of your own have Minigrid's."""
    return "starcraft" if domain.startswith("starcraft") else "minigrid"


def preset(name: str, domain: str = "minigrid") -> Config:
    """The named settings."""
    known = PRESETS[preset_group(domain)]
    if name not in known:
        raise UserError(f"no preset for {domain} is called {name!r}: there are {', '.join(known)}")
    return known[name]


def supports_one_hot(observation: ObservationSpec) -> bool:
    """Whether one-hot inputs suit: whole numbers with few values."""
    try:
        return Encoder(observation, Encoding.ONE_HOT).size <= _MOST_INPUTS
    except UserError:
        return False


def fitted(config: Config, observation: ObservationSpec) -> Config:
    """The settings, but with inputs as numbers if they are to be one-hot and that does not suit what is observed."""
    network = config.network
    if not isinstance(network, MLPConfig) or network.encoding is not Encoding.ONE_HOT or supports_one_hot(observation):
        return config
    return replace(config, network=replace(network, encoding=Encoding.SCALE))


def make_learner(config: Config, observation: ObservationSpec, action: ActionSpec) -> PPO | VTrace:
    """The learner that has these settings."""
    learner = next(kind for settings, kind in _LEARNERS.values() if isinstance(config, settings))
    return learner(observation, action, config)


def config_to_json(config: Config) -> dict[str, Any]:
    """The settings as plain data."""
    algorithm = next(name for name, (settings, _) in _LEARNERS.items() if isinstance(config, settings))
    kind = next((name for name, network in _NETWORKS.items() if type(config.network) is network), None)
    if kind is None:
        raise UserError(f"networks of type {type(config.network).__name__} cannot be written down: only our own can")
    network = {key: _plain(value) for key, value in asdict(config.network).items()}  # type: ignore[call-overload]
    return {"algorithm": algorithm, **asdict(config), "network": {"kind": kind, **network}}


def config_from_json(data: dict[str, Any]) -> Config:
    """The settings that `config_to_json` wrote."""
    try:
        fields = dict(data)
        settings, _ = _LEARNERS[fields.pop("algorithm")]
        network = dict(fields["network"])
        kind = _NETWORKS[network.pop("kind")]
        network = {key: tuple(value) if isinstance(value, list) else value for key, value in network.items()}
        if "encoding" in network:
            network["encoding"] = Encoding(network["encoding"])
        return settings(**{**fields, "network": kind(**network)})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"these are not a learner's settings ({error!r}); were they written by another version?"
        raise UserError(message) from error


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Encoding) else list(value) if isinstance(value, tuple) else value

"""Wake learners by name, and a learner as plain data, so that what it learned can be read back years later."""

from dataclasses import asdict
from typing import Any

from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoding
from wakesleep.wake.ppo import FAST, PAPER, PPO, PPOConfig
from wakesleep.wake.vtrace import VTrace, VTraceConfig
from wakesleep.worlds.world import ActionSpec, ObservationSpec

Config = PPOConfig | VTraceConfig

PRESETS: dict[str, Config] = {"paper": PAPER, "fast": FAST, "vtrace": VTraceConfig()}
"""`paper` and `fast` are PPO."""

_LEARNERS: dict[str, tuple[type[Any], type[Any]]] = {"ppo": (PPOConfig, PPO), "vtrace": (VTraceConfig, VTrace)}


def preset(name: str) -> Config:
    """The named settings."""
    if name not in PRESETS:
        raise UserError(f"no preset is called {name!r}: there are {', '.join(PRESETS)}")
    return PRESETS[name]


def make_learner(config: Config, observation: ObservationSpec, action: ActionSpec) -> PPO | VTrace:
    """The learner that has these settings."""
    learner = next(kind for settings, kind in _LEARNERS.values() if isinstance(config, settings))
    return learner(observation, action, config)


def config_to_json(config: Config) -> dict[str, Any]:
    """The settings as plain data."""
    algorithm = next(name for name, (settings, _) in _LEARNERS.items() if isinstance(config, settings))
    return {"algorithm": algorithm, **asdict(config), "hidden": list(config.hidden), "encoding": config.encoding.value}


def config_from_json(data: dict[str, Any]) -> Config:
    """The settings that `config_to_json` wrote."""
    try:
        fields = dict(data)
        settings, _ = _LEARNERS[fields.pop("algorithm")]
        return settings(**{**fields, "hidden": tuple(fields["hidden"]), "encoding": Encoding(fields["encoding"])})
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"these are not a learner's settings ({error!r}); were they written by another version?"
        ) from error

"""Wake learners by name, and their settings by domain and preset.

    register_learner("my-learner", MyConfig, MyLearner)

makes a learner of your own known everywhere a learner is named. `MyConfig` is a frozen dataclass with a default for
every setting; `MyLearner(observation_spec, action_spec, config)` makes the learner (`learner.py` has its interface).
"""

from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoder, Encoding
from wakesleep.nets.fully_conv import FullyConvConfig
from wakesleep.nets.policy import MLPConfig
from wakesleep.wake.learner import Learner
from wakesleep.wake.ppo import FAST, PAPER, PPO, PPOConfig
from wakesleep.wake.vtrace import VTrace, VTraceConfig
from wakesleep.worlds.starcraft.interface import CATEGORICAL, PLACES
from wakesleep.worlds.world import ActionSpec, ObservationSpec

LearnerConfig = Any
"""A frozen dataclass that some learner was registered with."""

_STARCRAFT_NETWORK = FullyConvConfig(CATEGORICAL, PLACES, normalise=True)
_SMALL_STARCRAFT_NETWORK = replace(_STARCRAFT_NETWORK, channels=(16, 8, 8), hidden=128, place_scale=32.0, patches=True)
_MINIGRID_VTRACE = VTraceConfig(
    num_steps=32, epochs=4, learning_rate=5e-4, adam_eps=1e-5, entropy_coef=1e-2, max_grad_norm=0.5, gae_lambda=0.95,
    normalise_advantages=True, min_advantage_std=0.05, network=MLPConfig(encoding=Encoding.ONE_HOT),
)  # fmt: skip
_STARCRAFT_VTRACE = VTraceConfig(
    epochs=2, learning_rate=7e-4, adam_eps=1e-5, discount=0.97, reward_scale=0.1, entropy_coef=2e-2, max_grad_norm=1.0,
    gae_lambda=0.9, normalise_advantages=True, network=_SMALL_STARCRAFT_NETWORK,
)  # fmt: skip

_PRESETS: dict[str, dict[str, dict[str, LearnerConfig]]] = {
    "minigrid": {
        "ppo": {"paper": PAPER, "fast": FAST},
        "vtrace": {"paper": _MINIGRID_VTRACE, "fast": _MINIGRID_VTRACE},
    },
    "starcraft": {"vtrace": {"paper": VTraceConfig(network=_STARCRAFT_NETWORK), "fast": _STARCRAFT_VTRACE}},
}
"""Settings by group of domains, learner and preset. The first learner of a group is its own."""

_MAX_ONE_HOT_INPUTS = 10_000
"""One-hot inputs of a picture would be millions."""


class _Entry(NamedTuple):
    config: type[Any]
    make: Callable[[ObservationSpec, ActionSpec, Any], Learner]


_LEARNERS: dict[str, _Entry] = {"ppo": _Entry(PPOConfig, PPO), "vtrace": _Entry(VTraceConfig, VTrace)}


def register_learner(name: str, config: type[Any], make: Callable[[ObservationSpec, ActionSpec, Any], Learner]) -> None:
    """Make a learner of your own known by name.

    Args:
        name: what `--learner` and `learner=` call it.
        config: a frozen dataclass with a default for every setting.
        make: makes the learner of what it will observe, what it can do, and its settings; a class will do.
    """
    if name in _LEARNERS:
        raise UserError(f"there is already a learner called {name!r}")
    if not (isinstance(config, type) and is_dataclass(config)):
        raise UserError(f"the settings of learner {name!r} must be a dataclass, not {config!r}")
    if taken := [known for known, entry in _LEARNERS.items() if entry.config is config]:
        raise UserError(f"{config.__name__} already holds the settings of learner {taken[0]!r}: derive a class from it")
    _LEARNERS[name] = _Entry(config, make)


def learner_names() -> tuple[str, ...]:
    """The names of all learners."""
    return tuple(_LEARNERS)


def make_learner(config: LearnerConfig, observation: ObservationSpec, action: ActionSpec) -> Learner:
    """The learner that was registered with settings of exactly this type."""
    return _LEARNERS[learner_name(config)].make(observation, action, config)


def learner_name(config: LearnerConfig) -> str:
    """What the learner with these settings is called."""
    for name, entry in _LEARNERS.items():
        if type(config) is entry.config:
            return name
    raise UserError(
        f"no learner was registered with settings of type {type(config).__name__}: call"
        f" register_learner(name, {type(config).__name__}, ...)"
    )


def preset_group(domain: str) -> str:
    """Whose settings serve a domain; domains of your own have Minigrid's unless presets were registered for them."""
    if domain in _PRESETS:
        return domain
    return "starcraft" if domain.startswith("starcraft") else "minigrid"


def learner_config(preset: str, domain: str = "minigrid", learner: str | None = None) -> LearnerConfig:
    """The settings of a learner in a domain; by default of the domain's own, PPO or V-trace.

    A learner without settings for the domain has its defaults.
    """
    known = _PRESETS[preset_group(domain)]
    learner = learner or next(iter(known))
    if learner not in _LEARNERS:
        raise UserError(f"no learner is called {learner!r}: there are {', '.join(_LEARNERS)}")
    presets = known.get(learner)
    if presets is None:
        return _LEARNERS[learner].config()
    if preset not in presets:
        raise UserError(f"no preset of {learner} for {domain} is called {preset!r}: there are {', '.join(presets)}")
    return presets[preset]


def supports_one_hot(observation: ObservationSpec) -> bool:
    """Whether one-hot inputs suit what is observed: integers with few values."""
    try:
        return Encoder(observation, Encoding.ONE_HOT).size <= _MAX_ONE_HOT_INPUTS
    except UserError:
        return False

"""The agents of the paper's tables by name: with its settings (`paper`), or tuned for a small machine (`fast`).

Agents of your own join them by `register_agent`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wakesleep.agents.agent import Agent
from wakesleep.agents.baselines import LearnerAgent, RandomAgent
from wakesleep.agents.settings import override
from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
from wakesleep.errors import UserError
from wakesleep.sleep.architectures import Architecture, ModelConfig
from wakesleep.sleep.consolidate import SleepConfig
from wakesleep.sleep.model import LossWeights
from wakesleep.wake.ppo import FAST
from wakesleep.wake.presets import fitted, preset_group, supports_one_hot
from wakesleep.wake.presets import preset as preset_of
from wakesleep.worlds.world import ActionSpec, ObservationSpec

PRESETS = ("paper", "fast")
Maker = Callable[[ObservationSpec, ActionSpec, Any], Agent]
"""Makes an agent of what it will see, what it can do, and its settings."""

_MINIGRID = WakeSleepConfig()
_STARCRAFT = WakeSleepConfig(
    learner=preset_of("paper", "starcraft"),
    model=ModelConfig(network=preset_of("paper", "starcraft").network),
    sleep=SleepConfig(iterations=4_500, batch_size=64, loss_weights=LossWeights(50.0, 200.0, 5.0)),
    sleeps_per_block=2,
    wake_buffer_size=10_000,
    random_replay_per_sleep=96,
    logits_as_labels=True,
    advice=0.8,
    advice_steps=1_000_000_000,  # the share of the time decides
    copy_weights=True,
)
_SMALL = preset_of("fast", "starcraft")

WAKE_SLEEP: dict[str, dict[str, WakeSleepConfig]] = {
    "minigrid": {
        "paper": _MINIGRID,
        "fast": replace(
            _MINIGRID,
            learner=FAST,
            model=replace(_MINIGRID.model, network=FAST.network, categorical=True),
            sleep=replace(_MINIGRID.sleep, iterations=4_000),
        ),
    },
    "starcraft": {
        "paper": _STARCRAFT,
        "fast": replace(
            _STARCRAFT,
            learner=_SMALL,
            model=replace(_STARCRAFT.model, network=_SMALL.network, channels=16),
            sleep=replace(_STARCRAFT.sleep, iterations=1_000, batch_size=32),
            wake_buffer_size=5_000,
        ),
    },
}
"""Hidden replay with all three replays, by domain and preset; the other agents differ from it in some settings."""

_VARIANTS: dict[str, dict[str, Any]] = {
    "hidden": {},
    "hidden-er": {"sleep.generative_replay": False, "sleep.random_replay": False},
    "hidden-er-rar": {"sleep.generative_replay": False},
    "hidden-er-gr": {"sleep.random_replay": False},
    "two-headed": {"model.architecture": Architecture.TWO_HEADED.value},
    "sequential": {"model.architecture": Architecture.SEQUENTIAL.value},
}
_OBSERVED = {"sleeps_per_block": 3, "sleep.random_replay": False, "model.network.normalise": False,
             "learner.network.normalise": False}  # fmt: skip
_WEIGHTS = {
    "sleep.loss_weights.imitation": 30.0,
    "sleep.loss_weights.reconstruction": 1.0,
    "sleep.loss_weights.kl": 2.0,
}
_STARCRAFT_OVERRIDES: dict[str, dict[str, Any]] = {
    "two-headed": {**_OBSERVED, **_WEIGHTS},
    "sequential": {**_OBSERVED, **_WEIGHTS, "sleep.loss_weights.imitation": 50.0, "sleep.loss_weights.kl": 3.0,
                   "copy_weights": False},
}  # fmt: skip
"""What the paper has besides for the architectures that dream observations, in StarCraft II."""


@dataclass(frozen=True)
class Entry:
    """An agent that can be asked for by name."""

    make: Maker
    configs: Mapping[str, Mapping[str, Any]] | None
    """Its settings by domain and preset; None: it has `config` everywhere."""
    config: Any = None


def _learner(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    return LearnerAgent(observation, action, config)


def _expert(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    return LearnerAgent(observation, action, config, fresh=True)


def _chance(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    del config
    return RandomAgent(observation, action)


def _wake_sleep_configs(name: str) -> dict[str, dict[str, WakeSleepConfig]]:
    overrides = {"minigrid": _VARIANTS[name], "starcraft": {**_VARIANTS[name], **_STARCRAFT_OVERRIDES.get(name, {})}}
    return {
        domain: {preset: override(config, overrides[domain]) for preset, config in presets.items()}
        for domain, presets in WAKE_SLEEP.items()
    }


_LEARNERS = {
    domain: {preset: config.learner for preset, config in presets.items()} for domain, presets in WAKE_SLEEP.items()
}
_AGENTS: dict[str, Entry] = {
    "random": Entry(_chance, None),
    "baseline": Entry(_learner, _LEARNERS),
    "expert": Entry(_expert, _LEARNERS),
    **{name: Entry(WakeSleepAgent, _wake_sleep_configs(name)) for name in _VARIANTS},
}


def agents() -> tuple[str, ...]:
    """The names of all agents."""
    return tuple(_AGENTS)


def register_agent(name: str, make: Maker, config: Any = None) -> None:
    """Give an agent of your own a name. `config`, a frozen dataclass, holds its settings, the same in every preset."""
    if name in _AGENTS:
        raise UserError(f"there is already an agent called {name!r}")
    _AGENTS[name] = Entry(make, None, config)


def agent_config(
    name: str,
    preset: str = "paper",
    overrides: Mapping[str, Any] | None = None,
    domain: str = "minigrid",
    observation: ObservationSpec | None = None,
) -> Any:
    """The settings of the named agent in a domain; domains of your own have Minigrid's.

    If what is observed is given and cannot be spelled out one-hot, inputs are numbers.
    """
    if name not in _AGENTS:
        raise UserError(f"no agent is called {name!r}: there are {', '.join(_AGENTS)}")
    if preset not in PRESETS:
        raise UserError(f"no preset is called {preset!r}: there are {', '.join(PRESETS)}")
    entry = _AGENTS[name]
    if entry.configs is None:
        return override(entry.config, overrides or {})
    config = entry.configs[preset_group(domain)][preset]
    return override(config if observation is None else _fitted(config, observation), overrides or {})


def _fitted(config: Any, observation: ObservationSpec) -> Any:
    """One of our settings, for what is observed."""
    if not isinstance(config, WakeSleepConfig):
        return fitted(config, observation)
    learner, model = fitted(config.learner, observation), config.model
    if model.network == config.learner.network:
        model = replace(model, network=learner.network)
    return replace(
        config, learner=learner, model=replace(model, categorical=model.categorical and supports_one_hot(observation))
    )


def make_agent(name: str, observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    """The named agent with settings that `agent_config` gave."""
    return _AGENTS[name].make(observation, action, config)

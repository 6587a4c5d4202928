"""The agents of the paper's tables by name: with its settings (`paper`), or tuned for a small machine (`fast`).

Agents of your own join them by `register_agent`, settings for a domain of your own by `register_presets`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wakesleep.agents.agent import Agent
from wakesleep.agents.baselines import LearnerAgent, RandomAgent
from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
from wakesleep.errors import UserError
from wakesleep.nets.encode import Encoding
from wakesleep.nets.policy import MLPConfig
from wakesleep.settings import map_settings, override
from wakesleep.sleep.architectures import SEQUENTIAL, TWO_HEADED, ModelConfig
from wakesleep.sleep.consolidate import SleepConfig
from wakesleep.sleep.model import LossWeights
from wakesleep.wake.learners import learner_config, preset_group, supports_one_hot
from wakesleep.worlds.world import ActionSpec, ObservationSpec

DEFAULT_PRESET = "fast"
MakeAgent = Callable[[ObservationSpec, ActionSpec, Any], Agent]
"""Makes an agent of what it will observe, what it can do, and its settings."""
Presets = Mapping[str, Any]
"""Settings by the name of the preset."""

_MINIGRID = WakeSleepConfig()
_MINIGRID_FAST = learner_config("fast", "minigrid")
_STARCRAFT_LEARNER = learner_config("paper", "starcraft")
_STARCRAFT_FAST = learner_config("fast", "starcraft")
_STARCRAFT = WakeSleepConfig(
    learner=_STARCRAFT_LEARNER,
    model=ModelConfig(network=_STARCRAFT_LEARNER.network),
    sleep=SleepConfig(iterations=4_500, batch_size=64, loss_weights=LossWeights(50.0, 200.0, 5.0)),
    sleeps_per_block=2,
    wake_buffer_size=10_000,
    random_replay_per_sleep=96,
    logits_as_labels=True,
    advice=0.8,
    advice_steps=1_000_000_000,  # the share of the time decides
    copy_weights=True,
)

_WAKE_SLEEP: dict[str, Presets] = {
    "minigrid": {
        "paper": _MINIGRID,
        "fast": replace(
            _MINIGRID,
            learner=_MINIGRID_FAST,
            model=replace(_MINIGRID.model, network=_MINIGRID_FAST.network, categorical=True),
            sleep=replace(_MINIGRID.sleep, iterations=4_000),
        ),
    },
    "starcraft": {
        "paper": _STARCRAFT,
        "fast": replace(
            _STARCRAFT,
            learner=_STARCRAFT_FAST,
            model=replace(_STARCRAFT.model, network=_STARCRAFT_FAST.network, channels=16),
            sleep=replace(_STARCRAFT.sleep, iterations=1_000, batch_size=32),
            wake_buffer_size=5_000,
        ),
    },
}
"""Hidden replay with all three replays, by group of domains and preset; the other agents differ in some settings."""

_VARIANTS: dict[str, dict[str, Any]] = {
    "hidden": {},
    "hidden-er": {"sleep.generative_replay": False, "sleep.random_replay": False},
    "hidden-er-rar": {"sleep.generative_replay": False},
    "hidden-er-gr": {"sleep.random_replay": False},
    "two-headed": {"model.architecture": TWO_HEADED},
    "sequential": {"model.architecture": SEQUENTIAL},
}
_ABOUT = {
    "hidden": "hidden replay: ER, GR and RaR; the paper's agent",
    "hidden-er": "hidden replay with experience replay (ER) only",
    "hidden-er-rar": "hidden replay with experience and random replay (ER, RaR), no dreams",
    "hidden-er-gr": "hidden replay with experience and generative replay (ER, GR), no stored past",
    "two-headed": "the two-headed architecture: dreams observations from features",
    "sequential": "the sequential architecture: the policy acts on reconstructions",
}
_DREAMS_OBSERVATIONS = {
    "sleeps_per_block": 3, "sleep.random_replay": False, "model.network.normalise": False,
    "learner.network.normalise": False, "sleep.loss_weights.imitation": 30.0,
    "sleep.loss_weights.reconstruction": 1.0, "sleep.loss_weights.kl": 2.0,
}  # fmt: skip
_STARCRAFT_OVERRIDES: dict[str, dict[str, Any]] = {
    "two-headed": _DREAMS_OBSERVATIONS,
    "sequential": _DREAMS_OBSERVATIONS | {
        "sleep.loss_weights.imitation": 50.0, "sleep.loss_weights.kl": 3.0, "copy_weights": False,
    },
}  # fmt: skip
"""What the paper has besides for the architectures that dream observations, in StarCraft II."""


@dataclass(frozen=True)
class _Entry:
    """An agent that can be asked for by name."""

    make: MakeAgent
    presets: Callable[[str], Presets]
    """Its settings by preset, of a group of domains; empty: it has `config` everywhere."""
    config: Any = None
    about: str = ""
    """One line on what it is."""


def _baseline(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    return LearnerAgent(observation, action, config)


def _fresh_learner(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    return LearnerAgent(observation, action, config, fresh=True)


def _random(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    del config
    return RandomAgent(observation, action)


def _random_presets(group: str) -> Presets:
    return dict.fromkeys(_WAKE_SLEEP[group])


def _learner_presets(group: str) -> Presets:
    return {preset: config.learner for preset, config in _WAKE_SLEEP[group].items()}


def _wake_sleep_presets(name: str) -> Callable[[str], Presets]:
    def presets(group: str) -> Presets:
        changes = _VARIANTS[name] | (_STARCRAFT_OVERRIDES.get(name, {}) if group == "starcraft" else {})
        return {preset: override(config, changes) for preset, config in _WAKE_SLEEP[group].items()}

    return presets


_AGENTS: dict[str, _Entry] = {
    "random": _Entry(_random, _random_presets, about="random actions"),
    "baseline": _Entry(_baseline, _learner_presets, about="the wake learner alone, through all tasks"),
    "fresh-learner": _Entry(_fresh_learner, _learner_presets, about="a fresh wake learner in every block"),
    **{name: _Entry(WakeSleepAgent, _wake_sleep_presets(name), about=_ABOUT[name]) for name in _VARIANTS},
}


def agent_names() -> tuple[str, ...]:
    """The names of all agents."""
    return tuple(_AGENTS)


def agent_about(name: str) -> str:
    """One line on what an agent is."""
    return _AGENTS[name].about


def register_agent(name: str, make: MakeAgent, config: Any = None, presets: Presets | None = None) -> None:
    """Make an agent of your own known by name.

    Args:
        name: what `--agent` and `ws.run` call it.
        make: makes the agent of an observation spec, an action spec and its settings; a class will do.
        config: its settings, a frozen dataclass, if it has no presets.
        presets: its settings by preset, such as {"fast": ..., "paper": ...}.
    """
    if name in _AGENTS:
        raise UserError(f"there is already an agent called {name!r}")
    if config is not None and presets is not None:
        raise UserError(f"the agent {name!r} has either one config or presets, not both")
    known = dict(presets or {})
    about = (make.__doc__ or "").strip().partition("\n")[0]
    _AGENTS[name] = _Entry(make, lambda _: known, config, about)


def register_presets(domain: str, presets: Mapping[str, WakeSleepConfig]) -> None:
    """Give a domain of your own settings of its own, for all agents of the paper.

    Args:
        domain: what tasks were registered with.
        presets: settings of the wake-sleep agent by preset; `baseline` and `fresh-learner` have their `learner`.
    """
    if domain in _WAKE_SLEEP:
        raise UserError(f"the domain {domain!r} already has presets")
    if not presets or not all(isinstance(config, WakeSleepConfig) for config in presets.values()):
        raise UserError(f"presets of {domain!r} are one or more WakeSleepConfigs by name")
    _WAKE_SLEEP[domain] = dict(presets)


def check_preset(name: str, preset: str | None, domain: str = "minigrid") -> str:
    """The preset that an agent runs with in a domain: the one asked for, or `fast`; empty if it has none."""
    if name not in _AGENTS:
        raise UserError(f"no agent is called {name!r}: there are {', '.join(_AGENTS)}")
    presets = _AGENTS[name].presets(_group(domain))
    if not presets:
        if preset:
            raise UserError(f"the agent {name!r} has no presets: leave the preset {preset!r} out")
        return ""
    preset = preset or (DEFAULT_PRESET if DEFAULT_PRESET in presets else next(iter(presets)))
    if preset not in presets:
        raise UserError(f"no preset of {name} is called {preset!r}: there are {', '.join(presets)}")
    return preset


def has_presets(name: str) -> bool:
    """Whether an agent has presets; one of a user's may have one config everywhere."""
    return name in _AGENTS and bool(_AGENTS[name].presets("minigrid"))


def agent_config(
    name: str,
    preset: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    domain: str = "minigrid",
    observation: ObservationSpec | None = None,
    learner: str | None = None,
) -> Any:
    """The settings of the named agent in a domain; domains of your own have Minigrid's unless they were given presets.

    Args:
        name: of the agent.
        preset: by default `fast`.
        overrides: settings that differ, by name (`sleep.iterations`).
        domain: whose presets.
        observation: if it is given and does not suit one-hot inputs, inputs are numbers.
        learner: another wake learner by name, with its own settings.
    """
    preset = check_preset(name, preset, domain)
    entry, group = _AGENTS[name], _group(domain)
    config = entry.presets(group)[preset] if preset else entry.config
    if learner is not None:
        shipped = preset if preset in _WAKE_SLEEP["minigrid"] else DEFAULT_PRESET
        config = _with_learner(name, config, learner_config(shipped, domain, learner))
    return override(config if observation is None else with_supported_encoding(config, observation), overrides or {})


def make_agent(name: str, observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    """The named agent with settings that `agent_config` gave."""
    return _AGENTS[name].make(observation, action, config)


def with_supported_encoding(config: Any, observation: ObservationSpec) -> Any:
    """The settings with inputs as numbers wherever they are one-hot, if that does not suit what is observed."""
    if supports_one_hot(observation):
        return config

    def fit(setting: Any) -> Any:
        if isinstance(setting, MLPConfig) and setting.encoding is Encoding.ONE_HOT:
            return replace(setting, encoding=Encoding.SCALE)
        return replace(setting, categorical=False) if isinstance(setting, ModelConfig) else setting

    return map_settings(config, fit)


def _group(domain: str) -> str:
    return domain if domain in _WAKE_SLEEP else preset_group(domain)


def _with_learner(name: str, config: Any, learner: Any) -> Any:
    """An agent's settings with another wake learner; a sleep model that had its network has the new one's.

    An agent that already has this learner keeps its settings: a domain's own presets may have changed them.
    """
    if _AGENTS[name].make in (_baseline, _fresh_learner):
        return config if type(config) is type(learner) else learner
    if not hasattr(config, "learner"):
        raise UserError(f"the agent {name!r} has no wake learner to replace: leave the learner out")
    if type(config.learner) is type(learner):
        return config
    model = getattr(config, "model", None)
    if isinstance(model, ModelConfig) and model.network == getattr(config.learner, "network", None):
        network = getattr(learner, "network", model.network)
        return replace(config, learner=learner, model=replace(model, network=network))
    return replace(config, learner=learner)

"""The agents of the paper's tables by name: with its settings (`paper`), or tuned for a small machine (`fast`).

Agents of your own join them by `register_agent`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wakesleep.agents.agent import Agent
from wakesleep.agents.baselines import LearnerAgent, RandomAgent
from wakesleep.agents.settings import change
from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
from wakesleep.errors import UserError
from wakesleep.sleep.architectures import Architecture
from wakesleep.wake.ppo import FAST, PAPER
from wakesleep.worlds.world import ActionSpec, ObservationSpec

Maker = Callable[[ObservationSpec, ActionSpec, Any], Agent]
"""Makes an agent of what it will see, what it can do, and its settings."""

WAKE_SLEEP: dict[str, WakeSleepConfig] = {
    "paper": WakeSleepConfig(),
    "fast": replace(
        WakeSleepConfig(),
        learner=FAST,
        model=replace(WakeSleepConfig().model, network=FAST.network, categorical=True),
        sleep=replace(WakeSleepConfig().sleep, iterations=4_000),
    ),
}
"""Hidden replay with all three replays, for Minigrid; the others differ from it in a setting or two."""

_DIFFERENCES: dict[str, dict[str, Any]] = {
    "hidden": {},
    "hidden-er": {"sleep.generative": False, "sleep.random": False},
    "hidden-er-rar": {"sleep.generative": False},
    "hidden-er-gr": {"sleep.random": False},
    "two-headed": {"model.architecture": Architecture.TWO_HEADED.value},
    "sequential": {"model.architecture": Architecture.SEQUENTIAL.value},
}


@dataclass(frozen=True)
class Entry:
    """An agent that can be asked for by name."""

    make: Maker
    configs: Mapping[str, Any]
    """Its settings by the preset's name; those of `any` serve every preset."""


def _learner(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    return LearnerAgent(observation, action, config)


def _expert(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    return LearnerAgent(observation, action, config, fresh=True)


def _chance(observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    del config
    return RandomAgent(observation, action)


_LEARNERS = {"paper": PAPER, "fast": FAST}
_AGENTS: dict[str, Entry] = {
    "random": Entry(_chance, {"any": None}),
    "baseline": Entry(_learner, _LEARNERS),
    "expert": Entry(_expert, _LEARNERS),
    **{
        name: Entry(WakeSleepAgent, {size: change(config, differences) for size, config in WAKE_SLEEP.items()})
        for name, differences in _DIFFERENCES.items()
    },
}


def agents() -> tuple[str, ...]:
    """The names of all agents."""
    return tuple(_AGENTS)


def register_agent(name: str, make: Maker, config: Any = None) -> None:
    """Give an agent of your own a name. `config`, a frozen dataclass, holds its settings, the same in every preset."""
    if name in _AGENTS:
        raise UserError(f"there is already an agent called {name!r}")
    _AGENTS[name] = Entry(make, {"any": config})


def agent_config(name: str, preset: str = "paper", changes: Mapping[str, Any] | None = None) -> Any:
    """The settings of the named agent."""
    if name not in _AGENTS:
        raise UserError(f"no agent is called {name!r}: there are {', '.join(_AGENTS)}")
    if preset not in WAKE_SLEEP:
        raise UserError(f"no preset is called {preset!r}: there are {', '.join(WAKE_SLEEP)}")
    configs = _AGENTS[name].configs
    return change(configs.get(preset, configs.get("any")), changes or {})


def make_agent(name: str, observation: ObservationSpec, action: ActionSpec, config: Any) -> Agent:
    """The named agent with settings that `agent_config` gave."""
    return _AGENTS[name].make(observation, action, config)

"""The agents of the paper's tables by name: with its settings (`paper`), or tuned for a small machine (`fast`)."""

from collections.abc import Callable
from dataclasses import replace

from wakesleep.agents.agent import Agent
from wakesleep.agents.baselines import LearnerAgent, RandomAgent
from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
from wakesleep.errors import UserError
from wakesleep.sleep.architectures import Architecture
from wakesleep.wake.ppo import FAST, PAPER
from wakesleep.wake.presets import Config
from wakesleep.worlds.world import ActionSpec, ObservationSpec

Maker = Callable[[ObservationSpec, ActionSpec], Agent]

SIZES: dict[str, tuple[Config, WakeSleepConfig]] = {
    "paper": (PAPER, WakeSleepConfig()),
    "fast": (
        FAST,
        replace(
            WakeSleepConfig(),
            learner=FAST,
            model=replace(WakeSleepConfig().model, network=FAST.network, categorical=True),
            sleep=replace(WakeSleepConfig().sleep, iterations=4_000),
        ),
    ),
}
"""The wake learner's settings, and those of the wake-sleep agent around it (hidden replay with all three replays)."""

_REPLAYS = {
    "hidden": (True, True),
    "hidden-er": (False, False),
    "hidden-er-rar": (False, True),
    "hidden-er-gr": (True, False),
}
"""Ablations of hidden replay: with generated pairs, with random replay."""

AGENTS = ("random", "baseline", "expert", *_REPLAYS, "two-headed", "sequential")


def wake_sleep_config(name: str, size: str = "paper") -> WakeSleepConfig:
    """The settings of the named wake-sleep agent."""
    config = _size(size)[1]
    if name in _REPLAYS:
        generative, random = _REPLAYS[name]
        return replace(config, sleep=replace(config.sleep, generative=generative, random=random))
    return replace(config, model=replace(config.model, architecture=Architecture(name)))


def agent_maker(name: str, size: str = "paper") -> Maker:
    """The named agent, to be told what it will see and do."""
    if name not in AGENTS:
        raise UserError(f"no agent is called {name!r}: there are {', '.join(AGENTS)}")
    learner, _ = _size(size)
    match name:
        case "random":
            return RandomAgent
        case "baseline" | "expert":
            return lambda observation, action: LearnerAgent(observation, action, learner, fresh=name == "expert")
    config = wake_sleep_config(name, size)
    return lambda observation, action: WakeSleepAgent(observation, action, config)


def _size(size: str) -> tuple[Config, WakeSleepConfig]:
    if size not in SIZES:
        raise UserError(f"no preset is called {size!r}: there are {', '.join(SIZES)}")
    return SIZES[size]

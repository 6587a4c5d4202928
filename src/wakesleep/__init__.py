"""wakesleep: lifelong reinforcement learning with wake-sleep cycles.

    import wakesleep as ws

    life = ws.run("hidden", tasks=["DoorKey_S5", "DistShift_R2"], seed=0)
    life.returns, life.metrics(), life.plot()

`ws.tasks()` names every task, `ws.agent_names()` every agent. Importing the package registers the tasks with Gymnasium
as `wakesleep/<task>` (the real `minigrid` package) and `wakesleep-jax/<task>` (our engine).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wakesleep import runtime
from wakesleep._version import __version__
from wakesleep.errors import UserError
from wakesleep.worlds.gymnasium import GymnasiumWorld
from wakesleep.worlds.registry import TaskInfo, make, register, task_info, tasks
from wakesleep.worlds.world import (
    ActionSpec,
    AutoResetStep,
    HostWorld,
    MaskedObservation,
    ObservationSpec,
    TimeStep,
    World,
)  # fmt: skip
from wakesleep.worlds.world_env import WorldEnv

if TYPE_CHECKING:
    from wakesleep.agents.agent import Agent, Budget, SleepLog
    from wakesleep.agents.baselines import LearnerAgent
    from wakesleep.agents.presets import agent_config, agent_names, register_agent, register_presets
    from wakesleep.agents.wake_sleep import WakeSleepAgent, WakeSleepConfig
    from wakesleep.api import compare, load, load_policy, report, run, train
    from wakesleep.experts.expert import Expert, load_expert
    from wakesleep.nets.fully_conv import FullyConvConfig
    from wakesleep.nets.policy import MLPConfig
    from wakesleep.results import Comparison, Life, TrainedPolicy
    from wakesleep.sleep.architectures import ModelConfig, register_sleep_model
    from wakesleep.sleep.consolidate import SleepConfig
    from wakesleep.sleep.model import Dream, Losses, LossWeights, SleepModel, imitation_loss
    from wakesleep.sleep.replay import Pairs
    from wakesleep.syllabus.scenarios import alternating, condensed, dispersed, pairwise
    from wakesleep.syllabus.syllabus import LearningBlock, Syllabus
    from wakesleep.wake.envs import Envs, evaluate
    from wakesleep.wake.learner import Learner
    from wakesleep.wake.learners import learner_names, register_learner
    from wakesleep.wake.make_envs import make_envs
    from wakesleep.wake.ppo import PPOConfig
    from wakesleep.wake.rollout import Advice, Rollout
    from wakesleep.wake.vtrace import VTraceConfig

_LAZY = {
    "agents.agent": ("Agent", "Budget", "SleepLog"),
    "agents.baselines": ("LearnerAgent",),
    "agents.presets": ("agent_config", "agent_names", "register_agent", "register_presets"),
    "agents.wake_sleep": ("WakeSleepAgent", "WakeSleepConfig"),
    "api": ("compare", "load", "load_policy", "report", "run", "train"),
    "experts.expert": ("Expert", "load_expert"),
    "nets.fully_conv": ("FullyConvConfig",),
    "nets.policy": ("MLPConfig",),
    "results": ("Comparison", "Life", "TrainedPolicy"),
    "sleep.architectures": ("ModelConfig", "register_sleep_model"),
    "sleep.consolidate": ("SleepConfig",),
    "sleep.model": ("Dream", "LossWeights", "Losses", "SleepModel", "imitation_loss"),
    "sleep.replay": ("Pairs",),
    "syllabus.scenarios": ("alternating", "condensed", "dispersed", "pairwise"),
    "syllabus.syllabus": ("LearningBlock", "Syllabus"),
    "wake.envs": ("Envs", "evaluate"),
    "wake.learner": ("Learner",),
    "wake.learners": ("learner_names", "register_learner"),
    "wake.make_envs": ("make_envs",),
    "wake.ppo": ("PPOConfig",),
    "wake.rollout": ("Advice", "Rollout"),
    "wake.vtrace": ("VTraceConfig",),
}
"""Names that are imported when they are first asked for, so that `import wakesleep` is quick."""
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}

__all__ = [
    "ActionSpec", "Advice", "Agent", "AutoResetStep", "Budget", "Comparison", "Dream", "Envs", "Expert",
    "FullyConvConfig", "GymnasiumWorld", "HostWorld", "Learner", "LearnerAgent", "LearningBlock", "Life",
    "LossWeights", "Losses", "MLPConfig", "MaskedObservation", "ModelConfig", "ObservationSpec", "PPOConfig", "Pairs",
    "Rollout", "SleepConfig", "SleepLog", "SleepModel", "Syllabus", "TaskInfo", "TimeStep", "TrainedPolicy",
    "UserError", "VTraceConfig", "WakeSleepAgent", "WakeSleepConfig", "World", "WorldEnv", "__version__",
    "agent_config", "agent_names", "alternating", "compare", "condensed", "dispersed", "evaluate", "imitation_loss",
    "learner_names", "load", "load_expert", "load_policy", "make", "make_envs", "pairwise", "register",
    "register_agent", "register_learner", "register_presets", "register_sleep_model", "report", "run", "runtime",
    "task_info", "tasks", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'wakesleep' has no attribute {name!r}")
    return getattr(import_module(f"wakesleep.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

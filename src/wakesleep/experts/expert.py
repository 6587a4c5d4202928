"""Single-task experts (STE): every relative number of the paper is relative to these.

An expert is a lifetime with one learning block and no evaluation blocks, lived by the agent `fresh-learner`. A folder
of experts holds one lifetime per task and seed:

    EXPERTS/experts.json                    what was asked for
    EXPERTS/DoorKey_S5/seed-0/              its lifetime (`lifetime/life.py`)
                              expert.json   settings, versions, and how good it is; there only when all is finished
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from wakesleep import logs, store
from wakesleep.errors import UserError
from wakesleep.jobs import Report
from wakesleep.lifetime.life import versions
from wakesleep.lifetime.spec import LifetimeSpec, is_finished, run_lifetime, stored_policy
from wakesleep.nets.policy import Actor
from wakesleep.settings import to_dict
from wakesleep.syllabus.seeds import generator_of, raw
from wakesleep.syllabus.syllabus import SINGLE_TASK, LearningBlock, Syllabus
from wakesleep.wake.envs import evaluate
from wakesleep.wake.learners import learner_name
from wakesleep.wake.make_envs import make_envs
from wakesleep.worlds import registry

EVALUATION_EPISODES = 100
AGENT = "fresh-learner"


@dataclass(frozen=True)
class Expert:
    """A finished expert: its frozen policy, and how well it does."""

    task: str
    seed: int
    policy: Actor
    """From a batch of observations to logits."""
    returns: np.ndarray
    """Of `EVALUATION_EPISODES` episodes of the frozen policy, actions sampled."""
    steps: int
    """Environment steps of its training."""
    seconds: float
    """Of training, pauses not counted."""
    folder: Path
    learner: str
    """The name of the learner."""

    @property
    def mean_return(self) -> float:
        """R* of the paper."""
        return float(self.returns.mean())

    @property
    def curve(self) -> logs.LearningCurve:
        """Returns and lengths of its training episodes."""
        return logs.read_log(self.folder).learning_curve()

    def steps_to(self, part: float = 0.8, window: int = 100) -> int:
        """Environment steps until the mean return of `window` episodes reached this part of its peak."""
        curve = self.curve
        window = min(window, len(curve.returns))
        if window == 0:
            raise UserError(f"the expert in {self.folder} finished no episode")
        means = np.convolve(curve.returns, np.ones(window) / window, mode="valid")
        return int(curve.steps[window - 1 + np.argmax(means >= part * means.max())])

    def plot(self, window: int = 100) -> Any:
        """Its learning curve, a moving average of returns over environment steps, as a Matplotlib figure."""
        from matplotlib.figure import Figure

        curve = self.curve
        window = max(1, min(window, len(curve.returns)))
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.add_subplot(xlabel="environment steps", ylabel="return", title=f"{self.learner} on {self.task}")
        axes.plot(curve.steps[window - 1 :], np.convolve(curve.returns, np.ones(window) / window, mode="valid"))
        return figure


def expert_folder(experts: Path, task: str, seed: int) -> Path:
    """Where an expert is kept."""
    return experts / task / f"seed-{seed}"


def expert_spec(
    task: str, seed: int, steps: int, preset: str | None = None, overrides: dict[str, Any] | None = None,
    learner: str | None = None, load: tuple[str, ...] = (),
) -> LifetimeSpec:  # fmt: skip
    """An expert as a lifetime: one learning block of so many steps."""
    block = LearningBlock(task, steps, raw(generator_of(seed)))
    syllabus = Syllabus(SINGLE_TASK, (task,), (block,), evaluation_seed=0, episodes=0)
    return LifetimeSpec(AGENT, preset, syllabus, seed, dict(overrides or {}), learner=learner, load=load)


def train_expert(folder: Path, spec: LifetimeSpec, report: Report) -> str:
    """Train one expert, or go on with it, and evaluate its frozen policy. Returns how it went, in words."""
    if not is_finished(folder):
        run_lifetime(spec, folder, report)
    task, block = spec.syllabus.tasks[0], spec.syllabus.learning[0]
    key = jax.random.split(jax.random.key(spec.seed))[1]
    returns = np.asarray(evaluate(make_envs(task), stored_policy(folder), key, EVALUATION_EPISODES).total_reward)
    agent, seconds = spec.make_agent(), float(store.load_json(folder / "summary.json")["seconds"])
    per_iteration = agent.num_envs * agent.num_steps
    about = {
        "task": task, "seed": spec.seed, "steps": block.steps // per_iteration * per_iteration, "seconds": seconds,
        "learner": {"algorithm": learner_name(spec.config), **to_dict(spec.config)},
        "returns": [float(str(value)) for value in returns], "versions": versions(),
    }  # fmt: skip
    store.save_json(folder / "expert.json", about)
    return f"return {returns.mean():.3f} after {about['steps']:,} steps in {seconds:.0f} s"


def load_expert(folder: Path) -> Expert:
    """Read a finished expert."""
    if not folder.is_dir():
        raise UserError(f"there is no expert in {folder}")
    if not (file := folder / "expert.json").exists():
        raise UserError(f"the expert in {folder} is not finished: run `wakesleep experts train` again to go on with it")
    if not (folder / "config.json").exists():
        raise UserError(f"the expert in {folder} is an older version's, whose policy cannot be read: train it again")
    about = store.load_json(file)
    try:
        task, algorithm = str(about["task"]), str(about["learner"]["algorithm"])
        seed, returns = int(about["seed"]), np.array(about["returns"], float)
        steps, seconds = int(about["steps"]), float(about["seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{file} is damaged: {error!r} is missing or wrong") from error
    return Expert(task, seed, stored_policy(folder), returns, steps, seconds, folder, algorithm)


def load_experts(experts: Path) -> tuple[list[Expert], list[Path]]:
    """All finished experts of a folder, and the folders of the unfinished."""
    if not (experts / "experts.json").exists():
        raise UserError(
            f"{experts} is not a folder of experts: make one with `wakesleep experts train --out {experts}`"
        )
    folders = sorted(experts.glob("*/seed-*"))
    finished = [load_expert(folder) for folder in folders if (folder / "expert.json").exists()]
    order = {name: number for number, name in enumerate(registry.tasks())}
    finished.sort(key=lambda expert: (order.get(expert.task, 0), expert.seed))
    return finished, [folder for folder in folders if not (folder / "expert.json").exists()]

"""Single-task experts (STE): a learner alone with one task. Every relative number of the paper is relative to these.

A folder of experts holds one folder per task and seed:

    EXPERTS/experts.json                    what was asked for
    EXPERTS/DoorKey_S5/seed-0/              its learning curve, a log in l2logger's layout
                              policy.npz    the frozen policy
                              expert.json   settings, versions, and how good it is; there only when all is finished

Training saves itself every minute and goes on where it was; environments outside JAX cannot be saved: there, episodes
under way begin anew.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import numpy as np

from wakesleep import logs, store
from wakesleep.errors import EnvironmentFailed, UserError
from wakesleep.jobs import Job, Report, Stopped, run_jobs
from wakesleep.nets.policy import Actor
from wakesleep.wake.evaluate import evaluate
from wakesleep.wake.learner import Learner, train
from wakesleep.wake.presets import Config, config_from_json, config_to_json, make_learner
from wakesleep.wake.rollout import Life, start_life
from wakesleep.worlds import registry
from wakesleep.worlds.host import HostWorldFactory, Running, close
from wakesleep.worlds.world import HostWorld, World

EVALUATION_EPISODES = 100
_CHUNK_STEPS = 10_240
SECONDS_BETWEEN_SAVES = 60.0


@dataclass(frozen=True)
class Expert:
    """A finished expert."""

    task: str
    seed: int
    policy: Actor
    returns: np.ndarray
    """Of `EVALUATION_EPISODES` episodes of the frozen policy, actions sampled."""
    steps: int
    seconds: float
    """Of training, pauses not counted."""
    folder: Path
    algorithm: str
    """What it learned by."""

    @property
    def mean_return(self) -> float:
        """R* of the paper."""
        return float(self.returns.mean())

    @property
    def curve(self) -> logs.Curve:
        """Its learning curve."""
        return logs.read_curve(self.folder)

    def steps_to(self, part: float = 0.8, window: int = 100) -> int:
        """Environment steps until the mean return of `window` episodes reached this part of its peak."""
        curve = self.curve
        window = min(window, len(curve.reward))
        if window == 0:
            raise UserError(f"the expert in {self.folder} finished no episode")
        means = np.convolve(curve.reward, np.ones(window) / window, mode="valid")
        return int(curve.steps[window - 1 + np.argmax(means >= part * means.max())])


class _Training(NamedTuple):
    """All that the rest of a training depends on: what is saved."""

    state: Any
    life: Life | None
    """None where the environments are outside JAX."""
    key: jax.Array
    iterations: np.ndarray
    seconds: np.ndarray
    total_reward: np.ndarray
    """Of the episodes under way."""
    length: np.ndarray
    """Of the episodes under way."""
    position: np.ndarray
    """Of the log."""


def expert_folder(experts: Path, task: str, seed: int) -> Path:
    """Where an expert is kept."""
    return experts / task / f"seed-{seed}"


def train_experts(
    experts: Path, tasks: Sequence[str], seeds: Sequence[int], config: Config, steps: int, workers: int = 1,
    load: Sequence[str] = (),
) -> None:  # fmt: skip
    """Train an expert for every task and seed that the folder does not have yet."""
    iterations = steps // (config.num_envs * config.num_steps)
    if iterations < 1:
        raise UserError(f"one rollout alone takes {config.num_envs * config.num_steps} steps: train for at least those")
    for task in tasks:
        world_of(task, config.num_envs)
    experts.mkdir(parents=True, exist_ok=True)
    asked = {"learner": config_to_json(config), "steps": steps}
    if (file := experts / "experts.json").exists() and store.load_json(file) != asked:
        raise UserError(f"{experts} holds experts made with other settings (see {file}): choose another folder")
    store.save_json(file, asked)
    missing = [
        (task, seed) for seed in seeds for task in tasks
        if not (expert_folder(experts, task, seed) / "expert.json").exists()
    ]  # fmt: skip
    jobs = [
        Job(f"{task} seed {seed}", train_expert, (expert_folder(experts, task, seed), task, seed, config, steps))
        for task, seed in missing
    ]
    if jobs:
        run_jobs(jobs, workers, "experts", load)


def train_expert(folder: Path, task: str, seed: int, config: Config, steps: int, report: Report) -> str:
    """Train one expert, or go on with it. Returns how it went, in words."""
    world = world_of(task, config.num_envs)
    learner = make_learner(config, world.observation_spec, world.action_spec)
    per_iteration = learner.num_envs * learner.num_steps
    iterations, chunk = steps // per_iteration, max(1, _CHUNK_STEPS // per_iteration)
    saved, outside = folder / "training.npz", isinstance(world, HostWorldFactory)
    training, position = _begin(learner, world, seed), None
    if saved.exists():
        training = store.load_tree(saved, training)
        block, *numbers = training.position.tolist()
        position = logs.Position(block, logs.TRAIN, *numbers)
    writer = logs.LogWriter(folder, {"scenario_type": "ste", "task": task, "seed": seed}, position)
    if position is None:
        writer.begin_block(logs.TRAIN)
    counter = logs.EpisodeCounter(training.total_reward, training.length)
    state, life, key, done, seconds = *training[:3], int(training.iterations), float(training.seconds)
    begin = last_save = time.monotonic()

    def save() -> None:
        numbers = np.array([writer.position.block, *writer.position[2:]])
        spent = np.array(seconds + time.monotonic() - begin)
        under_way = counter.total_reward, counter.length
        kept = None if outside else life
        store.save_tree(saved, _Training(state, kept, key, np.array(done), spent, *under_way, numbers))

    try:
        if outside and done < iterations:
            life = start_life(world, jax.random.fold_in(key, done), learner.num_envs)
            counter = logs.EpisodeCounter.fresh(learner.num_envs)
        while done < iterations:
            key, chunk_key = jax.random.split(key)
            count = min(chunk, iterations - done)
            assert life is not None
            state, life, progress = train(learner, state, world, life, chunk_key, count, chunk)
            parts = (np.asarray(part)[:count].reshape(-1, learner.num_envs) for part in progress[:3])
            finished = counter.add(*parts)
            writer.write(task, finished)
            done += count
            if time.monotonic() - last_save > SECONDS_BETWEEN_SAVES:
                save()
                last_save = time.monotonic()
            returns = [episode.total_reward for episode in finished]
            try:
                report(done / iterations, f"return {np.mean(returns):.3f}" if returns else "")
            except Stopped:
                save()
                raise
        close_life(life)
        policy, trained = learner.policy(state), seconds + time.monotonic() - begin
        achieved = np.asarray(evaluate(world, policy, key, EVALUATION_EPISODES).total_reward)
    except EnvironmentFailed as error:
        save()
        raise EnvironmentFailed(f"{task}: {error}; the same command goes on from what was saved") from error
    finally:
        close_life(life)
    store.save_tree(folder / "policy.npz", policy)
    algorithm = config_to_json(config)["algorithm"]
    expert = Expert(task, seed, policy, achieved, done * per_iteration, trained, folder, algorithm)
    _write_about(folder, expert, config)
    saved.unlink(missing_ok=True)
    return f"return {achieved.mean():.3f} after {done * per_iteration:,} steps in {trained:.0f} s"


def _write_about(folder: Path, expert: Expert, config: Config) -> None:
    about = {
        "task": expert.task, "seed": expert.seed, "steps": expert.steps, "seconds": round(expert.seconds, 1),
        "learner": config_to_json(config), "returns": [float(str(value)) for value in expert.returns],
        "versions": {name: version(name) for name in ("wakesleep", "jax", "equinox", "numpy")},
    }  # fmt: skip
    store.save_json(folder / "expert.json", about)


def _begin(learner: Learner, world: World | HostWorldFactory, seed: int) -> _Training:
    init_key, life_key, key = jax.random.split(jax.random.key(seed), 3)
    envs = learner.num_envs
    numbers = np.array(0), np.array(0.0), np.zeros(envs), np.zeros(envs, int), np.zeros(4, int)
    life = None if isinstance(world, HostWorldFactory) else start_life(world, life_key, envs)
    return _Training(learner.init(init_key), life, key, *numbers)


def close_life(life: Life | None) -> None:
    """Close the environments that are outside JAX, if there are any."""
    if life is not None and isinstance(life.batch, Running):
        life.batch.close()


def world_of(task: str, num_envs: int | None = None) -> World | HostWorldFactory:
    """The task's world; where it is outside JAX, how to make environments for an agent that acts in so many."""
    world = registry.make(task)
    if not isinstance(world, HostWorld):
        return world
    recipe = HostWorldFactory.of(world, cast(Callable[[], HostWorld], partial(registry.make, task)))
    try:
        return recipe if num_envs is None else recipe.with_envs(num_envs)
    except UserError as error:
        raise UserError(f"{task}: {error}") from error


def compiled_world_of(task: str, what: str) -> World:
    """The task's world for something (`what`, in words) that only worlds in JAX can do."""
    world = registry.make(task)
    if isinstance(world, HostWorld):
        close(world)
        raise UserError(f"{task} runs outside JAX: {what} needs a world in JAX")
    return world


def load_expert(folder: Path) -> Expert:
    """Read a finished expert."""
    if not folder.is_dir():
        raise UserError(f"there is no expert in {folder}")
    if not (folder / "expert.json").exists():
        raise UserError(f"the expert in {folder} is not finished: run `wakesleep experts train` again to go on with it")
    about = store.load_json(folder / "expert.json")
    try:
        task, config = about["task"], config_from_json(about["learner"])
        numbers = int(about["seed"]), np.array(about["returns"]), int(about["steps"]), float(about["seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder / 'expert.json'} is damaged: {error!r} is missing or wrong") from error
    world = world_of(task)
    learner = make_learner(config, world.observation_spec, world.action_spec)
    like = eqx.filter_eval_shape(lambda key: learner.policy(learner.init(key)), jax.random.key(0))
    seed, returns, steps, seconds = numbers
    policy = store.load_tree(folder / "policy.npz", like)
    return Expert(task, seed, policy, returns, steps, seconds, folder, about["learner"]["algorithm"])


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

"""Running a lifetime: unit after unit, writing the log, saving the whole value of the life now and then.

    RUN/config.json         agent, syllabus, seeds, versions: enough to go on, or to do it again
    RUN/checkpoint.npz      the life as it was last saved; gone when it is finished
    RUN/progress.json       how far it is, for those who watch; gone when it is finished
    RUN/diagnostics/        what each sleep was like
    RUN/summary.json        what came out, and what it took; there when the life is finished
    RUN/logger_info.json, scenario_info.json, worker-default/...    the log (`wakesleep.logs`)

Killed at any moment and run again, it ends with the same bytes in its log as if it had never been interrupted. What
runs outside JAX cannot be saved: there, the episodes under way begin anew, and all else holds.
"""

import contextlib
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from wakesleep import logs, store
from wakesleep.agents.agent import Agent
from wakesleep.errors import EnvironmentFailed, UserError
from wakesleep.jobs import Report, Stopped
from wakesleep.lifetime.plan import Kind, Unit, chunk_of, plan
from wakesleep.syllabus.seeds import evaluation_initial_states, evaluation_seeds, key_of
from wakesleep.syllabus.syllabus import Syllabus
from wakesleep.wake.evaluate import run_episodes
from wakesleep.wake.experts import world_of
from wakesleep.wake.rollout import Life, start_life
from wakesleep.worlds.batch import InitialStates
from wakesleep.worlds.host import EpisodeSeeds, HostWorldFactory, Running
from wakesleep.worlds.world import World

SECONDS_BETWEEN_SAVES = 120.0
SECONDS_BETWEEN_REPORTS = 1.0


class Snapshot(NamedTuple):
    """A whole life, as it is saved."""

    agent: Any
    life: Life | None
    """None where the environments are outside JAX."""
    unit: np.ndarray
    """How many units are done."""
    seconds: np.ndarray
    total_reward: np.ndarray
    """Of the episodes under way."""
    length: np.ndarray
    """Of the episodes under way."""
    position: np.ndarray
    """Of the log: block, whether it is a learning block, episodes, steps, bytes."""


class Lifetime:
    """One agent through one syllabus."""

    def __init__(self, agent: Agent, syllabus: Syllabus, seed: int, folder: Path, about: dict[str, Any]) -> None:
        """`about` goes into config.json: what this run is, for those who read it later."""
        self.agent, self.syllabus, self.folder = agent, syllabus, folder
        self.units, self.key = plan(agent, syllabus), jax.random.key(seed)
        self.worlds: dict[str, World | HostWorldFactory] = {
            task: world_of(task, agent.num_envs) for task in syllabus.tasks
        }
        self._starts: dict[str, InitialStates | EpisodeSeeds] = {}
        self.unit, self.seconds = 0, 0.0
        self._begin_or_go_on({**about, "seed": seed, "versions": versions()})

    def run(self, report: Report) -> str:
        """Live to the end. Returns how it went, in words."""
        try:
            return self._run(report)
        finally:
            self._leave()

    def _run(self, report: Report) -> str:
        begin = last_save = time.monotonic()
        before, last_report = self.seconds, -SECONDS_BETWEEN_REPORTS
        costs = np.cumsum([self._cost(unit) for unit in self.units])
        while self.unit < len(self.units):
            unit = self.units[self.unit]
            try:
                self._do(unit, jax.random.fold_in(self.key, self.unit))
            except EnvironmentFailed:
                if unit.kind is Kind.LIVE:  # the agent is as it was before, and so is the log
                    self.save()
                raise
            self.unit += 1
            self.seconds = before + time.monotonic() - begin
            if unit.kind in (Kind.EVALUATE, Kind.SLEEP) or time.monotonic() - last_save > SECONDS_BETWEEN_SAVES:
                self.save()
                last_save = time.monotonic()
            part, words = float(costs[self.unit - 1] / costs[-1]), self._words(unit)
            if self.seconds - last_report >= SECONDS_BETWEEN_REPORTS:
                self._tell(part, words)
                last_report = self.seconds
            try:
                report(part, words)
            except Stopped:
                self.save()
                raise
        return self._finish()

    def save(self) -> None:
        """Write the whole life down; the last one stays until this one is complete."""
        block, kind, *numbers = self.writer.position
        position = np.array([block, kind == logs.TRAIN, *numbers])
        counts = np.array(self.unit), np.array(self.seconds), self.counter.total_reward, self.counter.length
        try:
            store.save_tree(self.folder / "checkpoint.npz", Snapshot(self.state, self._kept(), *counts, position))
        except OSError as error:
            raise UserError(
                f"the life in {self.folder} cannot be saved ({error.strerror or error}): make room and resume it;"
                " what was saved before is still there"
            ) from error

    def _tell(self, part: float, words: str) -> None:
        """Leave on disk how far it is. Nobody may be watching: a full disk is `save`'s to complain of."""
        progress = {"part": round(part, 4), "words": words, "seconds": round(self.seconds, 1)}
        with contextlib.suppress(OSError):
            store.save_json(self.folder / "progress.json", progress)

    def _begin_or_go_on(self, about: dict[str, Any]) -> None:
        config, saved = self.folder / "config.json", self.folder / "checkpoint.npz"
        if (self.folder / "summary.json").exists():
            raise UserError(f"the life in {self.folder} is over: see its summary.json, or choose another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        if config.exists():
            stored = store.load_json(config)
            if {**stored, "versions": None} != {**about, "versions": None}:
                raise UserError(f"{self.folder} holds another life (see {config}): choose another folder")
        else:
            store.save_json(config, about)
        birth_key, start_key = jax.random.split(jax.random.fold_in(self.key, len(self.units)))
        inside = [world for world in self.worlds.values() if not isinstance(world, HostWorldFactory)]
        life = start_life(inside[0], start_key, self.agent.num_envs) if inside else None
        nothing = np.array(0), np.array(0.0), np.zeros(self.agent.num_envs), np.zeros(self.agent.num_envs, int)
        snapshot = Snapshot(self.agent.init(birth_key), life, *nothing, np.array([-1, 1, 0, 0, 0]))
        going_on = saved.exists()
        if going_on:
            snapshot = store.load_tree(saved, snapshot)
        block, is_train, *numbers = snapshot.position.tolist()
        position = logs.Position(block, logs.TRAIN if is_train else logs.TEST, *numbers) if going_on else None
        self.writer = logs.LogWriter(self.folder, self._scenario_info(about), position)
        self.counter = logs.EpisodeCounter(snapshot.total_reward, snapshot.length)
        self.state, self._form = snapshot.agent, snapshot.life
        self.unit, self.seconds = int(snapshot.unit), float(snapshot.seconds)
        block = min(self.units[min(self.unit, len(self.units) - 1)].block, len(self.syllabus.learning) - 1)
        outside = isinstance(self.worlds[self.syllabus.learning[block].task], HostWorldFactory)
        self.life = None if outside else snapshot.life

    def _kept(self) -> Life | None:
        """What can be saved of the environments: of those outside JAX nothing, but the form of a checkpoint stays."""
        return self._form if self.life is None or isinstance(self.life.batch, Running) else self.life

    def _begin(self, world: World | HostWorldFactory, key: jax.Array) -> None:
        """Fresh episodes in every environment."""
        self._leave()
        self.life = start_life(world, key, self.agent.num_envs)
        self.counter = logs.EpisodeCounter.fresh(self.agent.num_envs)

    def _leave(self) -> None:
        """Close the environments, if they are outside JAX."""
        if self.life is not None and isinstance(self.life.batch, Running):
            self.life.batch.close()
            self.life = None

    @contextlib.contextmanager
    def _in(self, task: str) -> Iterator[None]:
        """Says in which task something went wrong."""
        try:
            yield
        except EnvironmentFailed as error:
            raise EnvironmentFailed(
                f"{task}: {error}; the life is kept as it was last saved, and `wakesleep resume {self.folder}` goes on"
            ) from error
        except UserError as error:
            raise UserError(f"{task}: {error}") from error

    def _do(self, unit: Unit, key: jax.Array) -> None:
        match unit.kind:
            case Kind.EVALUATE:
                self._leave()
                self._evaluate(key)
            case Kind.WAKE:
                self._wake(unit, key)
            case Kind.LIVE:
                self._live(unit, key)
            case Kind.SLEEP:
                self.state, slept = self.agent.sleep(self.state, key)
                folder = self.folder / "diagnostics"
                folder.mkdir(exist_ok=True)
                store.save_tree(folder / f"sleep-{self.unit:04d}.npz", slept.numbers)

    def _evaluate(self, key: jax.Array) -> None:
        """An EB: all tasks, the same layouts as ever."""
        self.writer.begin_block(logs.TEST)
        policy = self.agent.policy(self.state)
        seeds = evaluation_seeds(self.syllabus.evaluation_seed, len(self.syllabus.tasks))
        for task, seed, task_key in zip(self.syllabus.tasks, seeds, jax.random.split(key, len(seeds)), strict=True):
            world = self.worlds[task]
            if task not in self._starts:
                self._starts[task] = evaluation_initial_states(task, world, seed, self.syllabus.episodes)
            with self._in(task):
                episodes = run_episodes(world, policy, self._starts[task], task_key)
            pairs = zip(episodes.total_reward.tolist(), episodes.length.tolist(), strict=True)
            self.writer.write(task, [logs.Episode(*pair) for pair in pairs])

    def _wake(self, unit: Unit, key: jax.Array) -> None:
        block = self.syllabus.learning[unit.block]
        world = self.worlds[block.task]
        steps = unit.iterations * self.agent.num_envs * self.agent.num_steps
        with self._in(block.task):
            if unit.first:
                self.writer.begin_block(logs.TRAIN)
                self._begin(world, key_of(block.seed))
            self.state = self.agent.wake(self.state, world, key, steps)

    def _live(self, unit: Unit, key: jax.Array) -> None:
        block = self.syllabus.learning[unit.block]
        world = self.worlds[block.task]
        with self._in(block.task):
            if self.life is None:  # resumed: the environments of then are gone
                self._begin(world, jax.random.fold_in(key_of(block.seed), self.unit))
            assert self.life is not None
            self.state, self.life, progress = self.agent.live(
                self.state, world, self.life, key, unit.iterations, chunk_of(self.agent)
            )
        parts = (np.asarray(part)[: unit.iterations] for part in progress[:3])
        self.writer.write(block.task, self.counter.add(*(part.reshape(-1, self.agent.num_envs) for part in parts)))

    def _cost(self, unit: Unit) -> float:
        """About how long a unit takes, in environment steps: for the time left."""
        per_iteration = self.agent.num_envs * self.agent.num_steps
        costs = {Kind.EVALUATE: 20_000.0, Kind.WAKE: 100.0, Kind.SLEEP: 150_000.0}
        return costs.get(unit.kind, float(unit.iterations * per_iteration))

    def _words(self, unit: Unit) -> str:
        number = min(unit.block, len(self.syllabus.learning) - 1)
        return f"{unit.kind.value}, block {number + 1} of {len(self.syllabus.learning)}"

    def _scenario_info(self, about: dict[str, Any]) -> dict[str, Any]:
        known = ("condensed", "dispersed", "alternating")
        scenario = self.syllabus.scenario
        kind = scenario if scenario in known else "custom"
        return {"author": "wakesleep", "complexity": "1-low", "difficulty": "2-medium", "scenario_type": kind, **about}

    def _finish(self) -> str:
        parameters, replay_bytes = self.agent.budget(self.state)
        last = len(self.syllabus.learning) * 2
        rewards = logs.read_returns(self.folder, last, logs.TEST)
        finals = {task: round(float(np.mean(values)), 4) for task, values in rewards.items()}
        summary = {
            "seconds": round(self.seconds, 1), "environment_steps": self.writer.position.steps,
            "parameters": parameters, "replay_bytes": replay_bytes,
            "final_returns": finals,
        }  # fmt: skip
        store.save_tree(self.folder / "policy.npz", eqx.filter(self.agent.policy(self.state), eqx.is_array))
        store.save_json(self.folder / "summary.json", summary)
        for name in ("checkpoint.npz", "progress.json"):
            (self.folder / name).unlink(missing_ok=True)
        words = ", ".join(f"{task} {value:.2f}" for task, value in finals.items())
        return f"{words}; {self.seconds:.0f} s"


def versions() -> dict[str, str]:
    """Of what results may depend on."""
    return {name: version(name) for name in ("wakesleep", "jax", "jaxlib", "equinox", "optax", "numpy", "minigrid")}

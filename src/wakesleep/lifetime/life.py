"""Running a lifetime: unit after unit, writing the log, saving the whole value of the life now and then.

    RUN/config.json         agent, syllabus, seeds, versions: enough to go on, or to do it again
    RUN/checkpoint.npz      the life as it was last saved; gone when it is finished
    RUN/progress.json       how far it is, for those who watch; gone when it is finished
    RUN/diagnostics/        what each sleep was like
    RUN/policies/           the policy at the end of each learning block, if asked for
    RUN/policy.npz          the policy at the end of the life
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

import jax
import numpy as np

from wakesleep import logs, store
from wakesleep.agents.agent import Agent
from wakesleep.errors import EnvironmentFailed, UserError
from wakesleep.jobs import Report, Stopped
from wakesleep.lifetime.plan import Kind, Unit, chunk_of, plan
from wakesleep.lifetime.policy import save_policy
from wakesleep.syllabus.seeds import evaluation_initial_states, evaluation_seeds
from wakesleep.syllabus.syllabus import SINGLE_TASK, LearningBlock, Syllabus
from wakesleep.wake.envs import Envs, key_from_seed
from wakesleep.wake.make_envs import make_envs

SECONDS_BETWEEN_SAVES = 120.0
SECONDS_BETWEEN_REPORTS = 1.0


class Snapshot(NamedTuple):
    """A whole life, as it is saved."""

    agent: Any
    envs: Any
    """None between learning blocks, and where the environments are outside JAX."""
    unit: np.ndarray
    """How many units are done."""
    seconds: np.ndarray
    total_reward: np.ndarray
    """Of the episodes under way (axis: environments)."""
    length: np.ndarray
    """Of the episodes under way (axis: environments)."""
    position: np.ndarray
    """Of the log: block, whether it is a learning block, episodes, steps, bytes."""


class Lifetime:
    """One agent through one syllabus."""

    def __init__(
        self,
        agent: Agent,
        syllabus: Syllabus,
        seed: int,
        folder: Path,
        about: dict[str, Any],
        keep_policies: bool = False,
    ) -> None:
        """Begin a life in a folder, or go on with the one that is there.

        Args:
            agent: who lives.
            syllabus: through what.
            seed: of everything random but the syllabus.
            folder: where it is kept.
            about: goes into config.json: what this run is, for those who read it later.
            keep_policies: whether the policy at the end of each learning block is kept.
        """
        self.agent, self.syllabus, self.folder, self.keep_policies = agent, syllabus, folder, keep_policies
        self.units, self.key = plan(agent, syllabus), jax.random.key(seed)
        self.envs: dict[str, Envs] = {task: make_envs(task, agent.num_envs) for task in syllabus.tasks}
        self._starts: dict[str, Any] = {}
        self.envs_state: Any = None
        self._running: Envs | None = None
        self._last_return = ""
        self.unit, self.seconds = 0, 0.0
        about = {**about, "seed": seed, "versions": versions()}
        self._claim_folder(about)
        self._begin_or_go_on(about)

    def run(self, report: Report) -> str:
        """Live to the end. Returns how it went, in words."""
        try:
            return self._run(report)
        finally:
            self._close_envs()

    def _run(self, report: Report) -> str:
        begin = last_save = time.monotonic()
        before, last_report = self.seconds, -SECONDS_BETWEEN_REPORTS
        costs = np.cumsum([self._cost(unit) for unit in self.units])
        while self.unit < len(self.units):
            unit = self.units[self.unit]
            self._do_or_save(unit)
            self.unit += 1
            self.seconds = before + time.monotonic() - begin
            if unit.kind in (Kind.EVALUATE, Kind.SLEEP) or time.monotonic() - last_save > SECONDS_BETWEEN_SAVES:
                self.save()
                last_save = time.monotonic()
            part, words = float(costs[self.unit - 1] / costs[-1]), self._words(unit)
            if self.seconds - last_report >= SECONDS_BETWEEN_REPORTS:
                self._write_progress(part, words)
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
        envs = self._envs_under_way(self.unit)
        saved = None if envs is None or self.envs_state is None else envs.save(self.envs_state)
        try:
            store.save_tree(self.folder / "checkpoint.npz", Snapshot(self.state, saved, *counts, position))
        except OSError as error:
            raise UserError(
                f"the life in {self.folder} cannot be saved ({error.strerror or error}): make room and resume it;"
                " what was saved before is still there"
            ) from error

    def _write_progress(self, part: float, words: str) -> None:
        """Leave on disk how far it is. Nobody may be watching: a full disk is `save`'s to complain of."""
        progress = {"part": round(part, 4), "words": words, "seconds": round(self.seconds, 1)}
        with contextlib.suppress(OSError):
            store.save_json(self.folder / "progress.json", progress)

    def _claim_folder(self, about: dict[str, Any]) -> None:
        """Write down what this folder is for, or see that it is for this."""
        config = self.folder / "config.json"
        if (self.folder / "summary.json").exists():
            raise UserError(f"the life in {self.folder} is over: see its summary.json, or choose another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not config.exists():
            store.save_json(config, about)
            return
        stored = store.load_json(config)
        if {**stored, "versions": None} != {**about, "versions": None}:
            raise UserError(f"{self.folder} holds another life (see {config}): choose another folder")

    def _begin_or_go_on(self, about: dict[str, Any]) -> None:
        birth_key, _ = jax.random.split(jax.random.fold_in(self.key, len(self.units)))
        num_envs, saved, position = self.agent.num_envs, self.folder / "checkpoint.npz", None
        nothing = np.array(0), np.array(0.0), np.zeros(num_envs), np.zeros(num_envs, int), np.array([-1, 1, 0, 0, 0])
        snapshot = Snapshot(self.agent.init(birth_key), None, *nothing)
        if saved.exists():
            envs = self._envs_under_way(int(store.load_array(saved, "unit")))
            snapshot = store.load_tree(saved, snapshot._replace(envs=envs and envs.saved_form()))
            self._running, self.envs_state = envs, envs and envs.restore(snapshot.envs)
            block, is_train, *numbers = snapshot.position.tolist()
            position = logs.Position(block, logs.TRAIN if is_train else logs.TEST, *numbers)
        self.writer = logs.LogWriter(self.folder, self._scenario_info(about), position)
        self.counter = logs.EpisodeCounter(snapshot.total_reward, snapshot.length)
        self.state, self.unit, self.seconds = snapshot.agent, int(snapshot.unit), float(snapshot.seconds)

    def _envs_under_way(self, unit: int) -> Envs | None:
        """The environments that have episodes under way when so many units are done; None between learning blocks."""
        following = self.units[unit] if unit < len(self.units) else None
        if following is None or following.kind is Kind.EVALUATE or following.first:
            return None
        return self.envs[self._block(following).task]

    def _reset_envs(self, envs: Envs, key: jax.Array) -> None:
        """Begin an episode in every environment."""
        self._close_envs()
        self._running, self.envs_state = envs, envs.reset(key)
        self.counter = logs.EpisodeCounter.fresh(self.agent.num_envs)

    def _close_envs(self) -> None:
        if self._running is not None:
            self._running.close(self.envs_state)
        self._running = self.envs_state = None

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

    def _do_or_save(self, unit: Unit) -> None:
        try:
            self._do(unit, jax.random.fold_in(self.key, self.unit))
        except EnvironmentFailed:
            if unit.kind is Kind.TRAIN:  # the agent is as it was before, and so is the log
                self.save()
            raise

    def _do(self, unit: Unit, key: jax.Array) -> None:
        match unit.kind:
            case Kind.EVALUATE:
                self._close_envs()
                self._keep_policy(unit)
                self._evaluate(key)
            case Kind.WAKE:
                self._wake(unit, key)
            case Kind.TRAIN:
                self._train(unit, key)
            case Kind.SLEEP:
                self.state, sleep_log = self.agent.sleep(self.state, key)
                self._save_arrays("diagnostics", f"sleep-{self.unit:04d}.npz", sleep_log.arrays)

    def _evaluate(self, key: jax.Array) -> None:
        """An EB: all tasks, the same layouts as ever."""
        self.writer.begin_block(logs.TEST)
        policy = self.agent.policy(self.state)
        seeds = evaluation_seeds(self.syllabus.evaluation_seed, len(self.syllabus.tasks))
        for task, seed, task_key in zip(self.syllabus.tasks, seeds, jax.random.split(key, len(seeds)), strict=True):
            envs = self.envs[task]
            if task not in self._starts:
                self._starts[task] = evaluation_initial_states(task, envs, seed, self.syllabus.episodes)
            with self._in(task):
                episodes = envs.run_episodes(policy, self._starts[task], task_key)
            pairs = zip(episodes.total_reward.tolist(), episodes.length.tolist(), strict=True)
            self.writer.write(task, [logs.Episode(*pair) for pair in pairs])

    def _wake(self, unit: Unit, key: jax.Array) -> None:
        block = self._block(unit)
        envs = self.envs[block.task]
        steps = unit.iterations * self.agent.num_envs * self.agent.num_steps
        with self._in(block.task):
            if unit.first:
                self.writer.begin_block(logs.TRAIN)
                self._reset_envs(envs, key_from_seed(block.seed))
            self.state = self.agent.wake(self.state, envs, key, steps)

    def _train(self, unit: Unit, key: jax.Array) -> None:
        block = self._block(unit)
        envs = self.envs[block.task]
        with self._in(block.task):
            if self.envs_state is None:  # resumed: the environments of then are gone
                self._reset_envs(envs, jax.random.fold_in(key_from_seed(block.seed), self.unit))
            self.state, self.envs_state, log = self.agent.train(
                self.state, envs, self.envs_state, key, unit.iterations, chunk_of(self.agent)
            )
        finished = self.counter.add(log.reward, log.ended, log.valid)
        self.writer.write(block.task, finished)
        if finished:
            self._last_return = f", return {np.mean([episode.total_reward for episode in finished]):.2f}"

    def _keep_policy(self, unit: Unit) -> None:
        if self.keep_policies and unit.block > 0:
            (self.folder / "policies").mkdir(exist_ok=True)
            save_policy(self.folder / "policies" / f"block-{unit.block:02d}.npz", self.agent, self.state)

    def _save_arrays(self, folder: str, name: str, arrays: dict[str, Any]) -> None:
        (self.folder / folder).mkdir(exist_ok=True)
        store.save_tree(self.folder / folder / name, arrays)

    def _block(self, unit: Unit) -> LearningBlock:
        return self.syllabus.learning[unit.block]

    def _cost(self, unit: Unit) -> float:
        """About how long a unit takes, in environment steps: for the time left."""
        per_iteration = self.agent.num_envs * self.agent.num_steps
        costs = {Kind.EVALUATE: 20_000.0, Kind.WAKE: 100.0, Kind.SLEEP: 150_000.0}
        return costs.get(unit.kind, float(unit.iterations * per_iteration))

    def _words(self, unit: Unit) -> str:
        number, count = min(unit.block + 1, len(self.syllabus.learning)), len(self.syllabus.learning)
        what = f"{unit.kind.value}, block {number} of {count}" if count > 1 else unit.kind.value
        return what + self._last_return * (unit.kind is Kind.TRAIN)

    def _scenario_info(self, about: dict[str, Any]) -> dict[str, Any]:
        """What l2logger wants to know; a single-task expert is its `ste`."""
        scenario = self.syllabus.scenario
        kind = "ste" if scenario == SINGLE_TASK else scenario
        kind = kind if kind in ("condensed", "dispersed", "alternating", "ste") else "custom"
        return {"author": "wakesleep", "complexity": "1-low", "difficulty": "2-medium", "scenario_type": kind, **about}

    def _finish(self) -> str:
        parameters, replay_bytes = self.agent.budget(self.state)
        finals = self._final_returns()
        summary = {
            "seconds": round(self.seconds, 1), "environment_steps": self.writer.position.steps,
            "parameters": parameters, "replay_bytes": replay_bytes,
            "final_returns": finals,
        }  # fmt: skip
        save_policy(self.folder / "policy.npz", self.agent, self.state)
        store.save_json(self.folder / "summary.json", summary)
        for name in ("checkpoint.npz", "progress.json"):
            (self.folder / name).unlink(missing_ok=True)
        words = ", ".join(f"{task} {value:.2f}" for task, value in finals.items())
        return f"{words}; {self.seconds:.0f} s" if words else f"{self.seconds:.0f} s"

    def _final_returns(self) -> dict[str, float]:
        """Mean return of each task in the last EB; empty where the syllabus has none."""
        if not self.syllabus.episodes:
            return {}
        returns = logs.read_log(self.folder).returns(len(self.syllabus.learning) * 2)
        return {task: round(float(np.mean(values)), 4) for task, values in returns.items()}


def versions() -> dict[str, str]:
    """The versions of all packages that results may depend on."""
    return {name: version(name) for name in ("wakesleep", "jax", "jaxlib", "equinox", "optax", "numpy", "minigrid")}

"""The paper's two studies of sleep in a single task (appendix, "A Sleep Policy Trained with Policy Distillation ...").

`distil`: an expert plays, an architecture sleeps on what it did; how much return is lost? `follow`: a learner goes on
learning in one task and the agent sleeps ten times; does the sleep policy keep up with the wake policy?

Each run leaves one JSON file; what is there is not done again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from wakesleep import store
from wakesleep.agents.presets import agent_config
from wakesleep.agents.wake_sleep import WakeSleepAgent
from wakesleep.errors import UserError
from wakesleep.experts.expert import load_expert, load_experts
from wakesleep.jobs import Job, Report, run_jobs
from wakesleep.lifetime.plan import chunk_of
from wakesleep.settings import override
from wakesleep.sleep.architectures import PAPER_ARCHITECTURES
from wakesleep.sleep.consolidate import consolidate
from wakesleep.sleep.replay import random_replay, wake_buffer
from wakesleep.syllabus.scenarios import block_steps
from wakesleep.wake.jax_envs import JaxEnvs
from wakesleep.wake.make_envs import jax_world
from wakesleep.worlds import registry

EPISODES = 100
_ENVS = 16
_PURPOSE = "a study of sleep"
_ASKED = "study.json"


def distil(
    experts: Path, out: Path, architectures: Sequence[str], repeats: int, preset: str, overrides: Mapping[str, Any],
    workers: int = 1,
) -> list[dict[str, Any]]:  # fmt: skip
    """Distil every finished expert of a folder into each architecture, so many times. Returns all results."""
    finished, _ = load_experts(experts)
    if not finished:
        raise UserError(f"no expert in {experts} is finished yet")
    if repeats < 1:
        raise UserError(f"an expert is distilled at least once, not {repeats} times")
    for name in _known(architectures):  # what is wrong is said before the folder is claimed
        agent_config(name, preset, overrides, registry.task_info(finished[0].task).domain)
    _claim(out, {"study": "distil", "experts": str(experts.resolve()), "preset": preset, "overrides": dict(overrides)})
    jobs = [
        Job(file.stem, distil_expert, (expert.folder, name, repeat, preset, dict(overrides), file))
        for expert in finished for name in _known(architectures) for repeat in range(repeats)
        if not (file := out / f"{expert.task}-{expert.seed}-{name}-{repeat}.json").exists()
    ]  # fmt: skip
    return _run(jobs, out, workers, "distillation")


def distil_expert(
    folder: Path, architecture: str, repeat: int, preset: str, overrides: dict[str, Any], file: Path, report: Report
) -> str:
    """The wake buffer's worth of what the expert does, one sleep on it, and 100 episodes of both."""
    expert = load_expert(folder)
    config = agent_config(architecture, preset, overrides, registry.task_info(expert.task).domain)
    envs = JaxEnvs(jax_world(expert.task, _PURPOSE), _ENVS)
    specs = envs.observation_spec, envs.action_spec
    keys = jax.random.split(jax.random.fold_in(jax.random.key(expert.seed), repeat), 7)
    steps = -(-config.wake_buffer_size // _ENVS)
    _, rollout = eqx.filter_jit(JaxEnvs.collect)(envs, expert.policy, envs.reset(keys[0]), keys[1], steps)
    empty = wake_buffer(*specs, config.wake_buffer_size, config.logits_as_labels)
    buffer = eqx.filter_jit(empty.record)(rollout, expert.policy)
    report(0.1, "asleep")
    model = config.model.make(*specs, keys[2])
    none = random_replay(*specs, 1, config.logits_as_labels)
    model, _ = consolidate(model, buffer, none, keys[3], config.sleep, first=True)
    starts = envs.initial_states(keys[4], EPISODES)
    both = (envs.run_episodes(policy, starts, keys[5]).total_reward for policy in (expert.policy, model))
    theirs, own = (float(np.mean(returns)) for returns in both)
    result = {
        "task": expert.task, "seed": expert.seed, "architecture": architecture, "repeat": repeat, "preset": preset,
        "expert": theirs, "sleep": own, "difference": theirs - own,
    }  # fmt: skip
    store.save_json(file, result)
    return f"expert {theirs:.3f}, sleep {own:.3f}"


def follow(
    tasks: Sequence[str], out: Path, architectures: Sequence[str], seeds: int, sleeps: int, preset: str,
    overrides: Mapping[str, Any], scale: float = 1.0, workers: int = 1,
) -> list[dict[str, Any]]:  # fmt: skip
    """Sleep so many times in each task while the wake learner goes on. Returns all results."""
    for task in tasks:
        jax_world(task, _PURPOSE)
    if seeds < 1 or sleeps < 1:
        raise UserError(f"there is at least one seed and one sleep, not {seeds} and {sleeps}")
    for name in _known(architectures):
        agent_config(name, preset, overrides, registry.task_info(tasks[0]).domain)
    _claim(out, {"study": "follow", "sleeps": sleeps, "preset": preset, "overrides": dict(overrides), "scale": scale})
    jobs = [
        Job(file.stem, follow_task, (task, name, seed, sleeps, preset, dict(overrides), scale, file))
        for task in tasks for name in _known(architectures) for seed in range(seeds)
        if not (file := out / f"{task}-{name}-{seed}.json").exists()
    ]  # fmt: skip
    return _run(jobs, out, workers, "following")


def follow_task(
    task: str, architecture: str, seed: int, sleeps: int, preset: str, overrides: dict[str, Any], scale: float,
    file: Path, report: Report,
) -> str:  # fmt: skip
    """One learner through its block, evaluated with the sleep policy after each of its sleeps.

    As in the paper's figure the learner is not reset, and there is neither advice nor random replay.
    """
    config = agent_config(architecture, preset, domain=registry.task_info(task).domain)
    config = replace(config, reset_at_waking=False, advice=0.0, sleep=replace(config.sleep, random_replay=False))
    world = jax_world(task, _PURPOSE)
    agent = WakeSleepAgent(world.observation_spec, world.action_spec, override(config, overrides))
    envs, per_iteration = JaxEnvs(world, agent.num_envs), agent.num_envs * agent.num_steps
    iterations = block_steps(task, scale) // per_iteration
    if iterations < sleeps:
        raise UserError(f"{task}: {sleeps} sleeps need at least {sleeps * per_iteration:,} steps")
    key, init_key, envs_key, start_key, play_key = jax.random.split(jax.random.key(seed), 5)
    state, envs_state = agent.init(init_key), envs.reset(envs_key)
    starts = envs.initial_states(start_key, EPISODES)
    steps: list[int] = []
    wake: list[float] = []
    sleep: list[float] = []
    for sleep_index in range(sleeps):
        key, wake_key, sleep_key = jax.random.split(key, 3)
        count = iterations * (sleep_index + 1) // sleeps - iterations * sleep_index // sleeps
        state = agent.wake(state, envs, wake_key, count * per_iteration)
        state, envs_state, key = _train(agent, state, envs, envs_state, key, count)
        state, _ = agent.sleep(state, sleep_key)
        policies = agent.learner.policy(state.learner), agent.policy(state)
        for returns, policy in zip((wake, sleep), policies, strict=True):
            returns.append(float(np.mean(envs.run_episodes(policy, starts, play_key).total_reward)))
        steps.append(iterations * (sleep_index + 1) // sleeps * per_iteration)
        report((sleep_index + 1) / sleeps, f"wake {wake[-1]:.2f}, sleep {sleep[-1]:.2f}")
    result = {
        "task": task, "architecture": architecture, "seed": seed, "preset": preset, "steps": steps, "wake": wake,
        "sleep": sleep,
    }  # fmt: skip
    store.save_json(file, result)
    return f"wake {wake[-1]:.3f}, sleep {sleep[-1]:.3f}"


def _train(
    agent: WakeSleepAgent, state: Any, envs: JaxEnvs, envs_state: Any, key: jax.Array, iterations: int
) -> tuple[Any, Any, jax.Array]:
    """So many iterations, a chunk at a time. Returns both states, and the key for what follows."""
    chunk = chunk_of(agent)
    while iterations:
        key, train_key = jax.random.split(key)
        count = min(chunk, iterations)
        state, envs_state, _ = agent.train(state, envs, envs_state, train_key, count, chunk)
        iterations -= count
    return state, envs_state, key


def _known(architectures: Sequence[str]) -> list[str]:
    for name in architectures:
        if name not in PAPER_ARCHITECTURES:
            raise UserError(f"no architecture is called {name!r}: there are {', '.join(PAPER_ARCHITECTURES)}")
    return list(architectures)


def _claim(out: Path, asked: dict[str, Any]) -> None:
    """Keep in the folder what was asked: results of another study, or with other settings, do not belong there."""
    out.mkdir(parents=True, exist_ok=True)
    if (file := out / _ASKED).exists():
        if store.load_json(file) != asked:
            raise UserError(f"{out} holds another study, or other settings (see {file}): choose another folder")
    elif any(out.iterdir()):
        raise UserError(f"{out} holds something else than a study: choose another folder")
    store.save_json(file, asked)


def _run(jobs: list[Job], out: Path, workers: int, title: str) -> list[dict[str, Any]]:
    if jobs:
        run_jobs(jobs, workers, title)
    return [store.load_json(file) for file in sorted(out.glob("*.json")) if file.name != _ASKED]

"""Whole episodes of a frozen policy, and their export for offline reinforcement learning as a Minari dataset.

    export_minari(expert.task, world, expert.policy, key, episodes=1000, dataset="wakesleep/DoorKey_S5/expert-v0")
    minari.load_dataset("wakesleep/DoorKey_S5/expert-v0")

Minari keeps datasets under ~/.minari, or where $MINARI_DATASETS_PATH says. Observations are stored without loss.
"""

import warnings
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor
from wakesleep.wake.rollout import act
from wakesleep.worlds.batch import InitialStates, draw_initial_states
from wakesleep.worlds.gymnasium import WorldEnv
from wakesleep.worlds.world import MaskedObservation, TimeStep, World

_CHUNK = 32  # steps in one compiled call
_BATCH = 100  # episodes played at the same time


class Trajectory(NamedTuple):
    """One episode: n actions, and n + 1 observations."""

    observation: Any
    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


@eqx.filter_jit
def _play(
    world: World, policy: Actor, now: InitialStates, key: Key[Array, ""]
) -> tuple[InitialStates, tuple[Array, TimeStep]]:
    """A few steps of every episode, those that are over going on meaninglessly."""

    def step(now: InitialStates, key: Key[Array, ""]) -> tuple[InitialStates, tuple[Array, TimeStep]]:
        act_key, world_key = jax.random.split(key)
        action, _ = act(world.action_spec, policy, now.observation, act_key)
        state, timestep = jax.vmap(world.step)(now.state, action, jax.random.split(world_key, now.size))
        return InitialStates(state, timestep.observation), (action, timestep)

    return jax.lax.scan(step, now, jax.random.split(key, _CHUNK))


def record(world: World, policy: Actor, key: Key[Array, ""], episodes: int) -> list[Trajectory]:
    """Play so many episodes from fresh starts, actions sampled from the policy."""
    if episodes < 1:
        raise UserError(f"there must be at least one episode to record, not {episodes}")
    recorded: list[Trajectory] = []
    while len(recorded) < episodes:
        key, start_key, play_key = jax.random.split(key, 3)
        recorded += _record_batch(world, policy, draw_initial_states(world, start_key, _BATCH), play_key)
    return recorded[:episodes]


def _record_batch(world: World, policy: Actor, starts: InitialStates, key: Key[Array, ""]) -> list[Trajectory]:
    parts, over, now = [], np.zeros(starts.size, bool), starts
    while not over.all():
        key, chunk_key = jax.random.split(key)
        now, part = _play(world, policy, now, chunk_key)
        parts.append(jax.tree.map(np.asarray, part))
        over |= (parts[-1][1].terminated | parts[-1][1].truncated).any(axis=0)
    action, timestep = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    first = jax.tree.map(lambda leaf: np.asarray(leaf)[None], starts.observation)
    observation = jax.tree.map(lambda start, rest: np.concatenate([start, rest]), first, timestep.observation)
    ends = np.argmax(timestep.terminated | timestep.truncated, axis=0) + 1
    return [
        Trajectory(
            jax.tree.map(lambda leaf, env=env, end=end: leaf[: end + 1, env], observation),
            *(leaf[:end, env] for leaf in (action, timestep.reward, timestep.terminated, timestep.truncated)),
        )
        for env, end in enumerate(ends)
    ]


def export_minari(
    task: str, world: World, policy: Actor, key: Key[Array, ""], episodes: int, dataset: str, algorithm: str = "ppo"
) -> Any:
    """Record episodes and keep them as a Minari dataset of that name. Returns the dataset."""
    try:
        import minari
        from minari.data_collector import EpisodeBuffer
    except ImportError as error:
        raise UserError("exporting needs Minari: pip install 'wakesleep[minari]'") from error
    if dataset in minari.list_local_datasets():
        raise UserError(f"there is already a dataset {dataset}: choose another name, or `minari delete {dataset}`")
    spaces = WorldEnv(world)
    buffers = [
        EpisodeBuffer(
            id=number,
            observations=_as_in_space(one.observation),
            actions=one.action.astype(spaces.action_space.dtype),  # type: ignore[arg-type]
            rewards=one.reward.tolist(),
            terminations=one.terminated.tolist(),
            truncations=one.truncated.tolist(),
        )
        for number, one in enumerate(record(world, policy, key, episodes))
    ]
    names = (f"wakesleep/{task}", f"wakesleep-jax/{task}")
    env = next((name for name in names if name in gymnasium.registry), None)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`(code_permalink|author|author_email|eval_env)` is set to None")
        return minari.create_dataset_from_buffers(
            dataset,
            buffers,
            env=env,
            observation_space=spaces.observation_space,
            action_space=spaces.action_space,
            algorithm_name=algorithm,
            description=f"{episodes} episodes of a frozen single-task expert on {task}, actions sampled",
            requirements=["wakesleep"],
            jpeg_encoding=False,  # cells are numbers, not pictures
        )


def _as_in_space(observation: Any) -> Any:
    """As the Gymnasium space has it: a masked observation is a dictionary."""
    return observation._asdict() if isinstance(observation, MaskedObservation) else observation

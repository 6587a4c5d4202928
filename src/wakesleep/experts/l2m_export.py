"""StarCraft II episodes in the layout of the authors' data release (sri-l2m/l2m_data): what reads theirs reads ours.

    OUT/ste_fullyconv/DefeatRoaches_one/ep0.pkl.gz      a pickled m3t.data.Trajectory(observations, actions, rewards)

observations    feature_screen (T, 27, size, size), available_actions (T, 13), rgb_screen (T, 0, 0, 3)
actions         function (T,), screen, minimap, screen2, select_add, select_point_act; places as row * size + column
rewards         (T,)

Time is the first axis. Of PySC2's 27 layers ours are filled (unit_type by PySC2's ids, selected, unit_density), the
others are 0; there are no pictures. Their package `m3t` need not be there: a class of that name is put in its place to
write, and `read_release` reads.
"""

import gzip
import io
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UserError
from wakesleep.experts.trajectories import Trajectory, record
from wakesleep.nets.policy import Actor
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.world import World

POLICY = "ste_fullyconv"
"""The folder of single-task experts, as theirs is called."""
FEATURE_LAYERS = 27
"""Of PySC2's `feature_screen`."""
_MODULE, _CLASS = "m3t.data", "Trajectory"
_BATCH = 100  # episodes in memory at a time


class Released(NamedTuple):
    """An episode as the release has it."""

    observations: tuple[np.ndarray, np.ndarray, np.ndarray]
    actions: tuple[np.ndarray, ...]
    rewards: np.ndarray


Released.__module__, Released.__qualname__, Released.__name__ = _MODULE, _CLASS, _CLASS  # what pickles say


def released(episode: Trajectory) -> Released:
    """A recorded episode in that layout."""
    seen, length = episode.observation, len(episode.action)
    view = np.asarray(seen.view)[:length].astype(np.int32)
    if view[..., interface.UNIT_TYPE].max(initial=0) < len(interface.TYPE_IDS):  # compact numbers
        view[..., interface.UNIT_TYPE] = np.asarray(interface.TYPE_IDS)[view[..., interface.UNIT_TYPE]]
    size = view.shape[1]
    screen = np.zeros((length, FEATURE_LAYERS, size, size), np.int32)
    for place, layer in enumerate(interface.LAYERS):
        screen[:, layer.number] = view[..., place]
    parts = []
    for part, (name, _) in enumerate(interface.PARTS):
        chosen = np.asarray(episode.action)[:, part].astype(np.int64)
        if name in interface.PLACES:
            column, row = interface.pixel_of(chosen, size)
            chosen = row * size + column
        parts.append(chosen)
    available = np.asarray(seen.action_mask)[:length]
    return Released((screen, available, np.zeros((length, 0, 0, 3), np.uint8)), tuple(parts), episode.reward)


def export_release(
    task: str, world: World, policy: Actor, key: Key[Array, ""], episodes: int, out: Path
) -> tuple[Path, int]:
    """Record episodes and write them, one file each. Returns their folder, and how many steps they have."""
    if world.action_spec != interface.ACTION_SPEC:
        raise UserError(f"{task} is not a task of StarCraft II: that layout has no place for its actions")
    if episodes < 1:
        raise UserError(f"there must be at least one episode to record, not {episodes}")
    folder, steps = out / POLICY / task, 0
    if folder.exists() and any(folder.glob("ep*.pkl.gz")):
        raise UserError(f"there are already episodes in {folder}: choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for done in range(0, episodes, _BATCH):
        key, batch_key = jax.random.split(key)
        for number, episode in enumerate(record(world, policy, batch_key, min(_BATCH, episodes - done)), done):
            write_release(folder / f"ep{number}.pkl.gz", released(episode))
            steps += len(episode.action)
    return folder, steps


def write_release(file: Path, episode: Released) -> None:
    """Write one episode as a compressed pickle in the release's layout."""
    with _their_module(), gzip.open(file, "wb", compresslevel=4) as opened:
        pickle.dump(episode, opened, protocol=4)


def read_release(file: Path) -> Released:
    """Read an episode, of theirs or of ours. Only arrays are read: a pickle that wants more is refused."""
    try:
        return _Reader(io.BytesIO(gzip.decompress(file.read_bytes()))).load()
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        raise UserError(f"{file} is not an episode of the release's layout: {error}") from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (_MODULE, _CLASS):
            return Released
        if module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds a {module}.{name}")


@contextmanager
def _their_module() -> Iterator[None]:
    """Have a module of their name that holds our class, so that pickle can refer to it."""
    names = [_MODULE.split(".")[0], _MODULE]
    before = {name: sys.modules.get(name) for name in names}
    for name in names:
        sys.modules[name] = ModuleType(name)
    setattr(sys.modules[_MODULE], _CLASS, Released)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module

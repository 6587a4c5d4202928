"""Episodes in the layout of the authors' data release: what is in the files, and that others' pickles are refused."""

import gzip
import pickle
import sys
import types
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep
from wakesleep import UserError
from wakesleep.experts import l2m_export
from wakesleep.experts.l2m_export import export_release, read_release, released
from wakesleep.experts.trajectories import record
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.tasks import TASKS

pytestmark = pytest.mark.computes

SIZES = interface.ACTION_SPEC.sizes
TASK = "DefeatRoaches_one"
WORLD = TASKS[TASK].world(16)


def anything(observation):
    """Every action equally likely."""
    return jnp.zeros((*observation.action_mask.shape[:-1], sum(SIZES)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    l2m_export._BATCH, before = 2, l2m_export._BATCH
    made, steps = export_release(TASK, WORLD, anything, jax.random.key(0), 3, tmp_path_factory.mktemp("out"))
    l2m_export._BATCH = before
    assert steps == sum(len(read_release(file).rewards) for file in made.iterdir())
    return made


def test_files_are_where_the_release_has_them(folder):
    assert folder.parts[-2:] == ("ste_fullyconv", TASK)
    assert sorted(file.name for file in folder.iterdir()) == ["ep0.pkl.gz", "ep1.pkl.gz", "ep2.pkl.gz"]
    with pytest.raises(UserError, match="already episodes"):
        export_release(TASK, WORLD, anything, jax.random.key(0), 3, folder.parents[1])


def test_what_an_episode_holds(folder):
    episode = read_release(folder / "ep0.pkl.gz")
    (screen, available, pictures), length = episode.observations, len(episode.rewards)
    assert 1 < length <= 240
    assert (screen.shape, screen.dtype) == ((length, 27, 16, 16), np.int32)
    assert (available.shape, available.dtype) == ((length, 13), bool)
    assert len(pictures) == length
    kinds = set(np.unique(screen[:, 6]).tolist())
    assert {0, 48} <= kinds <= {0, 48, 110}  # PySC2's ids of Marines and Roaches
    assert set(np.flatnonzero(screen.any((0, 2, 3))).tolist()) == {6, 7, 14}
    assert [part.shape for part in episode.actions] == [(length,)] * 6
    assert episode.actions[0].max() < 13
    rows = np.arange(length)
    assert available[rows, episode.actions[0]].all()


def test_it_is_what_was_recorded():
    [one] = record(WORLD, anything, jax.random.key(3), 1)
    episode = released(one)
    np.testing.assert_array_equal(episode.rewards, one.reward)
    np.testing.assert_array_equal(episode.observations[0][:, 7], one.observation.view[:-1, ..., 1])
    places = [episode.actions[1] // 16, episode.actions[1] % 16]
    np.testing.assert_array_equal(places[0] * 16 + places[1], one.action[:, 1])  # on 16 x 16, a place is a pixel
    large = one._replace(observation=one.observation._replace(view=np.zeros((len(one.reward) + 1, 64, 64, 3))))
    row, column = np.divmod(released(large).actions[1], 64)
    np.testing.assert_array_equal(row // 4 * 16 + column // 4, one.action[:, 1])
    assert set((row % 4).tolist()) == {2}


def test_their_own_package_reads_it(folder, monkeypatch):
    """With a stand-in for their package `m3t` in place, plain pickle makes its class of the file."""

    class Trajectory(NamedTuple):
        observations: tuple
        actions: tuple
        rewards: np.ndarray

    package, module = types.ModuleType("m3t"), types.ModuleType("m3t.data")
    module.Trajectory = Trajectory
    assert "m3t" not in sys.modules
    monkeypatch.setitem(sys.modules, "m3t", package)
    monkeypatch.setitem(sys.modules, "m3t.data", module)
    with gzip.open(folder / "ep1.pkl.gz") as opened:
        theirs = pickle.load(opened)
    assert type(theirs) is Trajectory
    np.testing.assert_array_equal(theirs.rewards, read_release(folder / "ep1.pkl.gz").rewards)


def test_what_is_refused(tmp_path):
    (tmp_path / "a.pkl.gz").write_bytes(b"no archive")
    with pytest.raises(UserError, match="not an episode"):
        read_release(tmp_path / "a.pkl.gz")
    (tmp_path / "b.pkl.gz").write_bytes(gzip.compress(pickle.dumps(print)))
    with pytest.raises(UserError, match=r"it holds a builtins.print"):
        read_release(tmp_path / "b.pkl.gz")
    world = wakesleep.make("DoorKey_S5")
    with pytest.raises(UserError, match="not a task of StarCraft II"):
        export_release("DoorKey_S5", world, anything, jax.random.key(0), 3, tmp_path)
    with pytest.raises(UserError, match="at least one"):
        export_release(TASK, WORLD, anything, jax.random.key(0), 0, tmp_path)

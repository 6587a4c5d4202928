"""What is saved comes back as it was, or with a sentence."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep import UserError, store
from wakesleep.nets.policy import MLPConfig
from wakesleep.worlds.minigrid.tasks import ACTION, OBSERVATION


class Saved(NamedTuple):
    weights: object
    key: jax.Array
    count: np.ndarray
    nothing: None = None


def value(seed=0, wide=np.float64):
    networks = MLPConfig((8, 4)).make(OBSERVATION, ACTION, jax.random.key(seed))
    return Saved(networks, jax.random.key(seed + 5), np.array([1.5, seed], wide))


def same(one, two):
    key_data = [jax.random.key_data(tree.key) for tree in (one, two)]
    return bool((key_data[0] == key_data[1]).all()) and eqx.tree_equal(one._replace(key=0), two._replace(key=0))


def test_a_tree_comes_back_exactly(tmp_path):
    """Networks, random keys, and NumPy arrays wider than JAX's."""
    store.save_tree(tmp_path / "tree.npz", value(1))
    back = store.load_tree(tmp_path / "tree.npz", value(2))
    assert same(back, value(1))
    assert back.count.dtype == np.float64
    assert not same(back, value(2))


def test_shapes_are_enough_to_load_by(tmp_path):
    store.save_tree(tmp_path / "tree.npz", value(1).weights)
    like = eqx.filter_eval_shape(lambda: value(0).weights)
    assert eqx.tree_equal(store.load_tree(tmp_path / "tree.npz", like), value(1).weights)


def test_numpy_opens_it_by_the_names_of_its_parts(tmp_path):
    store.save_tree(tmp_path / "tree.npz", value().weights)
    with np.load(tmp_path / "tree.npz") as archive:
        np.testing.assert_array_equal(archive["policy.head.bias"], np.zeros(6))


def test_what_does_not_fit_is_refused(tmp_path):
    file = tmp_path / "tree.npz"
    store.save_tree(file, {"a": jnp.zeros(3), "b": jnp.zeros(2)})
    with pytest.raises(UserError, match=r"a'.* has shape \(3,\)"):
        store.load_tree(file, {"a": jnp.zeros(4), "b": jnp.zeros(2)})
    with pytest.raises(UserError, match="something else"):
        store.load_tree(file, {"a": jnp.zeros(3)})
    with pytest.raises(UserError, match="there is no"):
        store.load_tree(tmp_path / "none.npz", {})


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_damaged_file_is_found(tmp_path, damage):
    file = tmp_path / "tree.npz"
    store.save_tree(file, {"a": jnp.arange(100.0)})
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[len(content) // 2 - 40] ^= 0xFF
    file.write_bytes({"cut": content[:-30], "flip": content, "empty": b"", "text": b"hello"}[damage])
    with pytest.raises(UserError, match="damaged"):
        store.load_tree(file, {"a": jnp.zeros(100)})


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    file = tmp_path / "note.json"
    store.save_json(file, {"old": True})

    def fails(beside):
        beside.write_text('{"new": ')
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        store.write_atomically(file, fails)
    assert store.load_json(file) == {"old": True}


def test_json_that_is_none(tmp_path):
    (tmp_path / "bad.json").write_text('{"half": ')
    with pytest.raises(UserError, match="cannot be read as JSON"):
        store.load_json(tmp_path / "bad.json")

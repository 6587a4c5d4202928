"""Values on disk: trees of arrays as NumPy files, and files that are either old or new, never half-written.

A tree is saved as `.npz`, one array per leaf, named by its place in the tree: `numpy.load` opens it anywhere. Loading
wants a value of the same form, and checks names, shapes and types against it; the archive carries checksums.
"""

import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import yaml

from wakesleep.errors import UserError

T = TypeVar("T")


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make the file beside its place, then move it there."""
    beside = file.with_name(f".{file.name}.new")
    write(beside)
    with beside.open("rb+") as opened:
        os.fsync(opened.fileno())
    beside.replace(file)


@contextmanager
def folder_lock(folder: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Be alone in a folder: wait, calling `waiting`, until another process that is in it leaves or dies."""
    try:
        import fcntl
    except ImportError:  # Windows: there it is up to the user
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as opened:
        while True:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waiting()
                time.sleep(0.2)
        yield  # closing the file, by whatever end, opens the lock


def save_json(file: Path, content: Any) -> None:
    """Write a value as JSON; the file is either the old one or the whole new one."""
    text = json.dumps(content, indent=2) + "\n"
    write_atomically(file, lambda beside: beside.write_text(text))


def load_json(file: Path) -> dict[str, Any]:
    """Read a JSON object: all that we keep as JSON is one."""
    try:
        content = json.loads(file.read_text())
    except FileNotFoundError as error:
        raise UserError(f"there is no {file}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise UserError(f"{file} is not a JSON object: it was written by something else, or damaged")
    return content


def load_yaml(file: Path) -> Any:
    """Read YAML that a user wrote."""
    try:
        return yaml.safe_load(file.read_text())
    except FileNotFoundError as error:
        raise UserError(f"there is no {file}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise UserError(f"{file} is not YAML{where}: {getattr(error, 'problem', None) or error}") from error


def save_tree(file: Path, tree: Any) -> None:
    """Write the array leaves of a tree, atomically."""

    def write(beside: Path) -> None:
        with beside.open("wb") as opened:
            np.savez(opened, **{name: _plain(leaf) for name, leaf in _named(tree)})  # type: ignore[arg-type]

    write_atomically(file, write)


def load_arrays(file: Path) -> dict[str, np.ndarray]:
    """All arrays of a file by name."""
    try:
        with np.load(file) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise UserError(f"there is no {file}") from error
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise UserError(f"{file} is damaged and cannot be read ({error}): remove it and make it again") from error


def load_array(file: Path, name: str) -> np.ndarray:
    """One array of a file."""
    stored = load_arrays(file)
    if name not in stored:
        raise UserError(f"{file} holds something else than was asked for: there is no {name!r} in it")
    return stored[name]


def load_tree(file: Path, like: T) -> T:
    """Read a tree of the same form as `like`: arrays, or only their shapes and types (`eqx.filter_eval_shape`)."""
    stored = load_arrays(file)
    names = [name for name, _ in _named(like)]
    if sorted(names) != sorted(stored):
        other = sorted(set(names) ^ set(stored))[0]
        raise UserError(f"{file} holds something else than was asked for: {other!r} is in only one of the two")
    leaves = []
    for name, leaf in _named(like):
        is_key, found = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key), stored[name]
        plain = jax.eval_shape(jax.random.key_data, leaf) if is_key else leaf
        if found.shape != plain.shape or found.dtype != plain.dtype:
            raise UserError(
                f"{file} does not fit: {name} has shape {found.shape} and type {found.dtype},"
                f" not {plain.shape} and {plain.dtype}"
            )
        if is_key:
            leaves.append(jax.random.wrap_key_data(jnp.asarray(found)))
        else:
            leaves.append(found if isinstance(leaf, np.ndarray | np.generic) else jnp.asarray(found))
    arrays, rest = eqx.partition(like, is_array)
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(arrays), leaves), rest)


def is_array(leaf: Any) -> bool:
    """Whether a leaf of a tree is stored: an array of JAX or NumPy, or the shape and type of one."""
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct | np.ndarray | np.generic)


def _named(tree: Any) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, is_array))
    return [(jax.tree_util.keystr(path).lstrip(".") or "value", leaf) for path, leaf in leaves]


def _plain(leaf: Any) -> np.ndarray:
    """Random keys as the numbers that they are made of."""
    return np.asarray(jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)

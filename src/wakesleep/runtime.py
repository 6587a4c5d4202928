"""How this process uses the machine: one core for XLA, its widest vectors, faster random bits, and compiled programs
kept on disk between runs.

Importing the library changes nothing in the process; the command line and the benchmarks call `set_up` first.
"""

import os
from pathlib import Path

import jax
from jax.extend.random import threefry2x32_p
from jax.interpreters import mlir

from wakesleep.threefry import threefry

CACHE_VARIABLE = "WAKESLEEP_CACHE"
"""Environment variable that names the folder for compiled programs; empty: keep none."""

_FLAGS = {
    "xla_cpu_multi_thread_eigen": "false",
    "xla_cpu_prefer_vector_width": "512",  # XLA's default is half of what today's processors have
}


def cache_folder() -> Path | None:
    """Where compiled programs are kept: $WAKESLEEP_CACHE, else wakesleep/xla in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wakesleep" / "xla"


def set_up() -> None:
    """Compute on one thread and fast, and use JAX's persistent compilation cache. Call before the first computation.

    One thread per process is what several lifetimes on one machine want: more of them on small matrices only
    get in each other's way. Set NPROC and XLA_FLAGS yourself for anything else. Random numbers are the same as without
    this, all else but for rounding.
    """
    given = os.environ.get("XLA_FLAGS", "")
    ours = [f"--{flag}={value}" for flag, value in _FLAGS.items() if flag not in given]
    os.environ["XLA_FLAGS"] = " ".join([*given.split(), *ours])
    os.environ.setdefault("NPROC", "1")  # the size of XLA's pool of threads
    mlir.register_lowering(threefry2x32_p, mlir.lower_fun(threefry, multiple_results=True), platform="cpu")
    if folder := cache_folder():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:  # a read-only home: run without the cache
            return
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)

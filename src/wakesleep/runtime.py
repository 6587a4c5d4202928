"""How this process uses the machine: one core for XLA, and compiled programs kept on disk between runs.

Importing the library changes nothing in the process; the command line and the benchmarks call `set_up` first.
"""

import os
from pathlib import Path

import jax

CACHE_VARIABLE = "WAKESLEEP_CACHE"
"""Environment variable that names the folder for compiled programs; empty: keep none."""


def cache_folder() -> Path | None:
    """Where compiled programs are kept: $WAKESLEEP_CACHE, else wakesleep/xla in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wakesleep" / "xla"


def set_up() -> None:
    """Compute on one thread, and use JAX's persistent compilation cache. Call before the first computation.

    One thread per process is what several lifetimes on one machine want: more of them on small matrices only
    get in each other's way. Set NPROC and XLA_FLAGS yourself for anything else.
    """
    flags = os.environ.get("XLA_FLAGS", "").split()
    if not any("xla_cpu_multi_thread_eigen" in flag for flag in flags):
        os.environ["XLA_FLAGS"] = " ".join([*flags, "--xla_cpu_multi_thread_eigen=false"])
    os.environ.setdefault("NPROC", "1")  # the size of XLA's pool of threads
    if folder := cache_folder():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:  # a read-only home: run without the cache
            return
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)

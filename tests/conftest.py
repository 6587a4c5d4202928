"""Tests share compiled programs through JAX's persistent cache, and run on one thread per process."""

from wakesleep import runtime

runtime.set_up()

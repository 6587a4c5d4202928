"""The random bits are JAX's own, and computed without a loop."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32

from wakesleep.threefry import threefry

DRAWS = """
import sys
import jax, numpy as np
if sys.argv[1] == "ours":
    from wakesleep import runtime
    runtime.set_up()
key = jax.random.key(3)
draws = [
    jax.random.bits(key, (33,)), jax.random.uniform(key, (7, 5)), jax.random.randint(key, (9,), 0, 5),
    jax.random.permutation(key, 20), jax.random.key_data(jax.random.split(key, 4)),
    jax.random.key_data(jax.random.fold_in(key, 9)),
]
print([np.asarray(drawn).tolist() for drawn in draws])
print("while" in jax.jit(lambda key: jax.random.bits(key, (33,))).lower(key).compile().as_text())
"""


def drawn_by(whom):
    environment = {**os.environ, "WAKESLEEP_CACHE": ""}
    done = subprocess.run(
        [sys.executable, "-c", DRAWS, whom], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.splitlines()


def test_all_draws_are_the_same_with_and_without_our_set_up():
    theirs, ours = drawn_by("theirs"), drawn_by("ours")
    assert ours[0] == theirs[0]
    assert ours[1] == "False"


def test_the_known_answers_of_the_generator():
    """From the test vectors of Random123, with all counters and keys 0, all ones, and digits of pi."""
    ones = 0xFFFFFFFF
    known = {
        (0, 0, 0, 0): (0x6B200159, 0x99BA4EFE),
        (ones, ones, ones, ones): (0x1CB996FC, 0xBB002BE7),
        (0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3): (0xC4923A9C, 0x483DF7A0),
    }
    for words, expected in known.items():
        assert tuple(int(word) for word in threefry(*map(jnp.uint32, words))) == expected


def test_jax_s_function_of_the_same_name():
    key, counts = jnp.array([5, 9], jnp.uint32), jnp.arange(64, dtype=jnp.uint32)
    theirs = jax.jit(threefry_2x32)(key, counts)
    ours = jnp.concatenate(threefry(key[0], key[1], *jnp.split(counts, 2)))
    np.testing.assert_array_equal(ours, theirs)

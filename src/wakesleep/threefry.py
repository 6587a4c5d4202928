"""JAX's random bits, without a loop.

On a CPU, JAX computes the twenty rounds of its generator, Threefry-2x32 (Salmon et al. 2011), in a loop of four rounds
at a time. A loop is what XLA cannot fuse: a single random number costs ten times as long as it would, and a world draws
several in every step. Here the rounds stand one after the other. The bits are the same.
"""

import jax.numpy as jnp
from jaxtyping import Array, UInt32

Words = UInt32[Array, "..."]

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA


def threefry(key_0: Words, key_1: Words, word_0: Words, word_1: Words) -> list[Words]:
    """Two words of counters, scrambled with two words of key."""
    keys = key_0, key_1, key_0 ^ key_1 ^ jnp.uint32(_PARITY)
    word_0, word_1 = word_0 + keys[0], word_1 + keys[1]
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            word_0 = word_0 + word_1
            word_1 = word_0 ^ (word_1 << jnp.uint32(by) | word_1 >> jnp.uint32(32 - by))
        word_0 = word_0 + keys[(group + 1) % 3]
        word_1 = word_1 + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return [word_0, word_1]

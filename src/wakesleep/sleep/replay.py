"""What is kept of waking: pairs of what was seen and what was done about it.

The *wake buffer* is first in, first out, and holds the last stretch of this waking (Algorithm 1, line 6). The *random
replay* buffer is for life: each sleep leaves it a few pairs from the wake buffer, drawn at random (Algorithm 2, line
14). When it is full it makes room so that every past sleep keeps the same share: the sleeps that hold most give up
pairs, at random, until all fit.

Observations stay in the world's own type. A label is an action taken, or the policy's logits.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from wakesleep.errors import UserError
from wakesleep.nets.policy import Actor
from wakesleep.wake.rollout import Rollout
from wakesleep.worlds.world import ActionSpec, MaskedObservation, ObservationSpec


class Pairs(eqx.Module):
    """What was seen and what was done, leading axis: the pairs."""

    observation: Any
    label: Array
    """An action (whole numbers) or logits (floats)."""

    @property
    def size(self) -> int:
        """How many there are, or fit."""
        return self.label.shape[0]

    @property
    def bytes(self) -> int:
        """Memory that they take."""
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(self))

    def __getitem__(self, rows: Int[Array, "rows"]) -> "Pairs":
        """Those in the given places."""
        return jax.tree.map(lambda leaf: leaf[rows], self)

    def __add__(self, others: "Pairs") -> "Pairs":
        """These, then the others."""
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), self, others)


def empty_pairs(observation: ObservationSpec, action: ActionSpec, capacity: int, logits: bool = False) -> Pairs:
    """Zeros, with room for so many pairs; labels are actions, or logits."""
    if capacity < 1:
        raise UserError(f"a buffer holds at least one pair, not {capacity}")
    view: Any = jnp.zeros((capacity, *observation.shape), observation.dtype)
    if action.masked:
        view = MaskedObservation(view, jnp.zeros((capacity, action.sizes[0]), bool))
    shape, dtype = ((sum(action.sizes),), jnp.float32) if logits else (action.shape, jnp.int32)
    return Pairs(view, jnp.zeros((capacity, *shape), dtype))


class WakeBuffer(eqx.Module):
    """The last pairs of this waking: first in, first out."""

    pairs: Pairs
    written: Int[Array, ""]
    """How many pairs ever came in."""

    @property
    def filled(self) -> Int[Array, ""]:
        """How many pairs it holds."""
        return jnp.minimum(self.written, self.pairs.size)

    def add(self, pairs: Pairs) -> "WakeBuffer":
        """Put pairs in, in order; of more than it holds, the last ones stay."""
        size, count = self.pairs.size, pairs.size
        dropped = max(0, count - size)
        places = (self.written + jnp.arange(dropped, count)) % size
        stored = jax.tree.map(lambda old, new: old.at[places].set(new[dropped:].astype(old.dtype)), self.pairs, pairs)
        return WakeBuffer(stored, self.written + count)

    def record(self, rollout: Rollout, policy: Actor) -> "WakeBuffer":
        """Put a rollout in, in order of time; labels are its actions, or the policy's logits where those are kept."""
        observation, action = jax.tree.map(
            lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (rollout.observation, rollout.action)
        )
        wants_logits = jnp.issubdtype(self.pairs.label.dtype, jnp.floating)
        return self.add(Pairs(observation, policy(observation) if wants_logits else action))

    def draw(self, key: Key[Array, ""], count: int) -> Pairs:
        """Pairs drawn at random, each independently. There must be some."""
        return self.pairs[jax.random.randint(key, (count,), 0, jnp.maximum(self.filled, 1))]


def wake_buffer(
    observation: ObservationSpec, action: ActionSpec, capacity: int = 20_000, logits: bool = False
) -> WakeBuffer:
    """An empty wake buffer. The paper has 20,000 pairs in Minigrid, and 10,000 in StarCraft II."""
    return WakeBuffer(empty_pairs(observation, action, capacity, logits), jnp.int32(0))


class RandomReplay(eqx.Module):
    """A few pairs of every sleep, for life. Pairs lie in the order in which sleeps came."""

    pairs: Pairs
    sleep: Int[np.ndarray, "capacity"]
    """Which sleep each pair is from; -1 where there is none yet."""

    @property
    def filled(self) -> int:
        """How many pairs it holds."""
        return int((self.sleep >= 0).sum())

    def add(self, buffer: WakeBuffer, count: int, key: Key[Array, ""]) -> "RandomReplay":
        """Take so many different pairs of a sleep's wake buffer, or all if it has fewer."""
        choice_key, room_key = jax.random.split(key)
        available, capacity = int(buffer.filled), self.pairs.size
        count = min(count, available, capacity)
        chosen = jax.random.permutation(choice_key, available)[:count]
        sleep = np.concatenate([self.sleep[: self.filled], np.full(count, self.sleep.max() + 1)])
        kept = np.sort(_fair_share(sleep, capacity, room_key))
        missing = capacity - len(kept)

        def joined(old: Array, new: Array) -> Array:
            """In NumPy: the shapes differ with every sleep, and JAX would compile for each."""
            both = np.concatenate([np.asarray(old)[: self.filled], np.asarray(new[chosen])])[kept]
            return jnp.asarray(np.pad(both, [(0, missing)] + [(0, 0)] * (both.ndim - 1)))

        pairs = jax.tree.map(joined, self.pairs, buffer.pairs)
        return RandomReplay(pairs, np.concatenate([sleep[kept], np.full(missing, -1)]))


def random_replay(
    observation: ObservationSpec, action: ActionSpec, capacity: int = 4096, logits: bool = False
) -> RandomReplay:
    """An empty random-replay buffer with room for so many pairs."""
    return RandomReplay(empty_pairs(observation, action, capacity, logits), np.full(capacity, -1))


def _fair_share(sleep: np.ndarray, capacity: int, key: Key[Array, ""]) -> np.ndarray:
    """Which pairs stay: sleeps give up pairs from the fullest down to one common level, which pairs is chance.

    Where the level does not divide evenly, older sleeps keep the odd pair.
    """
    if len(sleep) <= capacity:
        return np.arange(len(sleep))
    numbers, counts = np.unique(sleep, return_counts=True)
    shares = np.minimum(counts, capacity // len(counts))
    while (left := capacity - shares.sum()) > 0:  # the room that small sleeps leave goes to those who have more
        wanting = np.flatnonzero(shares < counts)
        if left < len(wanting):
            shares[wanting[:left]] += 1
        else:
            shares[wanting] = np.minimum(counts[wanting], shares[wanting] + left // len(wanting))
    order = np.asarray(jax.random.permutation(key, len(sleep)))
    kept = [order[sleep[order] == number][:share] for number, share in zip(numbers, shares, strict=True)]
    return np.concatenate(kept)

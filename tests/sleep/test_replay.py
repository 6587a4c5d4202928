"""Buffers: order, capacity, fairness, types, bytes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worlds.toys import Console
from wakesleep import ActionSpec, MaskedObservation, ObservationSpec, UserError
from wakesleep.sleep.replay import Pairs, _fair_share, random_replay, wake_buffer
from wakesleep.worlds.minigrid.tasks import ACTION, OBSERVATION

SEEN, DONE = ObservationSpec.of((2,), np.int16, 0, 30_000), ActionSpec.single(1000)


def pairs(numbers):
    numbers = jnp.asarray(numbers, jnp.int16)
    return Pairs(jnp.stack([numbers, numbers], axis=1), numbers.astype(jnp.int32))


def held(buffer):
    return np.asarray(buffer.pairs.label)[: int(buffer.filled)].tolist()


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from([1, 5, 12]), st.lists(st.sampled_from([1, 4, 13]), min_size=1, max_size=6)
)  # few shapes to compile
def test_first_in_first_out(capacity, sizes):
    """Whatever the pieces, it holds the last `capacity` pairs, observations with their labels."""
    buffer, at = wake_buffer(SEEN, DONE, capacity), 0
    for size in sizes:
        buffer = buffer.add(pairs(range(at, at + size)))
        at += size
    assert sorted(held(buffer)) == list(range(max(0, at - capacity), at))
    filled = int(buffer.filled)
    assert filled == min(at, capacity)
    np.testing.assert_array_equal(buffer.pairs.observation[:filled, 1], buffer.pairs.label[:filled])


def test_draws_come_from_what_is_there():
    buffer = wake_buffer(SEEN, DONE, 100).add(pairs(range(5, 12)))
    drawn = np.asarray(buffer.draw(jax.random.key(0), 2000).label)
    assert set(drawn) == set(range(5, 12))
    assert np.bincount(drawn)[5:].min() > 200  # all about equally often: 286


def test_it_can_be_filled_inside_a_compiled_loop():
    def step(buffer, number):
        return buffer.add(pairs(number + jnp.arange(3))), None

    buffer, _ = jax.jit(lambda buffer: jax.lax.scan(step, buffer, jnp.arange(0, 30, 3)))(wake_buffer(SEEN, DONE, 7))
    assert sorted(held(buffer)) == list(range(23, 30))


def test_types_and_bytes_are_the_worlds():
    buffer = wake_buffer(OBSERVATION, ACTION)
    assert buffer.pairs.observation.dtype == np.uint8
    assert buffer.pairs.bytes == 20_000 * (147 + 4)
    console = Console()
    masked = wake_buffer(console.observation_spec, console.action_spec, 10, logits=True)
    assert isinstance(masked.pairs.observation, MaskedObservation)
    assert masked.pairs.label.shape == (10, 6)
    assert masked.pairs.bytes == 10 * (2 * 4 + 2 + 6 * 4)
    with pytest.raises(UserError, match="at least one pair"):
        wake_buffer(OBSERVATION, ACTION, 0)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from([3, 20]),
    st.lists(st.tuples(st.sampled_from([2, 50]), st.sampled_from([1, 8])), min_size=1, max_size=7),
)
def test_every_sleep_keeps_its_share(capacity, sleeps):
    """Never over capacity, never less than possible, and no sleep holds two more than one that had more to give."""
    replay, taken = random_replay(SEEN, DONE, capacity), []
    for number, (available, count) in enumerate(sleeps):
        buffer = wake_buffer(SEEN, DONE, 64).add(pairs(number * 100 + np.arange(available)))
        replay = replay.add(buffer, count, jax.random.key(number))
        taken.append(min(available, count, capacity))
    labels, sleep = held(replay), replay.sleep[: replay.filled]
    assert len(labels) == len(set(labels))  # no pair twice
    assert [label // 100 for label in labels] == sleep.tolist() == sorted(sleep.tolist())
    assert len(labels) <= capacity
    if sum(taken) <= capacity:
        assert len(labels) == sum(taken)
    elif capacity >= len(sleeps):
        counts = np.bincount(sleep, minlength=len(sleeps))
        assert counts.min() >= 1
        full = [number for number, size in enumerate(taken) if counts[number] < size]
        assert all(counts[number] >= counts.max() - 1 for number in full[:1])


def test_the_papers_sixteen_sleeps_fill_it_and_the_next_gets_an_equal_share():
    replay = random_replay(SEEN, DONE)
    for number in range(20):
        buffer = wake_buffer(SEEN, DONE, 500).add(pairs(np.full(500, number)))
        replay = replay.add(buffer, 256, jax.random.key(number))
        if number == 15:
            assert np.bincount(replay.sleep).tolist() == [256] * 16
    counts = np.bincount(replay.sleep)
    assert len(counts) == 20
    assert counts.sum() == 4096
    assert counts.max() - counts.min() <= 1


def test_which_pairs_give_way_is_chance():
    sleep = np.repeat([0, 1], [100, 100])
    kept = np.concatenate([_fair_share(sleep, 100, jax.random.key(seed)) for seed in range(200)])
    counts = np.bincount(kept, minlength=200)
    assert counts.sum() == 200 * 100
    assert counts.min() > 60  # each of 200 stays in half of the cases: 100
    assert counts.max() < 140

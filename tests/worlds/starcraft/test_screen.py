"""The feature screen against what is known of the game's."""

import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.screen import blocks_of, map_point_of, render, sides
from wakesleep.worlds.starcraft.units import Kind


def draw(things, screen=64, compact=False):
    """The layers with things (kind, x, y, shown, selected)."""
    kind, x, y, shown, selected = zip(*things, strict=True)
    return np.asarray(
        render(
            jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32), jnp.asarray(kind, jnp.int32), jnp.asarray(shown),
            jnp.asarray(selected), screen, compact=compact,
        )
    )  # fmt: skip


def test_sizes_in_pixels():
    assert sides(64)[[Kind.MARINE, Kind.ROACH, Kind.ZERGLING, Kind.BANELING, Kind.SHARD]].tolist() == [2, 3, 2, 2, 3]
    assert sides(32)[1:].tolist() == [1, 1, 1, 1, 1]
    assert sides(128)[[Kind.MARINE, Kind.SHARD]].tolist() == [4, 5]


def test_the_camera():
    """A shard at the left edge of its box covers columns 4 to 6, as in the authors' published frame."""
    layers = draw([(Kind.SHARD, 23.0, 35.0, True, False)])
    rows, columns = np.nonzero(layers[..., interface.UNIT_TYPE])
    assert sorted(set(columns.tolist())) == [4, 5, 6]
    assert sorted(set(rows.tolist())) == [4, 5, 6]
    corner = draw([(Kind.MARINE, 44.0, 20.0, True, False)])  # the arena ends before row 47
    assert not corner[47:].any()
    assert corner[44:47, 60:63].any()


@pytest.mark.parametrize(("compact", "expected"), [(False, [48, 110, 105, 9, 1680]), (True, [1, 2, 3, 4, 5])])
def test_units_have_pysc2s_numbers(compact, expected):
    kinds = [Kind.MARINE, Kind.ROACH, Kind.ZERGLING, Kind.BANELING, Kind.SHARD]
    layers = draw([(kind, 24.0 + 4 * place, 28.0, True, False) for place, kind in enumerate(kinds)], compact=compact)
    for place, number in enumerate(expected):
        (column,), (row,) = (
            np.asarray(part)
            for part in blocks_of(jnp.array([24.0 + 4 * place]), jnp.array([28.0]), jnp.array([kinds[place]]), 64)[:2]
        )
        assert layers[row, column].tolist() == [number, 0, 1]
    assert (layers[..., interface.UNIT_TYPE] > 0).sum() == 4 + 9 + 4 + 4 + 9


def test_density_counts_and_marines_are_on_top():
    here = (30.0, 28.0)
    layers = draw([
        (Kind.SHARD, *here, True, False), (Kind.MARINE, *here, True, True), (Kind.MARINE, *here, True, False),
        (Kind.ROACH, *here, False, False),
    ])  # fmt: skip
    assert layers[..., interface.UNIT_DENSITY].max() == 3
    assert layers[..., interface.UNIT_DENSITY].sum() == 9 + 4 + 4
    assert (layers[..., interface.SELECTED] == 1).sum() == 4
    marine = layers[..., interface.UNIT_TYPE] == 48
    assert marine.sum() == 4
    np.testing.assert_array_equal(marine, layers[..., interface.SELECTED] == 1)


def test_density_ends_at_its_greatest_value():
    layers = draw([(Kind.ZERGLING, 30.0, 28.0, True, False)] * 20)
    assert layers[..., interface.UNIT_DENSITY].max() == 15


def test_pixels_and_points_agree():
    for screen in (16, 32, 64):
        pixel = np.arange(screen)
        x, y = map_point_of(pixel, pixel, screen)
        unit = 24 / screen
        np.testing.assert_allclose(x, 21 + unit * (pixel + 0.5), rtol=1e-6)
        np.testing.assert_allclose(y, 37 - unit * (pixel + 0.5), rtol=1e-6)

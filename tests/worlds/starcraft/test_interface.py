"""What agents see and do: PySC2's numbers, the grid, and that the networks of the paper fit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep import UserError
from wakesleep.nets.fully_conv import FullyConvConfig
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.units import Kind


def test_functions_are_those_of_the_authors():
    assert interface.FUNCTION_IDS.tolist() == [0, 1, 2, 3, 12, 140, 168, 261, 274, 331, 333, 451, 453]
    used = {
        function.name: [name for (name, _), uses in zip(interface.PARTS, row, strict=True) if uses][1:]
        for function, row in zip(interface.FUNCTIONS, interface.ACTION_SPEC.uses, strict=True)
    }
    assert used["no_op"] == used["Stop_quick"] == used["HoldPosition_quick"] == used["Cancel_quick"] == []
    assert used["move_camera"] == ["minimap"]
    assert used["select_point"] == ["screen", "select_point_act"]
    assert used["select_rect"] == ["screen", "screen2", "select_add"]
    assert used["Attack_screen"] == used["Move_screen"] == used["Patrol_screen"] == used["Smart_screen"] == ["screen"]
    assert interface.ACTION_SPEC.sizes == (13, 256, 256, 256, 2, 4)
    assert interface.FUNCTIONS[interface.SMART].name == "Smart_screen"
    assert interface.FUNCTIONS[interface.STOP].name == "Stop_quick"


def test_layers_are_pysc2s():
    spec = interface.observation_spec()
    assert spec.shape == (64, 64, 3)
    assert [(layer.name, layer.number) for layer in interface.LAYERS] == [
        ("unit_type", 6), ("selected", 7), ("unit_density", 14)
    ]  # fmt: skip
    np.testing.assert_array_equal(spec.high[5, 7], [1961, 1, 15])
    assert np.iinfo(spec.dtype).max >= 1961
    compact = interface.observation_spec(32, compact=True)
    assert compact.dtype == np.uint8
    np.testing.assert_array_equal(compact.high[0, 0], [5, 1, 15])


def test_compact_numbers_are_the_kinds():
    ids = np.array([[48, 110, 105], [9, 1680, 0], [7, 1961, 5000]])
    expected = [[Kind.MARINE, Kind.ROACH, Kind.ZERGLING], [Kind.BANELING, Kind.SHARD, 0], [0, 0, 0]]
    np.testing.assert_array_equal(interface.compact_types(ids), expected)


@pytest.mark.parametrize("screen", [16, 32, 64, 128])
def test_places_are_pixels_in_the_middle_of_their_cells(screen):
    column, row = interface.pixel_of(np.arange(256), screen)
    assert len(set(zip(column.tolist(), row.tolist(), strict=True))) == 256
    assert column.max() < screen
    np.testing.assert_array_equal(interface.place_of(column, row, screen), np.arange(256))


def test_places_of_the_authors():
    """Pixels 2, 6, ..., 62 of 64; places count row by row."""
    assert [interface.pixel_of(place)[0] for place in range(16)] == list(range(2, 64, 4))
    assert interface.pixel_of(17) == (6, 6)
    assert interface.pixel_of(3 * 16 + 1) == (6, 14)


@pytest.mark.parametrize("screen", [0, 8, 40, 63, 100])
def test_screens_that_the_grid_does_not_divide_are_refused(screen):
    with pytest.raises(UserError, match=f"not {screen}"):
        interface.observation_spec(screen)


def test_actions_by_name():
    action = interface.action(interface.SELECT_RECT, screen=17, screen2=35, select_add=1)
    assert action.tolist() == [3, 17, 0, 35, 1, 0]
    assert interface.describe(action) == "select_rect select_add 1 screen 1,1 screen2 3,2"
    with pytest.raises(UserError, match="no argument queued"):
        interface.action(interface.MOVE, queued=1)


@pytest.mark.parametrize(("screen", "compact", "rows"), [(64, False, 1962), (32, True, 6)])
def test_the_papers_network_fits(screen, compact, rows):
    spec = interface.observation_spec(screen, compact=compact)
    network = FullyConvConfig(interface.CATEGORICAL, interface.PLACES)

    def shapes():  # nothing is computed
        networks = network.make(spec, interface.ACTION_SPEC, jax.random.key(0))
        return networks, networks.policy.features(jnp.zeros((1, *spec.shape), spec.dtype))

    networks, features = eqx.filter_eval_shape(shapes)
    assert [embedding.weight.shape[0] for embedding in networks.policy.extractor.embeddings] == [rows, 2]
    assert features.shape == (1, 8192)

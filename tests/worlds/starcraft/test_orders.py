"""Selection and orders by PySC2's functions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.worlds.starcraft.battles import FOE, MARINE, OWN, ROACH, army, having
from wakesleep.worlds.starcraft import interface, orders
from wakesleep.worlds.starcraft.interface import action
from wakesleep.worlds.starcraft.screen import blocks_of, map_point_of
from wakesleep.worlds.starcraft.units import NO_UNIT, Order

_command = functools.partial(jax.jit, static_argnums=2)(orders.apply_action)


def command(units, function, **arguments):
    return _command(units, action(function, **arguments), 64)


def at(place):
    """The point of the map that a place means."""
    x, y = map_point_of(*interface.pixel_of(place), 64)
    return float(x), float(y)


PLACES = [4 * 16 + 3, 4 * 16 + 6, 8 * 16 + 3]  # of the three Marines
ENEMY = 6 * 16 + 12


@pytest.fixture
def units():
    """Three Marines and a Roach in the middle of cells of the grid."""
    return army([(MARINE, *at(place)) for place in PLACES], [(ROACH, *at(ENEMY))])


def selected(units):
    return np.flatnonzero(units.selected).tolist()


def test_point_selects_one(units):
    units = command(units, interface.SELECT_POINT, screen=PLACES[1])
    assert selected(units) == [1]
    assert selected(command(units, interface.SELECT_POINT, screen=PLACES[2])) == [2]


def test_point_toggles(units):
    toggle = functools.partial(command, function=interface.SELECT_POINT, select_point_act=interface.TOGGLE)
    units = toggle(toggle(units, screen=PLACES[0]), screen=PLACES[2])
    assert selected(units) == [0, 2]
    assert selected(toggle(units, screen=PLACES[0])) == [2]


def test_point_selects_all_of_a_type(units):
    every = command(units, interface.SELECT_POINT, screen=PLACES[1], select_point_act=interface.SELECT_ALL_TYPE)
    assert selected(every) == [0, 1, 2]
    some = having(units, 0, selected=True)
    added = command(some, interface.SELECT_POINT, screen=PLACES[1], select_point_act=interface.ADD_ALL_TYPE)
    assert selected(added) == [0, 1, 2]


def test_a_click_on_the_ground_changes_nothing(units):
    units = having(units, 1, selected=True)
    for mode in range(4):
        assert selected(command(units, interface.SELECT_POINT, screen=0, select_point_act=mode)) == [1]
    assert selected(command(units, interface.SELECT_RECT, screen=0, screen2=17)) == [1]


def test_a_click_on_an_enemy_selects_it_and_leaves_no_orders(units):
    units = command(having(units, 1, selected=True), interface.SELECT_POINT, screen=ENEMY)
    assert selected(units) == [FOE]
    assert not orders.available_functions(units)[interface.ATTACK]
    mixed = command(having(units, FOE, selected=True), interface.SELECT_POINT, screen=PLACES[0])
    assert selected(mixed) == [0]
    kept = having(having(units, FOE, selected=False), 1, selected=True)
    toggled = command(kept, interface.SELECT_POINT, screen=ENEMY, select_point_act=interface.TOGGLE)
    assert selected(toggled) == [1]


def test_rectangles_replace_and_add(units):
    upper = {"screen": PLACES[1], "screen2": PLACES[0]}  # corners in any order
    assert selected(command(units, interface.SELECT_RECT, **upper)) == [0, 1]
    last = having(units, 2, selected=True)
    assert selected(command(last, interface.SELECT_RECT, **upper)) == [0, 1]
    assert selected(command(last, interface.SELECT_RECT, **upper, select_add=1)) == [0, 1, 2]
    assert selected(command(units, interface.SELECT_RECT, screen=0, screen2=255)) == [0, 1, 2]  # no enemies


def test_dead_units_are_never_selected(units):
    units = having(units, 1, life=0.0, selected=True)
    assert selected(command(units, interface.SELECT_RECT, screen=0, screen2=255)) == [0, 2]
    assert selected(command(units, interface.NO_OP)) == []


@pytest.mark.parametrize(
    ("function", "place", "order", "aim"),
    [
        (interface.ATTACK, 100, Order.ATTACK_MOVE, NO_UNIT),
        (interface.ATTACK, ENEMY, Order.TARGET, FOE),
        (interface.SMART, 100, Order.MOVE, NO_UNIT),
        (interface.SMART, ENEMY, Order.TARGET, FOE),
        (interface.MOVE, 100, Order.MOVE, NO_UNIT),
        (interface.MOVE, ENEMY, Order.MOVE, NO_UNIT),
        (interface.PATROL, 100, Order.PATROL, NO_UNIT),
        (interface.HOLD, 0, Order.HOLD, NO_UNIT),
        (interface.STOP, 0, Order.IDLE, NO_UNIT),
    ],
)
def test_orders_reach_the_selected_and_only_them(units, function, place, order, aim):
    before = having(having(units, 1, selected=True), 0, order=Order.PATROL)
    after = command(having(before, 1, order=Order.MOVE), function, screen=place)
    assert (int(after.order[1]), int(after.aim[1])) == (order, aim)
    if order in (Order.MOVE, Order.ATTACK_MOVE, Order.PATROL):
        assert (after.goal_x[1], after.goal_y[1]) == pytest.approx(at(place))
    assert after.order[0] == Order.PATROL
    assert after.order[FOE] == Order.IDLE
    assert (after.x == before.x).all()


def test_goals_lie_in_the_arena(units):
    after = command(having(units, 0, selected=True), interface.MOVE, screen=15 * 16)
    assert (float(after.goal_x[0]), float(after.goal_y[0])) == (22, 20)


@pytest.mark.parametrize(
    "function", [interface.MOVE_CAMERA, interface.CANCEL, interface.CANCEL_LAST, interface.HALT, 77]
)
def test_some_functions_do_nothing(units, function):
    units = having(having(units, 1, selected=True), 1, order=Order.PATROL)
    after = command(units, function, screen=ENEMY, screen2=255, select_add=1)
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(units), jax.tree.leaves(after), strict=True))


def test_orders_need_a_selection(units):
    assert orders.available_functions(units).tolist() == [True] * 4 + [False] * 9
    units = having(units, 2, selected=True)
    assert orders.available_functions(units).tolist() == [True] * 5 + [False] * 3 + [True] * 5
    assert not orders.available_functions(having(units, 2, life=0.0))[interface.MOVE]


def test_a_group_has_room_around_its_goal(units):
    every = command(units, interface.SELECT_RECT, screen=0, screen2=255)
    assert (command(every, interface.MOVE, screen=100).slack[:3] > 0.5).all()
    one = command(units, interface.SELECT_POINT, screen=PLACES[0])
    assert command(one, interface.MOVE, screen=100).slack[0] == 0


def test_clicks_hit_what_is_drawn(units):
    """Every place whose pixel a unit's block covers selects it, and no other does."""
    places = jnp.arange(256)
    clicked = jax.vmap(lambda place: _command(units, action(interface.SELECT_POINT, screen=place), 64).selected)(places)
    blocks = jax.tree.map(np.asarray, blocks_of(units.x, units.y, units.kind, 64))
    column, row = interface.pixel_of(np.arange(256))
    for slot in range(OWN - 1):
        inside = (column >= blocks.column[slot]) & (column < blocks.column[slot] + 2)
        inside &= (row >= blocks.row[slot]) & (row < blocks.row[slot] + 2)
        np.testing.assert_array_equal(np.asarray(clicked)[:, slot], inside)

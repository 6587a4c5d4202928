"""From an action to selection and orders: what PySC2's functions do to units.

A place of the action means a pixel of the screen, and a pixel a point of the arena. A click on a pixel that a unit
covers is a click on the unit. What is modelled of the game's own rules:

- `select_point` on empty ground, and `select_rect` around nothing, change nothing. A click on an enemy selects it (then
  no orders are available); shards cannot be selected.
- `Attack_screen` on an enemy attacks that one, elsewhere it is attack-move. `Smart_screen` on an enemy attacks it,
  elsewhere it moves. `Move_screen` and `Patrol_screen` always mean the ground.
- `move_camera` does nothing: the arena fits the screen, and the maps lock the camera.
- A function that is not available, or out of range, does nothing.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.battle import BOTTOM, ENEMIES, LEFT, RIGHT, TOP
from wakesleep.worlds.starcraft.screen import blocks_of, map_point_of
from wakesleep.worlds.starcraft.units import NO_UNIT, STATISTICS, Kind, Order, Units

_PACKING = float(STATISTICS.radius[Kind.MARINE]) * 1.2
"""Radius of a crowd of Marines per root of their number."""


def own_slots(slots: int) -> np.ndarray:
    """Return which of so many slots are the player's, bool[slots]."""
    return np.arange(slots) < slots - ENEMIES


def available_functions(units: Units) -> Bool[Array, "functions"]:
    """Return which functions can be called now: the action mask."""
    commanded = jnp.any(units.selected & units.alive & own_slots(len(units.x)))
    return jnp.where(interface.NEEDS_SELECTION, commanded, ~interface.NEVER_AVAILABLE)


def apply_action(units: Units, action: Int[Array, "6"], screen: int) -> Units:
    """Return the units after an action of the player, before the next game loop.

    Args:
        units: of both sides.
        action: a function and its arguments.
        screen: pixels each way.
    """
    function, point, _, corner, add, mode = (action[part] for part in range(len(interface.PARTS)))
    blocks = blocks_of(units.x, units.y, units.kind, screen)
    column, row = interface.pixel_of(point, screen)
    column2, row2 = interface.pixel_of(corner, screen)
    under = units.alive & blocks.overlaps(column, row, column, row)
    inside = units.alive & blocks.overlaps(
        jnp.minimum(column, column2), jnp.minimum(row, row2), jnp.maximum(column, column2), jnp.maximum(row, row2)
    )
    x, y = map_point_of(column, row, screen)
    x, y = jnp.clip(x, LEFT, RIGHT), jnp.clip(y, BOTTOM, TOP)  # units go as near as they can get
    clicked = _nearest(units, under, x, y)
    selected = jnp.where(function == interface.SELECT_POINT, _select_point(units, clicked, mode), units.selected)
    selected = jnp.where(function == interface.SELECT_RECT, _select_rect(units, inside, add), selected)
    return _give_order(units, function, _nearest(units, under & ~own_slots(len(units.x)), x, y), x, y)._replace(
        selected=selected & units.alive
    )


def _nearest(
    units: Units, among: Bool[Array, "slots"], x: Float[Array, ""], y: Float[Array, ""]
) -> Bool[Array, "slots"]:
    """The one of them that is nearest to a point, the others false."""
    distance = jnp.where(among, jnp.square(units.x - x) + jnp.square(units.y - y), jnp.inf)
    return among & (jnp.arange(len(among)) == jnp.argmin(distance))


def _select_point(units: Units, clicked: Bool[Array, "slots"], mode: Int[Array, ""]) -> Bool[Array, "slots"]:
    """The selection after a click on a unit (or on none) in one of the four modes."""
    own = own_slots(len(units.x))
    mine = units.selected & own
    kind = jnp.sum(jnp.where(clicked, units.kind, 0))
    same_type = jnp.where(jnp.any(clicked & own), own & (units.kind == kind) & units.alive, clicked)
    theirs_too = ~jnp.any(clicked & own) & jnp.any(mine)  # own and other units cannot be selected together
    chosen = jnp.select(
        [mode == interface.SELECT, mode == interface.TOGGLE, mode == interface.SELECT_ALL_TYPE],
        [clicked, jnp.where(theirs_too, mine, mine ^ clicked), same_type],
        jnp.where(theirs_too, mine, mine | same_type),
    )
    return jnp.where(jnp.any(clicked), chosen, units.selected)


def _select_rect(units: Units, inside: Bool[Array, "slots"], add: Int[Array, ""]) -> Bool[Array, "slots"]:
    """The selection after a rectangle."""
    own = own_slots(len(units.x))
    chosen = (inside | ((add > 0) & units.selected)) & own
    return jnp.where(jnp.any(inside & own), chosen, units.selected)


def _give_order(
    units: Units, function: Int[Array, ""], target: Bool[Array, "slots"], x: Float[Array, ""], y: Float[Array, ""]
) -> Units:
    """Give the selected units of the player an order; `target` marks the enemy that was clicked."""
    is_order = jnp.any((np.arange(len(interface.FUNCTIONS)) == function) & interface.NEEDS_SELECTION)
    ordered = units.selected & units.alive & own_slots(len(units.x)) & is_order
    at_enemy = jnp.any(target)
    order = jnp.select(
        [function == interface.ATTACK, function == interface.SMART, function == interface.MOVE,
         function == interface.PATROL, function == interface.HOLD],
        [jnp.where(at_enemy, Order.TARGET, Order.ATTACK_MOVE), jnp.where(at_enemy, Order.TARGET, Order.MOVE),
         Order.MOVE, Order.PATROL, Order.HOLD],
        Order.IDLE,
    )  # fmt: skip
    stays = (order == Order.HOLD) | (order == Order.IDLE)
    aim = jnp.where(order == Order.TARGET, jnp.argmax(target), NO_UNIT)
    number = jnp.sum(ordered)
    return units._replace(
        order=jnp.where(ordered, order, units.order),
        aim=jnp.where(ordered, aim, units.aim),
        goal_x=jnp.where(ordered, jnp.where(stays, units.x, x), units.goal_x),
        goal_y=jnp.where(ordered, jnp.where(stays, units.y, y), units.goal_y),
        from_x=jnp.where(ordered, units.x, units.from_x),
        from_y=jnp.where(ordered, units.y, units.from_y),
        slack=jnp.where(ordered, jnp.where(number > 1, _PACKING * jnp.sqrt(number), 0.0), units.slack),
    )

"""Units: their statistics, as arrays by kind, and the slots that hold them in a battle.

Numbers are those of the game's data (patches 4.10 to 5.0, SC2Mapster/SC2GameData). They are given per second of game
time at normal speed, which has 16 loops; the arrays hold them per loop.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

LOOPS_PER_SECOND = 16
LOOPS_PER_STEP = 8
"""Game loops between two actions of an agent (PySC2's `step_mul` in the minigames)."""


class Kind(IntEnum):
    """What a slot holds: the compact numbers of `interface.TYPE_IDS`."""

    NONE = 0
    MARINE = 1
    ROACH = 2
    ZERGLING = 3
    BANELING = 4
    SHARD = 5


class Statistics(NamedTuple):
    """A number per kind, or per unit. Distances are in the world's units, times in loops."""

    life: Any
    armour: Any
    light: Any
    """1 for units that weapons against light ones hurt more."""
    damage: Any
    light_damage: Any
    """Added against light units."""
    period: Any
    """Loops between two attacks."""
    damage_point: Any
    """Loops from the start of an attack until it is irrevocable; the unit stands still so long."""
    missile: Any
    """Distance per loop that a missile flies; infinite where weapons hit at once."""
    reach: Any
    """Greatest distance of an attack, from edge to edge."""
    scan: Any
    """Distance, edge to edge, within which a unit that is free to do so finds its targets."""
    speed: Any
    radius: Any
    sight: Any
    regeneration: Any
    bursts: Any
    """1 for units that attack by bursting, and burst when they die."""


_NOTHING = dict.fromkeys(Statistics._fields, 0.0) | {"period": 1e9, "missile": np.inf, "reach": -9.0, "scan": -9.0}
_ZERG = {"regeneration": 0.2734, "scan": 5}
_PER_SECOND = {
    Kind.MARINE: {
        "life": 45, "light": 1, "damage": 6, "period": 0.8608, "damage_point": 0.05, "reach": 5, "scan": 5.5,
        "speed": 2.25, "radius": 0.375, "sight": 9,
    },
    Kind.ROACH: _ZERG | {
        "life": 145, "armour": 1, "damage": 16, "period": 2.0, "damage_point": 0.167, "missile": 18.75, "reach": 4,
        "speed": 2.25, "radius": 0.5, "sight": 9,
    },
    Kind.ZERGLING: _ZERG | {
        "life": 35, "light": 1, "damage": 5, "period": 0.696, "damage_point": 0.167, "reach": 0.1,
        "speed": 2.953, "radius": 0.375, "sight": 8,
    },
    Kind.BANELING: _ZERG | {
        "life": 30, "damage": 16, "light_damage": 19, "reach": 0.25, "bursts": 1,
        "speed": 2.5, "radius": 0.375, "sight": 8,
    },
    Kind.SHARD: {"radius": 0.5},
}  # fmt: skip


def _per_loop() -> Statistics:
    """The table above as arrays by kind, with times in loops."""
    rows = [_NOTHING | _PER_SECOND.get(kind, {}) for kind in Kind]
    table = Statistics(**{name: np.array([row[name] for row in rows], np.float32) for name in Statistics._fields})
    return table._replace(
        period=table.period * LOOPS_PER_SECOND,
        damage_point=table.damage_point * LOOPS_PER_SECOND,
        missile=table.missile / LOOPS_PER_SECOND,
        speed=table.speed / LOOPS_PER_SECOND,
        regeneration=table.regeneration / LOOPS_PER_SECOND,
    )


STATISTICS = _per_loop()
"""By kind."""

SPLASH_RADIUS = 2.2
"""Foes whose centre is so near to that of a bursting Baneling are hurt, all equally."""
PICK_UP_RADIUS = 1.4
"""Distance of centres at which a Marine takes a shard: the shard's range of 1 and about the Marine's radius."""
SHARDS = 20


class Order(IntEnum):
    """The order of a unit, which holds until it is carried out or another one is given."""

    IDLE = 0
    """Fight what comes near, and what hits it or a friend nearby; then return."""
    MOVE = 1
    ATTACK_MOVE = 2
    """Go somewhere, and fight what comes near on the way."""
    TARGET = 3
    """Attack one unit."""
    PATROL = 4
    """Go to and fro as in `ATTACK_MOVE`."""
    HOLD = 5
    """Stay, and fight what is in reach."""


NO_UNIT = -1


class Units(NamedTuple):
    """All units of a battle, one slot each: the player's first, then the enemy's. A slot with life 0 is empty."""

    kind: Int[Array, "slots"]
    x: Float[Array, "slots"]
    y: Float[Array, "slots"]
    life: Float[Array, "slots"]
    cooldown: Float[Array, "slots"]
    """Loops until the next attack may begin."""
    windup: Float[Array, "slots"]
    """Loops that the unit still stands still for the attack it has begun."""
    strike_on: Int[Array, "slots"]
    """Slot that an attack under way will hit, else `NO_UNIT`."""
    strike_in: Float[Array, "slots"]
    """Loops until it does."""
    aim: Int[Array, "slots"]
    """Slot of the foe that the unit fights, else `NO_UNIT`."""
    order: Int[Array, "slots"]
    goal_x: Float[Array, "slots"]
    """Where the order leads; for an idle unit, where it returns to."""
    goal_y: Float[Array, "slots"]
    from_x: Float[Array, "slots"]
    """The other end of a patrol."""
    from_y: Float[Array, "slots"]
    slack: Float[Array, "slots"]
    """Distance from the goal at which the unit has arrived: units that share a goal cannot all stand on it."""
    selected: Bool[Array, "slots"]

    @property
    def alive(self) -> Bool[Array, "*batch slots"]:
        """Which slots hold a living unit."""
        return self.life > 0

    def statistics(self) -> Statistics:
        """Return the statistics of every unit: arrays of shape [slots]."""
        return jax.tree.map(lambda by_kind: jnp.asarray(by_kind)[self.kind], STATISTICS)


def new_units(kind: Int[Array, "slots"], x: Float[Array, "slots"], y: Float[Array, "slots"]) -> Units:
    """Return units that have just appeared: with full life, idle, not selected. Slots of kind NONE are empty."""
    still = jnp.zeros_like(x)
    nobody = jnp.full_like(kind, NO_UNIT)
    return Units(
        kind=kind,
        x=x,
        y=y,
        life=jnp.asarray(STATISTICS.life)[kind],
        cooldown=still,
        windup=still,
        strike_on=nobody,
        strike_in=still,
        aim=nobody,
        order=jnp.full_like(kind, Order.IDLE),
        goal_x=x,
        goal_y=y,
        from_x=x,
        from_y=y,
        slack=still,
        selected=jnp.zeros(kind.shape, bool),
    )

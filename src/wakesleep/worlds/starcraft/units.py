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


def _per_kind() -> Statistics:
    loop = 1 / LOOPS_PER_SECOND
    inf, roach_missile = np.inf, 18.75 * loop
    rows = {
        #                life armour light damage +light period damage-point missile reach scan speed radius sight regen burst
        Kind.NONE:      (0, 0, 0, 0, 0, 1e9, 0, inf, -9, -9, 0, 0, 0, 0, 0),
        Kind.MARINE:    (45, 0, 1, 6, 0, 0.8608, 0.05, inf, 5, 5.5, 2.25, 0.375, 9, 0, 0),
        Kind.ROACH:     (145, 1, 0, 16, 0, 2.0, 0.167, roach_missile, 4, 5, 2.25, 0.5, 9, 0.2734, 0),
        Kind.ZERGLING:  (35, 0, 1, 5, 0, 0.696, 0.167, inf, 0.1, 5, 2.953, 0.375, 8, 0.2734, 0),
        Kind.BANELING:  (30, 0, 0, 16, 19, 1e9, 0, inf, 0.25, 5, 2.5, 0.375, 8, 0.2734, 1),
        Kind.SHARD:     (0, 0, 0, 0, 0, 1e9, 0, inf, -9, -9, 0, 0.5, 0, 0, 0),
    }  # fmt: skip
    by_field = Statistics(*np.array([rows[kind] for kind in Kind], np.float32).T)
    return by_field._replace(
        period=by_field.period * LOOPS_PER_SECOND,
        damage_point=by_field.damage_point * LOOPS_PER_SECOND,
        speed=by_field.speed * loop,
        regeneration=by_field.regeneration * loop,
    )


STATISTICS = _per_kind()
"""By kind."""

SPLASH_RADIUS = 2.2
"""Foes whose centre is so near to that of a bursting Baneling are hurt, all equally."""
PICK_UP_RADIUS = 1.4
"""Distance of centres at which a Marine takes a shard: the shard's range of 1 and about the Marine's radius."""
SHARDS = 20


class Order(IntEnum):
    """What a unit has been told, which it does until it is done or told something else."""

    IDLE = 0
    """Fight what comes near, and what hurts it or a friend nearby; then return."""
    MOVE = 1
    ATTACK_MOVE = 2
    """Go somewhere, and fight what comes near on the way."""
    TARGET = 3
    """Attack one unit."""
    PATROL = 4
    """Go to and fro as in `ATTACK_MOVE`."""
    HOLD = 5
    """Stay, and fight what is in reach."""


NOBODY = -1


class Units(NamedTuple):
    """All that fights: one slot per unit, the player's first, then the enemy's. A slot with life 0 is empty."""

    kind: Int[Array, "slots"]
    x: Float[Array, "slots"]
    y: Float[Array, "slots"]
    life: Float[Array, "slots"]
    cooldown: Float[Array, "slots"]
    """Loops until the next attack may begin."""
    windup: Float[Array, "slots"]
    """Loops that the unit still stands still for the attack it has begun."""
    strike_on: Int[Array, "slots"]
    """Slot that an attack under way will hit, else `NOBODY`."""
    strike_in: Float[Array, "slots"]
    """Loops until it does."""
    aim: Int[Array, "slots"]
    """Slot of the foe that the unit fights, else `NOBODY`."""
    order: Int[Array, "slots"]
    goal_x: Float[Array, "slots"]
    """Where the order leads; for an idle unit, where it returns to."""
    goal_y: Float[Array, "slots"]
    from_x: Float[Array, "slots"]
    """The other end of a patrol."""
    from_y: Float[Array, "slots"]
    slack: Float[Array, "slots"]
    """How near to the goal is there: those that share one cannot all stand on it."""
    selected: Bool[Array, "slots"]

    @property
    def alive(self) -> Bool[Array, "slots"]:
        """Which slots hold a living unit."""
        return self.life > 0

    def statistics(self) -> Statistics:
        """The statistics of every unit."""
        return jax.tree.map(lambda by_kind: jnp.asarray(by_kind)[self.kind], STATISTICS)


def fresh(kind: Int[Array, "slots"], x: Float[Array, "slots"], y: Float[Array, "slots"]) -> Units:
    """Units that have just appeared: full of life, idle, not selected; empty slots where the kind is none."""
    still = jnp.zeros_like(x)
    nobody = jnp.full_like(kind, NOBODY)
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

"""One game loop, a sixteenth of a second: attacks land, units die, find targets, strike, and move.

Everything is decided from the positions at the loop's beginning, for both sides alike and at once. All slots are in
one array, the enemy's last, so that friends and foes are one computation with a mask. Work over pairs is arranged
[other, unit] and reduced over the first axis.

The game's own code is not public. Its data give the statistics, the random part of the cooldown, the radius in which a
unit that is hit calls for help, and how far idle units follow a foe. Ours are the rules of `_find_targets` (keep to a
target in reach, else turn to the nearest) and of collision (push apart, step aside).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from wakesleep.worlds.starcraft.units import NO_UNIT, SPLASH_RADIUS, Order, Statistics, Units

LEFT, RIGHT, BOTTOM, TOP = 22.0, 44.0, 20.0, 36.0
"""The arena, in the map's coordinates: x grows to the right, y upwards. Units' centres stay in it."""
CENTRE = (33.0, 28.0)
ENEMIES = 16
"""Slots of the enemy, the last ones; all before them are the player's."""
MAX_SLOTS = 128

COOLDOWN_JITTER = (-1.0, 2.0)
"""Loops that a cooldown is longer by, drawn uniformly for each."""
MIN_DAMAGE = 0.5
HELP_RADIUS = 4.0
"""Friends so near to a unit that is hit turn on the attacker."""
LEASH = 21.0
"""How far idle units follow a foe from where they stood."""
SCAN_PERIOD = 4
"""Loops between two looks for a target."""
HOME_RADIUS = 1.0
"""Idle units farther from their place than this return to it."""
MAX_PUSH = 0.25
"""How far others push a unit in a loop."""
SIDESTEP = 0.7
"""How much of a push becomes a step aside for a unit that wants to move."""

_DISTANCE_STEPS = 4096  # distances are compared in this fraction of a unit, with the slot in the lowest bits
_INT_MAX = np.int32(2**31 - 1)


class PairGeometry(NamedTuple):
    """Offsets and distances between every two units, indexed [other, unit]."""

    dx: Float[Array, "slots slots"]
    """From the unit to the other."""
    dy: Float[Array, "slots slots"]
    distance: Float[Array, "slots slots"]
    touching: Float[Array, "slots slots"]
    """Distance at which the two touch."""


def step_loop(units: Units, stats: Statistics, jitter: Float[Array, "slots"], number: Int[Array, ""]) -> Units:
    """Return the units after one game loop.

    Args:
        units: of both sides; the enemy's are the last `ENEMIES` slots.
        stats: of every unit.
        jitter: loops that are added to the cooldown of an attack that begins now.
        number: of this loop in the episode, from 0.
    """
    pairs = _pair_geometry(units, stats)
    units, hit_by = _land_attacks(units, stats)
    units = _find_targets(units, stats, pairs, hit_by, number)
    units, bursts = _start_attacks(units, stats, jitter)
    units = _explode(units, stats, pairs, bursts)
    return _move(units, stats, pairs)


def _foes(slots: int) -> np.ndarray:
    """Which pairs are of different sides."""
    enemy = np.arange(slots) >= slots - ENEMIES
    return enemy[:, None] != enemy


def _pair_geometry(units: Units, stats: Statistics) -> PairGeometry:
    dx = units.x[:, None] - units.x
    dy = units.y[:, None] - units.y
    return PairGeometry(dx, dy, jnp.sqrt(dx * dx + dy * dy), stats.radius[:, None] + stats.radius)


def _land_attacks(units: Units, stats: Statistics) -> tuple[Units, Int[Array, "slots"]]:
    """Let attacks under way hit. Returns the units, and the slot of the unit that hit each one, else `NO_UNIT`.

    A unit that dies before its attack is irrevocable does not finish it.
    """
    slots = units.x.shape[0]
    under_way = (units.strike_on != NO_UNIT) & (units.alive | (units.windup <= 0))
    strike_in = units.strike_in - 1
    lands = under_way & (strike_in <= 0)
    target = jnp.maximum(units.strike_on, 0)
    damage = stats.damage + stats.light_damage * stats.light[target] - stats.armour[target]
    damage = jnp.where(lands, jnp.maximum(damage, MIN_DAMAGE), 0.0)
    damage_taken = jnp.zeros(slots).at[target].add(damage)
    hit_by = jnp.full(slots, NO_UNIT).at[target].max(jnp.where(lands, jnp.arange(slots), NO_UNIT))
    most = jnp.maximum(units.life, jnp.where(units.alive, stats.life, 0))
    healed = jnp.where(units.alive, jnp.minimum(units.life + stats.regeneration, most), 0.0)
    units = units._replace(
        life=jnp.maximum(healed - damage_taken, 0.0),
        cooldown=jnp.maximum(units.cooldown - 1, -1),
        windup=jnp.maximum(units.windup - 1, 0),
        strike_on=jnp.where(under_way & ~lands, units.strike_on, NO_UNIT),
        strike_in=strike_in,
    )
    return units, hit_by


def _find_targets(
    units: Units, stats: Statistics, pairs: PairGeometry, hit_by: Int[Array, "slots"], number: Int[Array, ""]
) -> Units:
    """Choose the foe that each unit fights (`aim`)."""
    alive, order = units.alive, units.order
    nearest, nearest_gap = _nearest_foe(units, pairs)
    attacker = _attacker(units, pairs, hit_by)
    aim_alive = (units.aim != NO_UNIT) & alive[units.aim]
    in_reach = aim_alive & (_distance_to(units, stats, units.aim) <= stats.reach)
    at_home = jnp.hypot(units.x - units.goal_x, units.y - units.goal_y) <= LEASH
    keeps = aim_alive & ((order != Order.IDLE) | at_home)
    looks = (number + np.arange(len(alive))) % SCAN_PERIOD == 0
    finds = looks & (nearest_gap <= jnp.where(order == Order.HOLD, stats.reach, stats.scan))
    free = jnp.where(in_reach, units.aim, jnp.where(finds, nearest, jnp.where(keeps, units.aim, attacker)))
    holding = jnp.where(in_reach, units.aim, jnp.where(finds, nearest, NO_UNIT))
    done = (order == Order.TARGET) & ~aim_alive
    aim = jnp.select([order == Order.MOVE, order == Order.HOLD, (order == Order.TARGET) & ~done],
                     [NO_UNIT, holding, units.aim], free)  # fmt: skip
    return _make_idle(units._replace(aim=jnp.where(alive, aim, NO_UNIT)), done)


def _nearest_foe(units: Units, pairs: PairGeometry) -> tuple[Int[Array, "slots"], Float[Array, "slots"]]:
    """The nearest living foe, and its distance from edge to edge.

    Distance and slot are packed into one integer: a minimum of integers is much faster than an argmin.
    """
    slots = len(units.x)
    gap = jnp.maximum(pairs.distance - pairs.touching, 0)
    ranked = (gap * _DISTANCE_STEPS).astype(jnp.int32) * MAX_SLOTS + np.arange(slots, dtype=np.int32)[:, None]
    best = jnp.min(jnp.where(_foes(slots) & units.alive[:, None], ranked, _INT_MAX), axis=0)
    return best % MAX_SLOTS, (best // MAX_SLOTS) / _DISTANCE_STEPS


def _attacker(units: Units, pairs: PairGeometry, hit_by: Int[Array, "slots"]) -> Int[Array, "slots"]:
    """Who has just hit a unit or a friend of its nearby, if that one lives: what a call for help points at."""
    calls = ~_foes(len(units.x)) & (hit_by != NO_UNIT)[:, None] & (pairs.distance <= HELP_RADIUS)
    attacker = jnp.max(jnp.where(calls, hit_by[:, None], NO_UNIT), axis=0)
    return jnp.where(units.alive[attacker], attacker, NO_UNIT)


def _distance_to(units: Units, stats: Statistics, other: Int[Array, "slots"]) -> Float[Array, "slots"]:
    """Distance from edge to edge to another unit."""
    return jnp.hypot(units.x[other] - units.x, units.y[other] - units.y) - stats.radius[other] - stats.radius


def _make_idle(units: Units, done: Bool[Array, "slots"]) -> Units:
    """Units that have carried out their order become idle where they are."""
    return units._replace(
        order=jnp.where(done, Order.IDLE, units.order),
        goal_x=jnp.where(done, units.x, units.goal_x),
        goal_y=jnp.where(done, units.y, units.goal_y),
    )


def _start_attacks(
    units: Units, stats: Statistics, jitter: Float[Array, "slots"]
) -> tuple[Units, Bool[Array, "slots"]]:
    """Begin attacks on targets in reach. Also returns which units burst: attacking, or dead since the last loop."""
    gap = _distance_to(units, stats, units.aim)
    strikes = (units.aim != NO_UNIT) & (gap <= stats.reach) & (units.cooldown <= 0) & (units.strike_on == NO_UNIT)
    bursts = (stats.bursts > 0) & (strikes | ~units.alive) & (units.cooldown <= 0)
    throws = strikes & (stats.bursts == 0)
    units = units._replace(
        cooldown=jnp.where(strikes | bursts, units.cooldown + stats.period + jitter, units.cooldown),
        windup=jnp.where(throws, stats.damage_point, units.windup),
        strike_on=jnp.where(throws, units.aim, units.strike_on),
        strike_in=jnp.where(throws, stats.damage_point + jnp.maximum(gap, 0) / stats.missile, units.strike_in),
    )
    return units, bursts


def _explode(units: Units, stats: Statistics, pairs: PairGeometry, bursts: Bool[Array, "slots"]) -> Units:
    """Damage all foes around the units that burst, and remove those units."""
    damage_taken = jnp.sum(
        jnp.where(
            _foes(units.x.shape[0]) & bursts[:, None] & (pairs.distance <= SPLASH_RADIUS),
            jnp.maximum(stats.damage[:, None] + stats.light_damage[:, None] * stats.light - stats.armour, MIN_DAMAGE),
            0,
        ),
        axis=0,
    )
    return units._replace(life=jnp.where(bursts, 0.0, jnp.maximum(units.life - damage_taken, 0.0)))


def _collision_push(units: Units, pairs: PairGeometry) -> tuple[Float[Array, "slots"], Float[Array, "slots"]]:
    """How far in x and y others that overlap a unit push it: half the overlap each, from the other's centre.

    The sum over others of weight (other - unit) as one small matrix product, several times faster than two sums.
    """
    solid = units.alive[:, None] & ~np.eye(len(units.x), dtype=bool)
    weight = jnp.where(solid, jnp.maximum(pairs.touching - pairs.distance, 0) / (pairs.distance + 1e-3), 0)
    own_place = 1e-4 * np.arange(len(units.x))  # parts two units in one place
    x, y = units.x - CENTRE[0] + own_place, units.y - CENTRE[1] + own_place
    sums = jnp.stack([x, y, jnp.ones_like(x)]) @ weight
    return 0.5 * (x * sums[2] - sums[0]), 0.5 * (y * sums[2] - sums[1])


def _move(units: Units, stats: Statistics, pairs: PairGeometry) -> Units:
    """Move units towards their target or goal, apart from each other, within the arena."""
    order, fights = units.order, units.aim != NO_UNIT
    towards_x = jnp.where(fights, units.x[units.aim], units.goal_x) - units.x
    towards_y = jnp.where(fights, units.y[units.aim], units.goal_y) - units.y
    distance = jnp.hypot(towards_x, towards_y)
    chases = fights & (_distance_to(units, stats, units.aim) > stats.reach)
    returns = (order == Order.IDLE) & (distance > HOME_RADIUS)
    travels = (order == Order.MOVE) | (order == Order.ATTACK_MOVE) | (order == Order.PATROL)
    walks = (chases | (~fights & (returns | travels))) & (order != Order.HOLD) & (units.windup <= 0)
    step = jnp.where(walks, jnp.minimum(stats.speed, distance) / jnp.maximum(distance, 1e-6), 0.0)

    push_x, push_y = _collision_push(units, pairs)
    side = jnp.where(walks, SIDESTEP, 0.0) * (1 - 2 * (np.arange(len(units.x)) % 2))
    push_x, push_y = push_x - side * push_y, push_y + side * push_x
    limit = jnp.minimum(1, MAX_PUSH / jnp.maximum(jnp.hypot(push_x, push_y), 1e-6))
    x = jnp.clip(units.x + step * towards_x + limit * push_x, LEFT, RIGHT)
    y = jnp.clip(units.y + step * towards_y + limit * push_y, BOTTOM, TOP)
    units = units._replace(x=jnp.where(units.alive, x, units.x), y=jnp.where(units.alive, y, units.y))

    arrived = travels & ~fights & (distance <= units.slack + stats.speed)
    turns_back = arrived & (order == Order.PATROL)
    units = units._replace(
        goal_x=jnp.where(turns_back, units.from_x, units.goal_x),
        goal_y=jnp.where(turns_back, units.from_y, units.goal_y),
        from_x=jnp.where(turns_back, units.goal_x, units.from_x),
        from_y=jnp.where(turns_back, units.goal_y, units.from_y),
    )
    return _make_idle(units, arrived & ~turns_back)

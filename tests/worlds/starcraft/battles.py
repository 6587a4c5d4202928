"""Small battles to order: a few units at given places, fought for so many loops."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.worlds.starcraft import battle
from wakesleep.worlds.starcraft.battle import ENEMIES
from wakesleep.worlds.starcraft.units import Kind, Order, new_units

OWN = 4
FOE = OWN
"""First slot of the enemy."""
SLOTS = OWN + ENEMIES
LOOPS = 480


def army(own=(), foes=()):
    """Units (kind, x, y) of both sides; all other slots are empty."""
    kind, x, y = np.zeros(SLOTS, np.int32), np.full(SLOTS, 33.0, np.float32), np.full(SLOTS, 28.0, np.float32)
    for first, side in ((0, own), (FOE, foes)):
        for slot, unit in enumerate(side, first):
            kind[slot], x[slot], y[slot] = unit
    return new_units(jnp.asarray(kind), jnp.asarray(x), jnp.asarray(y))


def having(units, slot, **fields):
    """The units with some fields of one slot changed."""
    return units._replace(**{name: getattr(units, name).at[slot].set(value) for name, value in fields.items()})


def ordered(units, slot, order, x=None, y=None, aim=-1):
    """One unit with an order."""
    at = {} if x is None else {"goal_x": x, "goal_y": y}
    return having(units, slot, order=order, aim=aim, from_x=units.x[slot], from_y=units.y[slot], **at)


def harmless(units, slot):
    """A unit that stands where it is and never strikes."""
    return having(units, slot, order=Order.HOLD, cooldown=1e9)


def tough(units, slot, life=1000.0):
    """A unit that survives."""
    return having(units, slot, life=life)


@functools.partial(jax.jit, static_argnames="loops")
def fight(units, jitter=None, loops=LOOPS):
    """All moments of a battle, leaves [time, slot], the first one included."""
    jitter = jnp.zeros(SLOTS) if jitter is None else jitter
    stats = units.statistics()

    def tick(units, number):
        return battle.step_loop(units, stats, jitter, number), units

    last, before = jax.lax.scan(tick, units, jnp.arange(loops))
    return jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), before, last)


def hits(life):
    """When a unit lost life, and how much."""
    lost = -np.diff(np.asarray(life, np.float64))
    when = np.flatnonzero(lost > 0.4)
    return when + 1, lost[when]


MARINE, ROACH, ZERGLING, BANELING = Kind.MARINE, Kind.ROACH, Kind.ZERGLING, Kind.BANELING

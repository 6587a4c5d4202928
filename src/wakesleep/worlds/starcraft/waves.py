"""The rules of an episode: where units appear, when the next wave comes, what is collected and what it pays.

A task is data, `Rules`; all tasks run the same program. Spawn boxes, offsets and rewards are those of the minigames'
scripts; what the paper's two-group variants leave open is decided in `tasks.py`.

Slots bound what can be at once: `ENEMIES` enemies, 20 shards, and so many Marines as the world has slots for. A wave
brings its reinforcements as far as there are empty slots (the game has no bound).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from wakesleep.worlds.starcraft import battle
from wakesleep.worlds.starcraft.battle import BOTTOM, CENTRE, COOLDOWN_JITTER, ENEMIES, LEFT, RIGHT, TOP
from wakesleep.worlds.starcraft.orders import apply_action, own_slots
from wakesleep.worlds.starcraft.units import LOOPS_PER_STEP, PICK_UP_RADIUS, SHARDS, STATISTICS, Kind, Units, new_units

LEFT_BOX = (23.97, 27.98, 25.06, 31.05)
RIGHT_BOX = (38.02, 42.04, 25.04, 31.08)
SHARD_BOX = (23.0, 43.0, 21.0, 35.0)
"""Least and greatest x, least and greatest y of where things appear."""
SHARD_CLEARANCE = 2.0
"""Shards do not appear nearer to a Marine than this."""
_PLACES_PER_SHARD = 6  # places drawn per shard; all of them are too near to a Marine about once in a million shards
_COLUMN_LENGTH = 15  # Marines side by side in a column; more of them begin the next one

GROUPS = 2


class Rules(NamedTuple):
    """A task. Array leaves: one program serves every task."""

    marines: Int[Array, ""]
    """At the beginning."""
    reinforcements: Int[Array, ""]
    """Marines that come with a wave."""
    enemy_kind: Int[Array, "enemies"]
    enemy_group: Int[Array, "enemies"]
    enemy_x: Float[Array, "enemies"]
    """From where the group appears to where each of it does."""
    enemy_y: Float[Array, "enemies"]
    centred: Bool[Array, ""]
    """Marines in the middle and a group on either side; else Marines on one side and group 0 on the other."""
    by_group: Bool[Array, ""]
    """A wave comes when one group is dead, and brings back that group; else when all are."""
    shards: Int[Array, ""]
    """So many, again when all are taken; then the Marines begin at random places, not selected."""
    kill_reward: Float[Array, ""]
    loss_reward: Float[Array, ""]
    shard_reward: Float[Array, ""]
    fog: Bool[Array, ""]
    """Whether the agent sees only what a Marine sees."""
    max_steps: Int[Array, ""]


class Shards(NamedTuple):
    """Mineral shards to collect."""

    x: Float[Array, "shards"]
    y: Float[Array, "shards"]
    present: Bool[Array, "shards"]
    seen: Bool[Array, "shards"]
    """Whether a Marine has seen it since it appeared; it then stays on the screen."""


class Tally(NamedTuple):
    """Counts of what happened since the episode began."""

    kills: Int[Array, ""]
    losses: Int[Array, ""]
    shards: Int[Array, ""]
    waves: Int[Array, ""]
    """Of enemies or of shards, without the first."""


class State(NamedTuple):
    """The state of one environment."""

    units: Units
    shards: Shards
    tally: Tally
    steps: Int[Array, ""]
    """Actions taken."""


class Draws(NamedTuple):
    """The random numbers of a step, in [0, 1)."""

    jitter: Float[Array, "slots"]
    """Of cooldowns."""
    side: Float[Array, ""]
    """Which side the Marines are on."""
    points: Float[Array, "2 2"]
    """Where in the two boxes units appear."""
    shards: Float[Array, "shards tries 2"]
    """Places for new shards."""


Outcome = tuple[State, Float[Array, ""], Bool[Array, ""], Bool[Array, ""]]
"""A new state, the reward, `terminated` and `truncated`."""


def initial_state(rules: Rules, key: Key[Array, ""], marine_slots: int) -> State:
    """Return the initial state of an episode.

    Args:
        rules: the task.
        key: of the places of units and shards.
        marine_slots: how many Marines there can be at once.
    """
    draw_key, place_key = jax.random.split(key)
    slots = marine_slots + ENEMIES
    draws = _draw_random_numbers(draw_key, slots)
    own = own_slots(slots)
    present = jnp.where(own, np.arange(slots) < rules.marines, True)
    units = _place_units(rules, present, draws)
    anywhere = jax.random.uniform(place_key, (2, slots))
    scattered = own & (rules.shards > 0)
    x = jnp.where(scattered, LEFT + anywhere[0] * (RIGHT - LEFT), units.x)
    y = jnp.where(scattered, BOTTOM + anywhere[1] * (TOP - BOTTOM), units.y)
    units = units._replace(x=x, y=y, goal_x=x, goal_y=y, from_x=x, from_y=y, selected=units.selected & ~scattered)
    zero = jnp.int32(0)
    return State(
        units, _remember_shards(rules, units, _place_shards(rules, units, draws)), Tally(zero, zero, zero, zero), zero
    )


def advance(rules: Rules, state: State, action: Int[Array, "6"], key: Key[Array, ""], screen: int) -> Outcome:
    """Return what one action leads to: orders are given, eight loops pass, then a wave or new shards may come.

    Args:
        rules: the task.
        state: before the action.
        action: a function and its arguments.
        key: of cooldowns and of where new units and shards appear.
        screen: pixels each way.
    """
    slots = len(state.units.x)
    draws, own = _draw_random_numbers(key, slots), own_slots(slots)
    units = apply_action(state.units, action, screen)
    stats = units.statistics()
    low, high = COOLDOWN_JITTER
    jitter = low + draws.jitter * (high - low)  # no unit attacks twice within a step

    def game_loop(
        number: Int[Array, ""], now: tuple[Units, Bool[Array, "shards"]]
    ) -> tuple[Units, Bool[Array, "shards"]]:
        units, present = now
        units = battle.step_loop(units, stats, jitter, state.steps * LOOPS_PER_STEP + number)
        return units, present & ~_near_marine(units, state.shards.x, state.shards.y, PICK_UP_RADIUS)

    units, present = jax.lax.fori_loop(0, LOOPS_PER_STEP, game_loop, (units, state.shards.present))
    died = state.units.alive & ~units.alive
    kills = jnp.sum(died & ~own, dtype=jnp.int32)
    losses = jnp.sum(died & own, dtype=jnp.int32)
    taken = jnp.sum(state.shards.present & ~present, dtype=jnp.int32)
    reward = rules.kill_reward * kills + rules.loss_reward * losses + rules.shard_reward * taken
    units = units._replace(selected=units.selected & units.alive)
    lost = ~jnp.any(units.alive & own)

    units, wave_starts = _next_wave(rules, units, draws)
    all_taken = (rules.shards > 0) & ~jnp.any(present)
    shards = state.shards._replace(present=present)
    shards = jax.tree.map(lambda new, old: jnp.where(all_taken, new, old), _place_shards(rules, units, draws), shards)
    old = state.tally
    tally = Tally(old.kills + kills, old.losses + losses, old.shards + taken, old.waves + wave_starts + all_taken)
    steps = state.steps + 1
    return State(units, _remember_shards(rules, units, shards), tally, steps), reward, lost, steps >= rules.max_steps


def visible(rules: Rules, units: Units, x: Float[Array, "things"], y: Float[Array, "things"]) -> Bool[Array, "things"]:
    """Return which places the player sees: all without fog, else those that a Marine sees."""
    return ~rules.fog | _near_marine(units, x, y, float(STATISTICS.sight[Kind.MARINE]))


def _near_marine(
    units: Units, x: Float[Array, "things"], y: Float[Array, "things"], radius: float
) -> Bool[Array, "things"]:
    """Which places have a living Marine of the player's within a radius."""
    own_x, own_y, alive = (of_all[:-ENEMIES, None] for of_all in (units.x, units.y, units.alive))
    return jnp.any((jnp.square(own_x - x) + jnp.square(own_y - y) <= radius * radius) & alive, axis=0)


def _draw_random_numbers(key: Key[Array, ""], slots: int) -> Draws:
    """All random numbers of a step by one call."""
    bits = jax.random.bits(key, (slots + 5 + SHARDS * _PLACES_PER_SHARD,), jnp.uint32)
    parts = (bits[: slots + 5] >> 8).astype(jnp.float32) / 2**24
    return Draws(parts[:slots], parts[slots], parts[slots + 1 :].reshape(2, 2), _coarse_pairs(bits[slots + 5 :]))


def _coarse_pairs(bits: UInt32[Array, "places"]) -> Float[Array, "shards tries 2"]:
    """Two coarse numbers (1 in 65,536) of each word: places of shards need no more."""
    both = jnp.stack([bits >> 16, bits & 0xFFFF], axis=-1)
    return both.astype(jnp.float32).reshape(SHARDS, _PLACES_PER_SHARD, 2) / 2**16


def _point_in_box(box: tuple[float, float, float, float], at: Float[Array, "*batch 2"]) -> Float[Array, "*batch 2"]:
    low, high = np.array([[box[0], box[2]], [box[1], box[3]]], np.float32)
    return low + at * (high - low)


def _place_units(rules: Rules, present: Bool[Array, "slots"], draws: Draws) -> Units:
    """Everyone fresh at a place to start from: Marines in a line, enemies in their groups. Marines are selected."""
    slots, own = len(present), own_slots(len(present))
    left, right = _point_in_box(LEFT_BOX, draws.points[0]), _point_in_box(RIGHT_BOX, draws.points[1])
    one, other = jnp.where(draws.side < 0.5, jnp.stack([left, right]), jnp.stack([right, left]))
    line = jnp.where(rules.centred, jnp.float32(CENTRE), one)
    rank = jnp.cumsum(present & own) - 1
    offset = (rank + 1) // 2 * jnp.where(rank % 2 == 1, 1, -1)  # 0, +1, -1, +2, -2, ...
    floor = BOTTOM + 0.5
    column = jnp.floor((line[1] + offset - floor) / _COLUMN_LENGTH)
    group = jnp.where(rules.enemy_group[:, None] == 0, other, one)
    marines = slots - ENEMIES
    x = jnp.concatenate([(line[0] + column)[:marines], group[:, 0] + rules.enemy_x])
    y = jnp.concatenate([(line[1] + offset - column * _COLUMN_LENGTH)[:marines], group[:, 1] + rules.enemy_y])
    kind = jnp.concatenate([jnp.full(marines, Kind.MARINE, jnp.int32), rules.enemy_kind])
    units = new_units(kind, jnp.clip(x, LEFT, RIGHT), jnp.clip(y, BOTTOM, TOP))
    return units._replace(life=jnp.where(present, units.life, 0.0), selected=present & own)


def _next_wave(rules: Rules, units: Units, draws: Draws) -> tuple[Units, Bool[Array, ""]]:
    """If a wave is due: the dead enemies return, Marines come, and all begin anew at their places.

    Survivors keep their life; orders, cooldowns and attacks under way are gone, and all Marines are selected. Nothing
    comes where no Marine is left. Returns the units, and whether a wave came.
    """
    slots, own, alive = len(units.x), own_slots(len(units.x)), units.alive
    group = jnp.concatenate([jnp.full(slots - ENEMIES, GROUPS), rules.enemy_group])
    exists = ~own & (units.kind != Kind.NONE)
    members = exists & (group == np.arange(GROUPS)[:, None])
    dead = jnp.any(members, axis=1) & ~jnp.any(members & alive, axis=1)
    all_dead = jnp.any(exists) & ~jnp.any(exists & alive)
    wave_starts = jnp.where(rules.by_group, jnp.any(dead), all_dead) & jnp.any(own & alive)
    returns = jnp.any(members & dead[:, None], axis=0)
    empty = own & ~alive
    joins = empty & (jnp.cumsum(empty) <= rules.reinforcements)
    replaced = _place_units(rules, alive | joins | returns, draws)
    replaced = replaced._replace(life=jnp.where(alive, units.life, replaced.life))
    return jax.tree.map(lambda new, old: jnp.where(wave_starts, new, old), replaced, units), wave_starts


def _place_shards(rules: Rules, units: Units, draws: Draws) -> Shards:
    """A new set of shards, none of them near to a Marine."""
    places = _point_in_box(SHARD_BOX, draws.shards)
    x, y = places[..., 0], places[..., 1]
    near = _near_marine(units, x.ravel(), y.ravel(), SHARD_CLEARANCE).reshape(x.shape)
    first = jnp.argmin(near, axis=1)  # the first that is not near
    x, y = (jnp.take_along_axis(at, first[:, None], axis=1)[:, 0] for at in (x, y))
    present = jnp.arange(SHARDS) < rules.shards
    return Shards(x, y, present, jnp.zeros(SHARDS, bool))


def _remember_shards(rules: Rules, units: Units, shards: Shards) -> Shards:
    """Remember the shards that are seen now."""
    return shards._replace(seen=shards.present & (shards.seen | visible(rules, units, shards.x, shards.y)))

"""Scripted policies: what simple plans achieve, to calibrate the simulator by and to compare agents with.

They act through the same 16 x 16 grid as an agent but see the state itself, as published scripts see more than
three layers. Each is a pure function of the state, so thousands of their steps compile into one program.

    attack-move  all Marines attack towards the nearest enemy
    focus-fire   all Marines attack the enemy with the least life
    alternate    select one of two Marines, send it to its nearest shard, then the same with the other
    bait         single Marines draw the Banelings, then all attack
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.worlds.protocols import Player
from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.interface import GRID, action
from wakesleep.worlds.starcraft.orders import own_slots
from wakesleep.worlds.starcraft.screen import CAMERA_LEFT, CAMERA_TOP, CAMERA_WIDTH, Blocks, blocks_of
from wakesleep.worlds.starcraft.units import NO_UNIT, Kind, Order, Units
from wakesleep.worlds.starcraft.waves import State
from wakesleep.worlds.world import MaskedObservation, World

Point = tuple[Float[Array, ""], Float[Array, ""]]
Action = Int[Array, "6"]

BAIT_DISTANCE = 4.0
"""How far before the others the bait waits."""


def scripted_players(screen: int) -> dict[str, Player]:
    """Return all scripts by name, for a screen of so many pixels each way."""
    scripts = {"attack-move": attack_move, "focus-fire": focus_fire, "alternate": alternate, "bait": bait}
    return {name: partial(script, screen) for name, script in scripts.items()}


def attack_move(screen: int, state: State, _: MaskedObservation, key: Key[Array, ""]) -> Action:
    """Select all Marines, and attack towards the nearest enemy whenever one of them is idle."""
    del key
    units = state.units
    mine, theirs = _sides(units)
    x, y = _middle(units, mine)
    enemy = _nearest(units, theirs, x, y)
    # a little beyond it: on the enemy itself the click would be an order to attack that one (in a crowd it may be)
    far = 1.5 / jnp.maximum(jnp.hypot(units.x[enemy] - x, units.y[enemy] - y), 1e-6)
    beyond = units.x[enemy] + far * (units.x[enemy] - x), units.y[enemy] + far * (units.y[enemy] - y)
    waits = jnp.any(mine & (units.order == Order.IDLE) & (units.aim < 0))
    order = action(interface.ATTACK, screen=place_near(*beyond, screen))
    return _choose([(~jnp.all(units.selected | ~mine), _select_all()), (waits, order)])


def focus_fire(screen: int, state: State, _: MaskedObservation, key: Key[Array, ""]) -> Action:
    """Attack the enemy with the least life that can be clicked, the nearest of equals."""
    del key
    units = state.units
    mine, theirs = _sides(units)
    x, y = _middle(units, mine)
    blocks = blocks_of(units.x, units.y, units.kind, screen)
    column, column_hits = _cell_under(blocks.column, blocks.side, screen)
    row, row_hits = _cell_under(blocks.row, blocks.side, screen)
    hits = theirs & column_hits & row_hits
    distance = jnp.hypot(units.x - x, units.y - y)
    weakest = jnp.argmin(jnp.where(hits, units.life + 0.01 * distance, jnp.inf))
    enemy = _nearest(units, theirs, x, y)
    near = place_near(units.x[enemy], units.y[enemy], screen)
    place = jnp.where(jnp.any(hits), row[weakest] * GRID + column[weakest], near)
    every = jnp.all(units.selected | ~mine)
    return _choose([(~every, _select_all()), (jnp.any(theirs), action(interface.ATTACK, screen=place))])


def alternate(screen: int, state: State, _: MaskedObservation, key: Key[Array, ""]) -> Action:
    """Two steps for each Marine in turn: select it, send it to the nearest shard that the other is not nearest to."""
    del key
    units, shards = state.units, state.shards
    turn = state.steps // 2 % 2
    present = shards.present & shards.seen
    to_me = jnp.hypot(shards.x - units.x[turn], shards.y - units.y[turn])
    to_other = jnp.hypot(shards.x - units.x[1 - turn], shards.y - units.y[1 - turn])
    taken = jnp.arange(len(present)) == jnp.argmin(jnp.where(present, to_other, jnp.inf))
    contested = taken & (to_other < to_me) & (jnp.sum(present) > 1)
    shard = jnp.argmin(jnp.where(present & ~contested, to_me, jnp.inf))
    go = action(interface.MOVE, screen=place_near(shards.x[shard], shards.y[shard], screen))
    blocks = blocks_of(units.x, units.y, units.kind, screen)
    lone = Blocks(*(part[turn] for part in blocks))
    return _choose([(state.steps % 2 == 0, _select_one(lone, screen)), (jnp.any(present), go)])


def bait(screen: int, state: State, observation: MaskedObservation, key: Key[Array, ""]) -> Action:
    """Send a Marine or two towards the Banelings until the enemies attack, call them back half way, then all attack."""
    units = state.units
    mine, theirs = _sides(units)
    banelings = theirs & (units.kind == Kind.BANELING)
    x, y = _middle(units, banelings)
    home_x, home_y = _middle(units, mine & ~units.selected)
    few = (jnp.sum(units.selected & mine) <= 3) & jnp.any(units.selected & mine)
    sent = jnp.any(mine & (units.order == Order.MOVE))
    attacking = jnp.any(theirs & (units.aim != NO_UNIT))
    chosen = _nearest(units, mine, x, y)
    block = Blocks(*(part[chosen] for part in blocks_of(units.x, units.y, units.kind, screen)))
    away = BAIT_DISTANCE / jnp.maximum(jnp.hypot(x - home_x, y - home_y), 1e-6)
    back = place_near(home_x + away * (x - home_x), home_y + away * (y - home_y), screen)
    return _choose(
        [
            (~jnp.any(banelings), attack_move(screen, state, observation, key)),
            (attacking & few, action(interface.MOVE, screen=back)),
            (attacking, attack_move(screen, state, observation, key)),
            (sent, action(interface.NO_OP)),
            (few, action(interface.MOVE, screen=place_near(x, y, screen))),
            (jnp.bool_(True), _select_one(block, screen)),
        ]
    )


def episode_returns(
    world: World, player: Player, key: Key[Array, ""], episodes: int, max_steps: int
) -> Float[Array, "episodes"]:
    """Play episodes side by side and return their undiscounted returns.

    Args:
        world: where to play.
        player: who chooses the actions; it is traced.
        key: of initial states, player and world.
        episodes: how many.
        max_steps: how many steps each is played, at least as many as an episode can have.
    """
    reset_key, key = jax.random.split(key)
    state, timestep = jax.vmap(world.reset)(jax.random.split(reset_key, episodes))

    def step(now: tuple, key: Key[Array, ""]) -> tuple[tuple, None]:  # type: ignore[type-arg]
        state, observation, running, total = now
        act_key, step_key = (jax.random.split(each, episodes) for each in jax.random.split(key))
        chosen = jax.vmap(player)(state, observation, act_key)
        state, timestep = jax.vmap(world.step)(state, chosen, step_key)
        total = total + jnp.where(running, timestep.reward, 0)
        return (state, timestep.observation, running & ~timestep.terminated & ~timestep.truncated, total), None

    start = state, timestep.observation, jnp.ones(episodes, bool), jnp.zeros(episodes)
    return jax.lax.scan(step, start, jax.random.split(key, max_steps))[0][3]


def _sides(units: Units) -> tuple[Bool[Array, "slots"], Bool[Array, "slots"]]:
    """The living Marines and the living enemies."""
    own = own_slots(len(units.x))
    return units.alive & own, units.alive & ~own


def _middle(units: Units, among: Bool[Array, "slots"]) -> Point:
    """The mean place of these units."""
    count = jnp.maximum(jnp.sum(among), 1)
    return jnp.sum(jnp.where(among, units.x, 0)) / count, jnp.sum(jnp.where(among, units.y, 0)) / count


def _nearest(units: Units, among: Bool[Array, "slots"], x: Float[Array, ""], y: Float[Array, ""]) -> Int[Array, ""]:
    """The slot of that of these units that is nearest to a point."""
    return jnp.argmin(jnp.where(among, jnp.hypot(units.x - x, units.y - y), jnp.inf))


def place_near(x: Float[Array, ""], y: Float[Array, ""], screen: int) -> Int[Array, ""]:
    """Return the place of the action's grid that is nearest to a point of the map."""
    scale = screen / CAMERA_WIDTH
    return interface.place_of((x - CAMERA_LEFT) * scale, (CAMERA_TOP - y) * scale, screen)


def _cell_under(
    edge: Int[Array, "*units"], side: Int[Array, "*units"], screen: int
) -> tuple[Int[Array, "*units"], Bool[Array, "*units"]]:
    """The cell whose pixel a block covers along one axis, the last before its end; and whether there is one."""
    cell = screen // GRID
    last = (edge + side - 1 - cell // 2) // cell
    return jnp.clip(last, 0, GRID - 1), last * cell + cell // 2 >= edge


def _select_one(block: Blocks, screen: int) -> Action:
    """Select what covers a block, by the smallest rectangle between places of the grid that meets it."""
    corners = []
    for edge in (block.column, block.row):
        last, covered = _cell_under(edge, block.side, screen)
        corners.append((last, jnp.where(covered, last, jnp.minimum(last + 1, GRID - 1))))
    (left, right), (upper, lower) = corners
    return action(interface.SELECT_RECT, screen=upper * GRID + left, screen2=lower * GRID + right)


def _select_all() -> Action:
    """Select everything on the screen."""
    return action(interface.SELECT_RECT, screen=0, screen2=GRID * GRID - 1)


def _choose(rules: list[tuple[Bool[Array, ""], Action]]) -> Action:
    """The action of the first rule that applies, else no_op."""
    chosen = action(interface.NO_OP)
    for applies, then in reversed(rules):
        chosen = jnp.where(applies, then, chosen)
    return chosen

"""Pictures of a battle: the arena from above, in colours of our own.

Discs are units as large as they are: blue Marines, red Roaches, orange Zerglings, green Banelings; diamonds are mineral
shards. Above each unit is its life; a white ring marks what is selected. Lines lead from Marines to where their orders
send them (green move, red attack, blue patrol); yellow rays are attacks of the last step. Fog is dark; shards that are
only remembered are pale.
"""

from typing import Any

import jax
import numpy as np
from PIL import Image, ImageDraw

from wakesleep.worlds.starcraft.battle import BOTTOM, LEFT, RIGHT, TOP
from wakesleep.worlds.starcraft.orders import own_slots
from wakesleep.worlds.starcraft.units import LOOPS_PER_STEP, NO_UNIT, STATISTICS, Kind, Order
from wakesleep.worlds.starcraft.waves import Rules, State
from wakesleep.worlds.world import AnyArray

TILE = 22
"""Pixels of one unit of length."""
_SUPERSAMPLING = 2  # everything is drawn so many times larger and then reduced, which smooths edges
_MARGIN = 0.8

_GROUND, _GRID, _EDGE = (58, 62, 68), (66, 71, 78), (120, 126, 134)
_COLOURS = {
    Kind.MARINE: (88, 152, 236), Kind.ROACH: (196, 66, 62),
    Kind.ZERGLING: (232, 150, 56), Kind.BANELING: (122, 200, 74),
}  # fmt: skip
_SHARD, _SHARD_REMEMBERED = (112, 214, 232), (96, 132, 144)
_PATHS = {
    Order.MOVE: (92, 200, 120), Order.PATROL: (96, 140, 240),
    Order.ATTACK_MOVE: (232, 86, 80), Order.TARGET: (232, 86, 80),
}  # fmt: skip


class _Canvas:
    """A picture in the map's coordinates."""

    def __init__(self, tile: int) -> None:
        self.scale = tile * _SUPERSAMPLING
        width, height = (round((RIGHT - LEFT + 2 * _MARGIN) * tile), round((TOP - BOTTOM + 2 * _MARGIN) * tile))
        self.size = width, height
        self.image = Image.new("RGB", (width * _SUPERSAMPLING, height * _SUPERSAMPLING), (24, 26, 30))
        self.pen = ImageDraw.Draw(self.image)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The pixel of a point."""
        return (x - LEFT + _MARGIN) * self.scale, (TOP - y + _MARGIN) * self.scale

    def box(self, x: float, y: float, width: float, height: float) -> list[float]:
        """The pixels of a box around a point."""
        return [*self.at(x - width / 2, y + height / 2), *self.at(x + width / 2, y - height / 2)]

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: Any, width: float = 0.06) -> None:
        """A line between two points."""
        self.pen.line([*self.at(*start), *self.at(*end)], fill=colour, width=max(1, round(width * self.scale)))

    def finished(self) -> np.ndarray:
        """The picture as an RGB array."""
        return np.asarray(self.image.resize(self.size, Image.Resampling.LANCZOS))


def draw(rules: Rules, state: State, tile: int = TILE) -> np.ndarray:
    """Return a picture of a state, uint8[height, width, 3], a unit of length `tile` pixels wide."""
    rules, state = jax.device_get((rules, state))
    canvas = _Canvas(tile)
    _draw_ground(canvas, state, fog=bool(rules.fog))
    _draw_shards(canvas, rules, state)
    units = state.units
    own = own_slots(len(units.x))
    alive = np.flatnonzero(units.life > 0).tolist()
    for slot in alive:
        _draw_order(canvas, units, slot, own)
    sight = _in_sight(state, units.x, units.y) if rules.fog else np.ones(len(own), bool)
    for slot in alive:
        if own[slot] or sight[slot]:
            _draw_unit(canvas, units, slot)
    return canvas.finished()


def _in_sight(state: State, x: AnyArray, y: AnyArray) -> np.ndarray:
    """Which places a Marine sees."""
    units = state.units
    sees = (units.life > 0) & own_slots(len(units.x))
    distance = np.hypot(units.x[sees][:, None] - x, units.y[sees][:, None] - y)
    return (distance <= STATISTICS.sight[Kind.MARINE]).any(axis=0)


def _draw_ground(canvas: _Canvas, state: State, *, fog: bool) -> None:
    """The arena with a faint grid; what no Marine sees is dark."""
    canvas.pen.rectangle([*canvas.at(LEFT, TOP), *canvas.at(RIGHT, BOTTOM)], fill=_GROUND)
    if fog:
        canvas.pen.rectangle([*canvas.at(LEFT, TOP), *canvas.at(RIGHT, BOTTOM)], fill=(36, 38, 43))
        lit = Image.new("L", canvas.image.size)
        pen, sight = ImageDraw.Draw(lit), 2 * float(STATISTICS.sight[Kind.MARINE])
        units = state.units
        for slot in np.flatnonzero((units.life > 0) & own_slots(len(units.x))):
            pen.ellipse(canvas.box(float(units.x[slot]), float(units.y[slot]), sight, sight), fill=255)
        canvas.image.paste(_GROUND, mask=lit)
        outside = Image.new("L", canvas.image.size, 255)
        ImageDraw.Draw(outside).rectangle([*canvas.at(LEFT, TOP), *canvas.at(RIGHT, BOTTOM)], fill=0)
        canvas.image.paste((24, 26, 30), mask=outside)
    for x in np.arange(LEFT + 2, RIGHT, 2):
        canvas.line((x, BOTTOM), (x, TOP), _GRID, 0.03)
    for y in np.arange(BOTTOM + 2, TOP, 2):
        canvas.line((LEFT, y), (RIGHT, y), _GRID, 0.03)
    canvas.pen.rectangle([*canvas.at(LEFT, TOP), *canvas.at(RIGHT, BOTTOM)], outline=_EDGE, width=2)


def _draw_shards(canvas: _Canvas, rules: Rules, state: State) -> None:
    """Diamonds; those that are not yet seen are left out, those that are only remembered pale."""
    shards = state.shards
    sight = _in_sight(state, shards.x, shards.y) if rules.fog else np.ones(len(shards.x), bool)
    for place in np.flatnonzero(shards.present & shards.seen):
        x, y = float(shards.x[place]), float(shards.y[place])
        corners = [canvas.at(x, y + 0.5), canvas.at(x + 0.35, y), canvas.at(x, y - 0.5), canvas.at(x - 0.35, y)]
        canvas.pen.polygon(corners, fill=_SHARD if sight[place] else _SHARD_REMEMBERED, outline=(30, 60, 70))


def _draw_order(canvas: _Canvas, units: Any, slot: int, own: np.ndarray) -> None:
    """A line to where the order leads, and a ray to what was just attacked."""
    here = float(units.x[slot]), float(units.y[slot])
    order, aim = Order(int(units.order[slot])), int(units.aim[slot])
    if own[slot] and order in _PATHS:
        goal = (units.x[aim], units.y[aim]) if order is Order.TARGET else (units.goal_x[slot], units.goal_y[slot])
        end = float(goal[0]), float(goal[1])
        canvas.line(here, end, tuple(channel * 2 // 3 for channel in _PATHS[order]))
        canvas.pen.ellipse(canvas.box(*end, 0.24, 0.24), fill=_PATHS[order])
    struck = units.cooldown[slot] > STATISTICS.period[int(units.kind[slot])] - LOOPS_PER_STEP
    if aim != NO_UNIT and struck:
        canvas.line(here, (float(units.x[aim]), float(units.y[aim])), (250, 226, 110), 0.05)


def _draw_unit(canvas: _Canvas, units: Any, slot: int) -> None:
    """A disc, a ring if it is selected, and a bar of life."""
    kind = Kind(int(units.kind[slot]))
    x, y, radius = float(units.x[slot]), float(units.y[slot]), float(STATISTICS.radius[kind])
    edge = max(1, round(0.06 * canvas.scale))
    canvas.pen.ellipse(canvas.box(x, y, 2 * radius, 2 * radius), fill=_COLOURS[kind], outline=(20, 22, 26), width=edge)
    if units.selected[slot]:
        ring = 2 * radius + 0.26
        canvas.pen.ellipse(canvas.box(x, y, ring, ring), outline=(245, 245, 245), width=edge)
    share = float(units.life[slot] / STATISTICS.life[kind])
    bar, above = 2 * radius, y + radius + 0.24
    canvas.pen.rectangle(canvas.box(x, above, bar + 0.06, 0.2), fill=(20, 22, 26))
    colour = (96, 208, 96) if share > 0.6 else (228, 200, 70) if share > 0.3 else (226, 82, 72)
    canvas.pen.rectangle(canvas.box(x - bar * (1 - share) / 2, above, bar * share, 0.13), fill=colour)

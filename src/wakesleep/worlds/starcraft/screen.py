"""The feature screen: what the agent sees of a battle.

The camera shows x 21 to 45 and y 13 to 37 of the map, 0.375 units a pixel at 64 x 64. A unit covers a square block of
pixels as wide as it is: 2 x 2 for a Marine, 3 x 3 for a Roach or a shard (a published frame of the game shows these).
Every unit adds its block to one sheet of counters, a few bits per kind in one integer, and the layers are read off it.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Shaped

from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.units import STATISTICS, Kind
from wakesleep.worlds.world import AnyArray

CAMERA_LEFT, CAMERA_TOP, CAMERA_WIDTH = 21.0, 37.0, 24.0
"""What the screen shows, in the map's coordinates."""

_BITS = 5  # of a counter: up to 31 units of a kind on one pixel
_KINDS = [kind for kind in Kind if kind != Kind.NONE]  # what is drawn, topmost first
_SELECTED = len(_KINDS)  # the counter of selected units, after those of the kinds


class Blocks(NamedTuple):
    """The squares of pixels that units cover."""

    column: Int[Array, "units"]
    """Of the left edge."""
    row: Int[Array, "units"]
    """Of the upper edge."""
    side: Int[Array, "units"]

    def overlaps(
        self, left: Int[Array, ""], upper: Int[Array, ""], right: Int[Array, ""], lower: Int[Array, ""]
    ) -> Bool[Array, "units"]:
        """Return which of them have a pixel in a rectangle, whose edges belong to it."""
        across = (self.column <= right) & (self.column + self.side > left)
        return across & (self.row <= lower) & (self.row + self.side > upper)


def sides(screen: int) -> np.ndarray:
    """Return how many pixels each way every kind of unit covers, int32[kinds]."""
    return np.maximum(1, np.round(2 * STATISTICS.radius * screen / CAMERA_WIDTH)).astype(np.int32)


def blocks_of(x: Float[Array, "units"], y: Float[Array, "units"], kind: Int[Array, "units"], screen: int) -> Blocks:
    """Return the squares of pixels that units cover, given the points of the map that they are at."""
    scale = screen / CAMERA_WIDTH
    side = jnp.asarray(sides(screen))[kind]
    column = jnp.floor((x - CAMERA_LEFT) * scale - 0.5 * side + 0.5)
    row = jnp.floor((CAMERA_TOP - y) * scale - 0.5 * side + 0.5)
    return Blocks(column.astype(jnp.int32), row.astype(jnp.int32), side)


def map_point_of(
    column: Shaped[AnyArray, "*batch"] | int, row: Shaped[AnyArray, "*batch"] | int, screen: int
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    """Return x and y on the map of the middle of a pixel."""
    unit = CAMERA_WIDTH / screen
    return jnp.asarray(CAMERA_LEFT + (column + 0.5) * unit), jnp.asarray(CAMERA_TOP - (row + 0.5) * unit)


def render(
    x: Float[Array, "units"],
    y: Float[Array, "units"],
    kind: Int[Array, "units"],
    shown: Bool[Array, "units"],
    selected: Bool[Array, "units"],
    screen: int,
    *,
    compact: bool,
) -> Integer[Array, "screen screen 3"]:
    """Draw units into the layers of `interface.LAYERS`.

    Args:
        x: of every unit on the map.
        y: of every unit on the map.
        kind: of every unit.
        shown: which units are drawn.
        selected: which units are selected.
        screen: pixels each way.
        compact: whether unit types are numbered from 1 to 5 instead of by PySC2's ids.

    Returns:
        The layers, indexed [row, column, layer].
    """
    sheet = _count(blocks_of(x, y, kind, screen), kind, shown, selected, screen)
    counts = [sheet >> (_BITS * place) & (2**_BITS - 1) for place in range(len(_KINDS) + 1)]
    density = jnp.minimum(sum(counts[:_SELECTED]), interface.LAYERS[interface.UNIT_DENSITY].values - 1)
    names = [kind if compact else interface.TYPE_IDS[kind] for kind in _KINDS]
    unit_type = jnp.select([count > 0 for count in counts[:_SELECTED]], [jnp.int32(name) for name in names], 0)
    layers = jnp.stack([unit_type, (counts[_SELECTED] > 0).astype(jnp.int32), density], axis=-1)
    dtype = interface.observation_spec(screen, compact=compact).dtype
    return layers.reshape(screen, screen, -1).astype(dtype)


def _count(
    blocks: Blocks, kind: Int[Array, "units"], shown: Bool[Array, "units"], selected: Bool[Array, "units"], screen: int
) -> Int[Array, "pixels"]:
    """How many units of each kind, and how many selected ones, cover each pixel, packed into one number."""
    across = np.arange(sides(screen).max())
    place = (kind - 1) * _BITS
    mark = jnp.where(shown, (1 << place) + (selected.astype(jnp.int32) << _BITS * _SELECTED), 0)
    within = across < blocks.side[:, None]
    covered = within[:, :, None] & within[:, None, :]
    rows, columns = blocks.row[:, None] + across, blocks.column[:, None] + across
    pixels = rows[:, :, None] * screen + columns[:, None, :]
    marks = jnp.where(covered, mark[:, None, None], 0)
    sheet = jnp.zeros(screen * screen, jnp.int32)
    return sheet.at[pixels.ravel()].add(marks.ravel(), mode="drop")

"""The agent's view: the 7 x 7 cells before it, without those that walls and closed doors hide.

Minigrid finds what is visible by sweeping light cell by cell, row by row away from the agent. A row of the view has
seven cells, so here a row is seven bits of an integer and a sweep is a handful of shifts. The result is equal in every
cell (tests compare all poses on random grids).
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8

from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.cells import Door, Kind
from wakesleep.worlds.minigrid.engine import State

VIEW = 7
_MIDDLE = VIEW // 2
_ALL_COLUMNS = 2**VIEW - 1


def _view_offsets() -> tuple[np.ndarray, np.ndarray]:
    """For each direction, how far every cell [row, column] of the view lies from the agent in x and in y."""
    row, column = np.mgrid[:VIEW, :VIEW]
    ahead, aside = VIEW - 1 - row, column - _MIDDLE  # aside counts to the agent's right
    forward = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    x = [ahead * dx - aside * dy for dx, dy in forward]
    y = [ahead * dy + aside * dx for dx, dy in forward]
    return np.array(x, np.int32), np.array(y, np.int32)


OFFSET_X, OFFSET_Y = _view_offsets()
"""How far every cell [direction, row, column] of the view lies from the agent."""


def visible(clear: Bool[Array, "7 7"]) -> Bool[Array, "7 7"]:
    """Return which cells of the view light reaches.

    Light starts at the agent in the middle of the last row. In each row it spreads through clear cells first to the
    right, then to the left; every cell it passes also lights the cell beyond it and the next one in that direction.

    Args:
        clear: which cells [row, column] let light through.
    """
    bits = jnp.asarray(1 << np.arange(VIEW), jnp.int32)
    clear_rows = jnp.sum(jnp.where(clear, bits, 0), axis=1)
    lit_rows: list[Int[Array, ""]] = []
    lit = jnp.int32(1 << _MIDDLE)
    for row in reversed(range(VIEW)):
        transparent = clear_rows[row]
        right = _spread(lit, transparent, upwards=True) & (_ALL_COLUMNS >> 1)  # the last column has no right neighbour
        lit = lit | right << 1
        left = _spread(lit, transparent, upwards=False) & (_ALL_COLUMNS - 1)
        lit = lit | left >> 1
        lit_rows.append(lit)
        lit = right | right << 1 | left | left >> 1
    mask = jnp.stack(lit_rows[::-1])
    return (mask[:, None] & bits) != 0


def _spread(lit: Int[Array, ""], transparent: Int[Array, ""], *, upwards: bool) -> Int[Array, ""]:
    """Cells that light reaches and passes, spreading one way along a row: a fill that doubles its reach."""
    source = lit & transparent
    for distance in (1, 2, 4):
        source = source | transparent & (source << distance if upwards else source >> distance)
        transparent = transparent & (transparent << distance if upwards else transparent >> distance)
    return source


def observe(state: State, see_through_walls: Bool[Array, ""]) -> UInt8[Array, "7 7 3"]:
    """Return the observation of a state, indexed [column, row, channel] as in Minigrid.

    The agent is at [3, 6] and looks towards row 0. Coordinates beyond the grid are clipped to its border, which is
    wall, as is everything outside in Minigrid.

    Args:
        state: of one environment.
        see_through_walls: whether nothing is hidden.
    """
    height, width = state.grid.shape
    x = jnp.clip(state.x + jnp.asarray(OFFSET_X)[state.direction], 0, width - 1)
    y = jnp.clip(state.y + jnp.asarray(OFFSET_Y)[state.direction], 0, height - 1)
    view = state.grid.reshape(-1)[y * width + x]
    kind = cells.kind_of(view)
    clear = (kind != Kind.WALL) & ((kind != Kind.DOOR) | (cells.state_of(view) == Door.OPEN))
    seen = see_through_walls | visible(clear)
    own_cell = np.zeros((VIEW, VIEW), bool)
    own_cell[VIEW - 1, _MIDDLE] = True
    view = jnp.where(own_cell, state.carrying, view)  # the agent's own cell shows what it carries
    view = jnp.where(seen, view, cells.UNSEEN)
    return cells.unpack(view.T)

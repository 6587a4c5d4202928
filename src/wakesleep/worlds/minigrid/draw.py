"""Pictures of Minigrid states: painted by Minigrid's own renderer, or as text that the report page draws from tiles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from minigrid.core.grid import Grid
from minigrid.core.world_object import WorldObj

from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.engine import State
from wakesleep.worlds.minigrid.observe import OFFSET_X, OFFSET_Y

TILE = 24
"""Pixels of one cell."""


def draw(state: State, observation: np.ndarray, width: int, height: int, tile: int = TILE) -> np.ndarray:
    """Draw the whole grid, with the cells that the agent sees lit.

    Args:
        state: what to draw.
        observation: the agent's view of it, uint8[7, 7, 3].
        width: columns of the task's own grid.
        height: rows of the task's own grid.
        tile: pixels of one cell.

    Returns:
        An image, uint8[height * tile, width * tile, 3].
    """
    channels = np.asarray(cells.unpack(state.grid))[:height, :width]
    picture = Grid(width, height)
    for y, x in np.ndindex(height, width):
        picture.set(x, y, WorldObj.decode(*(int(channel) for channel in channels[y, x])))
    agent_x, agent_y, direction = int(state.x), int(state.y), int(state.direction)
    seen = np.asarray(observation)[..., 0].T != cells.Kind.UNSEEN  # [row, column] as the offsets are
    seen_x, seen_y = agent_x + OFFSET_X[direction][seen], agent_y + OFFSET_Y[direction][seen]
    inside = (seen_x >= 0) & (seen_x < width) & (seen_y >= 0) & (seen_y < height)
    lit = np.zeros((width, height), bool)
    lit[seen_x[inside], seen_y[inside]] = True
    return picture.render(tile, (agent_x, agent_y), direction, highlight_mask=lit)


def tile_episode(states: Sequence[State], width: int, height: int) -> dict[str, Any]:
    """An episode as `HasTiles.tile_episode` has it."""
    grids = [np.asarray(state.grid)[:height, :width] for state in states]
    changes = []
    for before, after in zip([grids[0], *grids], grids, strict=False):
        (changed,) = np.nonzero((before != after).ravel())
        changes.append([[int(cell), int(after.ravel()[cell])] for cell in changed])
    return {
        "width": width,
        "grid": _cells_as_text(grids[0]),
        "agent": [[int(state.x), int(state.y), int(state.direction)] for state in states],
        "changes": changes,
    }


def tile_view(observation: np.ndarray) -> str | None:
    """An observation [column, row, channel] as `HasTiles.tile_view` has it."""
    fits = observation.ndim == 3 and observation.shape[-1] == len(cells.CHANNEL_MAXIMA)
    if not fits or not ((observation >= 0) & (observation <= np.array(cells.CHANNEL_MAXIMA))).all():
        return None
    return _cells_as_text(np.asarray(cells.pack(observation)).T)


def _cells_as_text(packed: np.ndarray) -> str:
    """Packed cells [row, column] as text, three hexadecimal digits each."""
    return "".join(f"{cell:03x}" for cell in packed.ravel().tolist())

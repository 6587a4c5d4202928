"""Pictures of Minigrid states, painted by Minigrid's own renderer."""

import numpy as np
from minigrid.core.grid import Grid
from minigrid.core.world_object import WorldObj

from wakesleep.worlds.minigrid import cells
from wakesleep.worlds.minigrid.engine import State
from wakesleep.worlds.minigrid.observe import OFFSET_X, OFFSET_Y

TILE = 24
"""Pixels of one cell."""


def draw(state: State, observation: np.ndarray, width: int, height: int, tile: int = TILE) -> np.ndarray:
    """The whole grid (of `width` by `height` cells), with the cells that the agent sees lit, as an RGB image."""
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

"""A grid cell as one integer: object type, colour and state packed into 16 bits.

The numbers are Minigrid's own encoding, so unpacking a cell gives the three channels of an observation.
"""

from enum import IntEnum

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer, UInt16

from wakesleep.errors import UserError


class Kind(IntEnum):
    """Object types, by Minigrid's numbers."""

    UNSEEN = 0
    EMPTY = 1
    WALL = 2
    FLOOR = 3
    DOOR = 4
    KEY = 5
    BALL = 6
    BOX = 7
    GOAL = 8
    LAVA = 9
    AGENT = 10


class Colour(IntEnum):
    """Colours, by Minigrid's numbers."""

    RED = 0
    GREEN = 1
    BLUE = 2
    PURPLE = 3
    YELLOW = 4
    GREY = 5


class Door(IntEnum):
    """States of a door; every other object is in state 0."""

    OPEN = 0
    CLOSED = 1
    LOCKED = 2


COLOUR_BITS, STATE_BITS = 4, 7  # where the fields begin; the type is in the lowest four bits

CHANNEL_MAXIMA = (max(Kind), max(Colour), max(Door))
"""The greatest value of each channel of an observation: 10, 5, 2."""


def cell(kind: int, colour: int = 0, state: int = 0) -> int:
    """Return the packed value of one cell."""
    return int(kind) | int(colour) << COLOUR_BITS | int(state) << STATE_BITS


UNSEEN = cell(Kind.UNSEEN)
EMPTY = cell(Kind.EMPTY)
WALL = cell(Kind.WALL, Colour.GREY)
GOAL = cell(Kind.GOAL, Colour.GREEN)
LAVA = cell(Kind.LAVA, Colour.RED)
BLUE_BALL = cell(Kind.BALL, Colour.BLUE)
YELLOW_KEY = cell(Kind.KEY, Colour.YELLOW)
YELLOW_LOCKED_DOOR = cell(Kind.DOOR, Colour.YELLOW, Door.LOCKED)


def kind_of(cells: Integer[Array, "*shape"]) -> Integer[Array, "*shape"]:
    """Return the object types (`Kind`) of packed cells."""
    return cells & 0b1111


def colour_of(cells: Integer[Array, "*shape"]) -> Integer[Array, "*shape"]:
    """Return the colours (`Colour`) of packed cells."""
    return (cells >> COLOUR_BITS) & 0b111


def state_of(cells: Integer[Array, "*shape"]) -> Integer[Array, "*shape"]:
    """Return the states (`Door` for doors, else 0) of packed cells."""
    return cells >> STATE_BITS


def unpack(cells: Integer[Array, "*shape"]) -> Integer[Array, "*shape 3"]:
    """Return the channels type, colour and state of packed cells, uint8, as Minigrid encodes them."""
    return jnp.stack([kind_of(cells), colour_of(cells), state_of(cells)], axis=-1).astype(jnp.uint8)


def pack(channels: np.ndarray) -> np.ndarray:
    """Return packed cells, uint16[*shape], from channels[*shape, 3]. Refuses values that Minigrid does not have."""
    channels = np.asarray(channels, np.uint16)
    if (channels > np.asarray(CHANNEL_MAXIMA, np.uint16)).any():
        raise UserError(
            f"a Minigrid cell holds type, colour and state up to {CHANNEL_MAXIMA}, not {channels.max((0, 1))}"
        )
    kind, colour, state = np.moveaxis(channels, -1, 0)
    return kind | colour << np.uint16(COLOUR_BITS) | state << np.uint16(STATE_BITS)


Grid = UInt16[Array, "height width"]
"""Packed cells, row by row; what lies outside a task's own grid is wall."""

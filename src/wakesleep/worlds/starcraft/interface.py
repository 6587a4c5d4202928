"""What an agent sees and does in StarCraft II: the same on the simulator and on the real game through PySC2.

An observation is masked: a screen of three feature layers (the paper's appendix: unit type, selection status, unit
density), indexed [row, column, layer], and which of the functions are available. An action is a function and its
arguments, a vector of six choices; places are cells of a 16 x 16 grid, counted row by row from the top left. The
functions, their order and that of the arguments are those of the authors' data release (sri-l2m/l2m_data).

Layers, functions and ids carry PySC2's names and numbers. Units on the screen are numbered by PySC2's ids, up to 1961;
as those need a large table of embeddings, `compact` numbers the few that occur here from 1 instead.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from wakesleep.errors import UserError
from wakesleep.worlds.world import ActionSpec, AnyArray, ObservationSpec


class Layer(NamedTuple):
    """A feature layer of the screen."""

    name: str
    """PySC2's name."""
    number: int
    """Where PySC2's `feature_screen` has it."""
    values: int
    """Its values are 0 to this less one (PySC2's scale)."""
    categorical: bool
    """Whether its values are names rather than amounts."""


LAYERS = (
    Layer("unit_type", 6, 1962, categorical=True),
    Layer("selected", 7, 2, categorical=True),
    Layer("unit_density", 14, 16, categorical=False),
)
"""What an agent sees, in this order on an observation's last axis."""

UNIT_TYPE, SELECTED, UNIT_DENSITY = range(3)
CATEGORICAL = tuple(place for place, layer in enumerate(LAYERS) if layer.categorical)
"""The layers that networks embed (`FullyConvConfig.categorical`)."""

NOTHING, MARINE, ROACH, ZERGLING, BANELING, SHARD = TYPE_IDS = (0, 48, 110, 105, 9, 1680)
"""PySC2's numbers of all that can be on the screen here; a type's place in this list is its compact number."""

GRID = 16
"""Cells of the action's grid each way."""
SCREEN = 64
"""Pixels of the paper's screen each way."""


class Function(NamedTuple):
    """A function of PySC2 that an agent can call."""

    name: str
    """PySC2's name."""
    id: int
    """PySC2's number."""
    arguments: tuple[str, ...] = ()
    """In PySC2's order. `queued`, which PySC2 wants besides, is always "now"."""
    needs_selection: bool = False
    """Whether it is open only while units of the player are selected."""


FUNCTIONS = (
    Function("no_op", 0),
    Function("move_camera", 1, ("minimap",)),
    Function("select_point", 2, ("select_point_act", "screen")),
    Function("select_rect", 3, ("select_add", "screen", "screen2")),
    Function("Attack_screen", 12, ("screen",), needs_selection=True),
    Function("Cancel_quick", 140),
    Function("Cancel_Last_quick", 168),
    Function("Halt_quick", 261),
    Function("HoldPosition_quick", 274, needs_selection=True),
    Function("Move_screen", 331, ("screen",), needs_selection=True),
    Function("Patrol_screen", 333, ("screen",), needs_selection=True),
    Function("Smart_screen", 451, ("screen",), needs_selection=True),
    Function("Stop_quick", 453, needs_selection=True),
)
"""The choices of an action's first part. Marines can never cancel or halt; the authors' agents had these anyway."""

FUNCTION_IDS = np.array([function.id for function in FUNCTIONS])
NEEDS_SELECTION = np.array([function.needs_selection for function in FUNCTIONS])
NEVER_AVAILABLE = np.isin(FUNCTION_IDS, (140, 168, 261))

(
    NO_OP, MOVE_CAMERA, SELECT_POINT, SELECT_RECT, ATTACK, CANCEL, CANCEL_LAST, HALT, HOLD, MOVE, PATROL, SMART, STOP,
) = range(len(FUNCTIONS))  # fmt: skip

PARTS = (
    ("function", len(FUNCTIONS)),
    ("screen", GRID * GRID),
    ("minimap", GRID * GRID),
    ("screen2", GRID * GRID),
    ("select_add", 2),
    ("select_point_act", 4),
)
"""The parts of an action. `select_add`: 0 replaces the selection, 1 adds to it."""
PLACES = ("screen", "minimap", "screen2")
"""The parts that are places (`FullyConvConfig.places`)."""

SELECT, TOGGLE, SELECT_ALL_TYPE, ADD_ALL_TYPE = range(4)
"""The choices of `select_point_act`."""

ACTION_SPEC = ActionSpec(
    PARTS,
    uses=tuple(tuple(name == "function" or name in function.arguments for name, _ in PARTS) for function in FUNCTIONS),
    masked=True,
)
"""What actions look like."""


def check_screen(size: int) -> None:
    """Raise `UserError` for a screen whose pixels each way are no multiple of the action's grid."""
    if size < GRID or size % GRID:
        raise UserError(f"a screen has {GRID}, {2 * GRID}, {3 * GRID}, ... pixels each way, as places are cells of a "
                        f"{GRID} x {GRID} grid, not {size}")  # fmt: skip


def observation_spec(screen: int = SCREEN, *, compact: bool = False) -> ObservationSpec:
    """Return what observations look like.

    Args:
        screen: pixels each way.
        compact: whether unit types are numbered by their place in `TYPE_IDS`.
    """
    check_screen(screen)
    highest = np.array([layer.values - 1 for layer in LAYERS])
    if compact:
        highest[UNIT_TYPE] = len(TYPE_IDS) - 1
    dtype = np.uint8 if compact else np.int16  # as small as possible: replay buffers keep many
    return ObservationSpec.of((screen, screen, len(LAYERS)), dtype, 0, highest, scale=highest)


def compact_types(ids: Shaped[np.ndarray, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    """Return the compact numbers of PySC2's unit types, 0 for any that does not occur in these tasks."""
    table = np.zeros(LAYERS[UNIT_TYPE].values, np.uint8)
    table[list(TYPE_IDS)] = np.arange(len(TYPE_IDS))
    return table[np.clip(ids, 0, len(table) - 1)]


def pixel_of(place: Int[AnyArray, "*batch"] | int, screen: int = SCREEN) -> tuple[Any, Any]:
    """Return column and row of the pixel that a place of the grid means, just after the cell's middle."""
    side = screen // GRID
    return place % GRID * side + side // 2, place // GRID * side + side // 2


def place_of(
    column: Shaped[AnyArray, "*batch"] | float, row: Shaped[AnyArray, "*batch"] | float, screen: int = SCREEN
) -> Int[Array, "*batch"]:
    """Return the place of the grid in whose cell a pixel lies."""
    cells = [jnp.clip(jnp.floor(at / (screen // GRID)), 0, GRID - 1).astype(jnp.int32) for at in (column, row)]
    return cells[1] * GRID + cells[0]


def action(function: int, **arguments: Int[Array, ""] | int) -> Int[Array, "6"]:
    """Return an action.

    Args:
        function: an index into `FUNCTIONS`.
        arguments: those that it uses, by their names in `PARTS`; the others are 0.
    """
    names = [name for name, _ in PARTS]
    if unknown := set(arguments) - set(names[1:]):
        raise UserError(f"actions have no argument {', '.join(sorted(unknown))}: there are {', '.join(names[1:])}")
    parts = {"function": function, **arguments}
    return jnp.stack([jnp.asarray(parts.get(name, 0), jnp.int32) for name in names])


def describe(action: Shaped[AnyArray, "6"] | list[int]) -> str:
    """Return an action in words: PySC2's function and the arguments that it uses, places as column,row."""
    chosen = dict(zip((name for name, _ in PARTS), (int(part) for part in jax.device_get(action)), strict=True))
    function = FUNCTIONS[chosen["function"]]
    shown = (
        f"{name} {chosen[name] % GRID},{chosen[name] // GRID}" if name in PLACES else f"{name} {chosen[name]}"
        for name in function.arguments
    )  # fmt: skip
    return " ".join([function.name, *shown])

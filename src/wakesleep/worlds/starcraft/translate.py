"""Translates PySC2's observations and actions from and to those of `interface.py`. Needs neither PySC2 nor the game."""

from typing import Any

import numpy as np

from wakesleep.worlds.starcraft import interface
from wakesleep.worlds.starcraft.interface import FUNCTION_IDS, FUNCTIONS, LAYERS, PARTS, PLACES, UNIT_TYPE
from wakesleep.worlds.world import MaskedObservation, ObservationSpec

_AT_ONCE = (interface.NO_OP, interface.MOVE_CAMERA, interface.SELECT_POINT, interface.SELECT_RECT)
"""The functions that PySC2 does not ask whether they are to be queued: those that are no orders."""


def observation_of(observed: Any, spec: ObservationSpec, *, compact: bool = False) -> MaskedObservation:
    """Translate an observation of PySC2: three of its 27 feature layers, and which functions are available.

    Args:
        observed: PySC2's observation.
        spec: what ours look like.
        compact: whether unit types are numbered from 1 to 5 instead of by PySC2's ids.
    """
    layers = np.asarray(observed["feature_screen"])[[layer.number for layer in LAYERS]]
    highest = np.array([layer.values - 1 for layer in LAYERS])
    view = np.moveaxis(np.clip(layers, 0, highest[:, None, None]), 0, -1)
    if compact:
        view[..., UNIT_TYPE] = interface.compact_types(view[..., UNIT_TYPE])
    return MaskedObservation(view.astype(spec.dtype), np.isin(FUNCTION_IDS, np.asarray(observed["available_actions"])))


def call_of(action: np.ndarray, screen: int = interface.SCREEN) -> tuple[int, list[list[int]]]:
    """Translate an action, six integers, to the number and the arguments of PySC2's function."""
    chosen = dict(zip((name for name, _ in PARTS), np.asarray(action).tolist(), strict=True))
    function = FUNCTIONS[chosen["function"]]
    arguments = [] if chosen["function"] in _AT_ONCE else [[0]]  # queued: 0 is now
    for name in function.arguments:
        place = interface.pixel_of(chosen[name], screen) if name in PLACES else (chosen[name],)
        arguments.append([int(number) for number in place])
    return function.id, arguments

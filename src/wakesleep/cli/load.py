"""Users' own modules, which register tasks."""

import importlib
import sys
from collections.abc import Sequence

from wakesleep.errors import UserError


def load_modules(modules: Sequence[str]) -> None:
    """Import a user's modules, from the current folder too."""
    sys.path.insert(0, "")
    for name in modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise UserError(f"cannot load {name}: {error}; is it in this folder or installed?") from error

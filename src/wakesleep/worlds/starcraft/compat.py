"""PySC2 and the game, where they are installed; where they are not, one sentence that says what to do.

PySC2 4.0.0, the last release, is older than today's Python and protobuf. Two things make it work unchanged:
`pys2clientprotocol`, the game's protocol compiled for today's protobuf under the name that PySC2 imports (so `make
starcraft` installs PySC2 itself without the packages it asks for), and, around the import alone, a `random.shuffle`
that still takes the second argument that Python 3.11 removed.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from wakesleep.errors import UserError, brief
from wakesleep.worlds.starcraft.units import LOOPS_PER_STEP

MIN_VERSION = 4
_INSTEAD = "or use the simulator, which needs neither PySC2 nor the game: the task's name without Game at its end"
_INSTALL = f"run `make starcraft` or do as docs/guides/starcraft-game.md says, {_INSTEAD}"


class PySC2(NamedTuple):
    """The modules of PySC2 that are used here."""

    sc2_env: Any
    actions: Any
    mini_games: Any
    run_configs: Any


def load() -> PySC2:
    """Import PySC2 and return its modules, or raise `UserError` that says why that cannot be done."""
    if importlib.util.find_spec("pysc2") is None:
        raise UserError(f"PySC2 is not installed: {_INSTALL}")
    found = version()
    if found.split(".")[0].isdigit() and int(found.split(".")[0]) < MIN_VERSION:
        raise UserError(f"PySC2 {found} is too old, {MIN_VERSION}.0 or newer is needed: {_INSTALL}")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    names = ("pysc2.env.sc2_env", "pysc2.lib.actions", "pysc2.maps.mini_games", "pysc2.run_configs")
    try:
        with _old_random_shuffle(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what PySC2's own packages do
            modules = [importlib.import_module(name) for name in names]
        flags = importlib.import_module("absl.flags").FLAGS
        if not flags.is_parsed():  # PySC2 reads its settings from there; the command line is not its business
            flags(["wakesleep"])
    except Exception as error:  # whatever a broken installation does
        raise UserError(f"PySC2 {found} is installed but cannot be imported ({brief(error)}): {_INSTALL}") from error
    return PySC2(*modules)


def game_folder(pysc2: PySC2) -> Path:
    """Return where the game is installed, by PySC2's own rules (SC2PATH, else ~/StarCraftII)."""
    try:
        return Path(pysc2.run_configs.get().data_dir)
    except Exception as error:
        raise UserError(
            f"StarCraft II was not found ({brief(error)}): install it as docs/guides/starcraft-game.md says and set"
            f" SC2PATH to its folder if that is not ~/StarCraftII, {_INSTEAD}"
        ) from error


def env_arguments(pysc2: PySC2, game_map: Any, screen: int) -> dict[str, Any]:
    """Return keyword arguments for PySC2's `SC2Env`: all but the seed.

    Args:
        pysc2: the modules.
        game_map: a map's name, or an object of `map_of`.
        screen: pixels each way.
    """
    sc2_env = pysc2.sc2_env
    size = sc2_env.Dimensions(screen=screen, minimap=screen)
    return {
        "map_name": [game_map, game_map],  # from two maps it makes a new game each episode, which takes our seed
        "players": [sc2_env.Agent(sc2_env.Race.terran)],
        "agent_interface_format": sc2_env.AgentInterfaceFormat(feature_dimensions=size),
        "step_mul": LOOPS_PER_STEP,
        "game_steps_per_episode": 0,  # the map's own clock ends an episode
        "ensure_available_actions": False,  # `GameWorld` does
    }


def map_of(pysc2: PySC2, file: Path) -> Any:
    """Return a PySC2 map that is read from a file, wherever that is."""

    class Map(pysc2.mini_games.MiniGame):  # type: ignore[misc, name-defined]  # its score and its step are theirs too
        filename = None  # so that PySC2 does not list it under this class's name

        def __init__(self) -> None:
            self.directory, self.filename = "wakesleep", file.stem

        @property
        def name(self) -> str:
            return file.stem

        def data(self, run_config: Any) -> bytes:
            del run_config
            return file.read_bytes()

    return Map()


def version() -> str:
    """Return the version of the installed PySC2."""
    try:
        return importlib.metadata.version("pysc2")
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


@contextmanager
def _old_random_shuffle() -> Iterator[None]:
    """While this lasts, `random.shuffle` takes a source of random numbers, as it did before Python 3.11."""
    shuffle = random.shuffle

    def with_source(items: Any, source: Callable[[], float] | None = None) -> None:
        if source is None:
            shuffle(items)
            return
        for last in range(len(items) - 1, 0, -1):
            other = int(source() * (last + 1))
            items[last], items[other] = items[other], items[last]

    random.shuffle = with_source  # type: ignore[assignment]
    try:
        yield
    finally:
        random.shuffle = shuffle

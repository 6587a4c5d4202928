"""`wakesleep starcraft maps|check`: what the real StarCraft II needs (the simulator needs none of it)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wakesleep.errors import UserError


@dataclass(frozen=True)
class Maps:
    """Make the maps of the tasks with fog and with two groups, from the stock maps."""

    source: Path
    """Folder with the stock maps, StarCraftII/Maps/mini_games."""
    out: Path
    """Folder to write to; StarCraftII/Maps/mini_games is a good place for these, too."""
    returns: Literal["both", "either"] = "both"
    """When enemies return in the two groups of Zerglings and Banelings: when both are dead, or each by itself."""

    def run(self) -> None:
        """Make the maps and print their files."""
        from wakesleep.worlds.starcraft.maps import RespawnRule, make_maps

        for file in make_maps(self.source, self.out, RespawnRule(self.returns)):
            print(file)


@dataclass(frozen=True)
class Check:
    """See whether PySC2, the game and all maps are there."""

    def run(self) -> None:
        """Print a table of what was found."""
        from wakesleep.worlds.starcraft import compat
        from wakesleep.worlds.starcraft.game import MAPS, map_file

        table = Table("what", "found")
        pysc2 = compat.load()
        table.add_row("PySC2", compat.version())
        try:
            folder = compat.game_folder(pysc2)
            table.add_row("StarCraft II", str(folder))
        except UserError as error:
            table.add_row("StarCraft II", Text(str(error), "red"))
        else:
            for task, name in MAPS.items():
                try:
                    table.add_row(f"map of {task}Game", str(map_file(folder / "Maps", name)))
                except UserError as error:
                    table.add_row(f"map of {task}Game", Text(str(error), "red"))
        Console().print(table)


def starcraft(command: Annotated[Maps | Check, tyro.conf.arg(name=""), tyro.conf.OmitSubcommandPrefixes]) -> None:
    """Prepare the real StarCraft II: make its maps, check what is installed."""
    command.run()

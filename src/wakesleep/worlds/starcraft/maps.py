"""The variant maps: `wakesleep starcraft maps` makes them from the stock minigames that Blizzard publishes.

    make_maps(Path("StarCraftII/Maps/mini_games"), Path("StarCraftII/Maps/mini_games"))

The authors' own maps are not public. These follow the descriptions in the paper's appendix (`scripts.py` has the
changes); everything in a map but its script, and the checksums over it, is the stock map's, byte for byte.
"""

import enum
import os
from pathlib import Path
from typing import NamedTuple

from wakesleep.errors import UserError
from wakesleep.worlds.starcraft import mpq, scripts
from wakesleep.worlds.starcraft.scripts import Edit, Group

SCRIPT = "MapScript.galaxy"
SUFFIX = ".SC2Map"


class RespawnRule(enum.Enum):
    """When enemies return in the two groups of Zerglings and Banelings: the paper can be read both ways."""

    both = "both"
    """When both groups are dead, both return."""
    either = "either"
    """When one group is dead, that group returns; all positions are reset, survivors keep the life they have."""


class Variant(NamedTuple):
    """A map that is made from a stock one."""

    name: str
    stock: str
    """Name of the stock map."""
    edits: tuple[Edit, ...]
    """What is changed in its script."""


def variants(returns: RespawnRule = RespawnRule.both) -> tuple[Variant, ...]:
    """Return the maps of the paper's three tasks that are not stock minigames."""
    roaches = scripts.two_groups(
        scripts.ROACHES, Group("Roach", 3, spacing=1), Group("Roach", 3, spacing=1), stock_award=5, award=7
    )
    zerg = scripts.two_groups(
        scripts.ZERGLINGS_AND_BANELINGS, Group("Zergling", 9), Group("Baneling", 6), stock_award=4, award=6
    )
    if returns is RespawnRule.either:
        zerg += scripts.EITHER_RETURNS
    return (
        Variant("CollectMineralShardsFog", "CollectMineralShards", scripts.FOG),
        Variant("DefeatRoachesTwoGroups", "DefeatRoaches", roaches),
        Variant("DefeatZerglingsAndBanelingsTwoGroups", "DefeatZerglingsAndBanelings", zerg),
    )


def edited_map(raw: bytes, edits: tuple[Edit, ...]) -> bytes:
    """Return a map, as bytes of its file, with its script changed."""
    archive = mpq.unpack(raw)
    stored = archive.read(SCRIPT)
    script = stored.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    if _encoded(script) != stored:
        raise UserError("its script is not the one known: some of its lines end in another way than others")
    return mpq.pack(archive.with_file(SCRIPT, _encoded(scripts.edited(script, edits))))


def make_maps(source: Path, out: Path, returns: RespawnRule = RespawnRule.both) -> list[Path]:
    """Make all variant maps, or none if any stock map cannot be used. Maps that were made before are replaced.

    Args:
        source: folder that has the stock maps in it or below it.
        out: folder to write to.
        returns: when dead enemies return in the two groups of Zerglings and Banelings.

    Returns:
        The files that were written.
    """
    made = {}
    for variant in variants(returns):
        file = find_map(source, variant.stock)
        try:
            made[out / f"{variant.name}{SUFFIX}"] = edited_map(file.read_bytes(), variant.edits)
        except OSError as error:
            raise UserError(f"{file} cannot be read: {error.strerror}") from error
        except UserError as error:
            raise UserError(f"{file} cannot be used: {error}") from error
    _write_all(made)
    return list(made)


def find_map(folder: Path, name: str) -> Path:
    """Return the file of a map in a folder or anywhere below it; `UserError` if there is none."""
    if not folder.is_dir():
        raise UserError(
            f"there is no folder {folder}: give the one that has the stock maps, StarCraftII/Maps/mini_games"
        )
    found = sorted(folder.rglob(f"{name}{SUFFIX}"), key=lambda file: (len(file.parts), file))
    if not found:
        raise UserError(
            f"there is no {name}{SUFFIX} in {folder}: docs/guides/starcraft-game.md says where to get the maps"
        )
    return found[0]


def _encoded(script: str) -> bytes:
    return script.replace("\n", "\r\n").encode("utf-8", "surrogateescape")


def _write_all(files: dict[Path, bytes]) -> None:
    """Write beside their places first, and move there only when all are written."""
    written: list[tuple[Path, Path]] = []
    try:
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            beside = file.with_name(f".{file.name}.new")
            written.append((beside, file))
            with beside.open("wb") as opened:
                opened.write(content)
                os.fsync(opened.fileno())
        for beside, file in written:
            beside.replace(file)
    except OSError as error:
        for beside, _ in written:
            beside.unlink(missing_ok=True)
        raise UserError(f"{error.filename} cannot be written: {error.strerror}") from error

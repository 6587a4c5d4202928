"""Small maps of our own: archives in the format of the stock maps, and scripts with the same landmarks."""

import struct
import zlib
from hashlib import md5

from wakesleep.worlds.starcraft import mpq

SINGLE, SECTORS = 0x81000200, 0x84000200
ATTRIBUTES = 5  # checksums CRC32 and MD5


def archive_of(files, sector_shift=0, single=(), attributes=True):
    """An archive with these files; those not named as `single` are cut into sectors, of 512 bytes by default."""
    contents = dict(files)
    if attributes:
        count = len(contents) + 1
        sums = b"".join(struct.pack("<I", zlib.crc32(content)) for content in contents.values()) + bytes(4)
        sums += b"".join(md5(content).digest() for content in contents.values()) + bytes(16)
        assert len(sums) == 20 * count
        contents["(attributes)"] = struct.pack("<II", 100, ATTRIBUTES) + sums
    slots = 1 << (2 * len(contents)).bit_length()
    hashes = [(0xFFFFFFFF,) * 4] * slots
    stored = []
    for number, (name, content) in enumerate(contents.items()):
        slot = mpq.hash_name(name, "slot") % slots
        while hashes[slot][3] != 0xFFFFFFFF:
            slot = (slot + 1) % slots
        hashes[slot] = (mpq.hash_name(name, "first"), mpq.hash_name(name, "second"), 0, number)
        flags = SINGLE if name in single or name == "(attributes)" else SECTORS
        stored.append(mpq._compress(content, flags, 512 << sector_shift))
    names = bytes(range(7 * len(contents)))
    head = [0] * 19
    head[2], head[12], head[14], head[16], head[17] = 0x10, 2, 56, 56, len(names)
    het = struct.pack("<4sII", b"HET\x1a", 1, 8) + bytes(8)
    archive = mpq.Archive(tuple(stored), sector_shift, 256, tuple(hashes), het, tuple(head), (SINGLE, SECTORS), names)
    return mpq.unpack(mpq.pack(archive))  # once through, so that the header of BET is complete


def _function(name, *lines, kind="bool"):
    return "\n".join(
        [f"{kind} {name} (bool testConds, bool runActions) {{", *(f"    {line}" for line in lines), "}", ""]
    )


def _sides():
    left, right = ("lv_randomPointMarines", 4), ("lv_randomPointRoaches", 5)

    def draw(one, other):
        return [f"    {name[0]} = RegionRandomPoint(RegionFromId({region[1]}));" for name, region in (one, other)]

    same, swapped = ((left, left), (right, right)), ((left, right), (right, left))
    return ["if ((RandomInt(1, 2) == 1)) {", *draw(*same), "}", "else {", *draw(*swapped), "}"]


def _loop(auto, count, *lines):
    head = [
        f"auto{auto}_ae = {count};",
        f"auto{auto}_ai = 1;",
        "lv_i = 1;",
        f"for ( ; lv_i <= auto{auto}_ae ; lv_i += 1 ) {{",
    ]
    return [*head, *(f"    {line}" for line in lines), "}"]


def _create(unit, player, where):
    return f'libNtve_gf_CreateUnitsWithDefaultFacing(1, "{unit}", 0, {player}, {where});'


_ADD = "UnitGroupAdd(gv_roaches, UnitLastCreated());"


def _enemies(kind):
    if kind == "DefeatRoaches":
        made = [
            _create("Roach", 2, f"PointWithOffset(lv_randomPointRoaches, 0.0, {at})")
            for at in ("0.5", "1.5", "-0.5", "-1.5")
        ]
        return [line for create in made for line in (create, _ADD)]
    at = "PointWithOffset(lv_randomPointRoaches, 0.0, 0.0)"
    return [*_loop("A1", 6, _create("Zergling", 2, at), _ADD), *_loop("B2", 4, _create("Baneling", 2, at), _ADD)]


def battle_script(kind):
    """A script with the landmarks of a stock battle, and not much else."""
    line = "PointWithOffset(lv_randomPointMarines, 0.0, ((lv_i / 2) * (1 + (ModI(lv_i, 2) * -2))))"
    join = "UnitGroupAdd(gv_marines, UnitLastCreated());"
    start = [*_sides(), *_loop("D4", 9, _create("Marine", 1, line), join), *_enemies(kind)]
    award, reward = {"DefeatRoaches": (5, 10), "DefeatZerglingsAndBanelings": (4, 5)}[kind]
    place = f"UnitSetPosition(UnitGroupUnit(gv_marines, lv_i), {line}, false);"
    wave = [
        f"PlayerModifyPropertyInt(1, c_playerPropCurriculumScore, c_playerPropOperAdd, {reward});",
        "if ((UnitGroupCount(gv_roaches, c_unitCountAlive) == 0)) {",
        "    UnitGroupLoopBegin(UnitGroup(null, c_playerAny, RegionEntireMap(), UnitFilter(0, 0, 0, 0), 0));",
        "    for ( ; !UnitGroupLoopDone() ; UnitGroupLoopStep() ) {",
        '        if ((UnitGetType(UnitGroupLoopCurrent()) == "Marine")) {',
        "            UnitGroupAdd(gv_marines, UnitGroupLoopCurrent());",
        "        }",
        "        else {",
        "            UnitRemove(UnitGroupLoopCurrent());",
        "        }",
        "    }",
        "    UnitGroupLoopEnd();",
        *(f"    {line}" for line in _sides()),
        *(f"    {line}" for line in _loop("C3", award, _create("Marine", 1, "RegionGetCenter(RegionFromId(1))"), join)),
        *(f"    {line}" for line in _loop("E5", "UnitGroupCount(gv_marines, c_unitCountAlive)", place)),
        *(f"    {line}" for line in _enemies(kind)),
        "}",
        "else {",
        "    UnitRemove(EventUnit());",
        "}",
    ]
    rule = "//" + "-" * 20
    return "\n".join(
        [
            "unitgroup gv_marines;",
            "unitgroup gv_roaches;",
            _function("InitGlobals", "gv_marines = UnitGroupEmpty();", "gv_roaches = UnitGroupEmpty();", kind="void"),
            rule,
            "// Trigger: Init",
            rule,
            _function("gt_Init_Func", "int lv_i;", *start),
            _function("gt_ScoreUpdatesandVictory_Func", "int lv_i;", "fixed lv_life;", *wave),
            _function("gt_ResetMap_Func", "gv_roaches = UnitGroupEmpty();", *start),
            _function(
                "gt_Other_Func",
                "lv_life = UnitGetPropertyFixed(EventUnit(), c_unitPropLife, c_unitPropCurrent);",
                "UnitSetPropertyFixed(EventUnit(), c_unitPropLife, lv_life);",
                "if ((UnitIsAlive(EventUnit()) == true) && (UnitGetOwner(EventUnit()) == 2)) {",
                "    return true;",
                "}",
            ),
        ]
    )


def shards_script():
    """A script with the landmarks of the stock CollectMineralShards."""
    shard = 'UnitCreate(1, "NaturalMinerals", 0, 0, lv_currentPoint, libNtve_gf_RandomAngle());'
    reveal = "VisRevealArea(1, RegionFromId(1), 0.0, false);"
    return _function("gt_Init_Func", reveal, shard, shard) + _function("gt_ResetMap_Func", shard)


def stock_maps():
    """The three stock maps in miniature, as the bytes of their files."""
    kinds = ("DefeatRoaches", "DefeatZerglingsAndBanelings")
    texts = {"CollectMineralShards": shards_script(), **{kind: battle_script(kind) for kind in kinds}}
    return {name: map_with(text) for name, text in texts.items()}


def map_with(script):
    """A map with this script and a few other files."""
    files = {
        "MapInfo": b"64x64", "Empty": b"", "MapScript.galaxy": script.replace("\n", "\r\n").encode(),
        "Minimap.tga": bytes(range(256)) * 20,
    }  # fmt: skip
    return mpq.pack(archive_of(files, single={"MapInfo"}))

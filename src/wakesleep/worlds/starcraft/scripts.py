"""The scripts of the variant maps: what is changed in MapScript.galaxy, the program inside a map that the game runs.

Three of the paper's six tasks (its appendix on StarCraft II) are the stock minigames; the other three differ in the
script alone:

- *fog*: the line that reveals the playable region for good is gone.
- *two groups*: the Marines stand at the centre, a group of enemies on either side. What was one spawn at a random side
  becomes two, at the two random points that the stock script draws anyway.

A change is an `Edit`: a pattern that must occur so many times in one function of the script. A script in which any one
is not found as often is not the one known, and nothing is changed.
"""

import re
from typing import NamedTuple

from wakesleep.errors import UserError

MARK = "wakesleep"
"""Occurs in every script that was edited here."""


class Edit(NamedTuple):
    """One change of a script."""

    what: str
    """What is changed, for the message when it is not there."""
    where: str
    """The function that it is in; "" for the lines outside of functions."""
    pattern: str
    """A regular expression over whole lines."""
    replacement: str
    times: int = 1
    """How often it occurs."""


class Group(NamedTuple):
    """Enemies that appear together."""

    unit: str
    number: int
    spacing: int = 0
    """Between one and the next, in a vertical line; 0: all at one point, the game finds them room."""

    def placed(self, group: str, where: str) -> str:
        """Return the Galaxy call that puts them in a place and assigns them to a group."""
        return f'gf_PlaceGroup({group}, "{self.unit}", {self.number}, {self.spacing}, {where})'


FOG = (
    Edit("the creation of mineral shards", "gt_Init_Func", r'^ *UnitCreate\(1, "NaturalMinerals", .*\n', r"\g<0>", 2),
    Edit(
        "the line that lifts the fog of war",
        "gt_Init_Func",
        r"^( *)VisRevealArea\(1, RegionFromId\(1\), 0\.0, false\);\n",
        rf"\1// {MARK}: fog of war, as nothing reveals the playable region\n",
    ),
)

_START, _WAVE, _RESTART = "gt_Init_Func", "gt_ScoreUpdatesandVictory_Func", "gt_ResetMap_Func"
"""Where units are created: at the start, after a wave, and on a chat command that repeats the start."""
_CREATE = "libNtve_gf_CreateUnitsWithDefaultFacing"
_CENTRE = "RegionGetCenter(RegionFromId(1))"
_LINE_OF = (
    "PointWithOffset(lp_where, 0.0, (lp_spacing * ((lv_i / 2) * (1 + (ModI(lv_i, 2) * -2)))))"  # 0, 1, -1, 2, ...
)

_PLACE_GROUP = f"""\
//--------------------------------------------------------------------------------------------------
// {MARK}: two groups of enemies
//--------------------------------------------------------------------------------------------------
unitgroup gf_PlaceGroup (unitgroup lp_group, string lp_type, int lp_count, int lp_spacing, point lp_where) {{
    // The survivors of a group put in a place, with the life they have; a group that is dead or new in full number
    unitgroup lv_placed;
    fixed lv_life;
    int lv_i;

    lv_placed = UnitGroupEmpty();
    lv_i = 0;
    UnitGroupLoopBegin(lp_group);
    for ( ; !UnitGroupLoopDone() ; UnitGroupLoopStep() ) {{
        if ((UnitIsAlive(UnitGroupLoopCurrent()) == true)) {{
            lv_i += 1;
            lv_life = UnitGetPropertyFixed(UnitGroupLoopCurrent(), c_unitPropLife, c_unitPropCurrent);
            UnitRemove(UnitGroupLoopCurrent());
            {_CREATE}(1, lp_type, 0, 2, {_LINE_OF});
            UnitSetPropertyFixed(UnitLastCreated(), c_unitPropLife, lv_life);
            UnitGroupAdd(lv_placed, UnitLastCreated());
            UnitGroupAdd(gv_roaches, UnitLastCreated());
        }}

    }}
    UnitGroupLoopEnd();
    if ((lv_i == 0)) {{
        lv_i = 1;
        for ( ; lv_i <= lp_count ; lv_i += 1 ) {{
            {_CREATE}(1, lp_type, 0, 2, {_LINE_OF});
            UnitGroupAdd(lv_placed, UnitLastCreated());
            UnitGroupAdd(gv_roaches, UnitLastCreated());
        }}
    }}

    return lv_placed;
}}

"""

_TYPES = ("bool", "fixed", "int", "point", "string", "unit", "unitgroup", "void")
_LOOP_HEAD = r" *auto\w+_ai = 1;\n *lv_i = 1;\n *for \( ; .*\n"
_ADD_ENEMY = r" *UnitGroupAdd\(gv_roaches, UnitLastCreated\(\)\);\n"


def _enemy(unit: str, offset: str) -> str:
    """A line that creates one enemy, as a pattern."""
    return (
        rf' *{_CREATE}\(1, "{unit}", 0, 2, PointWithOffset\(lv_randomPointRoaches, 0\.0, {offset}\)\);\n' + _ADD_ENEMY
    )


def _enemies(unit: str, count: int) -> str:
    """A loop that creates enemies, as a pattern."""
    return rf" *auto\w+_ae = {count};\n{_LOOP_HEAD}{_enemy(unit, '0[.]0')} *\}}\n"


ROACHES = rf"(?:{_enemy('Roach', '-?[01][.]5')}){{4}}"
"""The creation of the stock map's four Roaches, as a pattern."""
ZERGLINGS_AND_BANELINGS = _enemies("Zergling", 6) + _enemies("Baneling", 4)
"""The creation of the stock map's Zerglings and Banelings, as a pattern."""

_GROUPS = r"\g<0>unitgroup gv_first;\nunitgroup gv_second;\n"
_SIDES = (
    r"^( *)if \(\(RandomInt\(1, 2\) == 1\)\) \{\n"
    r" *lv_randomPointMarines = RegionRandomPoint\(RegionFromId\(4\)\);\n"
    r" *lv_randomPointRoaches = RegionRandomPoint\(RegionFromId\(5\)\);\n *\}\n *else \{\n"
    r" *lv_randomPointMarines = RegionRandomPoint\(RegionFromId\(5\)\);\n"
    r" *lv_randomPointRoaches = RegionRandomPoint\(RegionFromId\(4\)\);\n *\}\n"
)


def two_groups(stock: str, first: Group, second: Group, stock_award: int, award: int) -> tuple[Edit, ...]:
    """Return edits that put two groups of enemies in place of the stock ones, and award other Marines for a wave.

    The stock script counts all the enemies in `gv_roaches`, even where they are Zerglings; that stays so. Its two
    random points, one in each spawn region, become those of the two groups.

    Args:
        stock: pattern of the code that creates the stock enemies.
        first: the group on one side.
        second: the group on the other side.
        stock_award: Marines that the stock script awards when all enemies are dead.
        award: Marines to award instead.
    """
    empty = r"^( *)gv_roaches = UnitGroupEmpty\(\);\n"
    both_empty = r"\g<0>\1gv_first = UnitGroupEmpty();\n\1gv_second = UnitGroupEmpty();\n"
    marines = rf' *{_CREATE}\(1, "Marine", 0, 1, {re.escape(_CENTRE)}\);\n'
    edits = [
        Edit("the variable for the enemies", "", r"^unitgroup gv_roaches;\n", _GROUPS),
        Edit("the first trigger", "", r"^//-+\n// Trigger: Init\n//-+\n", _PLACE_GROUP + r"\g<0>"),
        Edit("the empty group of enemies", "InitGlobals", empty, both_empty),
        Edit("the empty group of enemies", _RESTART, empty, both_empty),
        Edit(
            "the number of Marines awarded",
            _WAVE,
            rf"^( *auto\w+_ae = ){stock_award}(;\n{_LOOP_HEAD}{marines})",
            rf"\g<1>{award}\g<2>",
        ),
    ]
    for spawn in (_START, _WAVE, _RESTART):
        edits += [
            Edit("the choice of sides", spawn, _SIDES, rf"\1// {MARK}: these are the places of the two groups\n\g<0>"),
            Edit("the place of the Marines", spawn, r"\(lv_randomPointMarines, ", f"({_CENTRE}, "),
            Edit(
                "the creation of the enemies",
                spawn,
                rf"^(?=( *)){stock}",
                rf"\1gv_first = {first.placed('gv_first', 'lv_randomPointMarines')};\n"
                rf"\1gv_second = {second.placed('gv_second', 'lv_randomPointRoaches')};\n",
            ),
        ]
    return tuple(edits)


EITHER_RETURNS = (
    Edit(
        "the end of a wave",
        _WAVE,
        r"^( *)if \(\(UnitGroupCount\(gv_roaches, c_unitCountAlive\) == 0\)\) \{\n",
        r"\1if ((UnitGroupCount(gv_first, c_unitCountAlive) == 0)"
        r" || (UnitGroupCount(gv_second, c_unitCountAlive) == 0)) {\n",
    ),
    Edit(
        "the removal of all but the Marines",
        _WAVE,
        r"^( *)else \{\n( *)(UnitRemove\(UnitGroupLoopCurrent\(\)\);\n) *\}\n",
        r"\1else {\n\2if ((UnitGetOwner(UnitGroupLoopCurrent()) != 2)) {\n\2    \3\2}\n\n\1}\n",
    ),
)
"""As soon as one of two groups is dead, that group returns; the survivors of the other are put back, life kept."""


def edited(script: str, edits: tuple[Edit, ...]) -> str:
    """Return the script with all changes made; `UserError` says which one does not fit."""
    if MARK in script:
        raise UserError(f"its script was already edited by {MARK}: the stock map is needed")
    changed = script
    for edit in edits:
        start, end = _span(changed, edit.where)
        body, times = re.subn(edit.pattern, edit.replacement, changed[start:end], flags=re.MULTILINE)
        if times != edit.times:
            inside = f" in {edit.where}" if edit.where else ""
            raise UserError(
                f"its script is not the one known: {edit.what} was found {times} times{inside} instead of {edit.times}"
            )
        changed = changed[:start] + body + changed[end:]
    check_sound(changed, script)
    return changed


def check_sound(script: str, stock: str) -> None:
    """Raise `UserError` for a script whose brackets do not match, or that uses a name that is declared nowhere."""
    code, known = _code(script), _code(stock)
    opened: list[str] = []
    for bracket in re.findall(r"[(){}\[\]]", code):
        if bracket in "({[":
            opened.append(bracket)
        elif not opened or opened.pop() + bracket not in ("()", "{}", "[]"):
            raise UserError(f"the edited script would not be sound: {bracket} closes nothing")
    if opened:
        raise UserError(f"the edited script would not be sound: {opened[-1]} is not closed")
    declared = set(re.findall(rf"\b(?:{'|'.join(_TYPES)}) (\w+)", code))
    used, before = (set(re.findall(r"\b[A-Za-z_]\w*", text)) for text in (code, known))
    if unknown := used - declared - before - set(_TYPES):
        raise UserError(f"the edited script would not be sound: nothing is called {min(unknown)}")


def _span(script: str, function: str) -> tuple[int, int]:
    """Where a function begins and ends; the whole script without one."""
    if not function:
        return 0, len(script)
    found = [match.span() for match in re.finditer(rf"(?ms)^(?:bool|void) {function} \(.*?^\}}\n", script)]
    if len(found) != 1:
        raise UserError(f"its script is not the one known: it has {len(found)} functions {function} instead of one")
    return found[0]


def _code(script: str) -> str:
    """A script without comments and texts."""
    return re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', " ", script)

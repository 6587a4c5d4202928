"""Runs a map's script: Galaxy, as the game's editor writes it, line by line as Python, on units that are only a list.

It knows no movement and no fighting; a test kills units and calls the triggers. What the script asks of the game beyond
units, groups, points and the score is ignored.
"""

import random
import re
from dataclasses import dataclass

CENTRE = (33.0, 28.0)
BOXES = {4: (23.97, 27.98, 25.06, 31.05), 5: (38.02, 42.04, 25.04, 31.08)}
_TYPES = "bool|fixed|int|point|string|timer|trigger|unit|unitgroup|void"


@dataclass(eq=False)
class Unit:
    kind: str
    owner: int
    place: tuple[float, float]
    life: float = 40.0
    removed: bool = False

    @property
    def alive(self):
        return self.life > 0 and not self.removed


def python_of(script):
    """The same program in Python."""
    lines, depth, steps = [], 0, []
    shared = sorted(set(re.findall(r"\bg[vt]_\w+", script)))
    for line in script.replace("\r", "").split("\n"):
        code = re.sub(r"//.*", "", line).strip()
        if not code or code.startswith("include"):
            continue
        if code == "}":
            step = steps.pop()
            lines.append("    " * depth + (step or "pass"))
            depth -= 1
            continue
        if head := re.fullmatch(rf"(?:{_TYPES}) (\w+) \((.*)\) \{{", code):
            arguments = re.sub(rf"\b(?:{_TYPES}) ", "", head[2])
            lines.append(f"def {head[1]}({arguments}):")
            body = f"global {', '.join(shared)}" if shared else "pass"
        elif head := re.fullmatch(r"for \( ; (.*) ; (.*) \) \{", code):
            lines.append("    " * depth + f"while {_expression(head[1])}:")
            steps.append(_expression(head[2]))
            depth += 1
            continue
        elif head := re.fullmatch(r"(if|while) (.*) \{", code):
            lines.append("    " * depth + f"{head[1]} {_expression(head[2])}:")
            body = "pass"
        elif code == "else {":
            lines.append("    " * depth + "else:")
            body = "pass"
        elif head := re.fullmatch(rf"(?:{_TYPES}) (\w+);", code):
            lines.append("    " * depth + f"{head[1]} = None")
            continue
        else:
            lines.append("    " * depth + _expression(code.rstrip(";")))
            continue
        depth += 1
        steps.append("")
        lines.append("    " * depth + body)
    assert depth == 0
    return "\n".join(lines)


def _expression(code):
    for galaxy, python in ((r"!(?!=)", " not "), ("&&", "and"), (r"\|\|", "or"), (" / ", " // ")):
        code = re.sub(galaxy, python, code)
    for galaxy, python in (("true", "True"), ("false", "False"), ("null", "None")):
        code = re.sub(rf"\b{galaxy}\b", python, code)
    return code.strip()


class Map:
    """A map under way: its units, its score, and the script's own variables."""

    def __init__(self, script, seed=0):
        self.units, self.score, self._random = [], 0, random.Random(seed)
        self._loops, self._last, self._died = [], None, None
        self.names = {name: lambda *_: None for name in re.findall(r"\b([A-Za-z]\w*)\s*\(", script)}
        self.names |= {name: 40 + number for number, name in enumerate(sorted(set(re.findall(r"\bc_\w+", script))))}
        self.names |= self._natives()
        exec(python_of(script), self.names)
        self.names["InitGlobals"](*[None] * self.names["InitGlobals"].__code__.co_argcount)
        self.names["gt_Init_Func"](False, True)

    def of(self, *kinds):
        """The living units of these kinds."""
        return [unit for unit in self.units if unit.alive and unit.kind in kinds]

    def kill(self, *units):
        """All die in the same instant; then the triggers are told, one by one."""
        for unit in units:
            unit.life = 0
        for unit in units:
            self._died = unit
            for trigger in ("gt_ScoreUpdatesandVictory_Func", "gt_Defeat_Func"):
                if trigger in self.names and self._owner_fits(trigger):
                    self.names[trigger](False, True)

    def _owner_fits(self, trigger):
        return self._died.owner == (2 if "Score" in trigger else 1)

    def _natives(self):
        def create(count, kind, _, owner, place):
            assert count == 1
            self._last = Unit(kind, owner, place)
            self.units.append(self._last)

        def set_life(unit, _, life):
            unit.life = life

        def set_place(unit, place, _):
            unit.place = place

        def score(_, __, how, amount):
            sign = {"c_playerPropOperAdd": 1, "c_playerPropOperSubtract": -1}
            self.score += amount * next((by for name, by in sign.items() if self.names.get(name) == how), 0)

        def box(number):
            left, right, bottom, top = BOXES[number]
            return self._random.uniform(left, right), self._random.uniform(bottom, top)

        def remove(unit):
            unit.removed = True

        return {
            "libNtve_gf_CreateUnitsWithDefaultFacing": create,
            "UnitLastCreated": lambda: self._last,
            "UnitRemove": remove,
            "UnitIsAlive": lambda unit: unit.alive,
            "UnitGetType": lambda unit: unit.kind,
            "UnitGetOwner": lambda unit: unit.owner,
            "UnitGetPropertyFixed": lambda unit, *_: unit.life,
            "UnitSetPropertyFixed": set_life,
            "UnitSetPosition": set_place,
            "EventUnit": lambda: self._died,
            "UnitGroup": lambda *_: [unit for unit in self.units if unit.alive],
            "UnitGroupEmpty": list,
            "UnitGroupAdd": lambda group, unit: group.append(unit) if unit not in group else None,
            "UnitGroupRemove": lambda group, unit: group.remove(unit),
            "UnitGroupUnit": lambda group, number: [unit for unit in group if unit.alive][number - 1],
            "UnitGroupCount": lambda group, _: sum(unit.alive for unit in group),
            "UnitGroupLoopBegin": lambda group: self._loops.append([unit for unit in group if not unit.removed]),
            "UnitGroupLoopDone": lambda: not self._loops[-1],
            "UnitGroupLoopStep": lambda: self._loops[-1].pop(0),
            "UnitGroupLoopCurrent": lambda: self._loops[-1][0],
            "UnitGroupLoopEnd": lambda: self._loops.pop(),
            "RegionFromId": lambda number: number,
            "RegionRandomPoint": box,
            "RegionGetCenter": lambda _: CENTRE,
            "PointWithOffset": lambda place, x, y: (place[0] + x, place[1] + y),
            "RandomInt": self._random.randint,
            "ModI": lambda value, by: value % by,
            "PlayerModifyPropertyInt": score,
        }

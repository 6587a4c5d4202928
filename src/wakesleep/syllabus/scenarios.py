"""The paper's scenarios: rules that make syllabi (section 4.1).

*Pairwise*: two tasks, once each. *Alternating*: two tasks, three times in turn. *Condensed*: a random permutation of
all tasks. *Dispersed* (TELLA's): three passes over all tasks, each in an order of its own with a third of the steps.
"""

import math
from collections.abc import Sequence
from itertools import permutations

from wakesleep.errors import UserError
from wakesleep.syllabus.seeds import generator_of, lifetime_seed, raw
from wakesleep.syllabus.syllabus import EPISODES, LearningBlock, Syllabus
from wakesleep.worlds import registry

SCENARIOS = ("pairwise", "alternating", "condensed", "dispersed")
REPETITIONS = PASSES = 3
SYLLABI = 36
"""So many of each scenario stand behind the paper's Minigrid tables."""


def block_steps(task: str, scale: float = 1.0) -> int:
    """The length of a task's learning block, the paper's where it gives one."""
    steps = registry.task_info(task).block_steps
    if steps is None:
        raise UserError(f"{task} has no block length of its own: give one in a syllabus (docs/guides/run-a-life.md)")
    if not 0 < scale < math.inf:
        raise UserError(f"learning blocks are scaled by a number above 0, not {scale}")
    return max(1, round(steps * scale))


def pairwise(first: str, second: str, seed: int, scale: float = 1.0, episodes: int = EPISODES) -> Syllabus:
    """Two tasks, once each. `scale` shortens (or lengthens) all learning blocks."""
    return _in_order("pairwise", (first, second), (first, second), seed, scale, episodes)


def alternating(first: str, second: str, seed: int, scale: float = 1.0, episodes: int = EPISODES) -> Syllabus:
    """Two tasks in turn, three times."""
    return _in_order("alternating", (first, second), (first, second) * REPETITIONS, seed, scale, episodes)


def condensed(tasks: Sequence[str], seed: int, scale: float = 1.0, episodes: int = EPISODES) -> Syllabus:
    """All tasks once, in random order."""
    generator = generator_of(seed)
    evaluation_seed, order = raw(generator), generator.permutation(len(tasks))
    blocks = tuple(LearningBlock(tasks[at], block_steps(tasks[at], scale), raw(generator)) for at in order)
    return Syllabus("condensed", tuple(tasks), blocks, evaluation_seed, episodes)


def dispersed(tasks: Sequence[str], seed: int, scale: float = 1.0, episodes: int = EPISODES) -> Syllabus:
    """All tasks in random order, three times anew; the steps of each task are divided among the passes."""
    generator = generator_of(seed)
    evaluation_seed, blocks = raw(generator), []
    for number in range(PASSES):
        for at in generator.permutation(len(tasks)):
            whole, rest = divmod(block_steps(tasks[at], scale), PASSES)
            blocks.append(LearningBlock(tasks[at], whole + (number < rest), raw(generator)))
    return Syllabus("dispersed", tuple(tasks), tuple(blocks), evaluation_seed, episodes)


def _in_order(
    scenario: str, tasks: tuple[str, str], learned: tuple[str, ...], seed: int, scale: float, episodes: int
) -> Syllabus:
    if tasks[0] == tasks[1]:
        raise UserError(f"a {scenario} syllabus needs two different tasks, not {tasks[0]} twice")
    generator = generator_of(seed)
    evaluation_seed = raw(generator)
    blocks = tuple(LearningBlock(task, block_steps(task, scale), raw(generator)) for task in learned)
    return Syllabus(scenario, tasks, blocks, evaluation_seed, episodes)


def paper_pairs(count: int = SYLLABI, domain: str = "minigrid") -> list[tuple[str, str]]:
    """A fixed choice among all ordered pairs of a domain's tasks in the paper: its choice is not known.

    Pairs of different families first, spread evenly: with n tasks, first those at distance 1 in the list, then 2, ...
    each family as often first as second.
    """
    names = registry.tasks(domain, paper_only=True)
    pairs = [pair for pair in permutations(names, 2) if pair[0].split("_")[0] != pair[1].split("_")[0]]
    same = [pair for pair in permutations(names, 2) if pair[0].split("_")[0] == pair[1].split("_")[0]]
    pairs.sort(key=lambda pair: ((names.index(pair[1]) - names.index(pair[0])) % len(names), names.index(pair[0])))
    chosen = [*pairs, *same]
    if not 1 <= count <= len(chosen):
        raise UserError(f"there are {len(chosen)} ordered pairs of {domain} tasks, not {count}")
    step = len(chosen) / count
    return [chosen[int(number * step)] for number in range(count)]


def paper_syllabi(
    scenario: str, count: int = SYLLABI, seed: int = 0, domain: str = "minigrid", scale: float = 1.0,
    episodes: int = EPISODES,
) -> list[Syllabus]:  # fmt: skip
    """A fixed choice of syllabi of a scenario; each has its own seed of TELLA's chain."""
    pairs = scenario in ("pairwise", "alternating")
    tasks = paper_pairs(count, domain) if pairs else [registry.tasks(domain, paper_only=True)] * count
    return [
        make_syllabus(scenario, names, lifetime_seed(seed, number), scale, episodes)
        for number, names in enumerate(tasks)
    ]


def make_syllabus(
    scenario: str, tasks: Sequence[str], seed: int, scale: float = 1.0, episodes: int = EPISODES
) -> Syllabus:
    """The syllabus that a scenario, asked for by name, makes of some tasks."""
    match scenario:
        case "pairwise" | "alternating":
            if len(tasks) != 2:
                raise UserError(f"a {scenario} syllabus takes two tasks, such as DoorKey_S5 and DistShift_R2")
            make = pairwise if scenario == "pairwise" else alternating
            return make(tasks[0], tasks[1], seed, scale, episodes)
        case "condensed":
            return condensed(tasks, seed, scale, episodes)
        case "dispersed":
            return dispersed(tasks, seed, scale, episodes)
    raise UserError(f"no scenario is called {scenario!r}: there are {', '.join(SCENARIOS)}")

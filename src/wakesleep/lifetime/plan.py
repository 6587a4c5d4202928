"""A life as a list of small units of work, known from the start: a life can stop and go on between any two of them."""

from dataclasses import dataclass
from enum import Enum

from wakesleep.agents.agent import Agent
from wakesleep.errors import UserError
from wakesleep.syllabus.syllabus import LearningBlock, Syllabus

CHUNK_STEPS = 10_240
"""About so many environment steps are one unit of training, and one compiled call."""


class Kind(Enum):
    """What is done in a unit."""

    EVALUATE = "evaluating"
    WAKE = "waking"
    TRAIN = "learning"
    SLEEP = "sleeping"


@dataclass(frozen=True)
class Unit:
    """One piece of work."""

    kind: Kind
    block: int
    """Which learning block it belongs to, from 0; of an evaluation, how many came before."""
    first: bool = False
    """Of waking: whether the block begins with it."""
    iterations: int = 0
    """Of training; of waking, how many will follow until it sleeps or the block ends."""


def plan(agent: Agent, syllabus: Syllabus) -> list[Unit]:
    """Everything that will happen, in order: an EB before, between and after the LBs, if it has any episodes."""
    units = []
    for number, block in enumerate(syllabus.learning):
        units += [Unit(Kind.EVALUATE, number), *_learning_units(agent, number, block)]
    units.append(Unit(Kind.EVALUATE, len(syllabus.learning)))
    return [unit for unit in units if syllabus.episodes or unit.kind is not Kind.EVALUATE]


def _learning_units(agent: Agent, number: int, block: LearningBlock) -> list[Unit]:
    """One learning block: waking, training and sleeping, as often as the agent sleeps in it."""
    units, per_iteration, chunk = list[Unit](), agent.num_envs * agent.num_steps, chunk_of(agent)
    sleeps, iterations = max(1, agent.sleeps_per_block), block.steps // per_iteration
    if iterations < sleeps:
        raise UserError(
            f"a block of {block.steps} steps in {block.task} is too short: one iteration of this agent takes"
            f" {per_iteration} steps, and it wants at least {sleeps} of them"
        )
    for sleep_index in range(sleeps):
        left = iterations * (sleep_index + 1) // sleeps - iterations * sleep_index // sleeps
        units.append(Unit(Kind.WAKE, number, first=sleep_index == 0, iterations=left))
        while left:
            units.append(Unit(Kind.TRAIN, number, iterations=min(chunk, left)))
            left -= units[-1].iterations
        if agent.sleeps_per_block:
            units.append(Unit(Kind.SLEEP, number))
    return units


def chunk_of(agent: Agent) -> int:
    """Iterations in one compiled call."""
    return max(1, CHUNK_STEPS // (agent.num_envs * agent.num_steps))

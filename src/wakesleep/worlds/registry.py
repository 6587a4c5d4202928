"""Every task by name: what `wakesleep.make` and `wakesleep.tasks` know.

    wakesleep.register("Corridor_L5", make_corridor, domain="corridor", goal="walk to the end")

makes a task of your own known everywhere a task is named. On the command line, `--load my_module` imports the module
that does so.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import gymnasium

from wakesleep.errors import UserError, brief
from wakesleep.worlds.minigrid import farama
from wakesleep.worlds.minigrid.tasks import TASKS as MINIGRID_TASKS
from wakesleep.worlds.minigrid.tasks import MinigridTask
from wakesleep.worlds.protocols import EvaluationStates
from wakesleep.worlds.starcraft.game import MAPS, GameWorld
from wakesleep.worlds.starcraft.tasks import SMALL_TASKS, StarcraftTask
from wakesleep.worlds.starcraft.tasks import TASKS as STARCRAFT_TASKS
from wakesleep.worlds.world import HostWorld, World
from wakesleep.worlds.world_env import JAX_NAMESPACE, WorldEnv


@dataclass(frozen=True)
class TaskInfo:
    """What is known of a task besides its world. Labels are for people, syllabi and logs, never for agents."""

    name: str
    """Family and variant, `DoorKey_S5`."""
    domain: str
    """Tasks of one domain share observations and actions, so that one agent can live through them."""
    make: Callable[[], World | HostWorld]
    """Makes the task's world."""
    goal: str = ""
    """What the agent has to do, in one line."""
    in_paper: bool = False
    """Whether it is one of the paper's tasks."""
    optimal: float | None = None
    """The mean return of an optimal policy, where it is known."""
    block_steps: int | None = None
    """How many environment steps a learning block has, unless a syllabus says otherwise."""
    evaluation_states: EvaluationStates | None = None
    """The initial states of an evaluation, by world, seed and number of episodes; None: drawn by `world.reset`."""

    @property
    def family(self) -> str:
        """The part of the name before the underscore."""
        return self.name.split("_")[0]


_TASKS: dict[str, TaskInfo] = {}


def register(
    name: str, make: Callable[[], World | HostWorld], *, domain: str, goal: str = "", in_paper: bool = False,
    optimal: float | None = None, block_steps: int | None = None, evaluation_states: EvaluationStates | None = None,
) -> None:  # fmt: skip
    """Make a task known to everything that takes a task's name.

    Args:
        name: family and variant in letters and digits, as logs need it: `Corridor_L5`.
        make: makes the task's world. It is called often, so a host world should open no more than it needs.
        domain: which tasks it shares observations and actions with.
        goal: what the agent has to do, in one line.
        in_paper: whether it is one of the paper's tasks.
        optimal: the mean return of an optimal policy, if it is known.
        block_steps: environment steps of a learning block, unless a syllabus says otherwise.
        evaluation_states: `evaluation_states(world, seed, episodes)` returns a pool of `episodes` initial states for
            an evaluation, the same ones for the same seed. Without it they are drawn by `world.reset` with a key of
            that seed. For worlds in JAX only: a host world is seeded instead.
    """
    if not re.fullmatch(r"[A-Za-z0-9]+_[A-Za-z0-9]+", name):
        raise UserError(f"a task's name is family_variant in letters and digits, like DoorKey_S5, not {name!r}")
    if name in _TASKS:
        raise UserError(f"there is already a task called {name!r} (domain {_TASKS[name].domain})")
    _TASKS[name] = TaskInfo(name, domain, make, goal, in_paper, optimal, block_steps, evaluation_states)


def tasks(domain: str | None = None, *, paper_only: bool = False) -> tuple[str, ...]:
    """Return the names of all tasks in the order in which they were registered.

    Args:
        domain: only tasks of this domain.
        paper_only: only tasks of the paper.
    """
    domains = sorted({info.domain for info in _TASKS.values()})
    if domain is not None and domain not in domains:
        raise UserError(f"no domain is called {domain!r}: there are {', '.join(domains)}")
    chosen = (info for info in _TASKS.values() if domain in (None, info.domain))
    return tuple(info.name for info in chosen if info.in_paper or not paper_only)


def task_info(name: str) -> TaskInfo:
    """Return what is known of the named task. For an unknown name, `UserError` names the nearest ones."""
    if name in _TASKS:
        return _TASKS[name]
    family = name.split("_")[0]
    if variants := [info.name for info in _TASKS.values() if info.family == family]:
        raise UserError(f"no task is called {name!r}: {family} has {', '.join(variants)}")
    by_lower = {known.lower().replace("_", ""): known for known in _TASKS}
    near = difflib.get_close_matches(name.lower().replace("_", ""), by_lower, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(by_lower[match] for match in near)}?" if near else "see `wakesleep tasks`"
    raise UserError(f"no task is called {name!r}: {hint}")


def make(name: str) -> World | HostWorld:
    """Return the world of the named task. Whatever goes wrong while it is made comes out as a `UserError`."""
    return made(task_info(name))


def made(info: TaskInfo) -> World | HostWorld:
    """Return a task's world. Whatever goes wrong while it is made comes out as a `UserError`."""
    try:
        return info.make()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the world of {info.name} cannot be made ({brief(error)})") from error


def _make_world_env(task: MinigridTask | StarcraftTask, render_mode: str | None = None) -> WorldEnv:
    return WorldEnv(task.world(), render_mode)


def _register_built_in() -> None:
    tables: tuple[tuple[str, Mapping[str, MinigridTask | StarcraftTask]], ...] = (
        ("minigrid", MINIGRID_TASKS),
        ("starcraft", STARCRAFT_TASKS),
        ("starcraft-small", SMALL_TASKS),
    )
    for domain, table in tables:
        for task in table.values():
            register(
                task.name,
                task.world,
                domain=domain,
                goal=task.goal,
                in_paper=task.in_paper,
                optimal=task.optimal,
                block_steps=task.block_steps,
                evaluation_states=partial(farama.evaluation_states, task.name) if domain == "minigrid" else None,
            )
            gymnasium.register(f"{JAX_NAMESPACE}/{task.name}", entry_point=partial(_make_world_env, task))
    farama.register()
    for name in MAPS:
        like = STARCRAFT_TASKS[name]
        register(
            f"{name}Game",
            partial(GameWorld, name),
            domain="starcraft-game",
            goal=f"{like.goal} (game)",
            in_paper=like.in_paper,
            block_steps=like.block_steps,
        )


_register_built_in()

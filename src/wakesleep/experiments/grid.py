"""An experiment as a YAML file: agents x syllabi x seeds, written short; here read, checked and written out in full.

scenario: pairwise               # or several: [pairwise, condensed]; or custom
preset: fast                     # paper, if left out
syllabi: 4                       # so many of the fixed choice; 36, if left out; or a list of task lists, or of files
seeds: [0, 1]                    # the agent's; or how many, from 0; 1, if left out
scale: 0.1                       # of the blocks' lengths
episodes: 20                     # of each task in an EB
agents:
  - baseline
  - name: hidden
    label: hidden-3-sleeps       # its name in folders and tables
    settings: {sleeps_per_block: 3}

All agents live through a syllabus before the next one begins: what is there at any time can be compared.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wakesleep import store
from wakesleep.agents.presets import agent_config, has_presets, make_agent
from wakesleep.errors import UserError
from wakesleep.lifetime.plan import plan
from wakesleep.lifetime.spec import LifetimeSpec
from wakesleep.syllabus.custom import check_keys, load_syllabus
from wakesleep.syllabus.scenarios import SCENARIOS, SYLLABI, make_syllabus, paper_syllabi
from wakesleep.syllabus.seeds import lifetime_seed
from wakesleep.syllabus.syllabus import EPISODES, Syllabus, specs_of
from wakesleep.wake.make_envs import make_envs
from wakesleep.worlds import registry

KEYS = ("scenario", "domain", "preset", "syllabi", "seeds", "scale", "episodes", "agents")
AGENT_KEYS = ("name", "label", "preset", "learner", "settings")
CUSTOM = "custom"


class Planned(NamedTuple):
    """A lifetime of an experiment."""

    name: str
    """Its folder: scenario/agent/syllabus-seed, such as pairwise/hidden/07-0."""
    spec: LifetimeSpec


@dataclass(frozen=True)
class GridAgent:
    """One of the agents."""

    name: str
    label: str
    preset: str | None
    learner: str | None
    settings: dict[str, Any]


SHIPPED = Path(__file__).parents[1] / "configs"
"""Experiments that come with the package: the paper's, and small ones."""


def find_grid(name: str) -> Path:
    """The file of an experiment: a path, or the name of a shipped one."""
    if Path(name).suffix in (".yaml", ".yml") or Path(name).is_file():
        return Path(name)
    shipped = {file.stem: file for file in sorted(SHIPPED.glob("*.yaml"))}
    if name not in shipped:
        raise UserError(f"no experiment is called {name!r}: there are {', '.join(shipped)}, or name a YAML file")
    return shipped[name]


def load_grid(file: Path, load: Sequence[str] = ()) -> list[Planned]:
    """All lifetimes of an experiment, in the order in which they are run. Anything not understood is refused."""
    content = store.load_yaml(file)
    check_keys(content, KEYS, f"{file}")
    scenarios = content.get("scenario", "pairwise")
    scenarios = scenarios if isinstance(scenarios, list) else [scenarios]
    with _at(file, "scenario"):
        _check_distinct(scenarios)
        for scenario in scenarios:
            if scenario not in (*SCENARIOS, CUSTOM):
                raise UserError(f"no scenario is called {scenario!r}: there are {', '.join((*SCENARIOS, CUSTOM))}")
    agents, seeds = _agents(content, file), _seeds(content, file)
    planned = []
    for scenario in scenarios:
        syllabi = _syllabi(scenario, content, file)
        _check_agents(syllabi, agents, file)
        digits = max(2, len(str(len(syllabi))))
        for number, syllabus in enumerate(syllabi, start=1):
            for seed in seeds:
                for agent in agents:
                    label = agent.label if agent.label != agent.name else ""
                    spec = LifetimeSpec(
                        agent.name, agent.preset, syllabus, seed, agent.settings, label, agent.learner, tuple(load)
                    )
                    planned.append(Planned(f"{scenario}/{agent.label}/{number:0{digits}d}-{seed}", spec))
    return planned


def _agents(content: dict[str, Any], file: Path) -> list[GridAgent]:
    entries = content.get("agents")
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{file} needs a list of `agents`, such as [baseline, hidden], not {entries!r}")
    preset, agents = content.get("preset", "paper"), []
    for number, entry in enumerate(entries, start=1):
        where = f"{file}, agent {number}"
        entry = {"name": entry} if isinstance(entry, str) else entry
        check_keys(entry, AGENT_KEYS, where)
        name, settings = entry.get("name"), entry.get("settings", {})
        if not isinstance(name, str):
            raise UserError(f"{where} needs a `name`, not {name!r}")
        if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
            raise UserError(f"{where}: `settings` is a mapping such as {{sleep.iterations: 5000}}, not {settings!r}")
        own = entry.get("preset", preset if has_presets(name) else None)
        for key, value in (("preset", own), ("learner", entry.get("learner"))):
            if not isinstance(value, str | None):
                raise UserError(f"{where}: `{key}` is a name, not {value!r}")
        agents.append(GridAgent(name, _label(entry.get("label", name), where), own, entry.get("learner"), settings))
    with _at(file, "agents"):
        _check_distinct([agent.label for agent in agents], "; give one of them a label of its own")
    return agents


def _label(label: Any, where: str) -> str:
    if not isinstance(label, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", label):
        raise UserError(f"{where}: `label` is the name of a folder, in letters, digits and _.+-, not {label!r}")
    return label


def _seeds(content: dict[str, Any], file: Path) -> list[int]:
    seeds = content.get("seeds", 1)
    with _at(file, "seeds"):
        if isinstance(seeds, list):
            if not seeds:
                raise UserError("at least one is needed")
            _check_distinct([_whole(seed, 0) for seed in seeds])
            return seeds
        return list(range(_whole(seeds, 1)))


def _syllabi(scenario: str, content: dict[str, Any], file: Path) -> list[Syllabus]:
    wanted = content.get("syllabi", SYLLABI)
    with _at(file, "episodes"):
        episodes = _whole(content.get("episodes", EPISODES), 1)
    with _at(file, "scale"):
        scale = _positive(content.get("scale", 1.0))
    with _at(file, "domain"):
        if not isinstance(domain := content.get("domain", "minigrid"), str):
            raise UserError(f"a domain is a name, not {domain!r}")
    with _at(file, "syllabi"):
        if scenario == CUSTOM:
            return _own_syllabi(wanted, content, file)
        if not isinstance(wanted, list):
            return paper_syllabi(scenario, _whole(wanted, 1), 0, domain, scale, episodes)
        made = []
        for number, tasks in enumerate(wanted):
            if not isinstance(tasks, list) or not tasks or not all(isinstance(task, str) for task in tasks):
                raise UserError(f"each is a list of tasks, such as [DoorKey_S5, DistShift_R2], not {tasks!r}")
            made.append(make_syllabus(scenario, tasks, lifetime_seed(0, number), scale, episodes))
        if not made:
            raise UserError("at least one is needed")
        return made


def _own_syllabi(wanted: Any, content: dict[str, Any], file: Path) -> list[Syllabus]:
    if unfit := [key for key in ("scale", "episodes", "domain") if key in content]:
        raise UserError(f"files of your own say themselves what `{unfit[0]}` says: leave that out")
    if not isinstance(wanted, list) or not wanted or not all(isinstance(name, str) for name in wanted):
        raise UserError(f"with scenario custom, it is a list of files, such as [mine.yaml], not {wanted!r}")
    return [load_syllabus(file.parent / name, lifetime_seed(0, number)) for number, name in enumerate(wanted)]


def _check_agents(syllabi: list[Syllabus], agents: list[GridAgent], file: Path) -> None:
    """Settings must fit, and the shortest block be long enough for every agent: better said now than in the night."""
    shortest = min(syllabi, key=lambda syllabus: min(block.steps for block in syllabus.learning))
    task = syllabi[0].tasks[0]
    specs, domain = specs_of(task), registry.task_info(task).domain
    for agent in agents:
        with _at(file, f"agent {agent.label}"):
            config = agent_config(agent.name, agent.preset, agent.settings, domain, specs[0], agent.learner)
            made = make_agent(agent.name, *specs, config)
            plan(made, shortest)
            make_envs(task, made.num_envs)


@contextmanager
def _at(file: Path, key: str) -> Iterator[None]:
    """Says where a mistake is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file}, {key}: {error}") from error


def _check_distinct(values: list[Any], advice: str = "") -> None:
    if not values:
        raise UserError("at least one is needed")
    if twice := [value for value in values if values.count(value) > 1]:
        raise UserError(f"{twice[0]!r} is there twice{advice}")


def _whole(value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UserError(f"{value!r} should be a whole number from {least}")
    return value


def _positive(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise UserError(f"{value!r} should be a number above 0")
    return float(value)

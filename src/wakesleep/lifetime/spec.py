"""A lifetime as plain data: which agent, which syllabus, which seed; what config.json holds and a job is given."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.agents.presets import agent_config, make_agent
from wakesleep.agents.settings import to_dict
from wakesleep.errors import UserError
from wakesleep.jobs import Report
from wakesleep.lifetime.life import Lifetime
from wakesleep.syllabus.syllabus import LearningBlock, Syllabus, specs_of
from wakesleep.worlds import registry


@dataclass(frozen=True)
class LifetimeSpec:
    """One agent through one syllabus."""

    agent: str
    preset: str
    syllabus: Syllabus
    seed: int
    overrides: dict[str, Any] = field(default_factory=dict)
    """Settings of the agent that differ from the preset, by name (`sleep.iterations`)."""
    label: str = ""
    """What tables call the agent, if not by its name."""

    @property
    def config(self) -> Any:
        """The agent's settings."""
        task = self.syllabus.tasks[0]
        return agent_config(self.agent, self.preset, self.overrides, registry.task_info(task).domain, specs_of(task)[0])

    def to_json(self) -> dict[str, Any]:
        """As plain data; with all the agent's settings, for those who read it later."""
        syllabus = asdict(self.syllabus)
        syllabus["tasks"], syllabus["learning"] = list(syllabus["tasks"]), list(syllabus["learning"])
        settings = to_dict(self.config)
        return {
            "agent": self.agent, **({"label": self.label} if self.label else {}), "preset": self.preset,
            "overrides": self.overrides, "seed": self.seed, "syllabus": syllabus, "settings": settings,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "LifetimeSpec":
        """What `to_json` wrote; more than it is ignored."""
        try:
            syllabus = dict(data["syllabus"])
            blocks = tuple(LearningBlock(**block) for block in syllabus.pop("learning"))
            made = Syllabus(tasks=tuple(syllabus.pop("tasks")), learning=blocks, **syllabus)
            return cls(
                data["agent"], data["preset"], made, data["seed"], dict(data["overrides"]), data.get("label", "")
            )
        except UserError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"this does not describe a lifetime ({error!r}); was it written by another version?"
            ) from error

    def open(self, folder: Path) -> Lifetime:
        """The lifetime in a folder, begun or gone on with."""
        agent = make_agent(self.agent, *specs_of(self.syllabus.tasks[0]), self.config)
        return Lifetime(agent, self.syllabus, self.seed, folder, self.to_json())


def run_lifetime(spec: LifetimeSpec, folder: Path, report: Report) -> str:
    """Run a lifetime in a folder to its end, from where it is. Returns how it went, in words.

    A process that is still in it, left over from a run whose parent was killed, leaves first.
    """
    with store.folder_lock(folder, lambda: report(0.0, "waiting for another process to leave")):
        return spec.open(folder).run(report)


def stored_spec(folder: Path) -> LifetimeSpec:
    """The lifetime that a folder holds."""
    if not (folder / "config.json").exists():
        raise UserError(f"there is no lifetime in {folder}: begin one with `wakesleep run --out {folder}`")
    return LifetimeSpec.from_json(store.load_json(folder / "config.json"))

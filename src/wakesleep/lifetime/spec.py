"""A lifetime as plain data: which agent, which syllabus, which seed; what config.json holds and a job is given."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wakesleep import store
from wakesleep.agents.agent import Agent
from wakesleep.agents.presets import agent_config, check_preset, make_agent
from wakesleep.errors import UserError
from wakesleep.jobs import Report, load_modules
from wakesleep.lifetime.life import Lifetime
from wakesleep.lifetime.policy import load_policy
from wakesleep.nets.policy import Actor
from wakesleep.settings import to_dict
from wakesleep.syllabus.syllabus import LearningBlock, Syllabus, specs_of
from wakesleep.worlds import registry

FORMAT = 2
"""Of config.json. Settings have other names in 1, which had no number."""


@dataclass(frozen=True)
class LifetimeSpec:
    """One agent through one syllabus."""

    agent: str
    preset: str | None
    """None: the agent's own default."""
    syllabus: Syllabus
    seed: int
    overrides: dict[str, Any] = field(default_factory=dict)
    """Settings of the agent that differ from the preset, by name (`sleep.iterations`)."""
    label: str = ""
    """What tables call the agent, if not by its name."""
    learner: str | None = None
    """Another wake learner than the preset's, by name."""
    load: tuple[str, ...] = ()
    """Modules of the user's that register its tasks and agents."""
    keep_policies: bool = False
    """Whether the policy at the end of each learning block is kept."""

    @property
    def domain(self) -> str:
        """The domain of its tasks."""
        return registry.task_info(self.syllabus.tasks[0]).domain

    @property
    def config(self) -> Any:
        """All settings of the agent: those of its preset, with the overrides."""
        observation, _ = specs_of(self.syllabus.tasks[0])
        return agent_config(self.agent, self.preset, self.overrides, self.domain, observation, self.learner)

    def make_agent(self) -> Agent:
        """The agent, with nothing learned."""
        return make_agent(self.agent, *specs_of(self.syllabus.tasks[0]), self.config)

    def to_json(self) -> dict[str, Any]:
        """As plain data; with all the agent's settings, for those who read it later."""
        syllabus = asdict(self.syllabus)
        syllabus["tasks"], syllabus["learning"] = list(syllabus["tasks"]), list(syllabus["learning"])
        optional = {
            "label": self.label, "learner": self.learner, "load": list(self.load), "keep_policies": self.keep_policies,
        }  # fmt: skip
        return {
            "format": FORMAT, "agent": self.agent, "preset": check_preset(self.agent, self.preset, self.domain),
            "overrides": self.overrides, "seed": self.seed, "syllabus": syllabus, "settings": to_dict(self.config),
            **{name: value for name, value in optional.items() if value},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "LifetimeSpec":
        """What `to_json` wrote; more than it is ignored. The user's modules that it names are imported."""
        check_format(data)
        try:
            load = tuple(map(str, data.get("load", ())))
            load_modules(load)
            syllabus = dict(data["syllabus"])
            blocks = tuple(LearningBlock(**block) for block in syllabus.pop("learning"))
            made = Syllabus(tasks=tuple(syllabus.pop("tasks")), learning=blocks, **syllabus)
            return cls(
                data["agent"], data["preset"] or None, made, data["seed"], dict(data["overrides"]),
                data.get("label", ""), data.get("learner"), load, data.get("keep_policies", False),
            )  # fmt: skip
        except UserError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"this does not describe a lifetime ({error!r}); was it written by another version?"
            ) from error

    def digest(self) -> str:
        """Eight letters and digits that differ for different lifetimes."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def open(self, folder: Path) -> Lifetime:
        """The lifetime in a folder, begun or gone on with."""
        return Lifetime(self.make_agent(), self.syllabus, self.seed, folder, self.to_json(), self.keep_policies)


def check_format(data: dict[str, Any]) -> None:
    """Refuse a config.json of another version."""
    if "agent" in data and data.get("format") != FORMAT:
        raise UserError(
            f"this was written by another version of wakesleep (format {data.get('format', 1)}, here {FORMAT}):"
            " go on with it in that version, or begin anew; its log can still be measured"
        )


def is_finished(folder: Path) -> bool:
    """Whether the lifetime in a folder was lived to its end."""
    return (folder / "summary.json").exists()


def run_lifetime(spec: LifetimeSpec, folder: Path, report: Report) -> str:
    """Run a lifetime in a folder to its end, from where it is. Returns how it went, in words.

    A process that is still in it, left over from a run whose parent was killed, leaves first.
    """
    waited = False

    def wait() -> None:
        nonlocal waited
        waited = True
        report(0.0, "waiting for another process to leave")

    with store.folder_lock(folder, wait):
        if waited and is_finished(folder):
            return "finished by another process"
        return spec.open(folder).run(report)


def stored_spec(folder: Path) -> LifetimeSpec:
    """The lifetime that a folder holds."""
    if not (folder / "config.json").exists():
        raise UserError(f"there is no lifetime in {folder}: begin one with `wakesleep run --out {folder}`")
    try:
        return LifetimeSpec.from_json(store.load_json(folder / "config.json"))
    except UserError as error:
        raise UserError(f"{folder / 'config.json'}: {error}") from error


def stored_policy(folder: Path, block: int | None = None) -> Actor:
    """The policy of a lifetime: at its end, or at the end of a learning block (from 1), if it was kept."""
    file = folder / ("policy.npz" if block is None else f"policies/block-{block:02d}.npz")
    spec = stored_spec(folder)
    if not file.exists():
        why = "the life is not over" if block is None else "it was not kept (keep_policies), or is not there yet"
        raise UserError(f"there is no {file}: {why}")
    return load_policy(file, spec.make_agent())

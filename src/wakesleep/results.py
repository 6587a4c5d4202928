"""What a run leaves behind, to look at and to act with: a life, a trained policy, a comparison of agents."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from wakesleep import store
from wakesleep.lifetime.spec import is_finished, stored_policy
from wakesleep.metrics import frames
from wakesleep.nets import actions
from wakesleep.nets.policy import Actor, mask_of
from wakesleep.syllabus.syllabus import specs_of
from wakesleep.worlds.world import ActionSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy to act with."""

    policy: Actor
    action_spec: ActionSpec

    def __call__(self, observation: Any) -> jax.Array:
        """Logits over actions for a batch of observations (leading axis: the batch)."""
        return self.policy(jax.tree.map(jax.numpy.asarray, observation))

    def act(self, observation: Any, seed: int = 0, greedy: bool = False) -> np.ndarray:
        """One action for one observation: sampled by the seed, or the likeliest (`greedy`)."""
        batch = jax.tree.map(lambda leaf: np.asarray(leaf)[None], observation)
        logits, mask = self(batch), mask_of(batch)
        if greedy:
            return np.asarray(actions.greedy(self.action_spec, logits, mask)[0])
        return np.asarray(actions.sample(self.action_spec, logits, jax.random.key(seed), mask)[0])


@dataclass(frozen=True)
class Life:
    """A lifetime in its folder, finished or under way."""

    folder: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """What was asked for: agent, syllabus, seed and all settings."""
        return store.load_json(self.folder / "config.json")

    @property
    def summary(self) -> dict[str, Any]:
        """What came out and what it took; empty while it is under way."""
        return store.load_json(self.folder / "summary.json") if self.finished else {}

    @property
    def finished(self) -> bool:
        """Whether it was lived to its end."""
        return is_finished(self.folder)

    @property
    def agent(self) -> str:
        """What tables call the agent."""
        return str(self.config.get("label") or self.config["agent"])

    @property
    def tasks(self) -> tuple[str, ...]:
        """What every evaluation block evaluates."""
        return tuple(self.config["syllabus"]["tasks"])

    @property
    def seed(self) -> int:
        """Of everything random but the syllabus."""
        return int(self.config["seed"])

    @property
    def returns(self) -> "DataFrame":
        """Mean returns: a row for each evaluation block, a column for each task."""
        return frames.returns_table(self.folder)

    def metrics(self, experts: str | Path | None = None) -> dict[str, float | None]:
        """The lifetime's metrics by their short names: PM, FT and BT; with a folder of experts also RP and RR.

        None where a metric is not defined for this life.
        """
        return frames.run_metrics(self.folder, Path(experts) if experts else None)

    def plot(self) -> "Figure":
        """The paper's zig-zag figure: returns of every task over the life."""
        from wakesleep.reporting.figure import plot_lifetime

        return plot_lifetime(self.folder)

    @property
    def policy(self) -> TrainedPolicy:
        """The policy at the end of the life, as it acted in the last evaluation block."""
        return self.policy_after(None)

    def policy_after(self, block: int | None) -> TrainedPolicy:
        """The policy at the end of a learning block, from 1, of a life that was run with `keep_policies`."""
        return TrainedPolicy(stored_policy(self.folder, block), specs_of(self.tasks[0])[1])

    def __repr__(self) -> str:
        state = "finished" if self.finished else "under way"
        return f"Life({self.agent}, {', '.join(self.tasks)}, seed {self.seed}, {state}, in {self.folder})"


@dataclass(frozen=True)
class Comparison:
    """Agents side by side: means, intervals and marks."""

    table: "DataFrame"
    """A row for each agent, with what is significantly better (•) or worse (∘) than the baseline."""
    content: list[dict[str, Any]]
    """Everything that is known, an entry for each scenario."""
    notes: list[str]
    """Sentences on units, on numbers that are missing, and on runs that were left out."""

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known, by scenario."""
        return {str(entry.get("scenario", "")): entry for entry in self.content}

    def __repr__(self) -> str:
        return "\n".join([self.table.to_string(), *self.notes])

    def _repr_html_(self) -> str:
        return self.table.to_html()

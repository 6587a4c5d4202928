"""The picture of README: what two lives of the demo keep of each task.

make demo
python benchmarks/forgetting_figure.py demo --out docs/images/forgetting.svg
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from matplotlib.figure import Figure

import wakesleep as ws

COLOURS = ("#d1495b", "#2e7dab")
TITLES = {"baseline": "PPO alone forgets", "hidden": "the agent that sleeps keeps it"}


@dataclass(frozen=True)
class Arguments:
    """Draw the evaluations of the demo's lives."""

    demo: tyro.conf.Positional[Path]
    """Folder of the demo."""
    out: Path = Path("docs/images/forgetting.svg")
    """File to write."""


def draw(axes: Any, life: ws.Life) -> None:
    """One life: a line for each task through its evaluation blocks."""
    returns = life.returns
    moments = ["at birth", *(f"after\n{label.split('after ')[1]}" for label in returns.index[1:])]
    for task, colour in zip(returns.columns, COLOURS, strict=True):
        axes.plot(moments, returns[task], color=colour, marker="o", linewidth=2.5, label=task)
    axes.set_title(TITLES.get(life.agent, life.agent), fontsize=12)
    axes.set_ylim(-1.05, 1.05)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def main(arguments: Arguments) -> None:
    """Draw both lives side by side."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, agent in zip(panels, TITLES, strict=True):
        draw(axes, ws.load(arguments.demo / agent))
    panels[0].set_ylabel("mean return of 100 episodes")
    panels[1].legend(frameon=False, loc="lower right")
    figure.savefig(arguments.out, metadata={"Date": None})


if __name__ == "__main__":
    main(tyro.cli(Arguments))

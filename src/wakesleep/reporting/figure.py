"""The paper's zig-zag figure of one lifetime: returns of each task in every evaluation block."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wakesleep.errors import UserError
from wakesleep.reporting.curves import Block, LifetimeCurves, lifetime_curves
from wakesleep.reporting.lives import StoredLifetime, read_life

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 60
"""Bins of a learning block."""
_COLOURS = (
    "#1f6fb4", "#c2570c", "#1f8a4c", "#c0324a", "#7a4fbf", "#8a5a2b", "#b83a94", "#0d7f8c", "#75751a", "#5c6670",
)  # fmt: skip
_MARKERS = "os^DPvX<*>"
_GREY = "#55616d"


def plot_lifetime(folder: Path) -> "Figure":
    """Draw a lifetime, finished or under way.

    A line with markers for each task goes through its evaluation blocks, over the environment steps of learning. The
    background shows which task was being learned, and a thin line its returns while learning.

    Args:
        folder: of one run.

    Returns:
        A matplotlib figure, not bound to pyplot: `figure.savefig("life.png")`.
    """
    life = read_life(Path(folder), Path(folder).resolve().name)
    if life.run is None:
        raise UserError(f"{folder} cannot be drawn: {life.problem}")
    return _draw(life, lifetime_curves(life, POINTS))


def _draw(life: StoredLifetime, curves: LifetimeCurves) -> "Figure":
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys([*curves.returns, *curves.order]))
    edges = np.cumsum([0, *(block.size for block in curves.blocks)])
    figure = Figure(figsize=(min(14.0, max(7.0, 1.6 + 1.3 * len(curves.blocks))), 3.8), layout="constrained")
    axes = figure.add_subplot()
    for block, begin, end in zip(curves.blocks, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        _draw_block(axes, block, begin, end, _COLOURS[tasks.index(block.task) % len(_COLOURS)])
    for number, task in enumerate(tasks):
        if task in curves.returns:
            returns = np.array(curves.returns[task])
            known = np.isfinite(returns)
            axes.plot(
                edges[curves.evaluations][known], returns[known], color=_COLOURS[number % len(_COLOURS)], label=task,
                marker=_MARKERS[number % len(_MARKERS)], markersize=6, linewidth=2, clip_on=False, zorder=3,
            )  # fmt: skip
    _label_blocks(axes, curves, edges, tasks)
    axes.set_xlim(0, max(1, int(edges[-1])))
    axes.set_xlabel(f"{'environment steps' if curves.unit == 'steps' else curves.unit} of learning")
    axes.set_ylabel("mean return")
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="y", color="#0000001a")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    seed = "" if life.run is None or life.run.seed is None else f", seed {life.run.seed}"
    figure.suptitle(f"{life.agent}{f', {life.scenario}' if life.scenario else ''}{seed}", fontsize=11)
    if curves.returns:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9, title="evaluations", title_fontsize=9)
    return figure


def _draw_block(axes: "Axes", block: Block, begin: int, end: int, colour: str) -> None:
    """The background of a learning block, and its learning curve."""
    axes.axvspan(begin, end, color=colour, alpha=0.1, linewidth=0, zorder=0)
    centres = begin + (np.arange(len(block.curve)) + 0.5) / POINTS * (end - begin)
    returns = np.array(block.curve)
    known = np.isfinite(returns)
    axes.plot(centres[known], returns[known], color=colour, alpha=0.55, linewidth=0.9, zorder=1)


def _label_blocks(axes: "Axes", curves: LifetimeCurves, edges: np.ndarray, tasks: list[str]) -> None:
    """The task of each learning block above it; slanted where blocks are narrow."""
    narrow = len(curves.blocks) > 4
    for block, begin, end in zip(curves.blocks, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        axes.annotate(
            block.task, ((begin + end) / 2, 1.0), xytext=(0, 5), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="left" if narrow else "center", va="bottom", fontsize=8,
            rotation=30 if narrow else 0, rotation_mode="anchor",
            color=_COLOURS[tasks.index(block.task) % len(_COLOURS)],
        )  # fmt: skip

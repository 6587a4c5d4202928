"""What sleep makes of features and observations, as pictures (the paper's appendix C), from a lifetime's diagnostics.

    .venv/bin/python benchmarks/dreams.py features LIFE --sleeps 2 5 10 --out docs/images/features.png
    .venv/bin/python benchmarks/dreams.py views LIFE --sleeps 1 2 --out docs/images/dreams.png

`features`: real, reconstructed and generated features in the first two principal components of the real ones, coloured
by what the policy would do. `views`: Minigrid observations, what the VAE makes of them, and what it dreams; for the
architectures that dream observations (two-headed, sequential).
"""

from pathlib import Path
from typing import Literal

import numpy as np
import tyro
from matplotlib.figure import Figure
from minigrid.core.grid import Grid

import wakesleep
from wakesleep.reporting.sleeps import read_sleep, sleep_files

ROWS = {"seen": "seen", "seen_again": "reconstructed", "dream": "dreamed", "dream_refined": "dreamed, 3 loops"}
SHOWN = 10
BELOW_THE_VIEW = (3, 6)
UP = 3


def features(sleeps: dict[int, dict[str, np.ndarray]]) -> Figure:
    """A row for every sleep: real, reconstructed, generated, generated and looped."""
    figure = Figure(figsize=(12, 3 * len(sleeps)), layout="constrained")
    panels = figure.subplots(len(sleeps), 4, sharex="row", sharey="row", squeeze=False)
    names = wakesleep.make("DoorKey_S5").action_names
    for row, (number, arrays) in zip(panels, sleeps.items(), strict=True):
        clouds = (
            ("real", arrays["after"], arrays["action"]),
            ("reconstructed", arrays["reconstructed"], arrays["action"]),
            ("generated", arrays["dreamed_after"], arrays["dreamed_after_action"]),
            ("generated, 3 loops", arrays["refined"], arrays["dreamed_after_action"]),
        )
        for panel, (title, points, action) in zip(row, clouds, strict=True):
            for value, name in enumerate(names):
                chosen = points[action == value]
                panel.scatter(chosen[:, 0], chosen[:, 1], s=7, color=f"C{value}", label=name, alpha=0.7)
            panel.set_title(f"sleep {number}: {title}", fontsize=9)
    panels[0, 0].legend(fontsize=6)
    return figure


def views(sleeps: dict[int, dict[str, np.ndarray]]) -> Figure:
    """Rows of pictures for every sleep."""
    figure = Figure(figsize=(SHOWN * 1.05, 4.4 * len(sleeps)), layout="constrained")
    panels = figure.subplots(len(ROWS) * len(sleeps), SHOWN)
    lines = [(number, arrays, name) for number, arrays in sleeps.items() for name in ROWS]
    for row, (number, arrays, name) in zip(panels, lines, strict=True):
        for panel, view in zip(row, arrays[f"picture_{name}"], strict=False):
            grid, seen = Grid.decode(view)
            panel.imshow(grid.render(16, BELOW_THE_VIEW, UP, highlight_mask=seen))
            panel.set_xticks([])
            panel.set_yticks([])
        row[0].set_ylabel(f"sleep {number}:\n{ROWS[name]}", fontsize=7)
    return figure


def main(what: tyro.conf.Positional[Literal["features", "views"]], life: tyro.conf.Positional[Path], out: Path,
         sleeps: tuple[int, ...] = (1,)) -> None:  # fmt: skip
    """Draw it.

    Args:
        what: features or views.
        life: folder of a lifetime.
        out: the PNG to write.
        sleeps: which, from 1.
    """
    files = sleep_files(life)
    found = {number: read_sleep(files[number - 1]) for number in sleeps}
    (features if what == "features" else views)(found).savefig(out, dpi=100)


if __name__ == "__main__":
    tyro.cli(main)

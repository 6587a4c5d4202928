"""How alike tasks are: every expert plays every task (the paper's similarity matrix, appendix B).

What an expert of one task achieves on another, as a part of what that other's own expert achieves, is the forward
transfer that the tasks allow.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from wakesleep import store
from wakesleep.errors import UserError
from wakesleep.experts.expert import EVALUATION_EPISODES, Expert
from wakesleep.wake.envs import evaluate
from wakesleep.wake.make_envs import make_envs


class Similarity(NamedTuple):
    """Mean returns, rows: trained on, columns: played."""

    tasks: tuple[str, ...]
    returns: np.ndarray

    @property
    def relative(self) -> np.ndarray:
        """As parts of the own expert's return; not a number where that expert itself achieves nothing."""
        own = np.diag(self.returns)
        return self.returns / np.where(own > 0, own, np.nan)


def similarity(
    experts: Sequence[Expert], watch: Callable[[Sequence[Expert]], Iterable[Expert]] = iter, seed: int = 0
) -> Similarity:
    """Let all experts play all tasks; several experts of a task are averaged. `watch` may show progress."""
    if not experts:
        raise UserError("there is no finished expert yet")
    tasks = tuple(dict.fromkeys(expert.task for expert in experts))
    envs = [make_envs(task) for task in tasks]
    totals, counts = np.zeros((len(tasks), len(tasks))), np.zeros(len(tasks))
    for expert in watch(experts):
        row = tasks.index(expert.task)
        counts[row] += 1
        for column, played in enumerate(envs):
            key = jax.random.fold_in(jax.random.key(seed), column)
            episodes = evaluate(played, expert.policy, key, EVALUATION_EPISODES)
            totals[row, column] += float(episodes.total_reward.mean())
    return Similarity(tasks, totals / counts[:, None])


def save_csv(result: Similarity, file: Path) -> None:
    """A row for each pair: trained on, played, mean return, relative to the own expert's."""

    def write(beside: Path) -> None:
        with beside.open("w", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(("trained_on", "played", "mean_return", "relative"))
            for row, trained in enumerate(result.tasks):
                for column, played in enumerate(result.tasks):
                    numbers = (round(float(part[row, column]), 4) for part in (result.returns, result.relative))
                    writer.writerow((trained, played, *numbers))

    store.write_atomically(file, write)


def save_heat_map(result: Similarity, file: Path) -> None:
    """The matrix as a picture; the file's ending says which kind (.png, .svg, .pdf)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    count, relative = len(result.tasks), result.relative
    figure = Figure(figsize=(1.6 + 0.75 * count, 1.2 + 0.6 * count), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(relative, cmap=mpl.colormaps["viridis"], vmin=0, vmax=1)
    axes.set_xticks(range(count), result.tasks, rotation=40, ha="right")
    axes.set_yticks(range(count), result.tasks)
    axes.set_xlabel("played")
    axes.set_ylabel("trained on")
    for row in range(count):
        for column in range(count):
            value = relative[row, column]
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.6 else "white")
    figure.colorbar(image, label="return, as a part of the own expert's")
    kinds = figure.canvas.get_supported_filetypes()
    if file.suffix.lstrip(".") not in kinds:
        raise UserError(
            f"a picture is written as {', '.join(sorted(kinds))}, not as {file.suffix or 'a file without ending'}"
        )
    figure.savefig(file, dpi=120)

"""`wakesleep report`: lifetimes as one web page; `wakesleep export-logs`: the same numbers for other viewers."""

from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from wakesleep.errors import UserError
from wakesleep.jobs import load_modules

if TYPE_CHECKING:
    from wakesleep.reporting.lives import StoredLifetime

PORT = 8765


def report(
    runs: tyro.conf.Positional[tuple[Path, ...]],
    out: Path = Path("report.html"),
    experts: Path | None = None,
    title: str = "Lifetimes",
    baseline: str = "baseline",
    paper: str | None = None,
    details: int = 8,
    serve: bool = False,
    port: int = PORT,
    load: tuple[str, ...] = (),
) -> None:
    """Make one web page of lifetimes, finished or under way; it opens offline.

    Args:
        runs: folders of lifetimes, at any depth; any log in l2logger's layout will do.
        out: file to write.
        experts: folder of single-task experts; without it there are no RP, RR and expert levels.
        title: of the page.
        baseline: the agent that others are compared with.
        paper: put the paper's rows below ours: minigrid-architectures, minigrid-replay, ...
        details: lifetimes whose sleeps and episodes are shown.
        serve: show the page at http://127.0.0.1:PORT and follow lifetimes that run, instead of writing a file.
        port: of that address.
        load: modules of yours to import first: they register tasks and agents.
    """
    from wakesleep.reporting.data import Reporter, ReportRequest
    from wakesleep.reporting.page import page, write_page
    from wakesleep.reporting.serve import make_server

    load_modules(load)
    reporter = Reporter(ReportRequest(runs, experts, baseline, paper, details))
    data = reporter.data()
    if not serve:
        text = page(data, title)
        write_page(out, text)
        print(f"{out}: {len(data['lives'])} lifetimes, {len(text.encode()) / 1e6:.1f} MB")
        for problem in data["problems"]:
            print(f"  {problem}")
        return
    server = make_server(reporter, port, title)
    print(
        f"http://127.0.0.1:{server.server_address[1]} follows {len(data['lives'])} lifetimes; Ctrl-C ends it",
        flush=True,
    )
    with server:
        server.serve_forever()


def export_logs(
    runs: tyro.conf.Positional[tuple[Path, ...]], tensorboard: Path | None = None, wandb: str | None = None
) -> None:
    """Write the curves of lifetimes, finished or under way, for TensorBoard or Weights & Biases.

    Args:
        runs: folders of lifetimes, at any depth.
        tensorboard: folder to write event files to; look at it with `tensorboard --logdir`.
        wandb: project to write to; WANDB_MODE=offline keeps it on this machine.
    """
    from wakesleep.reporting.lives import find_lives
    from wakesleep.reporting.scalars import Logger, TensorBoard, WeightsAndBiases, export

    if not runs:
        raise UserError("name at least one folder of lifetimes: wakesleep export-logs RUNS --tensorboard DIR")
    if (tensorboard is None) == (wandb is None):
        raise UserError("name where curves go: --tensorboard FOLDER or --wandb PROJECT, one of them")
    lives = find_lives(runs)

    def logger(life: "StoredLifetime") -> Logger:
        return TensorBoard(tensorboard, life) if tensorboard else WeightsAndBiases(str(wandb), life)

    count = export(lives, logger)
    print(f"{len(lives)} lifetimes, {count:,} scalars")
    for life in lives:
        if life.problem:
            print(f"  {life.name}: {life.problem}")

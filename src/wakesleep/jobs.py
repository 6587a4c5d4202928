"""Long jobs side by side, one process and one core each, with one view of their progress.

A job is a function at the top of a module, called with its arguments and `report`, which it calls now and then with
the part that is done and a few words. Jobs save their own work: after Ctrl-C every job is told to stop at its next
report (`Stopped` comes out of the call), and running the same again goes on where they were.
"""

import importlib
import multiprocessing
import os
import queue
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wakesleep import runtime
from wakesleep.errors import UserError

Report = Callable[[float, str], None]
"""Called by a job with the part that is done, 0 to 1, and a few words."""


class Stopped(Exception):
    """A job was asked to stop: it should leave, its work saved."""


@dataclass(frozen=True)
class Job:
    """Something to do."""

    name: str
    function: Callable[..., str]
    """Takes the arguments and a keyword `report`; returns a few words about how it went."""
    arguments: tuple[Any, ...] = field(default=())


def run_jobs(
    jobs: Sequence[Job], workers: int, title: str, load: Sequence[str] = (), console: Console | None = None
) -> None:
    """Do all jobs, at most `workers` at a time; one worker means in this very process.

    A failed job does not stop the others; at the end the first failure is raised. `load` names modules that each
    worker imports first (those that register tasks).
    """
    if workers < 1:
        raise UserError(f"jobs need at least one worker, not {workers}")
    console = console or Console()
    with _progress(console) as progress:
        overall = progress.add_task(title, total=len(jobs), note="")
        view = _View(progress, overall)
        if workers == 1 or len(jobs) == 1:
            failures = _run_here(jobs, view)
        else:
            failures = _run_in_processes(jobs, min(workers, len(jobs)), load, view)
    for error in failures.values():
        if not isinstance(error, UserError):
            raise error  # a bug: with its traceback
    if failures:
        name, error = next(iter(failures.items()))
        raise UserError(f"{len(failures)} of {len(jobs)} jobs failed; {name}: {error}")


def default_workers() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _View:
    """One bar for everything and one for each running job."""

    def __init__(self, progress: Progress, overall: Any) -> None:
        self.progress, self.overall = progress, overall
        self.bars: dict[str, Any] = {}
        self.done: dict[str, float] = {}

    def show(self, name: str, part: float, note: str) -> None:
        if name not in self.bars:
            self.bars[name] = self.progress.add_task(f"  {name}", total=1, note=note)
        self.progress.update(self.bars[name], completed=part, note=note)
        self.done[name] = part
        self.progress.update(self.overall, completed=sum(self.done.values()))

    def finish(self, name: str, words: str) -> None:
        self.show(name, 1.0, "")
        self.progress.remove_task(self.bars.pop(name))
        self.progress.console.print(f"{name}: {words}", highlight=False)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
        console=console, speed_estimate_period=600,
    )  # fmt: skip


def _run_here(jobs: Sequence[Job], view: _View) -> dict[str, BaseException]:
    failures: dict[str, BaseException] = {}
    for job in jobs:
        try:
            words = job.function(*job.arguments, report=lambda part, note, name=job.name: view.show(name, part, note))
            view.finish(job.name, words)
        except UserError as error:
            failures[job.name] = error
            view.finish(job.name, f"failed: {error}")
    return failures


def _run_in_processes(jobs: Sequence[Job], workers: int, load: Sequence[str], view: _View) -> dict[str, BaseException]:
    context = multiprocessing.get_context("spawn")
    reports, stop = context.Queue(), context.Event()
    failures: dict[str, BaseException] = {}
    with ProcessPoolExecutor(workers, context, _begin_worker, (reports, stop, tuple(load))) as pool:
        running: dict[Future[str], str] = {pool.submit(_work, job): job.name for job in jobs}
        try:
            while running:
                finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                _show_reports(reports, view)
                for future in finished:
                    name = running.pop(future)
                    if (error := future.exception()) is None:
                        view.finish(name, future.result())
                        continue
                    failures[name] = _explained(error)
                    view.finish(name, f"failed: {failures[name]}")
        except KeyboardInterrupt:
            view.progress.console.print("Stopping: the running jobs save their work first.")
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failures


def _explained(error: BaseException) -> BaseException:
    if isinstance(error, BrokenProcessPool):
        return UserError("a worker process died, out of memory perhaps; run the same again to go on, with fewer jobs")
    return error


def _show_reports(reports: Any, view: _View) -> None:
    while True:
        try:
            view.show(*reports.get_nowait())
        except queue.Empty:
            return


def _begin_worker(reports: Any, stop: Any, load: tuple[str, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _work.channel = reports, stop  # type: ignore[attr-defined]
    runtime.set_up()
    sys.path.insert(0, "")
    for name in load:
        importlib.import_module(name)


def _work(job: Job) -> str:
    reports, stop = _work.channel  # type: ignore[attr-defined]

    def report(part: float, note: str) -> None:
        reports.put((job.name, part, note))
        parent = multiprocessing.parent_process()
        if stop.is_set() or not (parent and parent.is_alive()):  # who started this may have been killed
            raise Stopped

    return job.function(*job.arguments, report=report)

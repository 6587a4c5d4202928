"""Long jobs side by side, one process and one core each, with one view of their progress.

A job is a function at the top of a module, called with its arguments and `report`, which it calls now and then with
the part that is done and a few words. Jobs save their own work: after Ctrl-C every job is told to stop at its next
report (`Stopped` comes out of the call), and running the same again goes on where they were. Workers share nothing that
a dying one could take along: the death of one (kill -9, out of memory) costs its own job only.
"""

import importlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wakesleep import runtime
from wakesleep.errors import EnvironmentFailed, UserError, brief

Report = Callable[[float, str], None]
"""Called by a job with the part that is done, 0 to 1, and a few words."""


class Stopped(Exception):
    """A job was asked to stop: it should leave, its work saved."""


class WorkerDied(UserError):
    """A worker process was killed or ran out of memory."""


@dataclass(frozen=True)
class Job:
    """A piece of work for one process, with the name that the progress view shows."""

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
    _check(workers)
    with view_of(title, len(jobs), console) as view:
        alone = workers == 1 or len(jobs) == 1
        failures = _run_here(jobs, view) if alone else run_in_processes(jobs, workers, view, load)
    for error in failures.values():
        if not isinstance(error, UserError):
            raise error  # a bug: with its traceback
    if failures:
        first = next(iter(failures.values()))
        raise first if len(jobs) == 1 else UserError(f"{len(failures)} of {len(jobs)} jobs failed: see above")


def run_in_processes(
    jobs: Sequence[Job], workers: int, view: "View", load: Sequence[str] = (), retries: int = 0
) -> dict[str, BaseException]:
    """Do all jobs in processes of their own; what failed for good, by name.

    A job that crashed, or whose process died, is begun again up to `retries` times; one that was refused (`UserError`)
    would be refused again.
    """
    _check(workers)
    context = multiprocessing.get_context("spawn")
    stop = context.RawValue("b", 0)  # no lock that a killed process could take along
    slots = [_Slot(context, stop, tuple(load)) for _ in range(min(workers, len(jobs)))]
    waiting, tries, failures = deque(jobs), Counter[str](), dict[str, BaseException]()
    running: dict[Future[str], _Slot] = {}
    try:
        while waiting or running:
            for slot in [slot for slot in slots if slot.job is None][: len(waiting)]:
                job = waiting.popleft()
                tries[job.name] += 1
                running[slot.submit(job)] = slot
                view.show(job.name, view.done.get(job.name, 0.0), "starting")
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for slot in slots:
                slot.show_reports(view)
            for future in finished:
                job, error = running.pop(future).leave(future)
                if error is None:
                    view.finish(job.name, future.result())
                elif tries[job.name] <= retries and is_crash(error):
                    view.retry(job.name, explained(error))
                    waiting.append(job)
                else:
                    failures[job.name] = error
                    view.fail(job.name, explained(error))
    except KeyboardInterrupt:
        view.say("Stopping: the running jobs save their work first.")
        raise
    finally:
        stop.value = 1
        for slot in slots:
            slot.pool.shutdown(cancel_futures=True)
    return failures


def is_crash(error: BaseException) -> bool:
    """Whether it may go better another time: not if the job was refused for a reason."""
    return isinstance(error, WorkerDied | EnvironmentFailed) or not isinstance(error, UserError)


def explained(error: BaseException) -> str:
    """What was wrong, in words."""
    return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"


def load_modules(modules: Sequence[str]) -> None:
    """Import a user's modules, which register tasks and agents; from the current folder too."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    for name in modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise UserError(f"cannot load {name}: {error}; is it in this folder or installed?") from error
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"cannot load {name}: {brief(error)}") from error


def default_workers() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class View:
    """One bar for everything, with how many are finished and failed, and one for each running job."""

    def __init__(self, progress: Progress, overall: Any, finished: int) -> None:
        self.progress, self.overall = progress, overall
        self.finished, self.failed = finished, 0
        self.bars: dict[str, Any] = {}
        self.done: dict[str, float] = {}

    def show(self, name: str, part: float, note: str) -> None:
        """How far a job is."""
        if name not in self.bars:
            self.bars[name] = self.progress.add_task(f"  {name}", total=1, note=note)
        self.progress.update(self.bars[name], completed=part, note=note)
        self.done[name] = part
        self._sum_up()

    def finish(self, name: str, words: str) -> None:
        """A job is done."""
        self.finished += 1
        self._leave(name, 1.0, words)

    def fail(self, name: str, why: str) -> None:
        """A job failed for good."""
        self.failed += 1
        self._leave(name, 1.0, f"failed: {why}")

    def retry(self, name: str, why: str) -> None:
        """A job crashed and will be begun again."""
        self._leave(name, self.done.get(name, 0.0), f"crashed, will be tried again: {why}")

    def say(self, words: str) -> None:
        """A line above the bars."""
        self.progress.console.print(words, highlight=False, markup=False)

    def _leave(self, name: str, part: float, words: str) -> None:
        self.done[name] = part
        if name in self.bars:
            self.progress.remove_task(self.bars.pop(name))
        self._sum_up()
        self.say(f"{name}: {words}")

    def _sum_up(self) -> None:
        before = self.progress.tasks[0].fields["before"]
        failed = f", {self.failed} failed" if self.failed else ""
        note = f"{self.finished} finished, {len(self.bars)} running{failed}"
        self.progress.update(self.overall, completed=before + sum(self.done.values()), note=note)


@contextmanager
def view_of(title: str, total: int, console: Console | None = None, finished: int = 0) -> Iterator[View]:
    """A view of so many jobs, of which some were finished before."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
    )  # fmt: skip
    with Progress(*columns, console=console or Console(), speed_estimate_period=600) as progress:
        overall = progress.add_task(title, total=total, completed=finished, note="", before=finished)
        yield View(progress, overall, finished)


def _check(workers: int) -> None:
    if workers < 1:
        raise UserError(f"jobs need at least one worker, not {workers}")


def _run_here(jobs: Sequence[Job], view: View) -> dict[str, BaseException]:
    failures: dict[str, BaseException] = {}
    for job in jobs:
        try:
            words = job.function(*job.arguments, report=lambda part, note, name=job.name: view.show(name, part, note))
            view.finish(job.name, words)
        except UserError as error:
            failures[job.name] = error
            if len(jobs) > 1:  # the only one is told by whoever catches it
                view.fail(job.name, str(error))
    return failures


class _Slot:
    """Room for one worker process, and the queue on which it reports."""

    def __init__(self, context: Any, stop: Any, load: tuple[str, ...]) -> None:
        self.context, self.stop, self.load = context, stop, load
        self.job: Job | None = None
        self.renew()

    def renew(self) -> None:
        """A worker in place of one that died."""
        self.reports = self.context.Queue()
        self.pool = ProcessPoolExecutor(1, self.context, _begin_worker, (self.reports, self.stop, self.load))

    def submit(self, job: Job) -> Future[str]:
        self.job = job
        try:
            return self.pool.submit(_work, job)
        except BrokenProcessPool:  # it died while it had nothing to do
            self.renew()
            return self.pool.submit(_work, job)

    def leave(self, future: Future[str]) -> tuple[Job, BaseException | None]:
        """The job that ended, and what was wrong with it."""
        job, error, self.job = self.job, future.exception(), None
        assert job is not None
        if isinstance(error, BrokenProcessPool):
            self.renew()
            error = WorkerDied("a worker process died, out of memory perhaps: then fewer jobs at a time may do")
        return job, error

    def show_reports(self, view: View) -> None:
        while True:
            try:
                name, part, note = self.reports.get_nowait()
            except queue.Empty:
                return
            if self.job and name == self.job.name:  # else it came too late
                view.show(name, part, note)


def _begin_worker(reports: Any, stop: Any, load: tuple[str, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    idle = threading.Event()
    idle.set()
    _work.channel = reports, stop, idle  # type: ignore[attr-defined]
    threading.Thread(target=_leave_after_parent, args=(idle,), daemon=True).start()
    runtime.set_up()
    load_modules(load)


def _leave_after_parent(idle: threading.Event) -> None:
    """Nobody else would end a worker whose parent was killed."""
    if parent := multiprocessing.parent_process():
        parent.join()
        idle.wait()
        os._exit(1)


def _work(job: Job) -> str:
    reports, stop, idle = _work.channel  # type: ignore[attr-defined]

    def report(part: float, note: str) -> None:
        reports.put((job.name, part, note))
        parent = multiprocessing.parent_process()
        if stop.value or not (parent and parent.is_alive()):  # who started this may have been killed
            raise Stopped

    idle.clear()
    try:
        return job.function(*job.arguments, report=report)
    finally:
        idle.set()

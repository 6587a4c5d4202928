"""The lifetimes of an experiment on a Ray cluster, one core each.

Machines need not share a file system: a worker lives in a folder of its own and sends what it wrote *home* whenever it
has saved the life. If it dies, another one gets what came home and goes on from there. `_Home` is an actor beside
whoever started the experiment: workers tell it how far they are, and hear from it when to stop.
"""

import logging
import os
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from wakesleep import logs, runtime, store
from wakesleep.errors import UserError
from wakesleep.experiments.grid import Planned
from wakesleep.jobs import Stopped, View, WorkerDied, default_workers, explained, is_crash, load_modules
from wakesleep.lifetime.life import versions
from wakesleep.lifetime.spec import LifetimeSpec

WAITING = "waiting for a worker of an earlier run to leave"
LAST = ("checkpoint.npz", "summary.json")
"""Written after all other files: they say that the others are there."""
Files = dict[str, bytes]
"""By their names in the lifetime's folder."""


class News(NamedTuple):
    """What a worker tells."""

    name: str
    attempt: int
    part: float
    note: str
    files: Files
    """What has changed since it last told, if the life was saved."""


class _Home:
    """Where workers send their news; it keeps them until they are taken."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.stopping = False

    def tell(self, news: News) -> bool:
        """Returns whether to stop."""
        self.news.append(news)
        return self.stopping

    def take(self) -> list[News]:
        news, self.news = self.news, []
        return news

    def stop(self) -> None:
        self.stopping = True


def run_on_ray(
    todo: Sequence[Planned], out: Path, address: str, workers: int, view: View, load: Sequence[str] = ()
) -> dict[str, BaseException]:
    """Run lifetimes on the cluster at an address; what failed for good, by name.

    Without an address: the cluster that this machine belongs to, else one that is started here for the time being;
    with the address `local` always the latter.
    """
    with _cluster(address, workers) as ray:
        fleet = _Fleet(ray, out, workers, view, tuple(load))
        try:
            return fleet.run(todo)
        except KeyboardInterrupt:
            view.say("Stopping: the running lifetimes are saved and sent home first.")
            fleet.stop()
            raise
        except ray.exceptions.RayError as error:
            raise UserError(
                f"the Ray cluster failed ({_first_line(error)}); what came home is kept: run the same again to go on"
            ) from error


class _Fleet:
    """All lifetimes on their way."""

    def __init__(self, ray: Any, out: Path, workers: int, view: View, load: tuple[str, ...]) -> None:
        self.ray, self.out, self.workers, self.view, self.load = ray, out, workers, view, load
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )
        self.home = ray.remote(_Home).options(num_cpus=0, scheduling_strategy=here).remote()
        self.remote = ray.remote(_run_remotely).options(num_cpus=1, max_retries=0)
        self.running: dict[Any, Planned] = {}
        self.attempts: dict[str, int] = {}
        self.at_home: dict[str, bool] = {}
        """Whether anything came home in the present attempt."""
        self.crashes: dict[str, int] = {}
        """In a row, with nothing having come home in between."""
        self.failures: dict[str, BaseException] = {}

    def run(self, todo: Sequence[Planned]) -> dict[str, BaseException]:
        waiting = deque(todo)
        while waiting or self.running:
            room = self.workers or max(1, int(self.ray.cluster_resources().get("CPU", 0)))
            while waiting and len(self.running) < room:
                self.start(waiting.popleft())
            for life in self.look(0.5):
                waiting.append(life)
        return self.failures

    def start(self, life: Planned) -> None:
        name, folder = life.name, self.out / life.name
        self.attempts[name], self.at_home[name] = self.attempts.get(name, 0) + 1, False
        with store.folder_lock(folder, lambda: self.view.show(name, 0.0, WAITING)):
            files = _to_go_on(folder)
        about = life.spec.to_json()
        ref = self.remote.remote(name, self.attempts[name], about, files, self.home, self.load, versions())
        self.running[ref] = life
        self.view.show(name, self.view.done.get(name, 0.0), "waiting for a core")

    def look(self, seconds: float) -> list[Planned]:
        """See what happened in a while. Returns lifetimes that must be begun again."""
        done, _ = self.ray.wait(list(self.running), timeout=seconds)
        for news in self.ray.get(self.home.take.remote()):  # all that a finished one had told is among it
            if news.attempt == self.attempts[news.name]:
                self.view.show(news.name, news.part, news.note)
                self._bring_home(news.name, news.files)
        return [life for ref in done if (life := self._settle(ref))]

    def stop(self) -> None:
        """Let all save themselves and come home; those that still wait for a core are sent away."""
        self.ray.get(self.home.stop.remote())
        self.look(0.0)
        for ref, life in self.running.items():
            if not self.view.done.get(life.name):
                self.ray.cancel(ref)
        while self.running:
            self.look(0.5)

    def _settle(self, ref: Any) -> Planned | None:
        life = self.running.pop(ref)
        name = life.name
        try:
            words, files = self.ray.get(ref)
            self._bring_home(name, files)
            if words is not None:  # else it was stopped
                self.view.finish(name, words)
            return None
        except self.ray.exceptions.TaskCancelledError:
            return None
        except self.ray.exceptions.RayTaskError as failed:
            error = failed.cause
        except self.ray.exceptions.RayError as failed:
            error = WorkerDied(f"a worker died ({type(failed).__name__})")
        self.crashes[name] = 1 if self.at_home[name] else self.crashes.get(name, 0) + 1
        if is_crash(error) and self.crashes[name] < 2:
            self.view.retry(name, explained(error))
            return life
        self.failures[name] = error
        self.view.fail(name, explained(error))
        return None

    def _bring_home(self, name: str, files: Files) -> None:
        if files:
            self.at_home[name] = True
            _write(self.out / name, files)


def _run_remotely(
    name: str, attempt: int, about: dict[str, Any], files: Files, home: Any, load: tuple[str, ...],
    expected: Mapping[str, str],
) -> tuple[str | None, Files]:  # fmt: skip
    """What a worker does. Returns how it went, None if it was stopped, and what has not been sent home yet."""
    import ray

    runtime.set_up()
    load_modules(load)
    if other := [f"{key} {value}" for key, value in versions().items() if expected[key] != value]:
        raise UserError(f"a machine of the cluster has {other[0]}: install the same versions everywhere")
    with tempfile.TemporaryDirectory(prefix="wakesleep-") as scratch:
        folder = Path(scratch) / "life"
        _write(folder, files)
        parcel = _Parcel(folder)

        def report(part: float, note: str) -> None:
            if ray.get(home.tell.remote(News(name, attempt, part, note, parcel.pack(if_saved=True)))):
                raise Stopped

        try:
            words: str | None = LifetimeSpec.from_json(about).open(folder).run(report)
        except Stopped:
            words = None
        return words, parcel.pack()


class _Parcel:
    """What is new in a folder since it was last packed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.packed = folder, _stamps(folder)

    def pack(self, if_saved: bool = False) -> Files:
        """The files that have changed; if asked so, only if the life was saved: then all of them fit together."""
        stamps, saved = _stamps(self.folder), LAST[0]
        if if_saved and stamps.get(saved) == self.packed.get(saved):
            return {}
        new = [name for name, stamp in stamps.items() if self.packed.get(name) != stamp]
        self.packed = stamps
        return {name: (self.folder / name).read_bytes() for name in new}


def _stamps(folder: Path) -> dict[str, tuple[int, int, int]]:
    found = ((file, file.stat()) for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): (stat.st_ino, stat.st_mtime_ns, stat.st_size) for file, stat in found}


def _to_go_on(folder: Path) -> Files:
    """What a worker needs of a life that has begun."""
    if not (folder / LAST[0]).exists():
        return {}
    files = [*folder.glob("*.json"), *(folder / logs.WORKER).rglob("*.tsv"), folder / LAST[0]]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def _write(folder: Path, files: Files) -> None:
    """Write files so that the folder could be gone on with at any moment."""
    for name in sorted(files, key=lambda name: (name in LAST, name)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        store.write_atomically(folder / name, partial(_fill, content=files[name]))
    if "summary.json" in files:
        for name in ("checkpoint.npz", "progress.json"):
            (folder / name).unlink(missing_ok=True)


def _fill(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def import_ray() -> Any:
    """Ray, if it is installed."""
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise UserError('Ray is not installed: pip install "wakesleep[ray]"') from error
    return ray


@contextmanager
def _cluster(address: str, workers: int) -> Iterator[Any]:
    """Ray, connected."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a warning about graphics cards
    ray = import_ray()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address != "local":
            ray.init(address or "auto", **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        if address:
            hint = "" if os.environ.get("RAY_AUTH_MODE") else "; if it wants a token, set RAY_AUTH_MODE=token"
            raise UserError(f"no Ray cluster answers at {address}: {_first_line(error)}{hint}") from error
    if not ray.is_initialized():
        _start_here(ray, workers or default_workers(), quiet)
    try:
        yield ray
    finally:
        ray.shutdown()


def _start_here(ray: Any, workers: int, quiet: dict[str, Any]) -> None:
    """Start a cluster for the time being; Ray gives itself half a minute, which a busy machine may not."""
    for left in (2, 1, 0):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")  # it executes at once
                ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
            return
        except Exception as error:  # Ray has no narrower one for that
            ray.shutdown()
            if not left:
                raise UserError(f"Ray cannot be started here: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__

"""Experiments: disturbed in every way and run again, here and on Ray, they end as if nothing had happened."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from tests.experiments import corridors
from tests.terminal import heed_ctrl_c
from wakesleep import UserError
from wakesleep.experiments import run as run_module
from wakesleep.experiments.grid import load_grid
from wakesleep.experiments.run import run_experiment

ROOT = Path(__file__).parents[2]
LOAD = ("tests.experiments.corridors",)
GRID = """
scenario: alternating
preset: fast
syllabi: [[Hallway_L5, Hallway_L9], [Hallway_L9, Hallway_L5]]
seeds: 4
episodes: 3
agents: [{agents}]
"""


def grid(folder, agents="slow", text=GRID):
    file = folder / "grid.yaml"
    file.write_text(text.format(agents=agents))
    return file


def logged(out):
    return {str(file.relative_to(out)): file.read_bytes() for file in sorted(out.rglob("*.tsv"))}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The lifetimes one by one, with no runner around them."""
    out = tmp_path_factory.mktemp("bare")
    for life in load_grid(grid(out)):
        life.spec.open(out / life.name).run(lambda part, note: None)
    return out


class Started:
    """`wakesleep experiment` in a process of its own, as from a terminal."""

    def __init__(self, folder, *arguments):
        self.out, self.pids = folder / "out", folder / "pids"
        self.pids.mkdir(exist_ok=True)
        for file in self.pids.iterdir():
            file.unlink()
        command = [sys.executable, "-m", "wakesleep", "experiment", grid(folder), "--out", self.out, "--jobs", "2"]
        self.process = subprocess.Popen(
            [*command, "--load", *LOAD, *arguments], cwd=ROOT, env={**os.environ, corridors.PIDS: str(self.pids)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, preexec_fn=heed_ctrl_c,
        )  # fmt: skip

    def wait_for_work(self):
        """Until lifetimes are under way that were saved in this run."""
        begin = time.time()
        while not self.saved(begin) or not list(self.pids.iterdir()):
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.time() < begin + 300
            time.sleep(0.02)

    def saved(self, since):
        try:
            return [file for file in self.out.rglob("checkpoint.npz") if file.stat().st_mtime >= since]
        except FileNotFoundError:  # one was finished just now
            return []

    def kill_a_worker(self):
        newest = max(self.pids.iterdir(), key=lambda file: file.stat().st_mtime)
        os.kill(int(newest.name), signal.SIGKILL)

    def end(self):
        printed = self.process.communicate(timeout=300)[0]
        return self.process.returncode, printed


def test_disturbed_in_every_way_and_run_again(bare, tmp_path):
    """A worker is killed, then Ctrl-C, then kill -9 of the whole: nothing is lost, nothing finished is done again."""
    first = Started(tmp_path)
    first.wait_for_work()
    first.kill_a_worker()
    first.wait_for_work()
    os.killpg(first.process.pid, signal.SIGINT)  # what a terminal does at Ctrl-C
    code, printed = first.end()
    assert code == 130
    assert "a worker process died" in printed
    assert "the same command goes on" in printed
    second = Started(tmp_path)
    second.wait_for_work()
    second.process.kill()
    second.end()
    finished = {file: file.stat().st_mtime_ns for file in second.out.rglob("summary.json")}
    code, printed = Started(tmp_path).end()
    assert (code, "8 lifetimes" in printed) == (0, True), printed
    assert logged(tmp_path / "out") == logged(bare)
    assert all(file.stat().st_mtime_ns == then for file, then in finished.items())
    assert not list((tmp_path / "out").rglob("checkpoint.npz"))


@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason='Ray is not installed: pip install "wakesleep[ray]"')
def test_on_ray_with_a_worker_killed(bare, tmp_path):
    started = Started(tmp_path, "--ray", "local")
    started.wait_for_work()
    started.kill_a_worker()
    code, printed = started.end()
    assert (code, "8 lifetimes" in printed) == (0, True), printed
    assert "a worker died" in printed
    assert logged(tmp_path / "out") == logged(bare)
    left = {file.name for file in (tmp_path / "out/alternating/slow/01-0").iterdir()}
    assert left >= {"config.json", "summary.json", "policy.npz", "logger_info.json"}
    assert not list((tmp_path / "out").rglob("checkpoint.npz"))


def test_crashes_are_tried_once_more_and_the_rest_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv(corridors.PIDS, str(tmp_path))
    short = GRID.replace("seeds: 4", "seeds: 1").replace("alternating", "pairwise")
    short = short.replace(", [Hallway_L9, Hallway_L5]", "")
    planned = load_grid(grid(tmp_path, "stumbling, dying, hopeless, slow", short))
    out, quiet = tmp_path / "out", Console(quiet=True)
    outcome = run_experiment(planned, out, 2, load=LOAD, console=quiet)
    assert list(outcome.failures) == ["pairwise/hopeless/01-0"]
    assert (outcome.before, outcome.finished) == (0, 3)
    told = (out / "failures.txt").read_text()
    assert "ZeroDivisionError: hopeless" in told
    assert "corridors.py" in told  # where it happened
    mended = [life for life in planned if life.spec.agent != "hopeless"]
    with pytest.raises(UserError, match="holds another experiment"):
        run_experiment(mended, out, 1, console=quiet)
    again = run_experiment(planned, out, 1, load=LOAD, console=quiet)
    assert (again.before, again.finished, len(again.failures)) == (3, 0, 1)


def test_whose_folder_it_is(tmp_path, monkeypatch):
    """An experiment may grow, not change; two at a time do not get in each other's way."""
    monkeypatch.setattr(
        run_module, "run_in_processes", lambda jobs, *rest: {job.name: UserError("not now") for job in jobs}
    )
    quiet = Console(quiet=True)
    small = load_grid(grid(tmp_path))
    assert len(run_experiment(small, tmp_path / "out", console=quiet).failures) == 8
    stored = json.loads((tmp_path / "out" / "experiment.json").read_text())
    assert set(stored["lifetimes"]) == {life.name for life in small}
    assert stored["agents"]["slow"]["settings"]["num_steps"] == 32
    larger = load_grid(grid(tmp_path, "slow, random"))
    assert len(run_experiment(larger, tmp_path / "out", console=quiet).failures) == 16
    with pytest.raises(UserError, match=r"another experiment \(random is only there"):
        run_experiment(small, tmp_path / "out", console=quiet)
    other = load_grid(grid(tmp_path, "{name: slow, settings: {epochs: 2}}, random"))
    with pytest.raises(UserError, match=r"another experiment \(slow is another one there"):
        run_experiment(other, tmp_path / "out", console=quiet)
    with run_module.store.folder_lock(tmp_path / "out", lambda: None), pytest.raises(UserError, match="is running in"):
        run_experiment(larger, tmp_path / "out", console=quiet)
    (tmp_path / "life").mkdir()
    (tmp_path / "life" / "config.json").touch()
    with pytest.raises(UserError, match="holds a lifetime, not an experiment"):
        run_experiment(small, tmp_path / "life", console=quiet)
    with pytest.raises(UserError, match="at least one worker"):
        run_experiment(small, tmp_path / "out", -1, console=quiet)

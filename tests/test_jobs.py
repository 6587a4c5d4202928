"""Jobs side by side: all are done, failures are told, a dead worker too."""

import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.terminal import heed_ctrl_c
from wakesleep import UserError
from wakesleep.jobs import Job, is_crash, run_in_processes, run_jobs, view_of

ROOT = Path(__file__).parents[1]


def write(folder, name, report):
    for step in range(3):
        report(step / 3, "going")
    (folder / name).write_text(str(os.getpid()))
    return "written"


def fail(report):
    report(0.5, "")
    raise UserError("this one cannot be done")


def stumble(report):
    raise ZeroDivisionError("a bug")


def die(report):
    os._exit(1)


def count(folder, name, how, report):
    with (folder / name).open("a") as opened:
        opened.write("|")
    how(report=report)


def linger(folder, name, report):
    (folder / f"{name}-begun").touch()
    try:
        while True:
            time.sleep(0.05)
            report(0.1, "")
    finally:
        (folder / f"{name}-left").write_text(str(os.getpid()))


def quiet():
    return Console(file=open(os.devnull, "w"))


@pytest.mark.parametrize("workers", [1, 2])
def test_all_are_done_whatever_happens_to_one(tmp_path, workers):
    jobs = [Job("bad", fail), *(Job(name, write, (tmp_path, name)) for name in "abc")]
    told = Console(file=StringIO(), width=200)
    with pytest.raises(UserError, match="1 of 4 jobs failed: see above"):
        run_jobs(jobs, workers, "work", console=told)
    assert "bad: failed: this one cannot be done" in told.file.getvalue()
    assert "a: written" in told.file.getvalue()
    pids = {(tmp_path / name).read_text() for name in "abc"}
    assert (str(os.getpid()) in pids) == (workers == 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_single_job_fails_with_its_own_error(workers):
    """It is told once, by whoever catches it."""
    told = Console(file=StringIO(), width=200)
    with pytest.raises(UserError, match=r"^this one cannot be done$"):
        run_jobs([Job("bad", fail)], workers, "work", console=told)
    assert "this one cannot be done" not in told.file.getvalue()


def test_a_bug_keeps_its_name():
    with pytest.raises(ZeroDivisionError):
        run_jobs([Job("bug", stumble), Job("bug too", stumble)], 2, "work", console=quiet())


def test_a_dead_worker_is_told_and_takes_no_other_job_along(tmp_path):
    jobs = [Job("bad", die), *(Job(name, write, (tmp_path, name)) for name in "abc")]
    told = Console(file=StringIO(), width=200)
    with pytest.raises(UserError, match="1 of 4 jobs failed: see above"):
        run_jobs(jobs, 2, "work", console=told)
    assert "bad: failed: a worker process died" in told.file.getvalue()
    assert all((tmp_path / name).exists() for name in "abc")


def test_crashes_are_tried_again_refusals_are_not(tmp_path):
    jobs = [Job(name, count, (tmp_path, name, how)) for name, how in (("bug", stumble), ("dead", die), ("no", fail))]
    with view_of("work", 3, quiet()) as view:
        failures = run_in_processes(jobs, 1, view, retries=1)
    assert {name: is_crash(error) for name, error in failures.items()} == {"bug": True, "dead": True, "no": False}
    assert {name: len((tmp_path / name).read_text()) for name in failures} == {"bug": 2, "dead": 2, "no": 1}
    assert (view.finished, view.failed) == (0, 3)


def test_no_workers():
    with pytest.raises(UserError, match="at least one worker"):
        run_jobs([], 0, "work")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_running_jobs_leave_when_they_are_interrupted_or_orphaned(tmp_path, how):
    """Ctrl-C, or the death of whoever started them: each leaves at its next report."""
    program = (
        "from pathlib import Path; from tests.test_jobs import linger; from wakesleep.jobs import Job, run_jobs;"
        f"run_jobs([Job(name, linger, (Path({str(tmp_path)!r}), name)) for name in 'ab'], 2, 'work')"
    )
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet, preexec_fn=heed_ctrl_c)
    _wait_for(lambda: all((tmp_path / f"{name}-begun").exists() for name in "ab"))
    process.send_signal(how)
    _wait_for(lambda: all((tmp_path / f"{name}-left").exists() for name in "ab"))
    assert process.wait(30) != 0
    _wait_for(lambda: not any(_lives(int((tmp_path / f"{name}-left").read_text() or 0)) for name in "ab"))


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path(f"/proc/{pid}/stat").exists() or ") Z" not in Path(f"/proc/{pid}/stat").read_text()


def _wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)

"""The command line: all commands, and what becomes of errors.

A user's mistake ends in one sentence on standard error and exit code 2; Ctrl-C in exit code 130.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tyro

from wakesleep import __version__, runtime
from wakesleep.cli.agents import agents
from wakesleep.cli.experiment import experiment
from wakesleep.cli.experts import experts
from wakesleep.cli.export_policy import export_policy
from wakesleep.cli.metrics import compare, metrics
from wakesleep.cli.play import play
from wakesleep.cli.report import export_logs, report
from wakesleep.cli.run import resume, run
from wakesleep.cli.starcraft import starcraft
from wakesleep.cli.study import study
from wakesleep.cli.tasks import tasks
from wakesleep.errors import UserError, brief


def demo(out: Path = Path("demo")) -> None:
    """Run two lives of a few minutes, with and without sleep, and show what each has forgotten.

    Args:
        out: folder for both lives and the report.
    """
    from wakesleep.demo import demo

    demo(out)


DESCRIPTION = f"""Lifelong reinforcement learning with wake-sleep cycles, version {__version__}.

An agent learns one task after the other (wake), and replays all (sleep).

  wakesleep tasks             lists what there is to learn
  wakesleep run               runs one agent through a sequence of tasks
  wakesleep COMMAND --help    explains a command
  wakesleep --version         prints the version"""

app = tyro.extras.SubcommandApp()
for command in (
    demo, tasks, agents, play, run, resume, experiment, report, metrics, compare, experts, study, export_policy,
    export_logs, starcraft,
):  # fmt: skip
    app.command(command)


def main() -> None:
    """Run the command that the arguments of this process name; the entry point of `wakesleep`."""
    if sys.argv[1:] == ["--version"]:
        print(f"wakesleep {__version__}")
        return
    runtime.set_up()
    with exit_on_user_error():
        app.cli(prog="wakesleep", description=DESCRIPTION)


@contextmanager
def exit_on_user_error() -> Iterator[None]:
    """End the process with one sentence on standard error for what a user can mend, instead of with a traceback.

    That is a `UserError`, or a file that cannot be read or written. Ctrl-C ends it without a word.
    """
    try:
        yield
    except UserError as error:
        _leave(str(error))
    except BrokenPipeError:  # whoever read what we print has enough
        sys.stdout = None  # or it would be flushed once more at exit
        sys.exit(141)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else brief(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _leave(sentence: str) -> None:
    print(f"wakesleep: {sentence}", file=sys.stderr)
    sys.exit(2)

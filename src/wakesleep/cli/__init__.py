"""The command line: `wakesleep <command>`."""

from wakesleep.cli.main import main

__all__ = ["main"]

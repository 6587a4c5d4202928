"""The exception for users' mistakes: its text says what is wrong and what to do about it."""

import traceback
from pathlib import Path


class UserError(ValueError):
    """Something the user asked for cannot be done. The command line prints it as one sentence, without a traceback."""


class EnvironmentFailed(UserError):
    """Code of an environment outside this package raised an error, or gave what is no number. May go well again."""


def brief(error: BaseException) -> str:
    """Someone else's error in one line: what, and where in their code."""
    what = (str(error).strip().splitlines() or ["no more is known"])[0].rstrip(".")
    frames = traceback.extract_tb(error.__traceback__)
    where = f", {Path(frames[-1].filename).name} line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {what}{where}"

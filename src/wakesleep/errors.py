"""The one exception for users' mistakes: its text says what is wrong and what to do about it."""


class UserError(ValueError):
    """Something the user asked for cannot be done. The command line prints it as one sentence, without a traceback."""

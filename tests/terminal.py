"""Processes as from a terminal."""

import signal


def heed_ctrl_c():
    """For `preexec_fn`: what runs the tests may ignore Ctrl-C, and its children would too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)

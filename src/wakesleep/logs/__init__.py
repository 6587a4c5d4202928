"""Logs of lifetimes in l2logger's layout: `LogWriter` writes them, `read_log` reads them."""

from wakesleep.logs.reader import LearningCurve, Log, read_log
from wakesleep.logs.writer import (
    COLUMNS,
    LOG_EPOCH,
    TEST,
    TRAIN,
    WORKER,
    Episode,
    EpisodeCounter,
    LogWriter,
    Position,
)

__all__ = [
    "COLUMNS", "LOG_EPOCH", "TEST", "TRAIN", "WORKER", "Episode", "EpisodeCounter", "LearningCurve", "Log", "LogWriter",
    "Position", "read_log",
]  # fmt: skip

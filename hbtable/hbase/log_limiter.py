"""Log lines about what clients do wrong: some each minute, then a number. A flood of them must not fill the disk."""

import logging
from collections.abc import Callable
from typing import Final, final

_MINUTE: Final = 60.0
LINES: Final = 30
"""A minute."""


@final
class LogLimiter:
    """warning() as a logger's, but at most LINES of them each minute; the next one says how many were left out."""

    __slots__ = ("_began", "_clock", "_left_out", "_log", "_written")

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._began = clock()
        self._written = 0
        self._left_out = 0

    def warning(self, message: str, *values: object) -> None:
        now = self._clock()
        if now - self._began >= _MINUTE:
            if self._left_out:
                self._log.warning("%d more warnings about clients were left out", self._left_out)
            self._began, self._written, self._left_out = now, 0, 0
        if self._written >= LINES:
            self._left_out += 1
            return
        self._written += 1
        self._log.warning(message, *values)

"""Log lines about what clients do wrong: some each minute, then a number. A flood of them must not fill the disk, and
what one client does must not hide what another one does."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final, final

from hbtable.access.tries import address_of

_MINUTE: Final = 60.0
LINES_OF_ONE: Final = 5
"""A minute, of one kind about one client."""
LINES: Final = 300
"""A minute, of all kinds about all clients."""
_REMEMBERED: Final = 1000
"""Clients whose lines that were left out are counted, each for itself."""


@final
class LogLimiter:
    """warning() as a logger's, but at most LINES_OF_ONE of the same message about the same address each minute, and
    LINES of all; the next one says how many were left out, and about whom most of them were."""

    __slots__ = ("_began", "_clock", "_left_out", "_left_out_of", "_log", "_written", "_written_of")

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._began = clock()
        self._written = 0
        self._written_of = Counter[tuple[str, str]]()
        self._left_out = 0
        self._left_out_of = Counter[str]()

    def warning(self, message: str, client: str, *values: object) -> None:
        """`message` has `client`, which is its address and port, first."""
        now = self._clock()
        if now - self._began >= _MINUTE:
            self._begin(now)
        address = address_of(client.rpartition(":")[0])
        kind = address, message
        if self._written >= LINES or self._written_of[kind] >= LINES_OF_ONE:
            self._left_out += 1
            if address in self._left_out_of or len(self._left_out_of) < _REMEMBERED:
                self._left_out_of[address] += 1
            return
        self._written += 1
        self._written_of[kind] += 1
        self._log.warning(message, client, *values)

    def _begin(self, now: float) -> None:
        """The next minute."""
        if self._left_out:
            [(most, count)] = self._left_out_of.most_common(1)
            self._log.warning(
                "%d more warnings about clients were left out, %d of them about %s", self._left_out, count, most
            )
        self._began, self._written, self._left_out = now, 0, 0
        self._written_of.clear()
        self._left_out_of.clear()

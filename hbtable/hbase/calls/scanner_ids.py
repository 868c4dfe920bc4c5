"""Numbers of scanners: i32 from 0, never the same twice, not after a crash either.

They are taken from ranges that `reserve` makes durable before the first of them is given out; what was reserved and
not used at a crash is lost. After 2^31 they begin at 0 again, past those still open.

Reserving writes, and scans must go on when nothing can be written, on a full disk say: so the first range is taken at
the start, and the next one when half of a range is used, as often as it takes.
"""

import logging
from collections.abc import Callable, Container
from typing import Final, final

from hbtable.errors import HbtableError
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)

_ALL: Final = 2**31

_STEP: Final = 64
"""After a failed attempt the next one comes so many numbers later: on a full disk not each scan should try."""

Reserve = Callable[[int], int]
"""Durably sets aside so many numbers and returns the first; it may grow beyond 2^31."""


def unsaved() -> Reserve:
    """Gives numbers from 0, in memory, for servers that keep nothing."""
    given = [0]

    def reserve(count: int) -> int:
        given[0] += count
        return given[0] - count

    return reserve


@final
class ScannerIds:
    """Gives scanners their numbers. `block`: numbers reserved at a time. Raising it makes reservations (a small durable
    write) rarer and loses more numbers at each crash."""

    def __init__(self, reserve: Reserve, block: int = 4096) -> None:
        self._reserve = reserve
        self._block = block
        self._next = 0
        self._end = 0
        self._following: int | None = None
        """First number of the next range, once that is reserved."""
        self._reserving = False

    @switches
    def prepare(self) -> None:
        """Reserves ahead what should be. When that fails it is tried again later."""
        if self._following is not None or self._reserving:
            return
        self._reserving = True
        try:
            self._following = self._reserve(self._block)
        except HbtableError as error:
            _LOG.warning("no numbers for scanners could be reserved, %d are left: %s", self._end - self._next, error)
        finally:
            self._reserving = False

    @switches
    def take(self, open_scanners: Container[int]) -> int:
        """*Switches* when a reservation is due. Raises what it raised when no number is left."""
        while True:
            left = self._end - self._next
            if left <= self._block // 2 and left and self._following is None and not left % _STEP:
                self.prepare()
            if self._next == self._end:
                first = self._following if self._following is not None else self._reserve(self._block)
                self._following = None
                self._next, self._end = first, first + self._block
            number = self._next % _ALL
            self._next += 1
            if number not in open_scanners:
                return number

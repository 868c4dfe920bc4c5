"""Numbers of scanners: i32 from 0, never the same twice, not after a crash either.

They are taken from ranges that `reserve` makes durable before the first of them is given out; what was reserved and
not used at a crash is lost. After 2^31 they begin at 0 again, past those still open.
"""

from collections.abc import Callable, Container
from typing import Final, final

_ALL: Final = 2**31

Reserve = Callable[[int], int]
"""Durably sets aside so many numbers and returns the first; it may grow beyond 2^31."""


def unsaved() -> Reserve:
    """For servers that keep nothing: numbers from 0, in memory."""
    given = [0]

    def reserve(count: int) -> int:
        given[0] += count
        return given[0] - count

    return reserve


@final
class ScannerIds:
    """`block`: numbers reserved at a time. Raising it makes reservations (a small durable write) rarer and loses more
    numbers at each crash."""

    def __init__(self, reserve: Reserve, block: int = 4096) -> None:
        self._reserve = reserve
        self._block = block
        self._next = 0
        self._end = 0

    def take(self, open_scanners: Container[int]) -> int:
        """*Switches* when a reservation is due."""
        while True:
            if self._next == self._end:
                first = self._reserve(self._block)
                self._next, self._end = first, first + self._block
            number = self._next % _ALL
            self._next += 1
            if number not in open_scanners:
                return number

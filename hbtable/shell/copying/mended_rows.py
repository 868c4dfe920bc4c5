"""The rows of a comparison that differed, so that nothing else of a region is read once more."""

from typing import Final, final

_NEAR: Final = 500
"""Rows of both sides between two that differ, which are read in less time than another call takes."""
_MOST: Final = 10_000
"""Ranges that are kept. Beyond, all that follows is one."""


@final
class MendedRows:
    """begin() before each part that is read, then add() them ascending; those near each other are one range."""

    def __init__(self) -> None:
        self._ranges: list[tuple[bytes, bytes]] = []
        self.begin()

    def begin(self) -> None:
        self._last = -_NEAR - 1

    def add(self, row: bytes, position: int) -> None:
        """`position`: how many rows of both sides came before, since begin()."""
        stop = row + b"\0"
        if self._ranges and (position - self._last <= _NEAR or len(self._ranges) >= _MOST):
            start, _ = self._ranges[-1]
            self._ranges[-1] = start, stop
        else:
            self._ranges.append((row, stop))
        self._last = position

    def taken(self) -> list[tuple[bytes, bytes]]:
        """The ranges, start inclusive and stop exclusive, which are forgotten here."""
        found, self._ranges = self._ranges, []
        return found

"""The rows of a comparison that differed, so that nothing else of a region is read once more."""

from typing import Final, final

_NEAR: Final = 500
"""Rows of both sides between two that differ, which are read in less time than another call takes."""
_MOST: Final = 10_000
"""Ranges that are kept. Beyond, all that follows is one."""


@final
class MendedRows:
    """begin() before each part that is read, then add() them ascending; those near each other are one range."""

    def __init__(self, near: int = -1) -> None:
        """`near`: so many rows between two that differ; -1: _NEAR."""
        self._near = _NEAR if near < 0 else near
        self._ranges: list[tuple[bytes, bytes]] = []
        self.begin()

    def begin(self) -> None:
        self._last = -self._near - 1

    def add(self, row: bytes, position: int) -> None:
        """`position`: how many rows of both sides came before, since begin()."""
        stop = row + b"\0"
        if self._ranges and (position - self._last <= self._near or len(self._ranges) >= _MOST):
            start, _ = self._ranges[-1]
            self._ranges[-1] = start, stop
        else:
            self._ranges.append((row, stop))
        self._last = position

    def taken(self) -> list[tuple[bytes, bytes]]:
        """The ranges, start inclusive and stop exclusive, which are forgotten here."""
        found, self._ranges = self._ranges, []
        return found


def joined(ranges: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The same rows, ascending and each once. A stop of b"" is none."""
    found: list[tuple[bytes, bytes]] = []
    for start, stop in sorted(ranges):
        if found and (not found[-1][1] or start <= found[-1][1]):
            last = found[-1][1]
            found[-1] = found[-1][0], max(last, stop) if last and stop else b""
        else:
            found.append((start, stop))
    return found

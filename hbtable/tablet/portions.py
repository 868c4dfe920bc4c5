"""Pairs in lists that are bounded in bytes, too: 512 values of 10 MB each must not be in memory at once.

Looking at the size of each value would cost every read something. So a list ends early when the blocks that were read
for it have become large: whoever reads blocks says so (sstable.reader.Meter), and the pair that needed the last of them
is the last of its list. What a memtable holds costs nothing more in a list.
"""

from collections.abc import Iterator
from operator import add
from typing import Final, final

from hbtable.encoding.cell_key import Pair
from hbtable.switches import switches

_LIST_BYTES: Final = 2 << 20
_MOST_PAIRS: Final = 512
_PERMITS: Final[list[tuple[()]]] = [()] * _MOST_PAIRS


@final
class Portions:
    """Cuts the pairs of one source, a merge for example, into lists. Implements sstable.reader.Meter."""

    __slots__ = ("_left_bytes", "_permits")

    def __init__(self) -> None:
        self._left_bytes = 0
        self._permits: list[tuple[()]] = []

    def several_blocks(self) -> None:
        return

    def read(self, block_bytes: int) -> None:
        self._left_bytes -= block_bytes
        if self._left_bytes < 0:
            self._permits.clear()

    @property
    def was_cut(self) -> bool:
        """The last list ended early."""
        return not self._permits

    @switches
    def take(self, pairs: Iterator[Pair], most: int) -> list[Pair]:
        """The next ones, at most `most` of 512; none when `pairs` have ended."""
        self._left_bytes = _LIST_BYTES
        permits = self._permits
        permits[:] = _PERMITS[:most]
        # Takes a permit before each pair, and ends where read() has withdrawn the rest of them. Both in C: () + pair
        # is the pair itself.
        return list(map(add, iter(permits), pairs))

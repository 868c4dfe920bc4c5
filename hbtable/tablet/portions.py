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
_TURNS: Final[list[tuple[()]]] = [()] * _MOST_PAIRS


@final
class Portions:
    """Of one source of pairs: a merge, say. A sstable.reader.Meter."""

    __slots__ = ("_left_bytes", "_row_locks")

    def __init__(self) -> None:
        self._left_bytes = 0
        self._row_locks: list[tuple[()]] = []

    def several_blocks(self) -> None:
        return

    def read(self, block_bytes: int) -> None:
        self._left_bytes -= block_bytes
        if self._left_bytes < 0:
            self._row_locks.clear()

    @switches
    def take(self, pairs: Iterator[Pair], most: int) -> list[Pair]:
        """The next ones, at most `most` of 512; none when `pairs` have ended."""
        self._left_bytes = _LIST_BYTES
        row_locks = self._row_locks
        row_locks[:] = _TURNS[:most]
        # Asks for a turn before each pair, and ends where read() has taken the rest of them away. Both in C: () + pair
        # is the pair itself.
        return list(map(add, iter(row_locks), pairs))

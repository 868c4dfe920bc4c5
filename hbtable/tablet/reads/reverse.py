"""Scans from the end of a range to its beginning (HBase's reversed scan).

SSTables and memtables are read forward only. So a reversed scan takes the range in chunks, last first: the sources say
where reading towards the upper bound could begin (a block's first key, say), the chunk begins with that key's row, is
read forward, and given out backward. Chunks end at row boundaries, so no row is torn; a chunk is about a block of one
source, and all rows of a chunk are in memory at once, but for long ones: each of those is a chunk of its own.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Protocol, final

from hbtable.encoding.cell_key import TERMINATOR, row_prefix, row_stop
from hbtable.merge.visibility import TakePart
from hbtable.model.cell import Cell, Row
from hbtable.model.read import bytes_of
from hbtable.switches import switches

_MEMTABLE_CELLS: Final = 256
_LONG_BYTES: Final = 1 << 20


class PartTaker(Protocol):
    """Takes long rows in parts (tablet.page)."""

    @property
    def ended(self) -> bool: ...
    @switches
    def part(self, row: bytes, cells: list[Cell], is_last: bool) -> bool: ...


class _LongRowMet(Exception):
    """A chunk holds a row that must not be in memory as a whole."""

    def __init__(self, row: bytes) -> None:
        super().__init__()
        self.row = row


@final
class _Chunk:
    """Rows in ascending order, none of them long."""

    @switches
    def __init__(self, rows_between: Callable[[TakePart], Iterable[Row]]) -> None:
        """_LongRowMet."""
        self.rows: list[Row] = []
        self._cells: list[Cell] = []
        self._size_bytes = 0
        for row in rows_between(self._part):
            self.rows.append(row)

    def _part(self, row: bytes, cells: list[Cell], is_last: bool) -> bool:
        self._cells += cells
        self._size_bytes += bytes_of(row, cells)
        if self._size_bytes > _LONG_BYTES:
            raise _LongRowMet(row)
        if is_last:
            if self._cells:
                self.rows.append((row, self._cells))
            self._cells, self._size_bytes = [], 0
        return False


@switches
def descending(
    start: bytes,
    stop: bytes,
    hint: Callable[[bytes, int], bytes | None],
    rows_between: Callable[[bytes, bytes, TakePart], Iterable[Row]],
    ends_before: Callable[[bytes], bool],
    page: PartTaker,
) -> Iterator[Row]:
    """Rows of [start, stop), both bounds keys that begin a row (b"": unbounded), in descending order. Long ones go to
    the page, in their turn and in parts.

    `hint(stop, cells)`: the key where a chunk before `stop` may begin, None when nothing lies before it.
    `ends_before(lower)`: asked after each chunk but the last whether the rows below `lower` are not to be read now.
    """
    is_over = False

    def noted(lower: bytes) -> bool:
        nonlocal is_over
        is_over = ends_before(lower)
        return is_over

    upper = stop
    while True:
        suggested = hint(upper, _MEMTABLE_CELLS)
        if suggested is None or suggested < start:
            lower = start
        else:
            lower = suggested[: suggested.index(TERMINATOR) + 2]
        if suggested is not None:
            try:
                rows = _Chunk(partial(rows_between, lower, upper)).rows
            except _LongRowMet as met:
                lower, behind = row_prefix(met.row), row_stop(met.row)
                if not upper or behind < upper:
                    yield from descending(behind, upper, hint, rows_between, noted, page)
                if not page.ended and not is_over:
                    yield from rows_between(lower, behind, page.part)
                if page.ended or is_over:
                    return
            else:
                yield from reversed(rows)
        # lower < upper: the hint lies before upper, and upper begins a row
        if suggested is None or lower <= start or noted(lower):
            return
        upper = lower

"""Rows of very many or very large cells: read in parts, with pauses, and no further than an answer may be large."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, final

from hbtable.errors import LimitExceeded
from hbtable.filters.evaluate import RowFilter
from hbtable.model.cell import Cell, Row
from hbtable.model.read import bytes_of
from hbtable.model.values import shown
from hbtable.runtime.slices import let_go
from hbtable.switches import switches

OBJECT_BYTES: Final = 130
"""The memory of a cell beyond what it counts in an answer (model.read.bytes_of)."""


@final
class LongRow(list[Cell]):
    """The cells of one row as they are read (merge.visibility.TakePart). After each part `hold` hears of the memory
    that it takes, and `pause` is called."""

    __slots__ = ("_filter", "_hold", "_limit_bytes", "_max_versions", "_pause", "size_bytes")

    def __init__(
        self,
        limit_bytes: int,
        pause: Callable[[], object],
        row_filter: RowFilter | None,
        max_versions: int,
        hold: Callable[[int], None],
    ) -> None:
        super().__init__()
        self._hold = hold
        self._limit_bytes = limit_bytes
        self._pause = pause
        self._filter = row_filter
        self._max_versions = max_versions
        self.size_bytes = 0
        """Their size in an answer."""

    @switches
    def take(self, row: bytes, cells: list[Cell], is_last: bool) -> bool:
        """LimitExceeded."""
        if self._filter is not None:
            cells = self._filter.part(row, cells, self._max_versions)
        self += cells
        size = bytes_of(row, cells)
        self.size_bytes += size
        if self.size_bytes > self._limit_bytes:
            let_go(self, self._pause)
            raise row_too_large(row, self._limit_bytes)
        self._hold(size + OBJECT_BYTES * len(cells))
        self._pause()
        return False


class LongRowAhead(Exception):
    """A row is too long to be put together, and need not be."""


@final
class WholeRows:
    """Long rows of a scan put together again, for who must have them whole (reverse.PartTaker)."""

    __slots__ = ("_hold", "_limit_bytes", "_may_stream", "_ready", "_row", "ended")

    def __init__(self, limit_bytes: int, may_stream: bool, hold: Callable[[int], None]) -> None:
        """`may_stream`: LongRowAhead takes the place of LimitExceeded. `hold`: as LongRow's."""
        self.ended = False
        self._may_stream = may_stream
        self._hold = hold
        self._limit_bytes = limit_bytes
        self._row = self._begin()
        self._ready: list[Row] = []

    def _begin(self) -> LongRow:
        return LongRow(self._limit_bytes, lambda: None, None, 0, self._hold)

    @switches
    def part(self, row: bytes, cells: list[Cell], is_last: bool) -> bool:
        """LimitExceeded, LongRowAhead."""
        if self._may_stream and self._row.size_bytes + bytes_of(row, cells) > self._limit_bytes:
            raise LongRowAhead
        self._row.take(row, cells, is_last)
        if is_last:
            if self._row:
                self._ready.append((row, self._row))
            self._row = self._begin()
        return False

    @switches
    def rows(self, found: Iterable[Row]) -> Iterator[Row]:
        """`found`, and the rows that came in parts meanwhile, each in its turn."""
        for one in found:
            while self._ready:
                yield self._ready.pop(0)
            yield one
        yield from self._ready


def row_too_large(row: bytes, limit_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        f"row {shown(row)} holds more than the {limit_bytes} bytes that are left for it in one answer "
        "(thrift.answer_bytes; each cell counts 40 bytes more than its column and value): scan it in pieces of some "
        "cells (happybase's scan_batching, HBase's setBatch), ask for some of its columns, or have the limit raised"
    )


def rows_too_large(row: bytes, count: int, limit_bytes: int) -> LimitExceeded:
    if count == 1:
        return row_too_large(row, limit_bytes)
    return LimitExceeded(
        f"the {count} rows asked for hold more than the {limit_bytes} bytes that are left for them in one answer "
        f"(thrift.answer_bytes; each cell counts 40 bytes more than its column and value), as was seen at row "
        f"{shown(row)}: ask for fewer rows or columns at a time, scan them, or have the limit raised"
    )

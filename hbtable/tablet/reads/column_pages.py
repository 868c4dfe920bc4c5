"""Pages of scans by column: where one SSTable alone holds a stretch of rows, the values of each column are cut from its
blocks together (encoding.rows_by_column), without a look at each cell.

A page is all so, or rows one by one (tablet.reads.reading); the rows and values are the same either way. It may have no
rows, where none has any of the columns, and still come further.
"""

from collections.abc import Iterator, Sequence
from typing import Final, final

from hbtable.encoding.cell_key import range_key, row_of, stored_column
from hbtable.encoding.rows_by_column import rows_by_column
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import ColumnSlices, RowsByColumn, ScanPage, ScanPosition, ScanRequest
from hbtable.sstable.joined_rows import RowPairs, joined_rows
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.heat import READ
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.lone_files import Alone, asks_for_whole_rows, fill, places
from hbtable.tablet.reads.sources import keeping_blocks
from hbtable.tablet.reads.time_limit import TimeLimit
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import Stack

_CELL_BYTES: Final = 40
"""As model.read.bytes_of counts a cell."""


@switches
def column_page(
    state: TabletState, request: ScanRequest, bounds: RowRange, pacer: Pacer, limit: TimeLimit
) -> ScanPage | None:
    """None: not even the first block is of such rows, or there is none."""
    version = state.version
    layout = version.layout
    if not _asks_for_columns(request, layout):
        return None
    page = _Page(request, range_key(bounds.stop), layout)
    families = frozenset(layout.stored[family] for family, _ in request.by_column or ())
    is_over = fill(page, version.holding(families), bounds, keeping_blocks(request, layout), pacer, limit)
    return page.finished(state, families, is_over)


def _asks_for_columns(request: ScanRequest, layout: LocalityGroupLayout) -> bool:
    return (
        bool(request.by_column)
        and asks_for_whole_rows(request)
        and _are_read(request)
        and all(layout.stored.get(family) in layout.plain_families for family, _ in request.by_column or ())
        and request.spec.max_versions == 1
    )


def _are_read(request: ScanRequest) -> bool:
    """Whether the spec has all the columns: of a user who may not see some of them it does not, and he gets rows."""
    columns = request.spec.columns
    return columns is None or all(
        family in columns and ((qualifiers := columns[family]) is None or qualifier in qualifiers)
        for family, qualifier in request.by_column
    )


@final
class _Page:
    """The rows that were taken."""

    __slots__ = ("_bytes", "_last_row", "_most_bytes", "_pieces", "_rows_left", "_stop", "_wanted")

    def __init__(self, request: ScanRequest, stop: bytes, layout: LocalityGroupLayout) -> None:
        self._wanted = {
            stored_column(layout.stored[family], qualifier): number
            for number, (family, qualifier) in enumerate(request.by_column or ())
        }
        self._stop = stop
        self._pieces: list[RowsByColumn] = []
        self._rows_left = request.max_rows
        self._most_bytes = request.max_bytes
        self._bytes = 0
        self._last_row: bytes | None = None

    def takes(self, stack: Stack) -> bool:
        return True

    @switches
    def parts(
        self, reader: SSTableReader, start: bytes, stop: bytes, keep: bool, is_alone: Alone
    ) -> Iterator[tuple[RowPairs, bytes]]:
        return joined_rows(reader, start, stop, keep, is_alone)

    def add(self, part: RowPairs, start: bytes, behind: bytes, keep: bool) -> bool:
        keys, values = part
        first, last = places(keys, start, self._stop, behind)
        if first or last < len(keys):
            keys, values = keys[first:last], values[first:last]
        piece = rows_by_column(keys, values, self._wanted)
        if piece is None:
            return False
        is_full = len(piece.rows) >= self._rows_left
        if len(piece.rows) > self._rows_left:
            piece = _first_rows(piece, self._rows_left)
        if piece.rows:
            self._pieces.append(piece)
            self._rows_left -= len(piece.rows)
            self._bytes += _size(piece)
        if is_full:
            self._last_row = piece.rows[-1]
        elif keys:
            self._last_row = row_of(keys[-1])
        return not is_full and self._bytes < self._most_bytes

    def finished(self, state: TabletState, families: frozenset[bytes], is_over: bool) -> ScanPage | None:
        """`is_over`: the range holds no further row."""
        if self._last_row is None:
            return None
        rows = sum(len(piece.rows) for piece in self._pieces)
        state.reads += rows
        state.heat.saw(READ + rows - 1, (self._last_row,))
        state.counts.read_families(state.version.layout, families, rows)
        state.tally.examined += rows * len(self._wanted)
        # Behind a row that was given, if one was: whoever reads may not know of those in between.
        last_row = self._pieces[-1].rows[-1] if self._pieces else self._last_row
        position = None if is_over else ScanPosition(successor(last_row))
        return ScanPage([], position, rows_scanned=rows, columns=ColumnSlices(self._pieces, self._bytes))


def _first_rows(piece: RowsByColumn, count: int) -> RowsByColumn:
    columns: list[Sequence[bytes | None]] = [column[:count] for column in piece.columns]
    return RowsByColumn(piece.rows[:count], columns)


def _size(piece: RowsByColumn) -> int:
    """The bytes of keys and values."""
    size = sum(map(len, piece.rows))
    for column in piece.columns:
        present = [value for value in column if value is not None]
        size += sum(map(len, present)) + _CELL_BYTES * len(present)
    return size

"""Pages of scans by whoever wants to know of rows, and of none of their cells.

Where one SSTable alone holds a stretch of rows, their keys are cut from its blocks together (rows_alone in
encoding.rows_by_column). A page is all so, or rows one by one (tablet.reads.reading); the rows are the same either way.
"""

from collections.abc import Iterator
from typing import Final, final

from hbtable.encoding.cell_key import range_key
from hbtable.encoding.rows_by_column import rows_alone
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import ColumnSlices, RowsByColumn, ScanPage, ScanPosition, ScanRequest
from hbtable.sstable.joined_rows import RowPairs, joined_rows
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.heat import READ
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.lone_files import Alone, asks_for_all_cells, fill, places
from hbtable.tablet.reads.sources import keeping_blocks
from hbtable.tablet.reads.time_limit import TimeLimit
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import Stack

_ROW_BYTES: Final = 40
"""As model.read.bytes_of counts a cell, of which each row has one at least."""


@switches
def row_page(
    state: TabletState, request: ScanRequest, bounds: RowRange, pacer: Pacer, limit: TimeLimit
) -> ScanPage | None:
    """A page by no column. None: not even the first block is of such rows, or there is none."""
    version = state.version
    if not asks_for_all_cells(request, version.layout):
        return None
    page = _Page(request, range_key(bounds.stop), version.layout)
    is_over = fill(page, version.stacks, bounds, keeping_blocks(request, version.layout), pacer, limit)
    return page.finished(state, is_over)


@final
class _Page:
    """The rows that were taken."""

    __slots__ = ("_bytes", "_families", "_most_bytes", "_most_rows", "_rows", "_stop")

    def __init__(self, request: ScanRequest, stop: bytes, layout: LocalityGroupLayout) -> None:
        self._families = layout.plain_families
        self._stop = stop
        self._rows: list[bytes] = []
        self._most_rows = request.max_rows
        self._most_bytes = request.max_bytes
        self._bytes = 0

    def takes(self, stack: Stack) -> bool:
        return stack.families <= self._families

    @switches
    def parts(
        self, reader: SSTableReader, start: bytes, stop: bytes, keep: bool, is_alone: Alone
    ) -> Iterator[tuple[RowPairs, bytes]]:
        return joined_rows(reader, start, stop, keep, is_alone)

    def add(self, part: RowPairs, start: bytes, behind: bytes, keep: bool) -> bool:
        keys, _ = part
        first, last = places(keys, start, self._stop, behind)
        found = rows_alone(keys[first:last])
        if found is None or not found[1] <= self._families:
            return False
        rows = found[0][: self._most_rows - len(self._rows)]
        self._rows += rows
        self._bytes += sum(map(len, rows)) + _ROW_BYTES * len(rows)
        return len(self._rows) < self._most_rows and self._bytes < self._most_bytes

    def finished(self, state: TabletState, is_over: bool) -> ScanPage | None:
        """`is_over`: the range holds no further row."""
        rows = self._rows
        if not rows:
            return None
        state.reads += len(rows)
        state.heat.saw(READ + len(rows) - 1, (rows[-1],))
        state.counts.read_all(state.version.layout, len(rows))
        state.tally.examined += len(rows)
        position = None if is_over else ScanPosition(successor(rows[-1]))
        slices = ColumnSlices([RowsByColumn(rows, [])], self._bytes)
        return ScanPage([], position, rows_scanned=len(rows), columns=slices)

"""Pages of scans as bytes: where one SSTable alone holds a stretch of rows, and all of its cells are plain, the blocks
have the rows as the client is answered (encoding.row_results), and a page is slices of those.

A page is all so, or rows one by one (tablet.reads.reading): it ends where the stretch does, and who asks for such pages
goes on with the next. The rows are the same either way.
"""

from collections.abc import Iterator
from typing import Final, final

from hbtable.encoding.cell_key import range_key, row_of
from hbtable.encoding.row_results import RowResults
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import PlainSlices, ScanPage, ScanPosition, ScanRequest
from hbtable.sstable.block import Block
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

_CELL_BYTES: Final = 16
"""As tablet.reads.page counts a cell."""
_COUNTED_BYTES: Final = 40
"""As model.read.bytes_of does."""


@switches
def plain_page(
    state: TabletState, request: ScanRequest, bounds: RowRange, pacer: Pacer, limit: TimeLimit
) -> ScanPage | None:
    """None: not even the first row is such, or there is none."""
    version = state.version
    if not (request.plain and asks_for_all_cells(request, version.layout)):
        return None
    page = _Page(request, range_key(bounds.stop), version.layout)
    is_over = fill(page, version.stacks, bounds, keeping_blocks(request, version.layout), pacer, limit)
    return page.finished(state, is_over)


@final
class _Page:
    """The rows that were taken."""

    __slots__ = ("_cells", "_content_bytes", "_last_row", "_layout", "_pieces", "_request", "_rows", "_stop")

    def __init__(self, request: ScanRequest, stop: bytes, layout: LocalityGroupLayout) -> None:
        self._layout = layout
        self._request = request
        self._stop = stop
        self._pieces: list[bytes] = []
        self._rows = 0
        self._cells = 0
        self._content_bytes = 0
        self._last_row = b""

    def takes(self, stack: Stack) -> bool:
        return _shows_all(stack.families, self._layout)  # or rows would be made of its blocks that nobody asks for

    @switches
    def parts(
        self, reader: SSTableReader, start: bytes, stop: bytes, keep: bool, is_alone: Alone
    ) -> Iterator[tuple[Block, bytes]]:
        return reader.blocks_of_whole_rows(start, stop, keep, is_alone)

    def add(self, block: Block, start: bytes, behind: bytes, keep: bool) -> bool:
        found = block.plain_rows(keep)
        request = self._request
        if found is None:
            return False
        keys, results = found
        if not _shows_all(results.families, self._layout) or len(results.data) > request.spec.max_bytes:
            return False
        first, last = map(results.row_at, places(keys, start, self._stop, behind))
        most = first + request.max_rows - self._rows
        is_full = last >= most
        last = min(last, most)
        left = request.max_bytes - self._content_bytes - _CELL_BYTES * self._cells
        if _size(results, first, last) >= left:
            last = next(row for row in range(first + 1, last + 1) if _size(results, first, row) >= left)
            is_full = True
        if last > first:
            self._pieces.append(results.slice(first, last))
            self._rows += last - first
            self._cells += results.cells(first, last)
            self._content_bytes += results.content_bytes(first, last)
            self._last_row = row_of(keys[results.last_entry(last - 1)])
        return not is_full

    def finished(self, state: TabletState, is_over: bool) -> ScanPage | None:
        """`is_over`: the range holds no further row."""
        if not self._rows:
            return None
        state.reads += self._rows
        state.heat.saw(READ + self._rows - 1, (self._last_row,))
        state.counts.read_all(state.version.layout, self._rows)
        state.tally.examined += self._cells
        size = self._content_bytes + _COUNTED_BYTES * self._cells
        position = None if is_over else ScanPosition(successor(self._last_row))
        return ScanPage([], position, rows_scanned=self._rows, plain=PlainSlices(self._pieces, self._rows, size))


def _shows_all(families: frozenset[bytes], layout: LocalityGroupLayout) -> bool:
    """Whether the table has the families, and no cell of them ever expires."""
    return families <= layout.plain_families


def _size(results: RowResults, first: int, last: int) -> int:
    return results.content_bytes(first, last) + _CELL_BYTES * results.cells(first, last)

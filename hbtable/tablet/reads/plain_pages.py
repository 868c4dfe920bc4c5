"""Pages of scans as bytes: where one SSTable alone holds a stretch of rows, and all of its cells are plain, the blocks
have the rows as the client is answered (encoding.row_results), and a page is slices of those.

A page is all so, or rows one by one (tablet.reads.reading): it ends where the stretch does, and who asks for such pages
goes on with the next. The rows are the same either way.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final, final

from hbtable.encoding.cell_key import range_key, row_of
from hbtable.encoding.row_results import RowResults
from hbtable.errors import Corruption, FileNotFound
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import PlainSlices, ScanPage, ScanPosition, ScanRequest
from hbtable.sstable.reader import PlainRows, SSTableReader
from hbtable.switches import switches
from hbtable.tablet.damage import UnreadableFile
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.sources import keeping_blocks
from hbtable.tablet.reads.time_limit import TimeLimit
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import Stack, Version

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
    if not _asks_for_plain(request, version.layout) or bounds.is_empty() or not _is_readable(version):
        return None
    caches = keeping_blocks(request, version.layout)
    stop = range_key(bounds.stop)
    page = _Page(request, stop)
    start = range_key(bounds.start)
    is_over = False
    while not is_over:
        found = _first_file(version, start, stop)
        if found is None:  # nothing but memtables could hold a row
            is_over = _is_alone(version, None, start, stop)
            break
        stack, reader = found
        if not _shows_all(stack.families, version.layout):
            break  # before its blocks are made what nobody asks for
        before = start
        blocks = reader.plain_rows(start, stop, caches(stack), _alone(version, reader))
        try:
            for rows in blocks:
                if not page.add(rows, start, version.layout):
                    return page.finished(state, False)
                start = rows.behind
                is_over = bool(stop) and start >= stop
                pacer.pause()
                if limit.is_over():
                    return page.finished(state, is_over)
        except (Corruption, FileNotFound):
            break  # met again by who reads row by row
        if start == before or start <= reader.properties.last_key:
            break
    return page.finished(state, is_over)


def _asks_for_plain(request: ScanRequest, layout: LocalityGroupLayout) -> bool:
    spec, position = request.spec, request.position
    columns = spec.columns
    return (
        request.plain
        and not (request.reversed or request.cells_per_row or spec.raw or spec.filter is not None)
        and (columns is None or (columns.keys() == layout.stored.keys() and set(columns.values()) == {None}))
        and spec.max_versions > 0
        and spec.min_timestamp <= 0
        and spec.max_timestamp >= MAX_TIMESTAMP
        and not request.family_times
        and (position is None or not (position.cells_done or position.filter_state))
    )


@final
class _Page:
    """The rows that were taken."""

    __slots__ = ("_cells", "_content_bytes", "_last_row", "_pieces", "_request", "_rows", "_stop")

    def __init__(self, request: ScanRequest, stop: bytes) -> None:
        self._request = request
        self._stop = stop
        self._pieces: list[bytes] = []
        self._rows = 0
        self._cells = 0
        self._content_bytes = 0
        self._last_row = b""

    def add(self, rows: PlainRows, start: bytes, layout: LocalityGroupLayout) -> bool:
        """Adds the rows from `start` on that still fit. False when the page ends with them, or the rows here are not
        plain."""
        keys, results, behind = rows
        request = self._request
        if not _shows_all(results.families, layout) or len(results.data) > request.spec.max_bytes:
            return False
        first = results.row_at(bisect_left(keys, start))
        last = results.row_at(bisect_left(keys, self._stop) if self._stop and behind > self._stop else len(keys))
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


def _is_readable(version: Version) -> bool:
    return not any(isinstance(file.reader, UnreadableFile) for stack in version.stacks for file in stack.files)


def _first_file(version: Version, start: bytes, stop: bytes) -> tuple[Stack, SSTableReader] | None:
    """The first file by its first key, of those with anything in the range, and its stack."""
    found: tuple[Stack, SSTableReader] | None = None
    for stack in version.stacks:
        for file in stack.files:
            reader = file.reader
            if isinstance(reader, UnreadableFile) or not _overlaps(reader, start, stop):
                continue
            if found is None or reader.properties.first_key < found[1].properties.first_key:
                found = stack, reader
    return found


def _alone(version: Version, reader: SSTableReader) -> Callable[[bytes, bytes], bool]:
    return lambda start, stop: _is_alone(version, reader, start, stop)


def _is_alone(version: Version, reader: SSTableReader | None, start: bytes, stop: bytes) -> bool:
    """Whether nothing but the file can hold anything with start <= key < stop (b"": to the end)."""
    for stack in version.stacks:
        for memtable in stack.memtables():
            if memtable.cells and memtable.holds_any(start, stop):
                return False
        for file in stack.files:
            if file.reader is not reader and _overlaps(file.reader, start, stop):
                return False
            if file.deleted and file.deletes_any(start, stop):
                return False
    return True


def _overlaps(reader: SSTableReader | UnreadableFile, start: bytes, stop: bytes) -> bool:
    properties = reader.properties
    return properties.last_key >= start and not (stop and properties.first_key >= stop)

"""One page of a scan, as it fills (model.read.ScanPage): filter, pieces of long rows, limits, where to go on.

Going on: forward after a row at its successor; reversed there is no greatest smaller row, so the position names the
row itself with ROW_DONE cells behind it. Inside a row that is cut into pieces it counts the cells given out, and
carries the filter's state of before the row, because the row is filtered again for its next piece.
"""

from typing import Final, final

from hbtable.filters.evaluate import RowFilter
from hbtable.model.cell import Cell, Row
from hbtable.model.ranges import successor
from hbtable.model.read import ScanPage, ScanPosition, ScanRequest
from hbtable.switches import switches

ROW_DONE: Final = 2**62
"""In ScanPosition.cells_done: nothing of the row is left."""

_CELL_BYTES: Final = 16
"""Counted per cell for what is neither key nor value."""


@final
class PageBuilder:
    """Collects the rows of one page. Rows are offered in scan order, each with all its visible cells."""

    __slots__ = (
        "_filter",
        "_last_row",
        "_max_bytes",
        "_max_rows",
        "_max_versions",
        "_piece",
        "_reached",
        "_reversed",
        "_skip_cells",
        "_skip_row",
        "_unfinished",
        "bytes_used",
        "rows",
        "scanned",
    )

    def __init__(self, request: ScanRequest, row_filter: RowFilter | None) -> None:
        self.rows: list[Row] = []
        self.bytes_used = 0
        self.scanned = 0
        """Rows offered, counted by who offers them, less those that an earlier page gave a part of."""
        self._filter = row_filter
        self._max_rows = request.max_rows
        self._max_bytes = request.max_bytes
        self._max_versions = request.spec.max_versions
        self._piece = request.cells_per_row
        self._reversed = request.reversed
        position = request.position
        self._skip_row = position.row if position is not None and position.cells_done else None
        self._skip_cells = position.cells_done if position is not None else 0
        self._last_row: bytes | None = None
        self._reached: bytes | None = None
        self._unfinished: ScanPosition | None = None

    def is_finished(self) -> bool:
        """The filter lets no later row pass."""
        return self._filter is not None and self._filter.finished

    @switches
    def add(self, row: bytes, cells: list[Cell]) -> bool:
        """True: the page is full, or finished. *Switches* only where the filter gives way. Hot."""
        state = b""
        row_filter = self._filter
        if row_filter is not None:
            if row_filter.finished:
                return True
            if self._piece:
                state = row_filter.state()
            if row_filter.skips_row(row):
                self._last_row = row
                return row_filter.finished
            cells = row_filter.apply(row, cells, self._max_versions)
        self._last_row = row
        if not cells:
            return row_filter is not None and row_filter.finished
        if self._piece or self._skip_row is not None:
            return self._add_pieces(row, cells, state)
        self.rows.append((row, cells))
        used = 0
        for column, _, value in cells:
            used += len(column) + len(value)
        self.bytes_used += used + len(row) + _CELL_BYTES * len(cells)
        return self.is_full()

    def is_full(self) -> bool:
        return len(self.rows) >= self._max_rows or self.bytes_used >= self._max_bytes

    def _add_pieces(self, row: bytes, cells: list[Cell], state: bytes) -> bool:
        done = 0
        if self._skip_row is not None:
            if row == self._skip_row:
                done = min(self._skip_cells, len(cells))
                self.scanned -= 1
            self._skip_row = None
        size = self._piece or len(cells)
        while done < len(cells):
            piece = cells[done : done + size]
            done += len(piece)
            self.rows.append((row, piece))
            self.bytes_used += sum(len(row) + len(cell[0]) + len(cell[2]) + _CELL_BYTES for cell in piece)
            if self.is_full():
                if done < len(cells):
                    self._unfinished = ScanPosition(row, done, state)
                return True
        return False

    def reach(self, row: bytes) -> None:
        """All that lies before `row` in scan order was looked at, though nothing may have been offered of it, and it
        ends here. Reversed: and the row itself."""
        self._reached = row

    def page(self, exhausted: bool) -> ScanPage:
        """`exhausted`: the range holds no further row."""
        row_filter = self._filter
        state = row_filter.state() if row_filter is not None else b""
        if self._unfinished is not None:
            return ScanPage(self.rows, self._unfinished, False, b"", self.scanned)
        if self.is_finished():
            return ScanPage(self.rows, None, True, state, self.scanned)
        if self._reached is not None:
            position = ScanPosition(self._reached, ROW_DONE if self._reversed else 0, state)
            return ScanPage(self.rows, position, False, state, self.scanned)
        if exhausted or self._last_row is None:  # not exhausted: a row was added, for only that fills a page
            return ScanPage(self.rows, None, False, state, self.scanned)
        if self._reversed:
            position = ScanPosition(self._last_row, ROW_DONE, state)
        else:
            position = ScanPosition(successor(self._last_row), 0, state)
        return ScanPage(self.rows, position, False, state, self.scanned)

    @property
    def last_row(self) -> bytes | None:
        """The last row that was looked at."""
        return self._last_row

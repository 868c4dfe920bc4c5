"""One page of a scan, as it fills (model.read.ScanPage): filter, pieces of long rows, limits, where to go on.

Going on: forward after a row at its successor; reversed there is no greatest smaller row, so the position names the
row itself with ROW_DONE cells behind it. Inside a row that is cut into pieces it names the last cell given out, and
counts them. Behind a filter that remembers something within a row it only counts, and carries the filter's state of
before the row: the row is read and filtered again for its next piece.

A long row comes in parts (merge.visibility.TakePart): its pieces are given out as soon as they are there, unless a
filter has still to see the rest. A row that must be given whole, or that such a filter keeps, has a limit in bytes.
"""

from collections.abc import Callable
from typing import Final, final

from hbtable.filters.evaluate import RowFilter
from hbtable.model.cell import Cell, Row
from hbtable.model.ranges import successor
from hbtable.model.read import ScanPage, ScanPosition, ScanRequest, bytes_of
from hbtable.model.values import shown
from hbtable.runtime.slices import let_go
from hbtable.switches import switches
from hbtable.tablet.reads.long_rows import OBJECT_BYTES, row_too_large
from hbtable.tablet.reads.resuming import Resumption

ROW_DONE: Final = 2**62
"""In ScanPosition.cells_done: nothing of the row is left."""

_CELL_BYTES: Final = 16
"""Counted per cell for what is neither key nor value."""


@final
class _LongRow:
    """The part so far of a row that comes in parts. `done` cells were given out, in this page or before; `cells` wait.
    `state` is the filter's before the row."""

    __slots__ = ("cells", "done", "is_dropped", "is_given", "row", "size_bytes", "skip", "state")

    def __init__(self, row: bytes, state: bytes, is_dropped: bool, done: int, skip: int) -> None:
        self.row = row
        self.state = state
        self.is_dropped = is_dropped
        self.skip = skip
        """Cells to leave out, because earlier pages gave them."""
        self.done = done
        self.is_given = False
        """Something of it is in this page."""
        self.cells: list[Cell] = []
        self.size_bytes = 0

    def add(self, cells: list[Cell]) -> None:
        self.cells += cells
        self.size_bytes += bytes_of(self.row, cells)

    def drop(self, count: int) -> None:
        """The first cells are done with."""
        if count:
            del self.cells[:count]
            self.done += count
            self.size_bytes = bytes_of(self.row, self.cells)


@final
class PageBuilder:
    """Collects the rows of one page. Rows are offered in scan order, each with all its visible cells, or in parts."""

    __slots__ = (
        "_filter", "_hold", "_is_raw", "_last_row", "_long_row", "_max_bytes", "_max_rows", "_max_versions", "_pause",
        "_piece", "_piece_bytes", "_reached", "_remembers_rows", "_reversed", "_row_bytes", "_skip_cells", "_skip_row",
        "_state_before", "_streams", "_unfinished", "bytes_used", "ended", "is_late", "resumption", "rows", "scanned",
    )  # fmt: skip

    def __init__(
        self,
        request: ScanRequest,
        row_filter: RowFilter | None,
        hold: Callable[[int], None] = lambda _: None,
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        """`hold` hears of the memory that long rows take, `pause` lets others run."""
        self._hold = hold
        self._pause = pause
        self.rows: list[Row] = []
        self.bytes_used = 0
        self.scanned = 0
        """Rows offered, counted by who offers them unless they come in parts, less those that an earlier page gave a
        part of."""
        self.ended = False
        """part() has said that it wants nothing more."""
        self.is_late: Callable[[], bool] = lambda: False
        """Asked inside a long row that is given in pieces: the page ends there, behind a piece of it."""
        self._filter = row_filter
        self._max_rows = request.max_rows
        self._max_bytes = request.max_bytes
        self._max_versions = request.spec.max_versions
        self._row_bytes = request.spec.max_bytes
        self._piece = request.cells_per_row
        self._piece_bytes = request.spec.max_bytes // 4
        """A piece ends with the cell that passes it: the answer that it completes may be nearly full."""
        self._reversed = request.reversed
        position = request.position
        self._skip_row = position.row if position is not None and position.cells_done else None
        self._skip_cells = position.cells_done if position is not None else 0
        self._remembers_rows = row_filter is not None and bool(row_filter.state())
        self._state_before: bytes | None = None
        """The filter's before the row that it is at. When this row is not given, as it costs too much, the next page
        begins with it, and the filter must not have counted it: a PageFilter's last row was lost without an error."""
        self._streams = row_filter is None or row_filter.is_forgetful
        """Cells of a row may be given out before the rest of it is there, and the next page goes on behind the last of
        them, by its name."""
        self._is_raw = request.spec.is_of_stored
        self.resumption: Resumption | None = None
        """The position inside a row at which the page begins, by the name of a cell; None: it begins with a row, or
        counts cells."""
        if self._streams and position is not None and position.column:
            self.resumption = Resumption(position, is_filtered=row_filter is not None, is_raw=self._is_raw)
        self._last_row: bytes | None = None
        self._reached: bytes | None = None
        self._unfinished: ScanPosition | None = None
        self._long_row: _LongRow | None = None

    @property
    def is_filtered(self) -> bool:
        """No list of cells that add() was given is part of the page."""
        return self._filter is not None

    @property
    def gives_parts(self) -> bool:
        """A row is given out as it comes, however long it is."""
        return self._streams and self._piece > 0

    def is_finished(self) -> bool:
        """The filter lets no later row pass."""
        return self._filter is not None and self._state_before is None and self._filter.finished

    @switches
    def add(self, row: bytes, cells: list[Cell]) -> bool:
        """True: the page is full, or finished. *Switches* only where the filter gives way. Hot."""
        state = b""
        row_filter = self._filter
        if row_filter is not None:
            if row_filter.finished:
                return True
            if self._remembers_rows:
                state = self._state_before = row_filter.state()
            if row_filter.skips_row(row):
                self._state_before = None
                self._last_row = row
                return row_filter.finished
            cells = row_filter.apply(row, cells, self._max_versions)
            self._state_before = None
        self._last_row = row
        if not cells:
            return row_filter is not None and row_filter.finished
        if self._piece or self._skip_row is not None:
            done, skip = self._begun(row)
            if self.resumption is not None:
                cells = self.resumption.rest(row, cells)
            skip = min(skip, len(cells))
            return self._add_pieces(row, cells[skip:], done + skip, state)
        used = 0
        for column, _, value in cells:
            used += len(column) + len(value)
        if used > self._row_bytes:
            if row_filter is not None or not self.rows:  # the filter's state of before the row is not known
                raise row_too_large(row, self._row_bytes)
            self._unfinished = ScanPosition(row)
            self.scanned -= 1
            return True
        self.rows.append((row, cells))
        self.bytes_used += used + len(row) + _CELL_BYTES * len(cells)
        return self.is_full()

    def is_full(self) -> bool:
        return len(self.rows) >= self._max_rows or self.bytes_used >= self._max_bytes

    def _begun(self, row: bytes) -> tuple[int, int]:
        """(cells of it that earlier pages gave and that are not offered again, cells to be skipped because they are).
        To be asked once for each row."""
        if self._skip_row is None:
            return 0, 0
        was_begun = row == self._skip_row
        self._skip_row = None
        self.scanned -= was_begun
        if not was_begun:
            return 0, 0
        return (0, self._skip_cells) if self.resumption is None else (self._skip_cells, 0)

    def _add_pieces(self, row: bytes, cells: list[Cell], done: int, state: bytes) -> bool:
        """`cells`: those of the row behind the first `done` of them."""
        given = 0
        while given < len(cells):
            given += self._give(row, cells, given, len(cells))
            if self.is_full():
                if given < len(cells):
                    self._unfinished = self._inside(row, done + given, state)
                return True
        return False

    def _give(self, row: bytes, cells: list[Cell], first: int, stop: int) -> int:
        """A piece of what is between `first` and `stop`; how many cells that were."""
        piece = cells[first : min(first + self._piece, stop) if self._piece else stop]
        used = 0
        for number, (column, _, value) in enumerate(piece, 1):
            used += len(row) + len(column) + len(value) + _CELL_BYTES
            if used >= self._piece_bytes and self._piece:
                del piece[number:]
                break
        self.rows.append((row, piece))
        self.bytes_used += used
        return len(piece)

    # ------------------------------------------------------------ rows in parts

    @switches
    def part(self, row: bytes, cells: list[Cell], is_last: bool) -> bool:
        """merge.visibility.TakePart: as add(), of a row that comes in parts. LimitExceeded."""
        self.ended = self._part(row, cells, is_last)
        return self.ended

    @switches
    def _part(self, row: bytes, cells: list[Cell], is_last: bool) -> bool:
        row_filter = self._filter
        long_row = self._long_row
        if long_row is None:
            if row_filter is not None and row_filter.finished:
                return True
            state = row_filter.state() if row_filter is not None else b""
            is_dropped = row_filter is not None and row_filter.skips_row(row)
            self.scanned += 1
            long_row = self._long_row = _LongRow(row, state, is_dropped, *self._begun(row))
        if not long_row.is_dropped:
            if row_filter is not None:
                cells = row_filter.part(row, cells, self._max_versions)
            if self.resumption is not None:
                cells = self.resumption.rest(row, cells)
            before = long_row.size_bytes
            long_row.add(cells)
            self._hold(long_row.size_bytes - before + OBJECT_BYTES * len(cells))
            if self._streams and self._give_pieces(long_row):
                return True
            if long_row.size_bytes > self._row_bytes and not self.gives_parts:
                return self._refuse(long_row)
        return is_last and self._end(long_row)

    def _give_pieces(self, long_row: _LongRow) -> bool:
        """Those behind which there is something more of the row."""
        cells = long_row.cells
        if long_row.skip:
            skipped = min(long_row.skip, len(cells))
            long_row.skip -= skipped
            long_row.drop(skipped)
        if not self._piece:
            return False
        given = 0
        last = len(cells) - 1
        while last - given >= self._piece or (long_row.size_bytes >= self._piece_bytes and given < last):
            given += self._give(long_row.row, cells, given, last)
            long_row.is_given = True
            if self.is_full():
                break
        long_row.drop(given)
        is_over = self.is_full() or (given and self._streams and self.is_late())
        return bool(is_over) and self._stop_inside(long_row)

    def _stop_inside(self, long_row: _LongRow) -> bool:
        self._long_row = None
        self._unfinished = self._inside(long_row.row, long_row.done + long_row.skip, long_row.state)
        return True

    def _inside(self, row: bytes, done: int, state: bytes) -> ScanPosition:
        """The position behind so many cells of it."""
        resumed = self.resumption.position if self.resumption is not None else None
        if resumed is not None and resumed.row != row:
            resumed = None
        if not self.rows or self.rows[-1][0] != row:  # this page has nothing of it
            return resumed or ScanPosition(row, done, state)
        if not self._streams:
            return ScanPosition(row, done, state)
        column, timestamp, _ = self.rows[-1][1][-1]
        versions = 0
        for begun, piece in reversed(self.rows):
            if begun != row:
                break
            for cell in reversed(piece):
                if cell[0] != column or (self._is_raw and cell[1] != timestamp):
                    return ScanPosition(row, done, state, column, timestamp, versions)
                versions += 1
        if resumed is not None and resumed.column == column and (not self._is_raw or resumed.timestamp == timestamp):
            versions += resumed.versions
        return ScanPosition(row, done, state, column, timestamp, versions)

    @switches
    def _refuse(self, long_row: _LongRow) -> bool:
        """Ends the page before a row that is too large to be given whole; the next page has nothing else. LimitExceeded
        when no row comes before it. *Switches* while it frees what was read of it."""
        let_go(long_row.cells, self._pause)
        if not self.rows or long_row.is_given:
            raise row_too_large(long_row.row, self._row_bytes)
        self.scanned -= 1
        return self._stop_inside(long_row)

    @switches
    def _end(self, long_row: _LongRow) -> bool:
        row_filter = self._filter
        self._long_row = None
        self._last_row = long_row.row
        if not long_row.is_dropped:
            cells = long_row.cells if row_filter is None else row_filter.end(long_row.cells)
            if long_row.skip:
                cells = cells[long_row.skip :]
            if cells and not self._piece and not long_row.skip:
                self.rows.append((long_row.row, cells))
                self.bytes_used += long_row.size_bytes + len(long_row.row) * (len(cells) - 1)  # counted as they came
                return self.is_full()
            if cells:
                return self._add_pieces(long_row.row, cells, long_row.done + long_row.skip, long_row.state)
        return row_filter is not None and row_filter.finished

    def interrupt(self) -> bool:
        """The sources were lost. Whether that was inside a long row: then the page ends there."""
        if self._long_row is None:
            return False
        self.ended = self._stop_inside(self._long_row)
        return True

    def break_off(self) -> None:
        """The sources are damaged: a long row that is under way ends the page, or was not begun when it has no rows."""
        long_row = self._long_row
        if self.rows:
            self.interrupt()
        elif long_row is not None:
            self._long_row = None
            if self._remembers_rows:
                self._state_before = long_row.state
            self.scanned -= 1
            if long_row.done + long_row.skip:
                self.scanned += 1
                self._skip_row = long_row.row
            if self.resumption is not None:
                self.resumption = self.resumption.again()

    # ------------------------------------------------------------ the page

    def place(self) -> str:
        """The place that it has come to, for people."""
        return "in the first row of a page" if self._last_row is None else f"behind row {shown(self._last_row)}"

    def reach(self, row: bytes) -> None:
        """All that lies before `row` in scan order was looked at, though nothing may have been offered of it, and it
        ends here. Reversed: and the row itself. A page that was offered rows ends behind the last of these all the
        same: whoever reads knows of that one, and may not of `row`."""
        self._reached = row

    def page(self, exhausted: bool) -> ScanPage:
        """`exhausted`: the range holds no further row."""
        row_filter = self._filter
        state = self._state_before
        if state is None:
            state = row_filter.state() if row_filter is not None else b""
        if self._unfinished is not None:
            return ScanPage(self.rows, self._unfinished, False, b"", self.scanned)
        if self.is_finished():
            return ScanPage(self.rows, None, True, state, self.scanned)
        if self._reached is not None and self._last_row is None:
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

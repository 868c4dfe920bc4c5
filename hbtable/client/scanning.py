"""A page of a scan over as many tablets as it takes, forward or backward.

Two kinds of pages are short: the last one, and one that ends before rows that cannot be given, because they are damaged
or exceed a limit. In the second case the next page is an error. A caller whose clients take a short page for the end
has to fill it, and so meets the error. (A request for plain rows, for rows by column or for an aggregate gets short
pages as well, because a page has either these or others.)

Between tablets the filter's state goes along. Backward, "right before the tablet that begins at row M" has no row of
its own to name: that position is row M with all its cells done (BETWEEN_TABLETS), which only this module makes and
reads; a tablet's own positions (tablet.page) pass through unread.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Final, Protocol

from hbtable.errors import DataDamaged, LimitExceeded, NoSuchFamily
from hbtable.model.cell import Row
from hbtable.model.names import shown
from hbtable.model.parts import parts_of
from hbtable.model.ranges import RowRange
from hbtable.model.read import Columns, ScanPage, ScanPosition, ScanRequest
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches

BETWEEN_TABLETS: Final = 2**31 - 1

_CELLS_AT_ONCE: Final = 1024
"""To go through so many for their size takes 0.2 ms."""


class ScanTablet(Protocol):
    """One page of one tablet: that of `row`, or the one right `before` it; `narrow` makes the request for it."""

    def __call__(
        self, row: bytes, before: bool, narrow: Callable[[TabletRecord], ScanRequest]
    ) -> tuple[ScanPage, TabletRecord]: ...


@switches
def page(request: ScanRequest, scan_tablet: ScanTablet, pause: Callable[[], object]) -> ScanPage:
    """See client.table.Table.scan_page. `pause` lets others run between many rows."""
    rows: list[Row] = []
    size = scanned = tablets = 0
    told = position = request.position  # `told`: not among rows that have nothing for whoever reads
    while True:
        at, before = place(request, position)
        narrow = partial(_narrowed, request, position, request.max_rows - len(rows), request.max_bytes - size, not rows)
        try:
            found, record = scan_tablet(at, before, narrow)
        except (DataDamaged, LimitExceeded):
            if not rows:
                raise
            return ScanPage(rows, told, rows_scanned=scanned, tablets=tablets)
        scanned += found.rows_scanned
        if position is None or before or (not request.reversed and position.row == record.range.start):
            tablets += 1
        position = found.next
        if _is_without_rows(found):
            return _in_their_place(request, record.range, found)._replace(rows_scanned=scanned, tablets=tablets)
        if not rows:
            if position is not None and len(found.rows) >= request.max_rows:
                return ScanPage(found.rows, position, found.filter_finished, found.filter_state, scanned, tablets)
            rows = found.rows
        else:
            rows += found.rows
        if position is None:
            position = None if found.filter_finished else _beyond(request, record.range, found.filter_state)
            if position is None:
                return ScanPage(rows, None, found.filter_finished, found.filter_state, scanned, tablets)
        if found.rows or found.next is None:
            told = position
        size += _size(found.rows, pause)
        if len(rows) >= request.max_rows or size >= request.max_bytes:
            return ScanPage(rows, position, rows_scanned=scanned, tablets=tablets)


def _in_their_place(request: ScanRequest, tablet: RowRange, found: ScanPage) -> ScanPage:
    """The page of something else than rows, which ends where this tablet's does."""
    if found.next is not None:
        return found._replace(tells_hidden_row=not found.rows_scanned)
    return found if found.filter_finished else found._replace(next=_beyond(request, tablet, found.filter_state))


def _is_without_rows(page: ScanPage) -> bool:
    """Whether something else is in their place."""
    return page.plain is not None or page.columns is not None or page.aggregated is not None


@switches
def page_of_one_tablet(
    request: ScanRequest, tablet: TabletRecord, scan: Callable[[ScanRequest], ScanPage]
) -> ScanPage | None:
    """The page that page() makes of a request without a filter, where `tablet` is the one of its position, which `scan`
    asks. None: the page goes on behind that tablet."""
    narrowed = _narrowed(request, request.position, request.max_rows, request.max_bytes, True, tablet)
    found = scan(narrowed)
    if found.next is None and _beyond(request, tablet.range, b"") is not None:
        return None
    return found


def place(request: ScanRequest, position: ScanPosition | None) -> tuple[bytes, bool]:
    """(row, False): the tablet of the row. (row, True): the tablet of the rows right before it."""
    if position is not None:
        return position.row, request.reversed and position.cells_done == BETWEEN_TABLETS
    return (request.range.stop, True) if request.reversed else (request.range.start, False)


def _narrowed(
    request: ScanRequest,
    position: ScanPosition | None,
    max_rows: int,
    max_bytes: int,
    is_first: bool,
    tablet: TabletRecord,
) -> ScanRequest:
    """The request to one tablet: its own part of the range, and no more than still fits. `is_first`: nothing was found
    for the page yet, so that it may be of another kind than rows."""
    within = request.range.intersect(tablet.range)
    if position is not None and position.cells_done == BETWEEN_TABLETS:
        within = within.intersect(RowRange(b"", position.row))
        # Without a state to carry, the end of the range says it all.
        position = ScanPosition(position.row, 0, position.filter_state) if position.filter_state else None
    if within == request.range and position == request.position and max_rows == request.max_rows:
        return request
    spec, cells_per_row, times = request.spec, request.cells_per_row, request.family_times
    plain, by_column = (request.plain, request.by_column) if is_first else (False, ())
    aggregation = request.aggregation if is_first else None
    return ScanRequest(
        within, spec, request.reversed, cells_per_row, max_rows, max_bytes, position, plain, times, by_column,
        aggregation,
    )  # fmt: skip


def _beyond(request: ScanRequest, tablet: RowRange, filter_state: bytes) -> ScanPosition | None:
    """The row at which the next tablet takes over; None when the range ends in this one."""
    if request.reversed:
        if not tablet.start or tablet.start <= request.range.start:
            return None
        return ScanPosition(tablet.start, BETWEEN_TABLETS, filter_state)
    if not tablet.stop or (request.range.stop and request.range.stop <= tablet.stop):
        return None
    return ScanPosition(tablet.stop, 0, filter_state)


@switches
def _size(rows: list[Row], pause: Callable[[], object]) -> int:
    total, left = 0, _CELLS_AT_ONCE
    for row, cells in rows:
        total += len(row)
        for some in (cells,) if len(cells) <= _CELLS_AT_ONCE else parts_of(cells, _CELLS_AT_ONCE):
            left -= 1 + len(some)
            if left <= 0:
                pause()
                left = _CELLS_AT_ONCE
            for column, _, value in some:
                total += len(column) + len(value)
    return total


def check_columns(columns: Columns | None, families: Collection[bytes], table: str) -> None:
    """NoSuchFamily for one that is not among these."""
    for family in columns or ():
        if family not in families:
            there = ", ".join(shown(name) for name in sorted(families))
            raise NoSuchFamily(f"Column family {shown(family)} does not exist in table {table}; it has {there}")

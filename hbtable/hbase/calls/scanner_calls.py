"""Scanners of the interface: six ways to open one, two to fetch, one to close.

A missing table or family, a disabled table and a bad filter are reported at the open (HBase waits for the first fetch);
where the table changed since it was last scanned, at the first fetch. A fetch returns as many rows as asked for. It
returns fewer at the end of the scan, when the answer would pass `answer_bytes`, and before a row that is too large to
be given whole: the next fetch is the error of that row. Clients fetch until they get an empty list, so nothing is lost.
A client that asks for 2^31 - 1 rows gets the table in pieces, and does not take the server's memory. The end is an
empty list, again and again.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import final

from hbtable.errors import HbtableError, LimitExceeded, TableNotEnabled
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.scanners import Scanner, Scanners
from hbtable.hbase.codec.binary_answers import SortedRows
from hbtable.hbase.codec.interface import GROWTH, PageAhead
from hbtable.hbase.codec.scanned_pages import ScannedPages, size_of
from hbtable.hbase.codec.thrift_structs import TScan
from hbtable.hbase.conversion import check_families, shown, upper_bound
from hbtable.hbase.errors import BadArgument, TooLongArgument
from hbtable.model.cell import MAX_TIMESTAMP, Row
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.ranges import RowRange, between, prefix_stop
from hbtable.model.read import Columns as AskedColumns
from hbtable.model.read import ReadSpec, ScanPage, ScanPosition, ScanRequest, columns_of
from hbtable.model.table import TableRecord, TableState
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.request_budget import adopt
from hbtable.switches import switches

Attributes = Mapping[bytes, bytes] | None
Columns = Sequence[bytes] | None
_PAGE_BYTES = 4 << 20
_REMEMBERED_TABLES = 1000
_MOST_PARTS = 8
_LEAST_BYTES = 64 << 10
"""A smaller page is made in less time than it is worth."""
_LEAST_PLAIN_BYTES = 256 << 10
"""Likewise, of rows as bytes."""
_PAGES_BEFORE = 2
"""Full pages of a scanner before one is made ahead: many scans have one page, and the last is made in vain."""


class _NotAhead(Exception):
    """There is a page that cannot be made ahead."""


@final
class ScannerCalls:
    """Thrift1's calls on scanners. `record` is a table's record by its canonical name; `check_filter` raises BadFilter;
    `pause` lets others run."""

    def __init__(
        self,
        tables: TableBackend,
        record: Callable[[bytes], TableRecord],
        scanners: Scanners,
        check_filter: Callable[[bytes], object],
        answer_bytes: int,
        pause: Callable[[], None],
        budget: MemoryBudget,
    ) -> None:
        self._tables = tables
        self._record = record
        self.scanners = scanners
        self._check_filter = check_filter
        self._answer_bytes = answer_bytes
        self._pause = pause
        self._budget = budget
        self._known: dict[bytes, frozenset[bytes]] = {}

    # ---------------------------------------------------------------- open

    @switches
    def scannerOpenWithScan(self, table: bytes | None, scan: TScan | None, _: Attributes) -> int:
        if scan is None:
            raise BadArgument("the call has no scan")
        if scan.filter is not None:
            self._check_filter(scan.filter)
        spec = ReadSpec(
            columns_of(scan.columns, self._pause),
            max_timestamp=MAX_TIMESTAMP if scan.timestamp is None else upper_bound(scan.timestamp),
            filter=scan.filter,
            cache_blocks=scan.cache_blocks is not False,
            max_bytes=self._answer_bytes,
        )
        backwards = bool(scan.reversed)
        rows = range_of(scan.start_row or b"", scan.stop_row or b"", backwards)
        request = ScanRequest(rows, spec, backwards, cells_per_row=max(scan.batch_size or 0, 0))
        return self.open_scanner(table, request, bool(scan.sort_columns))

    @switches
    def scannerOpen(self, table: bytes | None, start: bytes | None, columns: Columns, _: Attributes) -> int:
        return self._open_range(table, range_of(start or b"", b""), columns, MAX_TIMESTAMP)

    @switches
    def scannerOpenWithStop(
        self, table: bytes | None, start: bytes | None, stop: bytes | None, columns: Columns, _: Attributes
    ) -> int:
        return self._open_range(table, range_of(start or b"", stop or b""), columns, MAX_TIMESTAMP)

    @switches
    def scannerOpenWithPrefix(self, table: bytes | None, prefix: bytes | None, columns: Columns, _: Attributes) -> int:
        start = _checked(prefix or b"")
        return self._open_range(table, RowRange(start, prefix_stop(start)), columns, MAX_TIMESTAMP)

    @switches
    def scannerOpenTs(
        self, table: bytes | None, start: bytes | None, columns: Columns, timestamp: int | None, _: Attributes
    ) -> int:
        return self._open_range(table, range_of(start or b"", b""), columns, upper_bound(timestamp))

    @switches
    def scannerOpenWithStopTs(
        self,
        table: bytes | None,
        start: bytes | None,
        stop: bytes | None,
        columns: Columns,
        timestamp: int | None,
        _: Attributes,
    ) -> int:
        return self._open_range(table, range_of(start or b"", stop or b""), columns, upper_bound(timestamp))

    @switches
    def _open_range(self, table: bytes | None, rows: RowRange, columns: Columns, max_timestamp: int) -> int:
        spec = ReadSpec(columns_of(columns, self._pause), max_timestamp=max_timestamp, max_bytes=self._answer_bytes)
        return self.open_scanner(table, ScanRequest(rows, spec), sorted_columns=False)

    @switches
    def open_scanner(
        self, table: bytes | None, request: ScanRequest, sorted_columns: bool, rows_left: int | None = None
    ) -> int:
        """`rows_left`: after so many rows the scan is at its end."""
        name = self._tables.canonical(table)
        asked = request.spec.columns
        seen = self._tables.check_scan(name, asked)
        named = None if asked is None else seen
        known = self._known.get(name)
        if known is None or any(family not in known for family in named or ()):
            self._check(name, named)
        return self.scanners.open(name, request, sorted_columns, rows_left)

    @switches
    def _check(self, name: bytes, named: AskedColumns | None) -> None:
        """Asks METADATA, and remembers the families: a table that goes away later shows at the first fetch. Of families
        that the caller may not see he is not told whether they are there."""
        self._known.pop(name, None)
        record = self._record(name)
        if record.state in (TableState.DISABLED, TableState.DISABLING):
            raise TableNotEnabled(f"{shown(name)} is disabled.")
        check_families(named, record.schema.families, name)
        if len(self._known) >= _REMEMBERED_TABLES:
            self._known.clear()
        self._known[name] = frozenset(record.schema.families)

    # ---------------------------------------------------------------- fetch and close

    @switches
    def scannerGet(self, number: int | None) -> Sequence[Row] | ScannedPages:
        return self.scannerGetList(number, 1)

    @switches
    def scannerGetList(self, number: int | None, count: int | None) -> Sequence[Row] | ScannedPages:
        scanner = self.scanners.use(number)
        wanted = count or 0
        if wanted < 0:
            raise BadArgument(f"a scanner cannot return {wanted} rows; ask for 1 or more")
        with scanner.lock:
            pages = self.fetch(scanner, wanted)
            scanner.full_pages = scanner.full_pages + 1 if pages.count == wanted else 0
            scanner.was_plain = pages.has_plain
        return _answer(scanner, pages)

    def look_ahead(
        self, sent_bytes: int, number: int | None, count: int | None
    ) -> Callable[[], PageAhead | None] | None:
        """A function that makes the page which scannerGetList() would give next; the scanner does not move."""
        scanner, wanted = self.scanners.find(number), count or 0
        if scanner is None or scanner.ended or scanner.full_pages < _PAGES_BEFORE or not scanner.goes_ahead:
            return None
        if scanner.request.spec.filter is not None or scanner.rows_left is not None:
            return None
        if sent_bytes < (_LEAST_PLAIN_BYTES if scanner.was_plain else _LEAST_BYTES):
            return None
        return partial(self._made_ahead, scanner, number, wanted, min(GROWTH * sent_bytes, self._answer_bytes))

    def scannerClose(self, number: int | None) -> None:
        self.scanners.close(number)

    def unnumbered(self, table: bytes | None, request: ScanRequest, rows_left: int | None) -> Scanner:
        """Opens a scanner for a single call."""
        return self.scanners.unnumbered(self._tables.canonical(table), request, rows_left)

    @switches
    def fetch(self, scanner: Scanner, wanted: int) -> ScannedPages:
        """The scanner moves on only when the whole answer is there: after an error the same rows come again."""
        if scanner.ended or not wanted:
            return ScannedPages()
        table = self._tables.named(scanner.table)
        collected = self._budget.begin(None)
        try:
            pages, scanner.position = self._pages(
                scanner, wanted, self._answer_bytes, table.scan_page, partial(self._budget.collect, collected)
            )
        finally:
            self._budget.end(collected)
        adopt(collected.size_bytes)  # until the answer is made of it, which counts itself
        scanner.ended = scanner.position is None
        return pages

    @switches
    def _pages(
        self,
        scanner: Scanner,
        wanted: int,
        left_bytes: int,
        scan_page: Callable[[ScanRequest], ScanPage],
        collect: Callable[[int], bool],
    ) -> tuple[ScannedPages, ScanPosition | None]:
        """The rows, and where the scan goes on."""
        asked, position = scanner.request, scanner.position
        pages = ScannedPages()
        while True:
            request = ScanRequest(
                asked.range, asked.spec, asked.reversed, asked.cells_per_row, wanted - pages.count,
                min(_PAGE_BYTES, left_bytes), position, not scanner.sorted_columns, asked.family_times,
            )  # fmt: skip
            try:
                page = scan_page(request)
            except LimitExceeded:
                if not pages.count:
                    raise
                break  # of a row that is too large; those before it first
            pages.add(page)
            position = page.next
            if position is None or pages.count >= wanted:
                break
            page_bytes = size_of(page, self._pause)
            left_bytes -= page_bytes
            if not collect(page_bytes) or left_bytes <= 0:
                break
            self._pause()
        return pages, position

    @switches
    def _made_ahead(self, scanner: Scanner, number: int | None, wanted: int, most_bytes: int) -> PageAhead | None:
        asked, start = scanner.request.spec.columns, scanner.position
        table = self._tables.named(scanner.table)
        still: list[Callable[[], bool]] = []

        def scan_page(request: ScanRequest) -> ScanPage:
            found = table.page_ahead(request) if len(still) < _MOST_PARTS else None
            if found is None:
                raise _NotAhead
            still.append(found.is_valid)
            page = found.page
            if page.plain is None and page.next is not None and len(page.rows) < request.max_rows:
                raise _NotAhead  # it took too long, or is large
            return page

        scanner.goes_ahead = False
        try:
            seen = self._tables.check_scan(scanner.table, asked)
            pages, position = self._pages(scanner, wanted, most_bytes, scan_page, lambda size: True)
        except (_NotAhead, HbtableError):  # an error is for the next fetch to tell
            return None
        if position is not None and pages.count < wanted:
            return None
        scanner.goes_ahead = True

        @switches
        def take() -> bool:
            scanner.goes_ahead = False
            if self.scanners.use(number) is not scanner:
                return False
            with scanner.lock:
                may_see = self._tables.check_scan(scanner.table, asked)
                if may_see != seen or scanner.position is not start or not all(is_valid() for is_valid in still):
                    return False
                scanner.position, scanner.ended = position, position is None
                scanner.full_pages, scanner.was_plain = scanner.full_pages + 1, pages.has_plain
            scanner.goes_ahead = True
            return True

        return PageAhead(_answer(scanner, pages), take)


def _answer(scanner: Scanner, pages: ScannedPages) -> Sequence[Row] | ScannedPages:
    if scanner.sorted_columns:
        return SortedRows(pages.rows())
    return pages if pages.has_plain else pages.rows()


def _checked(row: bytes) -> bytes:
    if len(row) > MAX_ROW_BYTES:
        raise TooLongArgument(f"Row length {len(row)} is > {MAX_ROW_BYTES}")
    return row


def range_of(start: bytes, stop: bytes, backwards: bool = False) -> RowRange:
    return between(_checked(start), _checked(stop), backwards)

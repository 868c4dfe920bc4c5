"""A scan page by page: rows as they come, counted for METRICS. The position travels with each page, so nothing has to
be closed when the person has seen enough."""

from collections.abc import Iterator
from typing import final

from hbtable.hbase.admin.structs import AdminPage, AdminPosition, AdminRow, AdminScan
from hbtable.model.ranges import prefix_stop, successor
from hbtable.shell.arguments.options import ScanOptions
from hbtable.shell.context import Context
from hbtable.shell.errors import ServerError


@final
class PagedScan:
    """Iterate over it once. `rows` counts rows, `results` pieces of rows (BATCH)."""

    def __init__(self, context: Context, table: bytes, options: ScanOptions) -> None:
        self._context = context
        self._table = table
        self._options = options
        self.rows = 0
        self.results = 0
        self.calls = 0
        self.bytes_received = 0
        self._scanned = 0
        self._received = 0
        """Rows that came, also those behind LIMIT, each once."""
        self._last: bytes | None = None
        self._regions = 0
        self._called_millis = 0
        self._between_millis = 0

    def __iter__(self) -> Iterator[AdminRow]:
        options = self._options
        bounds = self.bounds()
        if bounds is None:
            return
        position: AdminPosition | None = None
        last: bytes | None = None
        while True:
            page_rows = options.page_rows
            if options.limit > 0 and not options.batch:
                page_rows = min(page_rows, options.limit - self.rows)
            page = self._page(bounds, page_rows, position)
            for found in page.rows:
                if found.row != last:
                    if 0 < options.limit <= self.rows:
                        return
                    self.rows += 1
                    last = found.row
                self.results += 1
                yield found
            position = page.position
            if position is None or (0 < options.limit <= self.rows and not options.batch):
                return

    def _page(self, bounds: tuple[bytes, bytes], page_rows: int, position: AdminPosition | None) -> AdminPage:
        options = self._options
        request = AdminScan(options.read, bounds[0], bounds[1], options.reversed, options.batch, page_rows, position)
        now = self._context.wall_millis()
        if self.calls:
            self._between_millis += max(0, now - self._called_millis)
        self._called_millis = now
        found = self._context.on_table(self._table, "adminScan", request)
        if not isinstance(found, AdminPage):
            raise ServerError("", f"the server answered a scan with {type(found).__name__}")
        self.calls += 1
        self._scanned += found.rows_scanned
        self._regions += found.tablets
        for row, cells in found.rows:
            self._received += row != self._last
            self._last = row
            self.bytes_received += sum(len(row) + len(cell.column) + len(cell.value) for cell in cells or ())
        return found

    def bounds(self) -> tuple[bytes, bytes] | None:
        """[start, stop) ascending. None: no row can be meant."""
        if self._options.prefix is not None:
            return self._options.prefix, prefix_stop(self._options.prefix)
        start, stop = self._options.start, self._options.stop
        if start and start == stop:
            return start, successor(start)
        if not self._options.reversed:
            return None if stop and stop < start else (start, stop)
        low, high = (successor(stop) if stop else b""), (successor(start) if start else b"")
        return None if high and high <= low else (low, high)

    def metrics(self) -> dict[str, int]:
        """HBase's names, of those only what is counted."""
        return {
            "BYTES_IN_RESULTS": self.bytes_received,
            "MILLIS_BETWEEN_NEXTS": self._between_millis,
            "REGIONS_SCANNED": self._regions,
            "ROWS_FILTERED": self._scanned - self._received,
            "ROWS_SCANNED": self._scanned,
            "RPC_CALLS": self.calls,
        }

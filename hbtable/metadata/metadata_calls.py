"""Calls to METADATA's own tablets: find the one that holds a row, call its server, try again when it moved.

Shared by the locator, which reads, and the catalog, which writes. `find` and `forget` are the locator's, for table 0.
A retry repeats only what is known not to have been applied (StaleLocation, Unavailable).
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from hbtable.errors import DataDamaged, LockLost, OutcomeUnknown, OutOfSpace, StaleLocation, Unavailable
from hbtable.metadata import layout
from hbtable.metadata.retry_policy import RetryCounter, RetryPolicy
from hbtable.model.cell import Row
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ScanPage, ScanRequest
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.rpc.services import TabletService
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.request_budget import for_no_request
from hbtable.switches import switches

T = TypeVar("T")

_ROWS_AT_ONCE: Final = 250
"""Decoded without a switch: it takes milliseconds."""


class MetadataCalls:
    """Calls METADATA's tablets, and tries again when one moved. One per locator. Every call *switches*."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        find: Callable[[int, bytes], TabletRecord],
        forget: Callable[[int, bytes], None],
        options: RetryPolicy,
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._find = find
        self._forget = forget
        self._options = options

    @switches
    def call(
        self,
        row: bytes,
        function: Callable[[TabletService, TabletRecord], T],
        repeatable: bool = True,
        before: Callable[[], None] = lambda: None,
    ) -> T:
        """`function` with the server and record of the METADATA tablet that holds `row`. `before` is called right
        before each try, without a switch between; what it raises counts as an answer, but LockLost is passed on.

        Unavailable when that tablet cannot be reached within the deadline; nothing was applied then. OutcomeUnknown
        when `function` is not `repeatable` and its server lost its lock while it ran.
        """
        retries: RetryCounter | None = None
        reason: StaleLocation | Unavailable
        while True:
            record: TabletRecord | None = None
            try:
                record = self._find(METADATA_TABLE_ID, row)
                if not record.owner:
                    raise StaleLocation(f"METADATA tablet {record.tablet_id} is not assigned to a tablet server")
                service = self._transport.tablet_service(record.owner)
                before()
                return self._once(function, service, record, repeatable)
            except OutOfSpace:
                raise
            except StaleLocation as error:
                reason = error
            except Unavailable as error:
                if record is None:
                    raise  # the level above has tried long enough already
                reason = error
            if record is not None:
                self._forget(METADATA_TABLE_ID, record.range.start)
            if retries is None:
                retries = RetryCounter(self._runtime, self._options)
            if not retries.wait():
                raise Unavailable(retries.exhausted(f"METADATA row {row!r} could not be reached", reason)) from reason

    @switches
    def _once(
        self,
        function: Callable[[TabletService, TabletRecord], T],
        service: TabletService,
        record: TabletRecord,
        repeatable: bool,
    ) -> T:
        try:
            # A lookup does not wait until others need less memory: whoever waits for it may be one of those.
            with for_no_request():
                return function(service, record)
        except LockLost as error:
            # That server must stop, not this process: passed on, its LockLost would stop the caller as well.
            if repeatable:
                raise StaleLocation(str(error)) from error
            raise OutcomeUnknown(f"METADATA may or may not have been changed: {error}") from error

    @switches
    def page(self, rows: RowRange, max_rows: int) -> tuple[list[Row], bytes | None]:
        """The first of `rows`, from one METADATA tablet, and where to go on: None at the end of the range.
        The list may be empty before the end: the tablet had nothing more in the range."""

        def scan(service: TabletService, record: TabletRecord) -> tuple[ScanPage, RowRange]:
            within = rows.intersect(record.range)
            request = ScanRequest(within, EVERYTHING, max_rows=max_rows)
            return service.scan(record.tablet_id, request), record.range

        try:
            page, covered = self.call(rows.start, scan)
        except DataDamaged as error:
            sound = RowRange(rows.start, error.first_row)
            if error.first_row <= rows.start or (rows.stop and error.first_row >= rows.stop):
                raise
            found, go_on = self.page(sound, max_rows)
            return found, error.first_row if go_on is None else go_on
        if page.next is not None:
            return page.rows, page.next.row
        if not covered.stop or (rows.stop and covered.stop >= rows.stop):
            return page.rows, None
        return page.rows, covered.stop

    @switches
    def rows(self, rows: RowRange, page_rows: int = 1000, damage: list[DataDamaged] | None = None) -> Iterator[Row]:
        """Every row of the range, ascending, each as of the moment its page was read. Rows that cannot be read are
        passed over, and why is added to `damage`; without that they are DataDamaged. *Switches* between pages."""
        at: bytes | None = rows.start
        while at is not None:
            rest = RowRange(at, rows.stop)
            try:
                found, at = self.page(rest, page_rows)
            except DataDamaged as error:
                if damage is None:
                    raise
                damage.append(error)
                at = error.stop_row if error.stop_row > rest.start and rest.holds(error.stop_row) else None
                continue
            for first in range(0, len(found), _ROWS_AT_ONCE):
                if first:
                    self._runtime.sleep(0)
                yield from found[first : first + _ROWS_AT_ONCE]
            if at is not None and found:
                self._runtime.sleep(0)  # a METADATA tablet of this process is called without a switch

    @switches
    def record_at(self, row: bytes) -> bytes | None:
        """The stored m:record of one METADATA row; None when there is none."""

        def read(service: TabletService, record: TabletRecord) -> list[Row]:
            return service.read_rows(record.tablet_id, [row], EVERYTHING)

        for _, cells in self.call(row, read):
            return stored(cells)
        return None


def stored(cells: list[tuple[bytes, int, bytes]]) -> bytes | None:
    """The newest m:record among a row's cells."""
    for column, _, value in cells:
        if column == layout.COLUMN:
            return value
    return None

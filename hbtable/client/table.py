"""Calls on one table: find the tablet, call its server, try again when it moved (paper, section 5.1).

Retried until the deadline of ClientOptions: StaleLocation and Unavailable, which promise that nothing was applied.
Never retried: OutcomeUnknown, OutOfSpace, Overloaded, Throttled, and the caller's mistakes. After each failure the
table's record is read again: a table that was disabled or dropped meanwhile is reported as such, and one that was
dropped and created anew is used. The first try of each call is inlined: it costs a find and a call.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import final

from hbtable.client import scanning
from hbtable.client.grouping import in_order, mutations_by_tablet, mutations_within, rows_by_tablet, rows_within
from hbtable.client.located_table import LocatedTable
from hbtable.client.parallel_reads import read_in_parallel
from hbtable.client.partly_written import ended_early, raise_failed
from hbtable.client.table_calls import AheadPage
from hbtable.client.write_parts import MOST_ROWS, rows_of_a_part
from hbtable.errors import (
    HbtableError,
    InvalidRequest,
    LockLost,
    NoSuchFamily,
    OutcomeUnknown,
    StaleLocation,
    Unavailable,
)
from hbtable.model.call_checksums import (
    checksum_of_append,
    checksum_of_condition,
    checksum_of_increment,
    checksum_of_predicate,
)
from hbtable.model.cell import SERVER_TIME, Cell, Row
from hbtable.model.mutation import RowMutation, keep_checksums
from hbtable.model.put_batch import first_row
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest, check_request
from hbtable.model.tablet import TabletRecord
from hbtable.model.values import check_bytes
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches


@final
class Table(LocatedTable):
    """The calls on one table; Client.table makes it. Every call *switches*, and raises TableNotFound or
    TableNotEnabled."""

    __slots__ = ()

    # ---------------------------------------------------------------- writes

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        """Each row all or nothing, rows of one tablet in this order, tablets in parallel. On return all are durable
        and visible. An error says which rows were written when some were (partly_written.py). Of rows in one tablet,
        at most 1000, none was, if the error promises that."""
        if not mutations:
            return None
        if len(mutations) > MOST_ROWS:
            self._mutate_many(mutations)
            return None
        retries = None
        row = first_row(mutations)  # what is no row is told before the tablet of it is looked for
        while True:
            try:
                table_id = self._id or self._open()
                record = self.find(table_id, row)
                if len(mutations) == 1 or mutations_within(mutations, record):
                    return self._service(record.owner).mutate(record.tablet_id, mutations)
                groups = mutations_by_tablet(self.find, table_id, mutations)
                break
            except (StaleLocation, Unavailable, LockLost) as error:
                keep_checksums(mutations)
                retries = self._again(error, retries, row, write=True)
            except NoSuchFamily as error:
                keep_checksums(mutations)
                retries = self._once_known(error, retries, mutations)
        # A tablet that splits meanwhile divides its group again, inside the call for that group.
        jobs = [partial(self.mutate, group) for group in groups]
        outcomes = run_all(self._runtime, self._options.parallel_calls, jobs, "mutate")
        raise_failed(outcomes, groups, mutations, partial(self._runtime.sleep, 0))
        return None

    @switches
    def _mutate_many(self, mutations: Sequence[RowMutation]) -> None:
        """Some after the other: a million rows let others have their turn. What follows an error is not sent."""
        stop = 0
        while stop < len(mutations):
            first, stop = stop, stop + rows_of_a_part(self._runtime, mutations)
            try:
                self.mutate(mutations[first:stop])
            except LockLost:
                raise
            except HbtableError as error:
                ended = ended_early(error, mutations, first, stop, partial(self._runtime.sleep, 0))
                if ended is error:
                    raise
                try:
                    raise ended from error
                finally:
                    del ended  # its traceback holds this frame, and with it all mutations, until garbage is looked for
            self._runtime.sleep(0)

    @switches
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        """As TabletService.increment. OutcomeUnknown is passed on: the caller alone may decide to add again."""
        check_bytes("the row", row)
        checksum = checksum_of_increment(row, family, qualifier, amount)
        retries = None
        while True:
            try:
                record = self.find(self._id or self._open(), row)
                service = self._service(record.owner)
                return service.increment(record.tablet_id, row, family, qualifier, amount, checksum)
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=True)

    @switches
    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        """As TabletService.append: the new cells in the order of `values`, each (family, qualifier, suffix)."""
        check_bytes("the row", row)
        checksum = checksum_of_append(row, values, ttl_millis, partial(self._runtime.sleep, 0))
        retries = None
        while True:
            try:
                record = self.find(self._id or self._open(), row)
                return self._service(record.owner).append(record.tablet_id, row, values, ttl_millis, checksum)
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=True)

    @switches
    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        """As TabletService.check_and_mutate; `mutation` is of the same row."""
        check_bytes("the row", row)
        checksum = checksum_of_condition(row, family, qualifier, expected)
        retries = None
        while True:
            try:
                record = self.find(self._id or self._open(), row)
                return self._service(record.owner).check_and_mutate(
                    record.tablet_id, row, family, qualifier, expected, mutation, checksum
                )
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=True)
            except NoSuchFamily as error:
                retries = self._once_known(error, retries, (mutation,), family)

    @switches
    def mutate_if(self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        """As TabletService.mutate_if; `mutation` is of the same row."""
        check_bytes("the row", row)
        checksum = checksum_of_predicate(row, spec, operator, value)
        retries = None
        while True:
            try:
                record = self.find(self._id or self._open(), row)
                write = self._service(record.owner).mutate_if
                ask = partial(write, record.tablet_id, row, spec, operator, value, mutation, checksum)
                if spec.filter is None:
                    return ask()
                return self._suspects.mutate_if(record.owner, self.shown_name(), row, spec, ask)
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=True)
            except NoSuchFamily as error:
                retries = self._once_known(error, retries, (mutation,), *(spec.columns or ()))

    @switches
    def add_to_columns(self, mutation: RowMutation) -> list[Cell]:
        """As TabletService.add_to_columns. UnknownCall: the tablet server is of an older release, and nothing was
        done."""
        row = mutation.row
        check_bytes("the row", row)
        retries = None
        while True:
            try:
                record = self.find(self._id or self._open(), row)
                return self._service(record.owner).add_to_columns(record.tablet_id, mutation)
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=True)
            except NoSuchFamily as error:
                retries = self._once_known(error, retries, (mutation,))

    @switches
    def delete_range(self, rows: RowRange, timestamp: int = SERVER_TIME) -> None:
        """All rows of the range, whatever it holds, by one change in each tablet, tablet after tablet. Cells later
        than `timestamp` stay, and all that is written after it. After OutcomeUnknown some rows may be deleted, and
        others not; after any other error none is."""
        for row in rows:
            check_bytes("the row", row)
        if rows.is_empty():
            raise InvalidRequest(f"no row lies between {rows.start!r} and {rows.stop!r}")
        left: RowRange | None = rows
        while left is not None:
            try:
                left = self._delete_first(left, timestamp)
            except HbtableError as error:
                if left is rows or left is None or isinstance(error, OutcomeUnknown):
                    raise
                raise OutcomeUnknown(
                    f"of table {self.shown_name()} only rows before {left.start!r} were deleted: {error}"
                ) from error

    @switches
    def _delete_first(self, rows: RowRange, timestamp: int) -> RowRange | None:
        """Those of the first tablet; the range that is left. After any error but OutcomeUnknown none is deleted."""
        retries = None
        while True:
            try:
                record = self.find(self._id or self._open(), rows.start)
                within = rows.intersect(record.range)
                self._service(record.owner).delete_range(record.tablet_id, within.start, within.stop, timestamp)
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, rows.start, write=True)
            else:
                return None if within.stop == rows.stop else RowRange(within.stop, rows.stop)

    # ---------------------------------------------------------------- as clients sent them

    @switches
    def ask_owner(self, row: bytes, found: TabletRecord, ask: Callable[[TabletRecord], bytes], write: bool) -> bytes:
        """Asks for the tablet of the row, first as cached_tablet() has `found` it, and again where `ask` raises what a
        call to its server raises: another may have the tablet by then. Returns what `ask` does."""
        retries = None
        while True:
            try:
                return ask(found if retries is None else self.find(self._id or self._open(), row))
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write)

    # ---------------------------------------------------------------- reads

    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        """One entry for each row that has cells, in the order asked; a row asked twice comes twice. LimitExceeded when
        they count more than the spec's max_bytes."""
        if not rows:
            return []
        retries = None
        row = rows[0]
        if type(row) is not bytes:
            check_bytes("the row", row)
        while True:
            try:
                table_id = self._id or self._open()
                record = self.find(table_id, row)
                if len(rows) == 1 or rows_within(rows, record):
                    read = self._service(record.owner).read_rows
                    if spec.filter is None:
                        return read(record.tablet_id, rows, spec)
                    ask = partial(read, record.tablet_id, rows, spec)
                    return self._suspects.read_rows(record.owner, self.shown_name(), rows, spec, ask)
                groups = rows_by_tablet(self.find, table_id, rows)
                break
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=False)
        width = min(self._options.parallel_calls, len(groups))
        return in_order(rows, read_in_parallel(self._runtime, self.read_rows, groups, spec, width))

    @switches
    def scan_page(self, request: ScanRequest) -> ScanPage:
        """The next page over as many tablets as it takes: it has `max_rows` rows or passes `max_bytes`, or else
        nothing follows and `next` is None. `next` is for this method alone: it may lie between tablets."""
        check_request(request)
        if request.range.is_empty():
            self._check_as_tablets_do(request.spec)
            return ScanPage([], None)
        return scanning.page(request, self._scan_tablet, self._runtime.pause_when_due)

    @switches
    def _scan_tablet(
        self, row: bytes, before: bool, narrow: Callable[[TabletRecord], ScanRequest]
    ) -> tuple[ScanPage, TabletRecord]:
        """One page of the tablet of `row`, or of the tablet right `before` it, for the request that `narrow` makes."""
        retries = None
        while True:
            try:
                table_id = self._id or self._open()
                record = self._locator.find_before(table_id, row) if before else self.find(table_id, row)
                request = narrow(record)
                service = self._service(record.owner)
                times = request.family_times
                if request.spec.filter is None and not times:
                    return service.scan(record.tablet_id, request), record
                ask = partial(service.scan, record.tablet_id, request)
                if times:
                    ask = partial(service.scan_with_times, record.tablet_id, request, times)
                if request.spec.filter is None:
                    return ask(), record
                return self._suspects.scan(record.owner, self.shown_name(), request, ask), record
            except (StaleLocation, Unavailable, LockLost) as error:
                retries = self._again(error, retries, row, write=False, before=before)

    @switches
    def page_ahead(self, request: ScanRequest) -> AheadPage | None:
        """The page of scan_page(), for somebody who has not asked for it yet. None where it is not known later whether
        the page is still that, or where it lies in several tablets. Any error: scan_page() will tell."""
        row, before = scanning.place(request, request.position)
        if before or request.spec.filter is not None or request.family_times:
            return None
        record = self.find(self._id or self._open(), row)
        service = self._service(record.owner)
        is_valid = service.valid_from_now(record.tablet_id)
        if is_valid is None:
            return None
        page = scanning.page_of_one_tablet(request, record, partial(service.scan, record.tablet_id))
        return None if page is None else AheadPage(page, is_valid)

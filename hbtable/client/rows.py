"""A table for people: rows are dicts from b"family:qualifier" to value, with happybase's names and meanings.

A thin layer over Table. A read's `timestamp` is an exclusive upper bound, a delete's an inclusive one (HBase).
Columns are named as in client.columns: b"f" is a whole family, b"f:" the column with the empty qualifier. Wherever
bytes are taken, text is taken for its UTF-8; what is read is bytes.

Beyond happybase: with `versions` the value of each column is a list of so many versions, newest first. `time_range`
(from, to) leaves out cells with times below `from`, and at or above `to`; None is no bound. A `filter`, which scan()
has in happybase, too, chooses among the cells of each row, as Filter.columns() does by a pattern.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from hbtable.client.batch import Batch
from hbtable.client.columns import Data, K, Key, full, listed, put, write_time
from hbtable.client.columns import cells as cells_of
from hbtable.client.filter_text import Filter
from hbtable.client.given import at_least_one, bytes_of, flag, members, whole_number
from hbtable.client.table_calls import DescribedTableCalls
from hbtable.client.whole_rows import WHOLE_ROW, Families, with_all_families
from hbtable.errors import WrongType, WrongValue
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME, Cell
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange, between, prefix_stop
from hbtable.model.read import ALL_VERSIONS, ReadSpec, ScanRequest, columns_of
from hbtable.model.schema import TableSchema
from hbtable.model.values import LARGEST_I64, SMALLEST_I64, shown
from hbtable.switches import switches

RowDict = dict[bytes, Any]  # bytes, or (bytes, timestamp) with include_timestamp: which one is the caller's choice
TimeRange = tuple[int | None, int | None]


class Rows:
    """One table, by rows that are dicts; Client.rows makes it. Every method that reads or writes *switches*, and raises
    as Table does."""

    __slots__ = ("table",)

    def __init__(self, table: DescribedTableCalls) -> None:
        self.table = table

    @property
    def name(self) -> bytes:
        return self.table.name

    def __repr__(self) -> str:
        return f"<hbtable table {self.table.shown_name()}>"

    @switches
    def schema(self) -> TableSchema:
        """Everything that hbtable knows of the table and its families. AccessDenied for a server's user who may not
        see that."""
        return self.table.described().schema

    # ---------------------------------------------------------------- reads

    @switches
    def row(
        self,
        row: Key,
        columns: Sequence[Key] | None = None,
        timestamp: int | None = None,
        include_timestamp: bool = False,
        *,
        versions: int | None = None,
        time_range: TimeRange | None = None,
        filter: Key | Filter | None = None,
    ) -> RowDict:
        """The newest version of each column; {} when the row has none, or when the `filter` lets none through."""
        flag("'include_timestamp'", include_timestamp)
        spec = scan_spec(_in_a_list(columns), filter, timestamp, versions, time_range)
        for _, cells in self.table.read_rows([bytes_of("the row", row)], spec):
            return _shown(cells, include_timestamp, versions)
        return {}

    get = row

    @switches
    def rows(
        self,
        rows: Sequence[Key],
        columns: Sequence[Key] | None = None,
        timestamp: int | None = None,
        include_timestamp: bool = False,
        *,
        versions: int | None = None,
        time_range: TimeRange | None = None,
        filter: Key | Filter | None = None,
    ) -> list[tuple[bytes, RowDict]]:
        """The rows that have cells, in the order asked."""
        flag("'include_timestamp'", include_timestamp)
        wanted = [bytes_of("the row", row) for row in members("rows", rows)]
        spec = scan_spec(_in_a_list(columns), filter, timestamp, versions, time_range)
        found = self.table.read_rows(wanted, spec)
        return [(row, _shown(cells, include_timestamp, versions)) for row, cells in found]

    @switches
    def cells(
        self,
        row: Key,
        column: Key,
        versions: int | None = None,
        timestamp: int | None = None,
        include_timestamp: bool = False,
        *,
        time_range: TimeRange | None = None,
        filter: Key | Filter | None = None,
    ) -> list[Any]:
        """Values of one column, newest first; with include_timestamp (value, timestamp)."""
        flag("'include_timestamp'", include_timestamp)
        most = ALL_VERSIONS if versions is None else versions
        spec = scan_spec([column], filter, timestamp, most, time_range)
        for _, cells in self.table.read_rows([bytes_of("the row", row)], spec):
            return [(value, at) if include_timestamp else value for _, at, value in cells]
        return []

    @switches
    def scan(
        self,
        row_start: Key | None = None,
        row_stop: Key | None = None,
        row_prefix: Key | None = None,
        columns: Iterable[Key] | None = None,
        filter: Key | Filter | None = None,  # happybase's name
        timestamp: int | None = None,
        include_timestamp: bool = False,
        batch_size: int = 1000,
        scan_batching: int | None = None,
        limit: int | None = None,
        sorted_columns: bool = False,
        reverse: bool = False,
        *,
        versions: int | None = None,
        time_range: TimeRange | None = None,
    ) -> Iterator[tuple[bytes, RowDict]]:
        """Rows from `row_start` (inclusive) to `row_stop` (exclusive); with `reverse` downwards. `batch_size` rows are
        fetched at a time; with `scan_batching` wide rows come in pieces of so many cells. Each row is read whole, the
        scan is not a snapshot. A `row_stop` equal to `row_start` means that row (HBase)."""
        flag("'include_timestamp'", include_timestamp)
        flag("'sorted_columns'", sorted_columns)
        flag("'reverse'", reverse)
        batch_size = at_least_one("'batch_size'", batch_size)
        limit = None if limit is None else at_least_one("'limit'", limit)
        scan_batching = None if scan_batching is None else at_least_one("'scan_batching'", scan_batching)
        rows = row_range(row_start, row_stop, row_prefix, reverse)
        spec = scan_spec(columns, filter, timestamp, versions, time_range)
        request = ScanRequest(rows, spec, reverse, scan_batching or 0, batch_size)
        found = self._pages(request, limit, include_timestamp, versions)
        return ((row, OrderedDict(sorted(data.items()))) for row, data in found) if sorted_columns else found

    @switches
    def _pages(
        self, request: ScanRequest, limit: int | None, include_timestamp: bool, versions: int | None
    ) -> Iterator[tuple[bytes, RowDict]]:
        left = limit
        while True:
            if left is not None and left < request.max_rows:
                request = replace(request, max_rows=left)
            page = self.table.scan_page(request)
            for row, cells in page.rows:
                yield row, _shown(cells, include_timestamp, versions)
            if left is not None:
                left -= len(page.rows)
                if left <= 0:
                    return
            if page.next is None:
                return
            request = replace(request, position=page.next)

    # ---------------------------------------------------------------- writes

    @switches
    def put(self, row: Key, data: Data[K], timestamp: int | None = None, wal: bool = True) -> None:
        """All columns or none; durable on return unless `wal` is False."""
        logged = flag("'wal'", wal)
        at = SERVER_TIME if timestamp is None else write_time(timestamp)
        operations = [put(column, value, at) for column, value in cells_of(data)]
        if operations:
            self.table.mutate([RowMutation(bytes_of("the row", row), operations, not logged)])

    @switches
    def delete(
        self, row: Key, columns: Iterable[Key] | None = None, timestamp: int | None = None, wal: bool = True
    ) -> None:
        """All versions, or those up to `timestamp`; `columns` None: of the whole row."""
        if columns is not None:
            with self.batch(timestamp=timestamp, wal=wal) as batch:
                batch.delete(row, columns)
            return

        @switches
        def change(families: Families) -> None:
            with Batch(self.table.mutate, families, timestamp, None, False, wal) as batch:
                batch.delete(row)

        with_all_families(self._families, change)

    @switches
    def _families(self) -> Iterable[bytes]:
        return self.table.record().schema.families or WHOLE_ROW

    def batch(
        self,
        timestamp: int | None = None,
        batch_size: int | None = None,
        transaction: bool = False,
        wal: bool = True,
    ) -> Batch:
        return Batch(self.table.mutate, self._families, timestamp, batch_size, transaction, wal)

    @switches
    def append(self, row: Key, data: Data[K]) -> dict[bytes, bytes]:
        """Atomically appends to each column; the new values. Of no columns it is not sent."""
        values = [(*full(column), bytes_of("the value", value)) for column, value in cells_of(data)]
        if not values:
            return {}
        return {column: value for column, _, value in self.table.append(bytes_of("the row", row), values)}

    @switches
    def check_and_put(self, row: Key, column: Key, expected: Key | None, data: Data[K]) -> bool:
        """Puts `data` if the newest value of `column` is `expected` (None: there is none). `data` has a column."""
        key = bytes_of("the row", row)
        operations = [put(name, value, SERVER_TIME) for name, value in cells_of(data)]
        if not operations:
            raise WrongValue(f"there is nothing to put into row {shown(key)}: give 'data' a column")
        family, qualifier = full(column)
        value = None if expected is None else bytes_of("the expected value", expected)
        return self.table.check_and_mutate(key, family, qualifier, value, RowMutation(key, operations))

    # ---------------------------------------------------------------- counters

    @switches
    def counter_get(self, row: Key, column: Key) -> int:
        """Makes the counter, at 0, when it is not there."""
        return self.counter_inc(row, column, 0)

    @switches
    def counter_set(self, row: Key, column: Key, value: int = 0) -> None:
        value = whole_number("the counter's value", value, SMALLEST_I64, LARGEST_I64)
        self.put(row, {bytes_of("the column", column): value.to_bytes(8, "big", signed=True)})

    @switches
    def counter_inc(self, row: Key, column: Key, value: int = 1) -> int:
        """The new value, which wraps around beyond 64 bits, as HBase's does. OutcomeUnknown is never retried here."""
        family, qualifier = full(column)
        value = whole_number("the amount", value, SMALLEST_I64, LARGEST_I64)
        return self.table.increment(bytes_of("the row", row), family, qualifier, value)

    @switches
    def counter_dec(self, row: Key, column: Key, value: int = 1) -> int:
        value = whole_number("the amount", value, SMALLEST_I64 + 1, LARGEST_I64)
        return self.counter_inc(row, column, -value)


def row_range(row_start: Key | None, row_stop: Key | None, row_prefix: Key | None, reverse: bool = False) -> RowRange:
    """The range that scan()'s arguments say. InvalidRequest."""
    if row_prefix is not None:
        if row_start is not None or row_stop is not None:
            raise WrongType("'row_prefix' cannot be combined with 'row_start' or 'row_stop'")
        prefix = bytes_of("'row_prefix'", row_prefix)
        return RowRange(prefix, prefix_stop(prefix))
    first = b"" if row_start is None else bytes_of("'row_start'", row_start)
    last = b"" if row_stop is None else bytes_of("'row_stop'", row_stop)
    return between(first, last, reverse)


@switches
def scan_spec(
    columns: Iterable[Key] | None,
    filter: Key | Filter | None,
    timestamp: int | None,
    versions: int | None,
    time_range: TimeRange | None,
) -> ReadSpec:
    """The cells that scan()'s arguments ask for. InvalidRequest."""
    text = filter.text if isinstance(filter, Filter) else None if filter is None else bytes_of("the filter", filter)
    return replace(_spec(columns, timestamp, versions, time_range), filter=text)


@switches
def _spec(
    columns: Iterable[Key] | None, timestamp: int | None, versions: int | None, time_range: TimeRange | None
) -> ReadSpec:
    lower, upper = 0, MAX_TIMESTAMP
    if time_range is not None:
        if timestamp is not None:
            raise WrongType("'timestamp' cannot be combined with 'time_range', whose second time is the same bound")
        lower, upper = _times(time_range)
    elif timestamp is not None:
        upper = whole_number("timestamp", timestamp, 0, MAX_TIMESTAMP)
    most = 1 if versions is None else whole_number("'versions'", versions, 1, ALL_VERSIONS)
    return ReadSpec(None if columns is None else columns_of(listed(columns)), lower, upper, most)


def _times(time_range: object) -> tuple[int, int]:
    if not isinstance(time_range, tuple) or len(time_range) != 2:
        raise WrongType(f"'time_range' {shown(time_range)} has to be a tuple of two times, (from, to)")
    first, last = time_range
    lower = 0 if first is None else whole_number("the first time of 'time_range'", first, 0, MAX_TIMESTAMP)
    upper = MAX_TIMESTAMP
    if last is not None:
        upper = whole_number("the second time of 'time_range'", last, 0, MAX_TIMESTAMP)
    return lower, upper


def _in_a_list(columns: Sequence[Key] | None) -> Sequence[Key] | None:
    if columns is None or isinstance(columns, (tuple, list)):
        return columns
    raise WrongType(f"'columns' must be a tuple or list, not {shown(columns)}")


def _shown(cells: list[Cell], include_timestamp: bool, versions: int | None) -> RowDict:
    """Cells come newest first. Without `versions` the newest of each column stays, else there is a list of them."""
    found: RowDict = {}
    if versions is None:
        for column, timestamp, value in cells:
            if column not in found:
                found[column] = (value, timestamp) if include_timestamp else value
        return found
    for column, timestamp, value in cells:
        found.setdefault(column, []).append((value, timestamp) if include_timestamp else value)
    return found

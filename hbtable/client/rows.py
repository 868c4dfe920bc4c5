"""A table for people: rows are dicts from b"family:qualifier" to value, with happybase's names and meanings.

A thin layer over Table. A read's `timestamp` is an exclusive upper bound, a delete's an inclusive one (HBase).
Columns are named as in client.columns: b"f" is a whole family, b"f:" the column with the empty qualifier.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, final

from hbtable.client.batch import Batch
from hbtable.client.columns import cells as cells_of
from hbtable.client.columns import full, listed, put, write_time
from hbtable.client.table_calls import NamedTableCalls
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME, Cell
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange, between, prefix_stop
from hbtable.model.read import ALL_VERSIONS, ReadSpec, ScanRequest, columns_of
from hbtable.model.schema import FamilySchema
from hbtable.model.values import LARGEST_I64, SMALLEST_I64, members, own_bytes, whole_number
from hbtable.switches import switches

RowDict = dict[bytes, Any]  # bytes, or (bytes, timestamp) with include_timestamp: which one is the caller's choice


@final
class Rows:
    """Made by Client.rows. Every method that reads or writes *switches*, and raises as Table does."""

    __slots__ = ("table",)

    def __init__(self, table: NamedTableCalls) -> None:
        self.table = table

    @property
    def name(self) -> bytes:
        return self.table.name

    def __repr__(self) -> str:
        return f"<hbtable table {self.table.shown_name()}>"

    @switches
    def families(self) -> dict[bytes, FamilySchema]:
        return dict(self.table.record().schema.families)

    # ---------------------------------------------------------------- reads

    @switches
    def row(
        self,
        row: bytes,
        columns: Iterable[bytes] | None = None,
        timestamp: int | None = None,
        include_timestamp: bool = False,
    ) -> RowDict:
        """The newest version of each column; {} when the row has none."""
        for _, cells in self.table.read_rows([own_bytes("the row", row)], _spec(columns, timestamp)):
            return _dict(cells, include_timestamp)
        return {}

    get = row

    @switches
    def rows(
        self,
        rows: Sequence[bytes],
        columns: Iterable[bytes] | None = None,
        timestamp: int | None = None,
        include_timestamp: bool = False,
    ) -> list[tuple[bytes, RowDict]]:
        """In the order asked; rows without cells are left out."""
        wanted = [own_bytes("the row", row) for row in members("rows", rows)]
        found = self.table.read_rows(wanted, _spec(columns, timestamp))
        return [(row, _dict(cells, include_timestamp)) for row, cells in found]

    @switches
    def cells(
        self,
        row: bytes,
        column: bytes,
        versions: int | None = None,
        timestamp: int | None = None,
        include_timestamp: bool = False,
    ) -> list[Any]:
        """Values of one column, newest first; with include_timestamp (value, timestamp)."""
        if versions is None:
            versions = ALL_VERSIONS
        else:
            versions = whole_number("'versions'", versions, 1, ALL_VERSIONS)
        spec = replace(_spec([column], timestamp), max_versions=versions)
        for _, cells in self.table.read_rows([own_bytes("the row", row)], spec):
            return [(value, at) if include_timestamp else value for _, at, value in cells]
        return []

    @switches
    def scan(
        self,
        row_start: bytes | None = None,
        row_stop: bytes | None = None,
        row_prefix: bytes | None = None,
        columns: Iterable[bytes] | None = None,
        filter: bytes | None = None,  # happybase's name
        timestamp: int | None = None,
        include_timestamp: bool = False,
        batch_size: int = 1000,
        scan_batching: int | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, RowDict]]:
        """Rows from `row_start` (inclusive) to `row_stop` (exclusive); with `reverse` downwards. `batch_size` rows are
        fetched at a time; with `scan_batching` wide rows come in pieces of so many cells. Each row is read whole, the
        scan is not a snapshot. A `row_stop` equal to `row_start` means that row (HBase)."""
        batch_size = _at_least_one("'batch_size'", batch_size)
        limit = None if limit is None else _at_least_one("'limit'", limit)
        scan_batching = None if scan_batching is None else _at_least_one("'scan_batching'", scan_batching)
        if row_prefix is not None and (row_start is not None or row_stop is not None):
            raise TypeError("'row_prefix' cannot be combined with 'row_start' or 'row_stop'")
        if row_prefix is not None:
            row_prefix = own_bytes("'row_prefix'", row_prefix)
            rows = RowRange(row_prefix, prefix_stop(row_prefix))
        else:
            first = b"" if row_start is None else own_bytes("'row_start'", row_start)
            last = b"" if row_stop is None else own_bytes("'row_stop'", row_stop)
            rows = between(first, last, reverse)
        filter = None if filter is None else own_bytes("the filter", filter)
        spec = replace(_spec(columns, timestamp), filter=filter)
        return self._pages(ScanRequest(rows, spec, reverse, scan_batching or 0, batch_size), limit, include_timestamp)

    @switches
    def _pages(
        self, request: ScanRequest, limit: int | None, include_timestamp: bool
    ) -> Iterator[tuple[bytes, RowDict]]:
        left = limit
        while True:
            if left is not None and left < request.max_rows:
                request = replace(request, max_rows=left)
            page = self.table.scan_page(request)
            for row, cells in page.rows:
                yield row, _dict(cells, include_timestamp)
            if left is not None:
                left -= len(page.rows)
                if left <= 0:
                    return
            if page.next is None:
                return
            request = replace(request, position=page.next)

    # ---------------------------------------------------------------- writes

    @switches
    def put(self, row: bytes, data: Mapping[bytes, bytes], timestamp: int | None = None, wal: bool = True) -> None:
        """All columns or none; durable on return unless `wal` is False."""
        at = SERVER_TIME if timestamp is None else write_time(timestamp)
        operations = [put(column, value, at) for column, value in cells_of(data)]
        if operations:
            self.table.mutate([RowMutation(own_bytes("the row", row), operations, not wal)])

    @switches
    def delete(
        self, row: bytes, columns: Iterable[bytes] | None = None, timestamp: int | None = None, wal: bool = True
    ) -> None:
        """All versions, or those up to `timestamp`; `columns` None: of the whole row."""
        with self.batch(timestamp=timestamp, wal=wal) as batch:
            batch.delete(row, columns)

    def batch(
        self,
        timestamp: int | None = None,
        batch_size: int | None = None,
        transaction: bool = False,
        wal: bool = True,
    ) -> Batch:
        return Batch(
            self.table.mutate, lambda: self.table.record().schema.families, timestamp, batch_size, transaction, wal
        )

    @switches
    def append(self, row: bytes, data: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Atomically appends to each column; the new values."""
        values = [(*full(column), own_bytes("the value", value)) for column, value in cells_of(data)]
        return {column: value for column, _, value in self.table.append(own_bytes("the row", row), values)}

    @switches
    def check_and_put(self, row: bytes, column: bytes, expected: bytes | None, data: Mapping[bytes, bytes]) -> bool:
        """Puts `data` if the newest value of `column` is `expected` (None: there is none)."""
        row = own_bytes("the row", row)
        operations = [put(name, value, SERVER_TIME) for name, value in cells_of(data)]
        family, qualifier = full(column)
        expected = None if expected is None else own_bytes("the expected value", expected)
        return self.table.check_and_mutate(row, family, qualifier, expected, RowMutation(row, operations))

    # ---------------------------------------------------------------- counters

    @switches
    def counter_get(self, row: bytes, column: bytes) -> int:
        """Makes the counter, at 0, when it is not there."""
        return self.counter_inc(row, column, 0)

    @switches
    def counter_set(self, row: bytes, column: bytes, value: int = 0) -> None:
        value = whole_number("the counter's value", value, SMALLEST_I64, LARGEST_I64)
        column = own_bytes("the column", column)
        self.put(row, {column: value.to_bytes(8, "big", signed=True)})

    @switches
    def counter_inc(self, row: bytes, column: bytes, value: int = 1) -> int:
        """The new value, which wraps around beyond 64 bits, as HBase's does. OutcomeUnknown is never retried here."""
        family, qualifier = full(column)
        value = whole_number("the amount", value, SMALLEST_I64, LARGEST_I64)
        return self.table.increment(own_bytes("the row", row), family, qualifier, value)

    @switches
    def counter_dec(self, row: bytes, column: bytes, value: int = 1) -> int:
        value = whole_number("the amount", value, SMALLEST_I64 + 1, LARGEST_I64)
        return self.counter_inc(row, column, -value)


@switches
def _spec(columns: Iterable[bytes] | None, timestamp: int | None) -> ReadSpec:
    upper = MAX_TIMESTAMP if timestamp is None else whole_number("timestamp", timestamp, 0, MAX_TIMESTAMP)
    return ReadSpec(None if columns is None else columns_of(listed(columns)), 0, upper)


def _dict(cells: list[Cell], include_timestamp: bool) -> RowDict:
    """Cells come newest first; the newest of each column stays."""
    found: RowDict = {}
    for column, timestamp, value in cells:
        if column not in found:
            found[column] = (value, timestamp) if include_timestamp else value
    return found


def _at_least_one(what: str, given: int) -> int:
    """ValueError below 1, which is happybase's."""
    number = whole_number(what, given, SMALLEST_I64, LARGEST_I64)
    if number < 1:
        raise ValueError(f"{what} must be >= 1, not {number}")
    return number

"""Writes of the interface: mutateRow*, deleteAll*, counters, append, checkAndPut.

Without a timestamp the tablet server assigns one in log order, past what it assigned to the row before; so the later
of two writes wins. With one, HBase's masking rule holds: a delete at T hides puts at or below T, of the same call, too.
"""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import final

from hbtable.client import whole_rows
from hbtable.errors import LimitExceeded
from hbtable.hbase import conversion
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.codec.thrift_structs import TAppend, TIncrement
from hbtable.hbase.conversion import Batches, Mutations, check_row, full_column, given_column, row_mutation, shown
from hbtable.hbase.errors import DO_NOT_RETRY, BadArgument, JavaError
from hbtable.hbase.put_batches import put_batch
from hbtable.hbase.unknown_puts import apply
from hbtable.model.cell import SERVER_TIME, Cell
from hbtable.model.mutation import DELETE_FAMILY, RowMutation
from hbtable.runtime.slices import FREED_AT_ONCE, let_go, with_pauses
from hbtable.switches import switches

Attributes = Mapping[bytes, bytes] | None
_ROWS_BETWEEN_PAUSES = 64
_COUNTERS_BETWEEN_PAUSES = 4
Families = Callable[[bytes], Sequence[bytes]]
"""The families of a table by its canonical name."""


@final
class WriteCalls:
    """Thrift1's writes. `cell_bytes`: the largest cell; `pause` lets other tasks run between parts of a large batch."""

    def __init__(self, tables: TableBackend, families: Families, cell_bytes: int, pause: Callable[[], None]) -> None:
        self._tables = tables
        self._families = families
        self._cell_bytes = cell_bytes
        self._pause = pause

    # ---------------------------------------------------------------- puts and deletes together

    @switches
    def mutateRow(
        self, table: bytes | None, row: bytes | None, mutations: Mutations | None, attributes: Attributes
    ) -> None:
        self._mutate_row(table, row, mutations, SERVER_TIME, attributes)

    @switches
    def mutateRowTs(
        self,
        table: bytes | None,
        row: bytes | None,
        mutations: Mutations | None,
        timestamp: int | None,
        attributes: Attributes,
    ) -> None:
        self._mutate_row(table, row, mutations, conversion.write_time(timestamp), attributes)

    @switches
    def mutateRows(self, table: bytes | None, batches: Batches | None, attributes: Attributes) -> None:
        self._mutate_rows(table, batches, SERVER_TIME, attributes)

    @switches
    def mutateRowsTs(
        self, table: bytes | None, batches: Batches | None, timestamp: int | None, attributes: Attributes
    ) -> None:
        self._mutate_rows(table, batches, conversion.write_time(timestamp), attributes)

    @switches
    def _mutate_row(
        self,
        table: bytes | None,
        row: bytes | None,
        mutations: Mutations | None,
        timestamp: int,
        attributes: Attributes,
    ) -> None:
        ttl = conversion.ttl_millis(attributes)
        mutation = row_mutation(row, mutations, timestamp, ttl, self._cell_bytes, True, self._pause)
        if not mutation.operations:
            self._tables.canonical(table)  # nothing to do succeeds, on a missing table, too
            return
        let_go(mutations or (), self._pause)
        try:
            apply(self._tables.named(table), (mutation,))
        finally:
            let_go(mutation.operations, self._pause)

    @switches
    def _mutate_rows(
        self, table: bytes | None, batches: Batches | None, timestamp: int, attributes: Attributes
    ) -> None:
        if batches is None:
            raise BadArgument("the call has no list of rows with mutations")
        if len(batches) > _ROWS_BETWEEN_PAUSES:
            self._pause()  # since they were decoded
        ttl = conversion.ttl_millis(attributes)
        puts = None if ttl or len(batches) < 2 else put_batch(batches, timestamp, self._cell_bytes, self._pause)
        changes = self._row_mutations(batches, timestamp, ttl) if puts is None else puts
        if not changes:
            self._tables.canonical(table)
            return
        let_go(batches, self._pause)
        if len(changes) > _ROWS_BETWEEN_PAUSES:
            self._pause()
        try:
            apply(self._tables.named(table), changes)
        finally:
            if puts is None:
                for change in changes:
                    if len(change.operations) > FREED_AT_ONCE:
                        let_go(change.operations, self._pause)
                let_go(changes, self._pause)
            else:
                let_go(puts.rows, self._pause)
                let_go(puts.values, self._pause)

    @switches
    def _row_mutations(self, batches: Batches, timestamp: int, ttl: int) -> list[RowMutation]:
        cell_bytes = self._cell_bytes
        changes = []
        for number, batch in enumerate(batches, 1):
            if not number % _ROWS_BETWEEN_PAUSES:
                self._pause()
            row, mutations = batch if len(batch) == 2 else (batch[0], ((False, batch[1], batch[2], True),))
            change = row_mutation(row, mutations, timestamp, ttl, cell_bytes, False, self._pause)
            if change.operations:
                changes.append(change)
                if len(change.operations) > FREED_AT_ONCE:
                    let_go(mutations or (), self._pause)
        return changes

    # ---------------------------------------------------------------- deletes

    @switches
    def deleteAll(self, table: bytes | None, row: bytes | None, column: bytes | None, attributes: Attributes) -> None:
        self._delete(table, row, column, SERVER_TIME)

    @switches
    def deleteAllTs(
        self,
        table: bytes | None,
        row: bytes | None,
        column: bytes | None,
        timestamp: int | None,
        attributes: Attributes,
    ) -> None:
        self._delete(table, row, column, conversion.write_time(timestamp))

    @switches
    def deleteAllRow(self, table: bytes | None, row: bytes | None, attributes: Attributes) -> None:
        self._delete_row(table, row, SERVER_TIME)

    @switches
    def deleteAllRowTs(
        self, table: bytes | None, row: bytes | None, timestamp: int | None, attributes: Attributes
    ) -> None:
        self._delete_row(table, row, conversion.write_time(timestamp))

    @switches
    def _delete(self, table: bytes | None, row: bytes | None, column: bytes | None, timestamp: int) -> None:
        row = check_row(row)
        operation = conversion.delete(row, given_column(column), timestamp)
        self._tables.named(table).mutate((RowMutation(row, [operation]),))

    @switches
    def _delete_row(self, table: bytes | None, row: bytes | None, timestamp: int) -> None:
        row = check_row(row)
        named = self._tables.named(table)

        @switches
        def delete(families: whole_rows.Families) -> None:
            named.mutate((RowMutation(row, [(DELETE_FAMILY, family, b"", timestamp, b"") for family in families()]),))

        whole_rows.with_all_families(partial(self._families, self._tables.canonical(table)), delete)

    # ---------------------------------------------------------------- read, change, write

    @switches
    def atomicIncrement(self, table: bytes | None, row: bytes | None, column: bytes | None, amount: int | None) -> int:
        family, _, qualifier = given_column(column).partition(b":")
        return self._tables.named(table).increment(check_row(row), family, qualifier, amount or 0)

    @switches
    def increment(self, wanted: TIncrement | None) -> None:
        if wanted is None:
            raise BadArgument("the call has no increment")
        row = check_row(wanted.row)
        family, qualifier = full_column(wanted.column, "an increment")
        self._tables.named(wanted.table).increment(row, family, qualifier, wanted.amount or 0)

    @switches
    def incrementRows(self, wanted: Sequence[TIncrement] | None) -> None:
        if wanted is None:
            raise BadArgument("the call has no increments")
        self._check_counters(wanted)
        for one in with_pauses(wanted, self._pause, _COUNTERS_BETWEEN_PAUSES):
            self.increment(one)

    @switches
    def _check_counters(self, wanted: Sequence[TIncrement]) -> None:
        """Whoever may not change all of them changes none. What is wrong in itself is said when its turn comes."""
        by_table: dict[bytes, list[tuple[bytes, bytes]]] = {}
        for one in with_pauses(wanted, self._pause):
            if one.table is not None and one.column:
                family, _, qualifier = one.column.partition(b":")
                by_table.setdefault(one.table, []).append((family, qualifier))
        for table, columns in by_table.items():
            self._tables.check_counters(table, columns)

    @switches
    def append(self, wanted: TAppend | None) -> list[Cell]:
        if wanted is None:
            raise BadArgument("the call has no append")
        row = check_row(wanted.row)
        columns, suffixes = wanted.columns or (), wanted.values or ()
        if not columns:
            raise BadArgument(f"the append to row {shown(row)} names no column")
        if len(columns) != len(suffixes):
            raise BadArgument(
                f"the append to row {shown(row)} has {len(columns)} columns and {len(suffixes)} values; one value a "
                "column is due"
            )
        pairs = with_pauses(tuple(zip(columns, suffixes, strict=True)), self._pause)
        values = [(*full_column(column, "an append"), value) for column, value in pairs]
        try:
            return self._tables.named(wanted.table).append(row, values)
        except LimitExceeded as error:
            raise JavaError(DO_NOT_RETRY, f"KeyValue size too large: {error}") from error

    @switches
    def checkAndPut(
        self,
        table: bytes | None,
        row: bytes | None,
        column: bytes | None,
        _: None,
        value: bytes | None,
        put: tuple[bool, bytes | None, bytes | None, bool] | None,
        attributes: Attributes,
    ) -> bool:
        """A put is made even of a mutation that says isDelete, as HBase does. There is no argument 4."""
        row = check_row(row)
        family, qualifier = full_column(column, "the check")
        if put is None:
            raise BadArgument("the call has no mutation to put")
        _is_delete, put_column, put_value, to_log = put
        operation = conversion.put(row, put_column, put_value, SERVER_TIME, self._cell_bytes)
        mutation = RowMutation(row, [operation], not to_log, conversion.ttl_millis(attributes))
        return self._tables.named(table).check_and_mutate(row, family, qualifier, value, mutation)

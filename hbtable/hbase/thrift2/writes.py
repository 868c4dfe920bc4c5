"""Writes of Thrift2: puts, deletes, several of both in one row, conditions, counters, appends."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeVar, final

from hbtable.client.partly_written import not_written
from hbtable.client.table_calls import TableCalls
from hbtable.client.whole_rows import Families, NamedFamilies, with_all_families
from hbtable.client.write_parts import MOST_ROWS
from hbtable.errors import AccessDenied, InvalidRequest, LimitExceeded, UnknownCall
from hbtable.hbase import conversion
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.codec.missing import MissingField
from hbtable.hbase.codec.thrift2_structs import (
    TColumnIncrement,
    TColumnValue,
    TDelete,
    Thrift2Append,
    Thrift2Increment,
    TPut,
    TResult,
    TRowMutations,
)
from hbtable.hbase.conversion import check_row, shown
from hbtable.hbase.errors import DO_NOT_RETRY, BadArgument, JavaError
from hbtable.hbase.thrift2.conversion import NOTHING, PUT_TYPE, check_visibility, delete_mutation, put_mutation, result
from hbtable.hbase.thrift2.put_columns import puts_in_columns
from hbtable.hbase.unknown_puts import apply
from hbtable.model.additions import INCREMENT, Column, counter_bytes
from hbtable.model.cell import SERVER_TIME, Cell
from hbtable.model.condition import ANY_CELL
from hbtable.model.mutation import Operation, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.runtime.slices import OwnList, let_go, sorted_with_pauses, with_pauses
from hbtable.switches import switches

T = TypeVar("T")

_EQUAL: Final = 2
_NOT_EQUAL: Final = 3
_OF_STORED: Final = {0: ">", 1: ">=", _EQUAL: "=", _NOT_EQUAL: "!=", 4: "<=", 5: "<"}
"""TCompareOperator has the given value on the left, model.condition the stored one."""
_NO_OP: Final = 6
_ROWS_BETWEEN_PAUSES: Final = 64
_COUNTERS_BETWEEN_PAUSES: Final = 4
_VERSIONS_LOOKED_AT: Final = 8
"""Of a counter, for the time of the value that was just written."""


class _Checked(NamedTuple):
    """The column whose newest value a condition is about."""

    table: bytes
    row: bytes
    family: bytes
    qualifier: bytes


@final
class Thrift2WriteCalls:
    """Thrift2's writes. `families` are those of a table by its canonical name, `cell_bytes` the largest cell."""

    def __init__(
        self,
        tables: TableBackend,
        families: Callable[[bytes], Sequence[bytes]],
        cell_bytes: int,
        answer_bytes: int,
        pause: Callable[[], None],
        rows_of_a_part: Callable[[Sequence[RowMutation]], int] = lambda _: MOST_ROWS,
    ) -> None:
        self._pause = pause
        self._rows_of_a_part = rows_of_a_part
        self._tables = tables
        self._families = families
        self._cell_bytes = cell_bytes
        self._answer_bytes = answer_bytes

    # ---------------------------------------------------------------- puts and deletes

    @switches
    def put(self, table: bytes, put: TPut) -> None:
        mutation = put_mutation(put, self._cell_bytes, self._pause)
        let_go(put.column_values, self._pause)
        self._freed_after(mutation, lambda mutation: apply(self._tables.named(table), (mutation,)))

    @switches
    def _freed_after(self, mutation: RowMutation, change: Callable[[RowMutation], T]) -> T:
        """Makes the change, and then frees the operations of the mutation, which nobody needs any more."""
        try:
            return change(mutation)
        finally:
            let_go(mutation.operations, self._pause)

    @switches
    def putMultiple(self, table: bytes, puts: Sequence[TPut]) -> None:
        batch = puts_in_columns(puts, self._cell_bytes, self._pause) if len(puts) > 1 else None
        if batch is not None:
            let_go(puts, self._pause)
            try:
                self._mutate(table, batch)
            finally:
                let_go(batch.rows, self._pause)
                let_go(batch.values, self._pause)
            return
        rows = with_pauses(puts, self._pause, _ROWS_BETWEEN_PAUSES)
        mutations = [put_mutation(put, self._cell_bytes, self._pause) for put in rows]
        let_go(puts, self._pause)
        self._mutate(table, mutations)

    @switches
    def deleteSingle(self, table: bytes, delete: TDelete) -> None:
        self._with_families(table, partial(self._delete, self._tables.named(table), delete))

    @switches
    def _delete(self, named: TableCalls, delete: TDelete, families: Families) -> None:
        self._freed_after(delete_mutation(delete, families, self._pause), lambda mutation: named.mutate((mutation,)))

    @switches
    def deleteMultiple(self, table: bytes, deletes: Sequence[TDelete]) -> list[TDelete]:
        """The deletes that failed: always none, for otherwise the call fails."""
        families = self._families_of(table)
        rows = with_pauses(deletes, self._pause, _ROWS_BETWEEN_PAUSES)
        mutations = [delete_mutation(delete, families, self._pause) for delete in rows]
        let_go(deletes, self._pause)
        self._mutate(table, mutations)
        return []

    @switches
    def mutateRow(self, table: bytes, mutations: TRowMutations) -> None:
        if not mutations.mutations:
            raise BadArgument(f"the mutateRow of row {shown(check_row(mutations.row))} has no mutations")
        self._with_families(table, partial(self._mutate_row, self._tables.named(table), mutations))

    @switches
    def _mutate_row(self, named: TableCalls, mutations: TRowMutations, families: Families) -> None:
        self._freed_after(self._row_mutation(families, mutations), lambda mutation: apply(named, (mutation,)))

    @switches
    def _mutate(self, table: bytes, mutations: Sequence[RowMutation]) -> None:
        """The good ones are carried out where others are refused, and each once: to delete the newest version again
        would delete the one before, and what is deleted or put again would hide what others wrote since."""
        if not mutations:
            self._tables.canonical(table)
            return
        try:
            self._mutate_good(table, mutations)
        finally:
            let_go(mutations, self._pause)

    @switches
    def _mutate_good(self, table: bytes, mutations: Sequence[RowMutation]) -> None:
        named = self._tables.named(table)
        if len(mutations) > _ROWS_BETWEEN_PAUSES:
            self._pause()  # since they were decoded
        if len(mutations) <= MOST_ROWS:
            refused = self._part(named, mutations)
        else:
            self._tables.check_mutations(table, mutations)
            refused, stop = None, 0
            while stop < len(mutations):
                first, stop = stop, stop + self._rows_of_a_part(mutations)
                of_part = self._part(named, mutations[first:stop])
                refused = refused or of_part
                self._pause()
        if refused is not None:
            try:
                raise refused
            finally:
                del refused  # its traceback holds this frame, and with it all mutations, until garbage is looked for

    @switches
    def _part(self, named: TableCalls, mutations: Sequence[RowMutation]) -> InvalidRequest | None:
        """Its first refusal."""
        try:
            apply(named, mutations)
        except AccessDenied:
            raise  # of all rows together, as of one region's in HBase
        except InvalidRequest as error:
            if len(mutations) > 1:
                left = not_written(error, mutations, self._pause)
                for mutation in with_pauses(left, self._pause, _COUNTERS_BETWEEN_PAUSES):
                    with suppress(InvalidRequest):  # the first of them is what the caller is told
                        apply(named, (mutation,))
            return error
        return None

    @switches
    def _with_families(self, table: bytes, change: Callable[[Families], T]) -> T:
        return with_all_families(partial(self._families, self._tables.canonical(table)), change)

    def _families_of(self, table: bytes) -> Families:
        """Asked for once in a call, and only by deletes of whole rows."""
        return NamedFamilies(partial(self._families, self._tables.canonical(table))).names

    @switches
    def _row_mutation(self, families: Families, mutations: TRowMutations) -> RowMutation:
        """Puts first: a delete of the same call masks them, unless times say otherwise."""
        row = check_row(mutations.row)
        puts: list[Operation] = []
        deletes: list[Operation] = []
        skip_log, ttls = True, set[int]()
        for one in with_pauses(mutations.mutations, self._pause, _ROWS_BETWEEN_PAUSES):
            if one.put is not None:
                part = put_mutation(one.put, self._cell_bytes, self._pause)
                puts += part.operations
                ttls.add(part.ttl_millis)
            elif one.delete_single is not None:
                part = delete_mutation(one.delete_single, families, self._pause)
                deletes += part.operations
            else:
                raise MissingField(f"a mutation of row {shown(row)} is neither a put nor a delete")
            if part.row != row:
                raise JavaError(
                    DO_NOT_RETRY,
                    f"The row in the recently added Mutation <{shown(part.row)}> doesn't match the original one "
                    f"<{shown(row)}>",
                )
            skip_log = skip_log and part.skip_log
        if len(ttls) > 1:
            raise JavaError(
                DO_NOT_RETRY,
                f"the puts of one call into row {shown(row)} have different times to live (the attribute _ttl: "
                f"{', '.join(map(str, sorted(ttls)))} ms, 0 for none); give all of them one, or make several calls",
            )
        return RowMutation(row, puts + deletes, skip_log, max(ttls, default=0))

    # ---------------------------------------------------------------- conditions

    @switches
    def checkAndPut(
        self, table: bytes, row: bytes, family: bytes, qualifier: bytes, value: bytes | None, put: TPut
    ) -> bool:
        mutation = put_mutation(put, self._cell_bytes, self._pause)
        let_go(put.column_values, self._pause)
        checked = _Checked(table, row, family, qualifier)
        return self._freed_after(mutation, partial(self._if_equal, checked, value))

    @switches
    def checkAndDelete(
        self, table: bytes, row: bytes, family: bytes, qualifier: bytes, value: bytes | None, delete: TDelete
    ) -> bool:
        checked = _Checked(table, row, family, qualifier)

        @switches
        def change(families: Families) -> bool:
            mutation = delete_mutation(delete, families, self._pause)
            return self._freed_after(mutation, partial(self._if_equal, checked, value))

        return self._with_families(table, change)

    @switches
    def checkAndMutate(
        self,
        table: bytes,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        operator: int,
        value: bytes | None,
        mutations: TRowMutations,
    ) -> bool:
        checked = _Checked(table, row, family, qualifier)

        @switches
        def change(families: Families) -> bool:
            mutation = self._row_mutation(families, mutations)
            return self._freed_after(mutation, partial(self._if_compared, checked, operator, value))

        return self._with_families(table, change)

    @switches
    def _if_compared(self, checked: _Checked, operator: int, value: bytes | None, mutation: RowMutation) -> bool:
        if operator == _NO_OP:
            return self._if_met(checked, ANY_CELL, None, mutation)
        if operator not in _OF_STORED:
            raise MissingField(f"there is no compare operator {operator} (TCompareOperator)")
        if operator == _NOT_EQUAL and value == b"":
            return self._if_met(checked, ">", b"", mutation)
        if operator == _EQUAL or not value:
            return self._if_equal(checked, value or None, mutation)
        return self._if_met(checked, _OF_STORED[operator], value, mutation)

    @switches
    def _if_equal(self, checked: _Checked, value: bytes | None, mutation: RowMutation) -> bool:
        table, row, family, qualifier = checked
        _check_rows(row, mutation)
        return self._tables.named(table).check_and_mutate(row, family, qualifier, value, mutation)

    @switches
    def _if_met(self, checked: _Checked, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        """A missing column never meets it."""
        table, row, family, qualifier = checked
        _check_rows(row, mutation)
        spec = ReadSpec({family: frozenset((qualifier,))}, max_bytes=self._answer_bytes)
        return self._tables.named(table).mutate_if(row, spec, operator, value, mutation)

    # ---------------------------------------------------------------- counters and appends

    @switches
    def increment(self, table: bytes, increment: Thrift2Increment) -> TResult:
        """All counters or none. One that is named twice: both amounts are added to the old value, both results are
        returned, and the last one is kept."""
        row = check_row(increment.row)
        if not increment.columns:
            raise BadArgument(f"No columns to increment in row {shown(row)}")
        check_visibility(increment.cell_visibility)
        if conversion.ttl_millis(increment.attributes):
            raise JavaError(
                DO_NOT_RETRY,
                f"the increment of row {shown(row)} has a time to live (the attribute _ttl), which is not obeyed here; "
                "put the counter with one, and increments keep it",
            )
        columns, pause = increment.columns, self._pause
        last = {(one.family, one.qualifier): _amount(one) for one in with_pauses(columns, pause)}
        totals = self._totals(table, row, last)
        values = []
        for column in with_pauses(columns, pause):
            name = column.family, column.qualifier
            total, time = totals[name]
            value = counter_bytes(total - last[name] + _amount(column))
            values.append(TColumnValue(*name, value, time, None, PUT_TYPE))
        if increment.return_results is False:
            return NOTHING
        return TResult(row, OwnList(sorted_with_pauses(values, _column, pause)), False, False)

    @switches
    def _totals(self, table: bytes, row: bytes, amounts: Mapping[Column, int]) -> dict[Column, tuple[int, int | None]]:
        """The new value of each of these counters, and its time."""
        named, pause = self._tables.named(table), self._pause
        if len(amounts) > 1:
            counters = with_pauses(amounts.items(), pause)
            operations = [(INCREMENT, *name, SERVER_TIME, counter_bytes(amount)) for name, amount in counters]
            try:
                cells = self._freed_after(RowMutation(row, operations), named.add_to_columns)
            except UnknownCall:  # of a tablet server of an older release, in a rolling upgrade: one by one
                self._tables.check_counters(table, list(amounts))
            else:
                pairs = zip(amounts, with_pauses(cells, pause), strict=True)
                return {name: (int.from_bytes(value, "big", signed=True), time) for name, (_, time, value) in pairs}
        counters = with_pauses(amounts.items(), pause, _COUNTERS_BETWEEN_PAUSES)
        return {name: self._add(named, row, *name, amount) for name, amount in counters}

    @switches
    def _add(
        self, named: TableCalls, row: bytes, family: bytes, qualifier: bytes, amount: int
    ) -> tuple[int, int | None]:
        """(the new value, its time, as the cell is read back)."""
        total = named.increment(row, family, qualifier, amount)
        spec = ReadSpec(
            {family: frozenset((qualifier,))}, max_versions=_VERSIONS_LOOKED_AT, max_bytes=self._answer_bytes
        )
        value = counter_bytes(total)
        cells = [cell for _, found in named.read_rows((row,), spec) for cell in found]
        times = [cell[1] for cell in cells if cell[2] == value] or [cell[1] for cell in cells]
        return total, times[0] if times else None

    @switches
    def append(self, table: bytes, append: Thrift2Append) -> TResult:
        row = check_row(append.row)
        if not append.columns:
            raise BadArgument(f"No columns to append to in row {shown(row)}")
        check_visibility(append.cell_visibility)
        ttl = conversion.ttl_millis(append.attributes)
        columns = with_pauses(append.columns, self._pause)
        values = [(column.family, column.qualifier, column.value) for column in columns]
        try:
            cells = self._tables.named(table).append(row, values, ttl)
        except LimitExceeded as error:
            raise JavaError(DO_NOT_RETRY, f"KeyValue size too large: {error}") from error
        if append.return_results is False:
            return NOTHING
        return result(row, sorted_with_pauses(cells, _name, self._pause), self._pause)


def _check_rows(row: bytes, mutation: RowMutation) -> None:
    if mutation.row != row:
        raise JavaError(
            DO_NOT_RETRY, f"Action's row must match the row {shown(row)} of the check, not {shown(mutation.row)}"
        )
    check_row(row)


def _amount(column: TColumnIncrement) -> int:
    return 1 if column.amount is None else column.amount


def _column(value: TColumnValue) -> tuple[bytes, bytes]:
    return value.family, value.qualifier


def _name(cell: Cell) -> tuple[bytes, bytes]:
    family, _, qualifier = cell[0].partition(b":")
    return family, qualifier

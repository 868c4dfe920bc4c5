"""A table behind a server: the calls that Rows stands on, over Thrift."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, final

from hbtable.errors import HbtableError, NotSupported
from hbtable.hbase.admin.structs import (
    AdminAggregate,
    AdminAggregation,
    AdminArrowColumn,
    AdminCell,
    AdminColumn,
    AdminMutation,
    AdminOperation,
    AdminPosition,
    AdminRead,
    AdminRow,
    AdminScan,
)
from hbtable.library.refusals import of_one_part
from hbtable.library.server_admin import ServerAdmin
from hbtable.library.server_calls import Calls
from hbtable.model.aggregation import AggregatedGroup, AggregatedPage, Aggregation
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.names import parse, shown
from hbtable.model.ranges import RowRange
from hbtable.model.read import Columns, ReadSpec, ScanPage, ScanPosition, ScanRequest
from hbtable.model.table import TableRecord
from hbtable.model.values import LARGEST_I32
from hbtable.switches import switches

_ROWS_AT_ONCE: Final = 1000


@final
class ServerTable:
    """A client.table_calls.DescribedTableCalls. No call switches: it waits in the thread that makes it."""

    def __init__(self, server: Calls, name: bytes) -> None:
        """InvalidRequest for a name that no table can have."""
        self._server = server
        self.name = parse(name)

    def shown_name(self) -> str:
        return shown(self.name)

    @switches
    def record(self) -> TableRecord:
        return ServerAdmin(self._server).record(self.name)

    @switches
    def described(self) -> TableRecord:
        return ServerAdmin(self._server).described(self.name)

    # ---------------------------------------------------------------- writes

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        """Up to a thousand rows in a call, and so all or nothing where one is refused; of several calls an error says
        how many rows were written. Only HBase's own call says that the log is not to be written, and only ours deletes
        families without their names: those deletes are written to the log, and so is everything of a batch that has
        both kinds."""
        unlogged = all(map(_skips_log, mutations))
        send = self._mutate_without_log if unlogged else self._mutate_logged
        parts: Sequence[Sequence[RowMutation]] = _of_one_time(mutations) if unlogged else [mutations]
        sent = [part[at : at + _ROWS_AT_ONCE] for part in parts for at in range(0, len(part), _ROWS_AT_ONCE)]
        for number, some in enumerate(sent):
            try:
                send(some)
            except HbtableError as error:
                if len(sent) == 1:
                    raise
                rows = [{mutation.row for mutation in part} for part in sent]
                raise of_one_part(error, rows, number, "go in {} calls")

    @switches
    def _mutate_logged(self, mutations: Sequence[RowMutation]) -> None:
        made = [AdminMutation(mutation.row, _operations(mutation)) for mutation in mutations]
        self._server.admin("adminMutateRows", self.name, made)

    @switches
    def _mutate_without_log(self, mutations: Sequence[RowMutation]) -> None:
        """All of one time."""
        time = mutations[0].operations[0][3]
        batches = [
            self._server.struct("BatchMutation", row=mutation.row, mutations=list(self._without_log(mutation)))
            for mutation in mutations
        ]
        if time < 0:
            self._server.hbase("mutateRows", self.name, batches, {})
        else:
            self._server.hbase("mutateRowsTs", self.name, batches, time, {})

    def _without_log(self, mutation: RowMutation) -> Iterator[Any]:
        for kind, family, qualifier, _, value in mutation.operations:
            column = family if kind != PUT and not _names_a_column(kind) else family + b":" + qualifier
            yield self._server.struct("Mutation", isDelete=kind != PUT, column=column, value=value, writeToWAL=False)

    @switches
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        total: int = self._server.hbase("atomicIncrement", self.name, row, family + b":" + qualifier, amount)
        return total

    @switches
    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        columns = [family + b":" + qualifier for family, qualifier, _ in values]
        suffixes = [suffix for _, _, suffix in values]
        request = self._server.struct("TAppend", table=self.name, row=row, columns=columns, values=suffixes)
        found = self._server.hbase("append", request)
        return [(column, cell.timestamp, cell.value) for column, cell in zip(columns, found, strict=True)]

    @switches
    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        done: bool = self._server.admin(
            "adminCheckAndMutate", self.name, row, family, qualifier, expected or b"", _operations(mutation)
        )
        return done

    @switches
    def mutate_if(self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        done: bool = self._server.admin(
            "adminMutateIf", self.name, row, _read(spec), operator, value, _operations(mutation)
        )
        return done

    @switches
    def delete_range(self, rows: RowRange, timestamp: int) -> None:
        self._server.admin("adminDeleteRange", self.name, rows.start, rows.stop, timestamp)

    # ---------------------------------------------------------------- reads

    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        """Of several rows HBase's own call gives the newest versions at once; all else is asked for row by row."""
        simple = not spec.min_timestamp and spec.max_versions == 1 and spec.filter is None
        if len(rows) == 1 or not simple:
            read = _read(spec)
            return [_row(found) for row in rows for found in self._server.admin("adminGet", self.name, row, read)]
        columns = None if spec.columns is None else _named(spec.columns)
        found = self._server.hbase("getRowsWithColumnsTs", self.name, list(rows), columns, spec.max_timestamp, {})
        return [
            (one.row, sorted((column, cell.timestamp, cell.value) for column, cell in one.columns.items()))
            for one in found
        ]

    @switches
    def scan_page(self, request: ScanRequest) -> ScanPage:
        if request.aggregation is not None:
            try:
                return self._aggregated_page(request, request.aggregation)
            except NotSupported:  # an older server: the caller gets rows
                request = replace(request, aggregation=None)
        page = self._server.admin("adminScan", self.name, _scan(request))
        return ScanPage([_row(found) for found in page.rows], _after(page.position))

    @switches
    def _aggregated_page(self, request: ScanRequest, aggregation: Aggregation) -> ScanPage:
        asked = AdminAggregation(
            [AdminAggregate(*one) for one in aggregation.aggregates],
            aggregation.row_bytes,
            aggregation.row_delimiter,
            aggregation.by_column,
        )
        page = self._server.admin("adminAggregate", self.name, _scan(request), asked)
        groups = [AggregatedGroup(*group) for group in page.groups]
        return ScanPage([], _after(page.position), aggregated=AggregatedPage(groups))

    @switches
    def arrow_page(
        self, request: ScanRequest, columns: Sequence[tuple[bytes, bytes, str]] | None
    ) -> tuple[bytes, ScanPosition | None]:
        """A page as the server's record batches (arrow.wire): a record a row with these columns, and what each is read
        as, or a record a cell. NotSupported."""
        asked = None if columns is None else [AdminArrowColumn(*column) for column in columns]
        page = self._server.admin("adminScanArrow", self.name, _scan(request), asked)
        return page.batches, _after(page.position)


def _scan(request: ScanRequest) -> AdminScan:
    return AdminScan(
        _read(request.spec),
        request.range.start,
        request.range.stop,
        request.reversed,
        min(request.cells_per_row, LARGEST_I32),
        min(request.max_rows, LARGEST_I32),
        None if request.position is None else AdminPosition(*request.position),
    )


def _after(position: AdminPosition | None) -> ScanPosition | None:
    return None if position is None else ScanPosition(*position)


def _of_one_time(mutations: Sequence[RowMutation]) -> list[list[RowMutation]]:
    """In their order. Each mutation is of one time: those of one batch are."""
    return [list(alike) for _, alike in groupby(mutations, lambda mutation: mutation.operations[0][3])]


def _skips_log(mutation: RowMutation) -> bool:
    return mutation.skip_log and not any(
        kind == DELETE_FAMILY and not family for kind, family, _, _, _ in mutation.operations
    )


def _names_a_column(kind: int) -> bool:
    return kind in (DELETE_COLUMN, DELETE_VERSION)


def _operations(mutation: RowMutation) -> list[AdminOperation]:
    return [AdminOperation(*operation) for operation in mutation.operations]


def _read(spec: ReadSpec) -> AdminRead:
    columns = None
    if spec.columns is not None:
        columns = [
            AdminColumn(family, qualifier)
            for family, qualifiers in spec.columns.items()
            for qualifier in ([None] if qualifiers is None else sorted(qualifiers))
        ]
    return AdminRead(columns, spec.min_timestamp, spec.max_timestamp, spec.max_versions, spec.filter, spec.cache_blocks)


def _named(columns: Columns) -> list[bytes]:
    return [
        family if qualifier is None else family + b":" + qualifier
        for family, qualifiers in columns.items()
        for qualifier in ([None] if qualifiers is None else sorted(qualifiers))
    ]


def _row(found: AdminRow) -> Row:
    cells: list[AdminCell] = found.cells or []
    return found.row, [(cell.column, cell.timestamp, cell.value) for cell in cells]

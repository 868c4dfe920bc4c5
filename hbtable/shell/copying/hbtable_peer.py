"""An hbtable server, by its own service: schemas whole, all versions in each page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, final

from hbtable.client.whole_rows import HIDDEN
from hbtable.hbase.admin.structs import (
    AdminCell,
    AdminColumn,
    AdminMutation,
    AdminOperation,
    AdminPage,
    AdminRead,
    AdminScan,
    AdminTable,
)
from hbtable.hbase.admin.table_structs import family_struct, table_schema
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import DELETE_VERSION, PUT
from hbtable.model.names import shown
from hbtable.model.read import ALL_VERSIONS
from hbtable.model.schema import TableSchema
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying.cluster_identity import cluster_identity
from hbtable.shell.copying.columns import EVERYTHING, MortalValue, Wanted, by_lifetime, split_column
from hbtable.shell.copying.regions import regions_from
from hbtable.shell.errors import ServerError, ShellError

_ACCESS_DENIED: Final = "org.apache.hadoop.hbase.security.AccessDeniedException"
_OLDER: Final = (
    "cells of table {} have times to live of their own, which the target does not keep, as it is of an older release: "
    "upgrade it, or copy to its thrift2://"
)
_PAGE_ROWS: Final = 1000
_PIECE_CELLS: Final = 10_000


def read_columns(names: Sequence[bytes]) -> list[AdminColumn] | None:
    """family:qualifier, or a family, each; none: all."""
    found = [
        AdminColumn(family, qualifier if colon else None)
        for family, colon, qualifier in (name.partition(b":") for name in names)
    ]
    return found or None


@final
class HbtablePeer:
    """A peers.CopyPeer."""

    untold = ""
    why_left = ""

    def __init__(self, connection: ShellConnection) -> None:
        self._server = connection
        self._tells: bool | None = None

    def identity(self) -> frozenset[str]:
        return cluster_identity(self._server)

    def tables(self) -> list[bytes]:
        return sorted(self._server.hbase("getTableNames"))

    def schema(self, table: bytes) -> TableSchema | None:
        try:
            found: AdminTable = self._server.admin("adminTable", table)
        except ServerError as error:
            if error.java_class.endswith("TableNotFoundException"):
                return None
            raise
        if not found.families:
            self._server.hbase("getColumnDescriptors", table)  # the server refuses, and writes down who asked
            raise ServerError(_ACCESS_DENIED, f"{HIDDEN.format(shown(table))}, and a copy asks for them")
        return table_schema(found.name, found)

    def namespace(self, name: bytes) -> dict[str, str] | None:
        if name not in self._server.admin("adminNamespaces"):
            return None
        found: dict[str, str] = self._server.admin("adminNamespace", name)
        return found

    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> bool:
        self._server.admin("adminCreateNamespace", name, properties)
        return True

    def create(self, schema: TableSchema, split_rows: Sequence[bytes]) -> None:
        families = [family_struct(schema.families[name]) for name in sorted(schema.families)]
        made = AdminTable(schema.name, 1, "", schema.split_bytes, families, dict(schema.attributes))
        self._server.admin("adminCreateTable", made, list(split_rows))

    def regions(self, table: bytes) -> list[tuple[bytes, bytes]]:
        return regions_from(one.start_row for one in self._server.admin("adminTablets", table))

    def pages(
        self, schema: TableSchema, start: bytes, stop: bytes, since: int, wanted: Wanted = EVERYTHING
    ) -> Iterator[list[Row]]:
        position = None
        versions = 1 if wanted.newest else ALL_VERSIONS
        columns = read_columns(wanted.columns)
        read = AdminRead(
            columns, min_timestamp=since, max_versions=versions, cache_blocks=False, lifetimes=wanted.lifetimes
        )
        while True:
            scan = AdminScan(read, start, stop, cells_per_row=_PIECE_CELLS, max_rows=_PAGE_ROWS, position=position)
            page: AdminPage = self._server.admin("adminScan", schema.name, scan)
            if page.rows:
                yield [(found.row, [_cell(cell) for cell in found.cells or ()]) for found in page.rows]
            position = page.position
            if position is None:
                return

    def tells_lifetimes(self, table: bytes) -> bool:
        if self._tells is None:
            read = AdminRead(cache_blocks=False, lifetimes=True)
            page: AdminPage = self._server.admin("adminScan", table, AdminScan(read, cells_per_row=1, max_rows=1))
            self._tells = page.lifetimes
        return self._tells

    def write(self, table: bytes, rows: Sequence[Row]) -> None:
        self._mutate(table, rows, PUT)

    def delete(self, table: bytes, rows: Sequence[Row]) -> int:
        self._mutate(table, rows, DELETE_VERSION)
        return 0

    def _mutate(self, table: bytes, rows: Sequence[Row], kind: int) -> None:
        mutations = []
        for row, cells in rows:
            for ttl_millis, together in by_lifetime(cells) if kind == PUT else ((0, cells),):
                operations = [
                    AdminOperation(kind, *split_column(column), timestamp, bytes(value) if kind == PUT else b"")
                    for column, timestamp, value in together
                ]
                mutations.append(AdminMutation(row, operations, ttl_millis or None))
        if any(one.ttl_millis for one in mutations) and not self.tells_lifetimes(table):
            raise ShellError(_OLDER.format(shown(table)))
        if mutations:
            self._server.admin("adminMutateRows", table, mutations)

    def close(self) -> None:
        self._server.close()


def _cell(cell: AdminCell) -> Cell:
    value = MortalValue.of(cell.value, cell.ttl_millis) if cell.ttl_millis else cell.value
    return cell.column, cell.timestamp, value

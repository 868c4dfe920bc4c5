"""Tables and namespaces of our own admin service: schemas with everything that hbtable knows of them."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Sequence
from typing import final

from hbtable.hbase.admin.structs import AdminTable
from hbtable.hbase.admin.table_structs import family_struct, table_schema
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.errors import BadArgument
from hbtable.model.file_settings import families_as_done
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.schema_limits import check_counts
from hbtable.model.table import TableRecord
from hbtable.switches import switches


@final
class AdminTableCalls:
    """The admin service's calls on tables and namespaces. `tables` turns names into canonical ones."""

    def __init__(self, tables: TableBackend, cluster: ClusterBackend) -> None:
        self._tables = tables
        self._cluster = cluster

    @switches
    def adminTables(self) -> list[AdminTable]:
        return [_table(record) for record in self._cluster.admin.tables()]

    @switches
    def adminTable(self, name: bytes | None) -> AdminTable:
        return _table(self._tables.record(self._tables.canonical(name)))

    @switches
    def adminCreateTable(self, table: AdminTable | None, split_rows: Sequence[bytes] | None) -> None:
        self._cluster.admin.create_table(self._schema(table), split_rows or ())

    @switches
    def adminAlterTable(self, table: AdminTable | None) -> None:
        self._cluster.admin.alter_table(self._schema(table))

    def adminNamespaces(self) -> list[bytes]:
        return self._cluster.admin.namespaces()

    @switches
    def adminNamespace(self, name: bytes | None) -> dict[str, str]:
        return self._cluster.admin.namespace_properties(_given(name))

    def _schema(self, table: AdminTable | None) -> TableSchema:
        if table is None:
            raise BadArgument("the call has no table")
        name, families = self._tables.canonical(table.name), table.families or ()
        check_counts(shown(name), len(families), (len(one.attributes or ()) for one in (table, *families)))
        return table_schema(name, table)


def _given(name: bytes | None) -> bytes:
    if name is None:
        raise BadArgument("the call has no namespace")
    return name


def _table(record: TableRecord) -> AdminTable:
    schema = record.schema
    done = families_as_done(schema)
    families = [family_struct(done[name]) for name in sorted(done)]
    return AdminTable(
        schema.name,
        schema.version,
        record.state.value,
        schema.split_bytes,
        families,
        dict(schema.attributes),
        record.table_id,
    )

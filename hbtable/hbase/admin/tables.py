"""Tables and namespaces of our own admin service: schemas with everything that hbtable knows of them."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Mapping, Sequence
from typing import final

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.errors import BadArgument
from hbtable.model.file_settings import families_as_done
from hbtable.model.schema import Attributes, FamilySchema, TableSchema
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
        return _table(self._cluster.admin.record(self._tables.canonical(name)))

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
        families = [FamilySchema(*family[:-1], _attributes(family.attributes)) for family in table.families or ()]
        return TableSchema(
            self._tables.canonical(table.name),
            {family.name: family for family in families},
            table.version,
            table.split_bytes,
            _attributes(table.attributes),
        )


def _given(name: bytes | None) -> bytes:
    if name is None:
        raise BadArgument("the call has no namespace")
    return name


def _attributes(given: Mapping[str, str] | None) -> Attributes:
    return tuple(sorted((given or {}).items()))


def _table(record: TableRecord) -> AdminTable:
    schema = record.schema
    shown = families_as_done(schema)
    families = [_family(shown[name]) for name in sorted(shown)]
    return AdminTable(
        schema.name,
        schema.version,
        record.state.value,
        schema.split_bytes,
        families,
        dict(schema.attributes),
        record.table_id,
    )


def _family(family: FamilySchema) -> AdminFamily:
    return AdminFamily(
        family.name,
        family.max_versions,
        family.min_versions,
        family.ttl_seconds,
        family.compression,
        family.bloom,
        family.in_memory,
        family.block_cache,
        family.block_bytes,
        family.locality_group,
        family.new_version_behavior,
        dict(family.attributes),
    )

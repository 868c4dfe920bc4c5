"""Tables, families, regions and namespaces of Thrift2, and what clients ask about the server."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, final

from hbtable.client.admin import Admin
from hbtable.errors import InvalidRequest, TableExists, TableNotFound, Unavailable
from hbtable.filters.searching import Searches
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.tables import TableAdminCalls
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.codec.thrift2_structs import (
    TColumnFamilyDescriptor,
    THRegionInfo,
    THRegionLocation,
    TNamespaceDescriptor,
    TServerName,
    TTableDescriptor,
    TTableName,
)
from hbtable.hbase.conversion import shown
from hbtable.hbase.errors import HBASE, BadArgument, JavaError
from hbtable.hbase.server_names import ServerNames
from hbtable.hbase.thrift2.descriptors import checked_family, described, shown_name, table_name, table_schema
from hbtable.model import names
from hbtable.model.cell import Cell
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.schema_limits import check_namespace_counts
from hbtable.model.table import TableState
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import SLICE_SECONDS, in_slices
from hbtable.switches import switches
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.look_ahead import ask_worker

_THRIFT_TWO: Final = 2
_LOOKS: Final = 3
_ENABLED: Final = (TableState.ENABLED, TableState.ENABLING)
_INVALID_FAMILY: Final = HBASE + "InvalidFamilyOperationException"


@final
class Thrift2TableCalls:
    """Thrift2's calls on tables and namespaces. `calls` are Thrift1's, for what is the same."""

    def __init__(
        self,
        tables: TableBackend,
        admin: Admin,
        cluster: ClusterBackend,
        server_names: ServerNames,
        calls: TableAdminCalls,
        runtime: Runtime,
    ) -> None:
        self._runtime = runtime
        self._tables = tables
        self._admin = admin
        self._cluster = cluster
        self._names = server_names
        self._calls = calls

    # ---------------------------------------------------------------- tables

    @switches
    def createTable(self, descriptor: TTableDescriptor, split_rows: Sequence[bytes] | None) -> None:
        if self.tableExists(descriptor.table_name):
            raise TableExists(shown(table_name(descriptor.table_name)))
        rows = sorted(split_rows or ())
        self._cluster.admin.create_table(table_schema(descriptor), rows)

    @switches
    def deleteTable(self, name: TTableName) -> None:
        self._admin.delete_table(table_name(name))

    @switches
    def truncateTable(self, name: TTableName, keep_splits: bool) -> None:
        self._cluster.admin.truncate_table(table_name(name), keep_splits)

    @switches
    def enableTable(self, name: TTableName) -> None:
        self._admin.enable_table(table_name(name))

    @switches
    def disableTable(self, name: TTableName) -> None:
        self._admin.disable_table(table_name(name))

    @switches
    def isTableEnabled(self, name: TTableName) -> bool:
        return self._tables.record(table_name(name)).state in _ENABLED

    @switches
    def isTableDisabled(self, name: TTableName) -> bool:
        return not self.isTableEnabled(name)

    @switches
    def isTableAvailable(self, name: TTableName) -> bool:
        canonical = table_name(name)
        try:
            return all(tablet.owner for tablet in self._admin.tablets(canonical))
        except TableNotFound:
            return False

    @switches
    def tableExists(self, name: TTableName | None) -> bool:
        if name is None:
            raise BadArgument("the call has no table name")
        canonical = table_name(name)
        return any(record.schema.name == canonical for record in self._admin.tables())

    # ---------------------------------------------------------------- descriptors

    @switches
    def getTableDescriptor(self, name: TTableName) -> TTableDescriptor:
        return described(self._tables.record(table_name(name)).schema)

    @switches
    def getTableDescriptors(self, wanted: Sequence[TTableName]) -> list[TTableDescriptor]:
        known = {schema.name: schema for schema in self._schemas()}
        found = []
        for one in in_slices(self._runtime, wanted):
            schema = known.get(table_name(one))
            if schema is not None:
                found.append(described(schema))
        return found

    @switches
    def getTableDescriptorsByPattern(self, regex: str | None, _: bool) -> list[TTableDescriptor]:
        return [described(schema) for schema in self._matching(regex)]

    @switches
    def getTableDescriptorsByNamespace(self, namespace: str) -> list[TTableDescriptor]:
        return [described(schema) for schema in self._schemas_of(namespace)]

    @switches
    def getTableNamesByPattern(self, regex: str | None, _: bool) -> list[TTableName]:
        return [shown_name(schema.name) for schema in self._matching(regex)]

    @switches
    def getTableNamesByNamespace(self, namespace: str) -> list[TTableName]:
        return [shown_name(schema.name) for schema in self._schemas_of(namespace)]

    @switches
    def _schemas(self) -> list[TableSchema]:
        return [record.schema for record in self._admin.tables()]

    @switches
    def _schemas_of(self, namespace: str) -> list[TableSchema]:
        wanted = namespace.encode()
        self._cluster.admin.namespace_properties(wanted)
        return [schema for schema in self._schemas() if names.split(schema.name)[0] == wanted]

    @switches
    def _matching(self, regex: str | None) -> list[TableSchema]:
        if regex is None:
            return self._schemas()
        pacer = Pacer(self._runtime, SLICE_SECONDS)
        searches = Searches(ask_worker(self._runtime), pacer.pause)
        try:
            matches = searches.regex(b"\\A(?:" + regex.encode() + b")\\z", _no_parts)
        except ValueError as error:
            raise BadArgument(str(error)) from error
        return [schema for schema in in_slices(self._runtime, self._schemas()) if matches(schema.name)]

    # ---------------------------------------------------------------- changes

    @switches
    def modifyTable(self, descriptor: TTableDescriptor) -> None:
        """All of it from now on, families included."""
        known = self._admin.record(table_name(descriptor.table_name)).schema
        self._cluster.admin.alter_table(table_schema(descriptor, known.version + 1, known))

    @switches
    def addColumnFamily(self, name: TTableName, descriptor: TColumnFamilyDescriptor) -> None:
        schema = self._admin.record(table_name(name)).schema
        family = checked_family(shown(schema.name), descriptor)
        if family.name in schema.families:
            raise JavaError(
                _INVALID_FAMILY,
                f"Column family '{shown(family.name)}' in table '{shown(schema.name)}' already exists so cannot be "
                "added",
            )
        self._alter(schema, {**schema.families, family.name: family})

    @switches
    def modifyColumnFamily(self, name: TTableName, descriptor: TColumnFamilyDescriptor) -> None:
        schema = self._admin.record(table_name(name)).schema
        family = checked_family(shown(schema.name), descriptor, schema.families.get(descriptor.name))
        self._check_family(schema, family.name, "modified")
        self._alter(schema, {**schema.families, family.name: family})

    @switches
    def deleteColumnFamily(self, name: TTableName, family: bytes) -> None:
        schema = self._admin.record(table_name(name)).schema
        self._check_family(schema, family, "deleted")
        if len(schema.families) == 1:
            raise JavaError(
                _INVALID_FAMILY,
                f"Family '{shown(family)}' is the only column family in the table, so it cannot be deleted",
            )
        self._alter(schema, {name: one for name, one in schema.families.items() if name != family})

    def _check_family(self, schema: TableSchema, family: bytes, what: str) -> None:
        if family not in schema.families:
            raise JavaError(_INVALID_FAMILY, f"Family '{shown(family)}' does not exist, so it cannot be {what}")

    @switches
    def _alter(self, schema: TableSchema, families: dict[bytes, FamilySchema]) -> None:
        self._cluster.admin.alter_table(replace(schema, families=families, version=schema.version + 1))

    # ---------------------------------------------------------------- regions

    @switches
    def getRegionLocation(self, table: bytes, row: bytes, reload: bool | None) -> THRegionLocation:
        """The list is read page by page, and a split or merge meanwhile may leave a gap in it: Unavailable when the row
        is in one that many times."""
        name = self._tables.canonical(table)
        for _ in range(_LOOKS):
            for tablet in self._admin.tablets(name):
                if tablet.range.holds(row):
                    return self._location(name, tablet)
        raise Unavailable(f"the tablets of table {shown(name)} go on changing; try again")

    @switches
    def getAllRegionLocations(self, table: bytes) -> list[THRegionLocation]:
        name = self._tables.canonical(table)
        try:
            return [self._location(name, tablet) for tablet in self._admin.tablets(name)]
        except TableNotFound:
            return []

    @switches
    def _location(self, name: bytes, tablet: TabletRecord) -> THRegionLocation:
        host, port = self._names.place(tablet.owner)
        started = next((one.started_millis for one in self._cluster.servers() if one.name == tablet.owner), 0)
        return THRegionLocation(
            TServerName(host, port, started),
            THRegionInfo(
                0,
                name,
                tablet.range.start,
                tablet.range.stop,
                offline=False,
                split=False,
                replica_id=0,
            ),
        )

    # ---------------------------------------------------------------- namespaces

    @switches
    def createNamespace(self, descriptor: TNamespaceDescriptor) -> None:
        properties = _properties(descriptor)
        self._cluster.admin.create_namespace(descriptor.name.encode(), properties)

    @switches
    def modifyNamespace(self, descriptor: TNamespaceDescriptor) -> None:
        properties = _properties(descriptor)
        self._cluster.admin.alter_namespace(descriptor.name.encode(), properties)

    @switches
    def deleteNamespace(self, name: str) -> None:
        try:
            self._cluster.admin.delete_namespace(name.encode())
        except InvalidRequest as error:  # it holds tables, or always exists
            raise JavaError(HBASE + "constraint.ConstraintException", str(error)) from error

    @switches
    def getNamespaceDescriptor(self, name: str) -> TNamespaceDescriptor:
        return TNamespaceDescriptor(name, self._cluster.admin.namespace_properties(name.encode()) or None)

    @switches
    def listNamespaceDescriptors(self) -> list[TNamespaceDescriptor]:
        return [self.getNamespaceDescriptor(name) for name in self.listNamespaces()]

    @switches
    def listNamespaces(self) -> list[str]:
        return [name.decode("utf-8", "replace") for name in self._cluster.admin.namespaces()]

    # ---------------------------------------------------------------- the server

    def getThriftServerType(self) -> int:
        return _THRIFT_TWO

    @switches
    def getClusterId(self) -> str:
        return self._calls.getClusterId()


def _properties(descriptor: TNamespaceDescriptor) -> Mapping[str, str]:
    properties = descriptor.configuration or {}
    check_namespace_counts(descriptor.name, len(properties))
    return properties


def _no_parts(_: bytes, __: Sequence[Cell]) -> Sequence[bytes]:
    return ()  # names are few: none is looked for ahead

"""The administration of tables behind a server: the calls that Database stands on, over Thrift."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

from hbtable.client.whole_rows import seen
from hbtable.errors import TableNotFound
from hbtable.hbase.admin.structs import AdminTable, AdminTablet
from hbtable.hbase.admin.table_structs import family_struct, table_schema
from hbtable.library.server_calls import Calls
from hbtable.library.table import RegionDescription
from hbtable.master.tables.schema_check import check_properties, check_schema
from hbtable.model.names import parse
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.status import TabletSize
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.model.usage import FamilyUsage, from_texts, summed
from hbtable.switches import switches


@final
class ServerAdmin:
    """A library.database.AdminCalls. No call switches: it waits in the thread that makes it."""

    def __init__(self, server: Calls) -> None:
        self._server = server

    @switches
    def table_names(self) -> list[bytes]:
        names: list[bytes] = self._server.hbase("getTableNames")
        return names

    @switches
    def record(self, name: bytes) -> TableRecord:
        found: AdminTable = self._server.admin("adminTable", name)
        return TableRecord(found.table_id, TableState(found.state), table_schema(found.name, found))

    @switches
    def described(self, name: bytes) -> TableRecord:
        """The record with the families. AccessDenied from the server, which names the user and writes it down, where it
        hides them: what it says of a table to everybody is no refusal."""
        found = self.record(name)
        if not found.schema.families:
            self._server.hbase("getColumnDescriptors", name)
            found = self.record(name)  # they were shown to him meanwhile
            seen(found.schema)
        return found

    @switches
    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = ()) -> None:
        self._server.admin("adminCreateTable", _table(schema), list(split_rows))

    @switches
    def delete_table(self, name: bytes) -> None:
        self.record(name)  # HBase's call does not say that a table is missing so that a program could tell
        self._server.hbase("deleteTable", name)

    @switches
    def enable_table(self, name: bytes) -> None:
        self._server.hbase("enableTable", name)

    @switches
    def disable_table(self, name: bytes) -> None:
        self._server.hbase("disableTable", name)

    @switches
    def is_enabled(self, name: bytes) -> bool:
        enabled: bool = self._server.hbase("isTableEnabled", name)
        return enabled

    @switches
    def flush(self, name: bytes) -> None:
        self._server.admin("adminFlush", name, 0)

    @switches
    def compact(self, name: bytes) -> None:
        self._server.hbase("compact", name)

    @switches
    def major_compact(self, name: bytes) -> None:
        self._server.hbase("majorCompact", name)

    @switches
    def tablets(self, name: bytes) -> list[TabletRecord]:
        """The table's tablets, as far as the server tells of them."""
        found: list[AdminTablet] = self._server.admin("adminTablets", name)
        return [
            TabletRecord(0, one.tablet_id, RowRange(one.start_row, one.stop_row), one.created_millis, one.server)
            for one in found
        ]

    @switches
    def tablet_sizes(self, name: bytes) -> list[TabletSize]:
        found: list[AdminTablet] = self._server.admin("adminTablets", name)
        sizes = [
            TabletSize(RowRange(one.start_row, one.stop_row), one.memtable_bytes + one.sstable_bytes) for one in found
        ]
        return sorted(sizes, key=lambda one: one.rows.start)

    @switches
    def split(self, name: bytes, row: bytes | None = None) -> bool:
        done: bool = self._server.admin("adminSplit", name, row or b"", 0)
        return done

    @switches
    def family_usage(self, name: bytes) -> list[FamilyUsage]:
        self.described(name)  # servers that have nothing of it, or may not show it, say nothing
        found: dict[str, list[dict[str, str]]] = self._server.admin("adminFamilyUsage", name, [])
        return summed(from_texts(one) for of_server in found.values() for one in of_server)

    @switches
    def exists(self, name: bytes) -> bool:
        try:
            self.record(name)
        except TableNotFound:
            return False
        return True

    @switches
    def alter_table(self, schema: TableSchema) -> None:
        self._server.admin("adminAlterTable", _table(schema))

    @switches
    def truncate_table(self, name: bytes, keep_splits: bool) -> None:
        self._server.admin("adminTruncateTable", name, keep_splits)

    @switches
    def merge_tablets(self, name: bytes, tablet_ids: Sequence[int]) -> None:
        self._server.admin("adminMerge", name, list(tablet_ids))

    @switches
    def namespaces(self) -> list[bytes]:
        names: list[bytes] = self._server.admin("adminNamespaces")
        return names

    @switches
    def namespace_properties(self, name: bytes) -> dict[str, str]:
        properties: dict[str, str] = self._server.admin("adminNamespace", name)
        return properties

    @switches
    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        check_properties(name, properties)
        self._server.admin("adminCreateNamespace", name, dict(properties))

    @switches
    def alter_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        check_properties(name, properties)
        self._server.admin("adminAlterNamespace", name, dict(properties))

    @switches
    def delete_namespace(self, name: bytes) -> None:
        self._server.admin("adminDeleteNamespace", name)

    def regions_of(self, name: bytes) -> list[RegionDescription]:
        """The table's regions, each with the address of its server."""
        return [
            {
                "start_key": one.startKey,
                "end_key": one.endKey,
                "id": one.id,
                "name": one.name,
                "version": one.version,
                "server_name": one.serverName,
                "port": one.port,
            }
            for one in self._server.hbase("getTableRegions", name)
        ]


def _table(schema: TableSchema) -> AdminTable:
    """Checked as the master does: Thrift leaves None out, so that it would be the default, and takes True for 1."""
    check_schema(replace(schema, name=parse(schema.name)))
    families = [family_struct(schema.families[name]) for name in sorted(schema.families)]
    return AdminTable(schema.name, schema.version, "", schema.split_bytes, families, dict(schema.attributes))

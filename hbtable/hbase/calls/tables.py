"""Table administration of the interface, and what clients ask about the server."""

# ruff: noqa: N802 - methods are named as in the interface file.

import logging
import uuid
from collections.abc import Callable, Sequence
from typing import Final, final

from hbtable.access.actions import actions_of
from hbtable.access.scopes import Scope, of_table
from hbtable.client.admin import Admin
from hbtable.errors import HbtableError, TableExists, TableNotFound
from hbtable.hbase.backend import Address, TableBackend
from hbtable.hbase.codec.thrift_structs import AccessControlEntity, ColumnDescriptor
from hbtable.hbase.conversion import family_schemas, shown
from hbtable.hbase.errors import DO_NOT_RETRY, NAME_IN_USE, PLAIN, BadArgument, JavaError
from hbtable.hbase.meta.layout import META, META_REGION, META_REGION_ID
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.regions import Region, at_or_before, region, region_name, table_of_region
from hbtable.model import names
from hbtable.model.file_settings import families_as_done
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableState
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_THRIFT_ONE: Final = 1
_OF_TABLE: Final = 0
_OF_NAMESPACE: Final = 1
_ENABLED: Final = (TableState.ENABLED, TableState.ENABLING)


@final
class TableAdminCalls:
    """Thrift1's calls on tables. `compaction_wait_seconds`: how long majorCompact waits before it lets the work go on
    in the background."""

    def __init__(
        self,
        runtime: Runtime,
        tables: TableBackend,
        admin: Admin,
        cluster_id: Callable[[], str],
        address: Address,
        compaction_wait_seconds: float,
        guard: Guard | None = None,
    ) -> None:
        self._runtime = runtime
        self._tables = tables
        self._admin = admin
        self._cluster_id = cluster_id
        self._address = address
        self._compaction_wait_seconds = compaction_wait_seconds
        self._guard = guard

    # ---------------------------------------------------------------- tables

    @switches
    def getTableNames(self) -> list[bytes]:
        return [record.schema.name for record in self._admin.tables()]

    @switches
    def getTableNamesWithIsTableEnabled(self) -> dict[bytes, bool]:
        return {record.schema.name: record.state in _ENABLED for record in self._admin.tables()}

    @switches
    def getColumnDescriptors(self, table: bytes | None) -> dict[bytes, FamilySchema]:
        families = families_as_done(self._tables.record(self._tables.canonical(table)).schema)
        return {name + b":": families[name] for name in sorted(families)}

    @switches
    def isTableEnabled(self, table: bytes | None) -> bool:
        return self._tables.record(self._tables.canonical(table)).state in _ENABLED

    @switches
    def enableTable(self, table: bytes | None) -> None:
        self._admin.enable_table(self._tables.canonical(table))

    @switches
    def disableTable(self, table: bytes | None) -> None:
        self._admin.disable_table(self._tables.canonical(table))

    @switches
    def createTable(self, table: bytes | None, descriptors: Sequence[ColumnDescriptor] | None) -> None:
        name = self._tables.canonical(table)
        if name == META or self._exists(name):
            raise TableExists(NAME_IN_USE)
        self._admin.create_table(TableSchema(name, family_schemas(shown(name), descriptors)))

    @switches
    def deleteTable(self, table: bytes | None) -> None:
        name = self._tables.canonical(table)
        try:
            self._admin.delete_table(name)
        except TableNotFound:
            raise JavaError(PLAIN, "table does not exist", can_retry=True) from None

    @switches
    def _exists(self, name: bytes) -> bool:
        try:
            self._admin.record(name)
        except TableNotFound:
            return False
        return True

    # ---------------------------------------------------------------- regions

    @switches
    def getTableRegions(self, table: bytes | None) -> list[Region]:
        name = self._tables.canonical(table)
        if name == META:
            return [Region(b"", b"", META_REGION_ID, META_REGION, *self._address(""))]
        try:
            # HBase shows where tablets of a disabled table were last; clients take the fields for granted.
            return [region(name, tablet, self._address, True) for tablet in self._admin.tablets(name)]
        except TableNotFound:
            return []

    @switches
    def getRegionInfo(self, key: bytes | None) -> Region:
        if key is None:
            raise BadArgument("the call has no row")
        known = []
        for record in self._admin.tables():
            name = record.schema.name
            known += [(name, region(name, tablet, self._address)) for tablet in self._tablets(name)]
        found = at_or_before(key, known)
        if found is None:
            raise JavaError(PLAIN, f"Cannot find row in hbase:meta, row={shown(key)}", can_retry=True)
        return found

    @switches
    def _tablets(self, name: bytes) -> list[TabletRecord]:
        """[] when the table went away between the two looks."""
        try:
            return self._admin.tablets(name)
        except TableNotFound:
            return []

    # ---------------------------------------------------------------- compactions

    @switches
    def compact(self, target: bytes | None) -> None:
        self._compact(target, major=False)

    @switches
    def majorCompact(self, target: bytes | None) -> None:
        self._compact(target, major=True)

    @switches
    def _compact(self, target: bytes | None, major: bool) -> None:
        """All tablets at once in the background; a major compaction of a small table is done on return."""
        task = spawn_counted(
            self._runtime, self._compact_all, self._tablets_of(target), major, name="compaction-asked-for"
        )
        if major:
            task.join(self._compaction_wait_seconds)

    @switches
    def _compact_all(self, tablets: Sequence[TabletRecord], major: bool) -> None:
        for tablet in tablets:
            try:
                self._admin.compact_at(tablet, major)
            except HbtableError as error:
                # The caller was told that it is asked for; a tablet that just moved compacts by its own policy.
                _LOG.warning("a compaction of tablet %d that a client asked for failed: %s", tablet.tablet_id, error)

    @switches
    def _tablets_of(self, target: bytes | None) -> Sequence[TabletRecord]:
        """A region's name is tried first, then a table's. Tablets without an owner are left out."""
        table = table_of_region(target) if target is not None else None
        if table is not None and target is not None:
            for tablet in self._tablets(self._tables.canonical(table)):
                if region_name(table, tablet.range.start, tablet.created_millis) == target:
                    return [tablet] if tablet.owner else []
            raise BadArgument(f"there is no region {shown(target)}")
        name = self._tables.canonical(target)
        self._admin.record(name)
        return [tablet for tablet in self._admin.tablets(name) if tablet.owner]

    # ---------------------------------------------------------------- the server

    def getThriftServerType(self) -> int:
        return _THRIFT_ONE

    def getClusterId(self) -> str:
        """The cluster's id in the form of a UUID, which HBase's clients know."""
        identity = self._cluster_id()
        try:
            return str(uuid.UUID(identity))
        except ValueError:
            return identity

    # ---------------------------------------------------------------- permissions

    @switches
    def grant(self, info: AccessControlEntity | None) -> bool:
        guard, entity = self._permitted(info)
        guard.grant(entity.username or "", _scope_of(entity), actions_of(entity.actions or ""))
        return True

    @switches
    def revoke(self, info: AccessControlEntity | None) -> bool:
        guard, entity = self._permitted(info)
        guard.revoke(entity.username or "", _scope_of(entity), actions_of(entity.actions or ""))
        return True

    def _permitted(self, info: AccessControlEntity | None) -> tuple[Guard, AccessControlEntity]:
        if self._guard is None:
            raise JavaError(DO_NOT_RETRY, "access control is not enabled")
        if info is None:
            raise BadArgument("the call has no permission")
        return self._guard, info


def _scope_of(entity: AccessControlEntity) -> Scope:
    """Of a namespace or a table: this service knows no others."""
    if entity.scope == _OF_NAMESPACE:
        name = (entity.namespace or "").encode()
        names.check_namespace(name)
        return Scope(name)
    if entity.scope != _OF_TABLE:
        raise BadArgument(f"there is no scope {entity.scope} of permissions: 0 is a table, 1 a namespace")
    return of_table(names.parse(entity.table or b""))

"""Tablets of our own admin service: where they are, how large, and what can be asked of them."""

# ruff: noqa: N802 - methods are named as in the interface file.

from typing import Final, final

from hbtable.errors import StaleLocation, Unavailable
from hbtable.hbase.admin.structs import AdminTablet, AdminTabletEvent, AdminTabletHistory
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.regions import region_name
from hbtable.hbase.server_names import ServerNames
from hbtable.model.names import shown
from hbtable.model.status import TabletStatus
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord, owners
from hbtable.switches import switches

_META: Final = b"hbase:meta"


@final
class AdminTabletCalls:
    """The admin service's calls on tablets. `tables` turns names into canonical ones."""

    def __init__(self, tables: TableBackend, cluster: ClusterBackend, names: ServerNames) -> None:
        self._tables = tables
        self._cluster = cluster
        self._names = names

    @switches
    def adminTablets(self, name: bytes | None) -> list[AdminTablet]:
        canonical = self._tables.canonical(name)
        self._cluster.admin.record(canonical)
        records = self._cluster.admin.tablets(canonical)
        statuses = self._cluster.admin.statuses(owners(records))
        by_id = {status.record.tablet_id: status for found in statuses.values() for status in found}
        started = {server.name: server.started_millis for server in self._cluster.servers()}
        return [
            admin_tablet(self._names, canonical, record, by_id.get(record.tablet_id), started.get(record.owner, 0))
            for record in records
        ]

    @switches
    def adminTabletHistory(self, name: bytes | None, row: bytes | None) -> AdminTabletHistory:
        canonical = self._tables.canonical(name)
        table = None if canonical == _META else self._cluster.admin.record(canonical)
        operations = self._cluster.operations
        record = operations.tablet_of_row(METADATA_TABLE_ID if table is None else table.table_id, row or b"")
        if record is None:
            raise Unavailable(f"METADATA has no tablet of table {shown(canonical)} for this row now; try again")
        events = operations.tablet_events(record)
        living = {server.name: server.started_millis for server in self._cluster.servers()}
        status = self._status(record) if record.owner in living else None
        names = self._names.all_shown() | {"": ""}
        return AdminTabletHistory(
            admin_tablet(self._names, canonical, record, status, living.get(record.owner, 0)),
            _state(table, record, record.owner in living, status is not None),
            [
                AdminTabletEvent(
                    event.millis,
                    event.what,
                    names.get(event.server, event.server),
                    names.get(event.by, event.by) or "master",
                    event.why,
                    event.generation,
                )
                for event in events
            ],
        )

    @switches
    def _status(self, record: TabletRecord) -> TabletStatus | None:
        try:
            found = self._cluster.operations.on_server(record.owner).tablets(record.table_id)
        except (StaleLocation, Unavailable):
            return None
        return next((one for one in found if one.record.tablet_id == record.tablet_id), None)

    @switches
    def adminFlush(self, name: bytes | None, tablet_id: int | None) -> None:
        self._cluster.admin.flush(self._tables.canonical(name), tablet_id or 0)

    @switches
    def adminSplit(self, name: bytes | None, row: bytes | None, tablet_id: int | None) -> bool:
        return self._cluster.admin.split(self._tables.canonical(name), row or None, tablet_id or 0)


def _state(table: TableRecord | None, record: TabletRecord, owner_lives: bool, served: bool) -> str:
    if served:
        return "served"
    if table is not None and table.state is not TableState.ENABLED:
        return f"not served: its table is {table.state.value}"
    if not record.owner:
        return "not served: nobody owns it"
    return f"not served: its owner {record.owner} {'does not serve it now' if owner_lives else 'is dead'}"


def admin_tablet(
    names: ServerNames, table: bytes, record: TabletRecord, status: TabletStatus | None, started_millis: int
) -> AdminTablet:
    """`status`: of its server, if that answers; otherwise its files are those that METADATA names. `started_millis`:
    when that server began."""
    server = names.shown(record.owner, started_millis) if record.owner else ""
    if status is None:
        lengths = record.file_lengths()
        load = (0, sum(lengths), len(lengths), 0, 0, 0)
    else:
        load = (*status[2:7], status.damaged)
    return AdminTablet(
        record.tablet_id,
        record.range.start,
        record.range.stop,
        record.created_millis,
        region_name(table, record.range.start, record.created_millis),
        server,
        *load,
    )

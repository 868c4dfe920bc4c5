"""Tablets of our own admin service: where they are, how large, and what can be asked of them."""

# ruff: noqa: N802 - methods are named as in the interface file.

from typing import final

from hbtable.hbase.admin.structs import AdminTablet
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.regions import region_name
from hbtable.hbase.server_names import ServerNames
from hbtable.model.status import TabletStatus
from hbtable.model.tablet import TabletRecord, owners
from hbtable.switches import switches


@final
class AdminTabletCalls:
    """`tables` turns names into canonical ones."""

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
    def adminFlush(self, name: bytes | None, tablet_id: int | None) -> None:
        self._cluster.admin.flush(self._tables.canonical(name), tablet_id or 0)

    @switches
    def adminSplit(self, name: bytes | None, row: bytes | None, tablet_id: int | None) -> bool:
        return self._cluster.admin.split(self._tables.canonical(name), row or None, tablet_id or 0)


def admin_tablet(
    names: ServerNames, table: bytes, record: TabletRecord, status: TabletStatus | None, started_millis: int
) -> AdminTablet:
    """`status`: of its server, if that answers; `started_millis`: when that began."""
    server = names.shown(record.owner, started_millis) if record.owner else ""
    load = (0, 0, 0, 0, 0, 0) if status is None else (*status[2:7], status.damaged)
    return AdminTablet(
        record.tablet_id,
        record.range.start,
        record.range.stop,
        record.created_millis,
        region_name(table, record.range.start, record.created_millis),
        server,
        *load,
    )

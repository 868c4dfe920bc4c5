"""Operators' calls about caches, garbage, servers out of service and slow requests, in our own service."""

# ruff: noqa: N802 - methods are named as in the interface file.

from typing import final

from hbtable.errors import HbtableError
from hbtable.hbase.admin.declared import flag
from hbtable.hbase.admin.structs import AdminCacheEviction, AdminSlowRequest
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.regions import region_name
from hbtable.hbase.server_names import ServerNames
from hbtable.hbase.slow import SlowRequests
from hbtable.model.tablet import owners
from hbtable.switches import switches


@final
class AdminChoreCalls:
    """The admin service's calls about caches, garbage, servers out of service and slow requests. `slow`: the slow
    requests of this gateway alone."""

    def __init__(self, tables: TableBackend, cluster: ClusterBackend, names: ServerNames, slow: SlowRequests) -> None:
        self._tables = tables
        self._cluster = cluster
        self._names = names
        self._slow = slow

    # ---------------------------------------------------------------- chores

    @switches
    def adminClearBlockCache(self, name: bytes | None) -> AdminCacheEviction:
        canonical = self._tables.canonical(name)
        table = self._cluster.admin.record(canonical)
        records = self._cluster.admin.tablets(canonical)
        found = self._cluster.operations.clear_block_cache(table.table_id, owners(records))
        done = [one for one in found.values() if not isinstance(one, HbtableError)]
        failed = [record for record in records if isinstance(found.get(record.owner), HbtableError)]
        return AdminCacheEviction(
            sum(one.blocks for one in done),
            sum(one.capacity_bytes for one in done),
            [region_name(canonical, record.range.start, record.created_millis) for record in failed],
        )

    @switches
    def adminRunCatalogJanitor(self) -> int:
        return self._cluster.admin.collect_garbage().rows

    @switches
    def adminRunCleaner(self) -> bool:
        return not self._cluster.admin.collect_garbage().waiting

    @switches
    def adminSwitch(self, name: bytes | None, on: bool | None) -> bool:
        return self._cluster.toggles.turn((name or b"").decode(errors="replace"), flag("on", on))

    @switches
    def adminIsOn(self, name: bytes | None) -> bool:
        return self._cluster.toggles.is_on((name or b"").decode(errors="replace"))

    # ---------------------------------------------------------------- servers out of service

    @switches
    def adminDecommissioned(self) -> list[str]:
        servers = self._cluster.servers()
        return [self._names.shown(one.name, one.started_millis) for one in servers if one.decommissioned]

    # ---------------------------------------------------------------- slow requests

    def adminSlowRequests(self) -> list[AdminSlowRequest]:
        return [AdminSlowRequest(*request) for request in self._slow.requests()]

    def adminClearSlowRequests(self) -> None:
        self._slow.clear()

"""What operators look after, in our own service: caches, garbage, tablets on the way, dead servers, slow requests."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Sequence
from typing import final

from hbtable.errors import HbtableError
from hbtable.hbase.admin_structs import AdminCacheEviction, AdminSlowRequest, AdminTransition
from hbtable.hbase.backend import Tables
from hbtable.hbase.cluster import Cluster
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.regions import region_name
from hbtable.hbase.server_names import ServerNames
from hbtable.hbase.slow import SlowRequests
from hbtable.hbase.transitions import Transition, dead_servers, transitions, unknown_servers
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord, owners


@final
class AdminChores:
    """`slow`: of this front door alone."""

    def __init__(self, tables: Tables, cluster: Cluster, names: ServerNames, slow: SlowRequests) -> None:
        self._tables = tables
        self._cluster = cluster
        self._names = names
        self._slow = slow

    # ---------------------------------------------------------------- chores

    def adminClearBlockCache(self, name: bytes | None) -> AdminCacheEviction:
        canonical = self._tables.canonical(name)
        table = self._cluster.record(canonical)
        records = self._cluster.admin.tablets(canonical)
        found = self._cluster.operations.clear_block_cache(table.table_id, owners(records))
        done = [one for one in found.values() if not isinstance(one, HbtableError)]
        failed = [record for record in records if isinstance(found.get(record.owner), HbtableError)]
        return AdminCacheEviction(
            sum(one.blocks for one in done),
            sum(one.capacity_bytes for one in done),
            [region_name(canonical, record.range.start, record.created_millis) for record in failed],
        )

    def adminRunCatalogJanitor(self) -> int:
        return self._cluster.operations.collect_garbage().rows

    def adminRunCleaner(self) -> bool:
        return not self._cluster.operations.collect_garbage().waiting

    def adminRunRepair(self) -> None:
        self._cluster.operations.look_at_everything()

    # ---------------------------------------------------------------- what is not as it should be

    def adminTransitions(self) -> list[AdminTransition]:
        suspects, _ = self._suspects()
        if not suspects:
            return []
        before = {one.record for one in suspects}
        # Again: what split, moved or was dropped between the first looks is no suspect of the second.
        suspects, names = self._suspects()
        shown = self._names.all_shown()
        return [
            AdminTransition(
                region_name(names[one.record.table_id], one.record.range.start, one.record.created_millis),
                one.state,
                shown.get(one.record.owner, one.record.owner),
            )
            for one in suspects
            if one.record in before
        ]

    def _suspects(self) -> tuple[list[Transition], dict[int, bytes]]:
        """And the names of all tables, by id."""
        operations = self._cluster.operations
        records = operations.every_tablet()
        tables = operations.table_records()
        states = {table.table_id: table.state for table in tables}
        living = self._living()
        statuses = self._cluster.admin.statuses(sorted(living))
        served = {name: {status.record.tablet_id for status in found} for name, found in statuses.items()}
        names = {METADATA_TABLE_ID: b"hbase:meta", **{table.table_id: table.schema.name for table in tables}}
        return transitions(records, states, living, served), names

    def adminDeadServers(self) -> list[str]:
        return dead_servers(*self._records_and_living())

    def adminUnknownServers(self) -> list[str]:
        records, living = self._records_and_living()
        return unknown_servers(records, living, dead_servers(records, living))

    def _records_and_living(self) -> tuple[list[TabletRecord], set[str]]:
        """In this order: who began to serve after the look would seem to be gone."""
        return self._cluster.operations.every_tablet(), self._living()

    def _living(self) -> set[str]:
        return {server.name for server in self._cluster.servers()}

    # ---------------------------------------------------------------- servers out of service

    def adminDecommissioned(self) -> list[str]:
        servers = self._cluster.servers()
        return [self._names.shown(one.name, one.started_millis) for one in servers if one.decommissioned]

    def adminDecommission(self, servers: Sequence[bytes] | None, offload: bool | None) -> None:
        if not servers:
            raise BadArgument("the call has no servers")
        found = [one.name for server in servers for one in self._names.living(server)]
        self._cluster.operations.decommission(dict.fromkeys(found), bool(offload))

    def adminRecommission(self, server: bytes | None) -> None:
        self._cluster.operations.recommission(self._names.one(server or b""))

    # ---------------------------------------------------------------- slow requests

    def adminSlowRequests(self) -> list[AdminSlowRequest]:
        return [AdminSlowRequest(*request) for request in self._slow.requests()]

    def adminClearSlowRequests(self) -> None:
        self._slow.clear()

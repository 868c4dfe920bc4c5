"""The cluster as a whole, for our own admin service: masters, servers and their load, tablets on the way, the dead."""

# ruff: noqa: N802 - methods are named as in the interface file.

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, final

from hbtable.errors import Unavailable
from hbtable.hbase.admin.structs import (
    AdminMaster,
    AdminServer,
    AdminStatus,
    AdminTaskDeath,
    AdminTransition,
    AdminUnreachable,
)
from hbtable.hbase.admin.tablets import admin_tablet
from hbtable.hbase.admin.transitions import Transition, dead_servers, transitions, unknown_servers
from hbtable.hbase.cluster_backend import ClusterBackend, LivingMaster, LivingServer
from hbtable.hbase.regions import region_name
from hbtable.hbase.server_names import ServerNames
from hbtable.model.schema import TableSchema
from hbtable.model.status import TabletStatus
from hbtable.model.table import TableRecord
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.switches import switches

_META = b"hbase:meta"


class _Look(NamedTuple):
    """A look at the cluster: METADATA, read once, and after that the living servers with what they serve. A server that
    begins to serve in between is known to live."""

    records: list[TabletRecord]
    tables: list[TableRecord]
    servers: list[LivingServer]
    statuses: dict[str, list[TabletStatus]]

    def living(self) -> set[str]:
        return {server.name for server in self.servers}

    def suspects(self) -> list[Transition]:
        states = {table.table_id: table.state for table in self.tables}
        served = {name: {status.record.tablet_id for status in found} for name, found in self.statuses.items()}
        return transitions(self.records, states, self.living(), served)


@final
class AdminClusterCalls:
    """Calls behind the shell's `status`."""

    def __init__(self, cluster: ClusterBackend, names: ServerNames) -> None:
        self._cluster = cluster
        self._names = names

    @switches
    def adminServers(self, names: Sequence[bytes] | None = None) -> list[AdminServer]:
        servers = self._names.those(names or ())
        statuses = self._cluster.admin.statuses([server.name for server in servers])
        return self._servers(servers, statuses, self._cluster.operations.table_records())

    @switches
    def adminStatus(self) -> AdminStatus:
        try:
            look = self._look()
        except Unavailable as error:
            raise self._with_unreachable(error) from error
        active, standbys = self._cluster.masters()
        return AdminStatus(
            [] if active is None else [self._master(active.address, active.started_millis, look.servers)],
            [self._master(one.address, one.started_millis, look.servers) for one in standbys],
            self._servers(look.servers, look.statuses, look.tables),
            dead_servers(look.records, look.living()),
            self._transitions(look),
            self._unreachable(look.living()),
            self._task_deaths(look, active),
            self._cluster.operations.balancer_rests(),
        )

    @switches
    def adminTransitions(self) -> list[AdminTransition]:
        return self._transitions(self._look())

    @switches
    def adminDeadServers(self) -> list[str]:
        return dead_servers(*self._records_and_living())

    @switches
    def adminUnknownServers(self) -> list[str]:
        records, living = self._records_and_living()
        return unknown_servers(records, living, dead_servers(records, living))

    # ---------------------------------------------------------------- looks

    @switches
    def _records_and_living(self) -> tuple[list[TabletRecord], set[str]]:
        """In this order: who began to serve after the look would seem to be gone."""
        return self._cluster.operations.every_tablet(), {server.name for server in self._cluster.servers()}

    @switches
    def _look(self) -> _Look:
        operations = self._cluster.operations
        records, tables = operations.every_tablet(), operations.table_records()
        servers = self._cluster.servers()
        return _Look(records, tables, servers, self._cluster.admin.statuses(sorted(server.name for server in servers)))

    @switches
    def _transitions(self, look: _Look) -> list[AdminTransition]:
        suspects = look.suspects()
        if not suspects:
            return []
        before = {one.record for one in suspects}
        # Again: what split, moved or was dropped between the first looks is no suspect of the second.
        look = self._look()
        names = {METADATA_TABLE_ID: _META, **{table.table_id: table.schema.name for table in look.tables}}
        shown = self._names.all_shown()
        return [
            AdminTransition(
                region_name(names[one.record.table_id], one.record.range.start, one.record.created_millis),
                one.state,
                shown.get(one.record.owner, one.record.owner),
            )
            for one in look.suspects()
            if one.record in before
        ]

    @switches
    def _unreachable(self, living: set[str]) -> list[AdminUnreachable]:
        shown = self._names.all_shown()
        said = self._cluster.unreachable(living)
        return [AdminUnreachable(shown.get(name, name), who) for name, who in sorted(said.items())]

    @switches
    def _with_unreachable(self, error: Unavailable) -> Unavailable:
        """METADATA cannot be read: `error`, which names who cannot be reached, since that may be why. An answer would
        have to say who is dead and which tablets are on the way, and METADATA alone knows that."""
        found = self._unreachable({server.name for server in self._cluster.servers()})
        if not found:
            return error
        named = "; ".join(f"{one.server}, by: {one.who}" for one in found)
        return Unavailable(f"{error}. Unreachable tablet servers that hold their locks: {named}")

    @switches
    def _task_deaths(self, look: _Look, active: LivingMaster | None) -> list[AdminTaskDeath]:
        """The task deaths of the servers that have just answered, and of the master unless it is one of them."""
        operations = self._cluster.operations
        said = {name: deaths for name, deaths in operations.task_deaths(look.statuses).items() if deaths}
        shown = self._names.all_shown() if said else {}
        found = [AdminTaskDeath(shown.get(name, name), what) for name, deaths in said.items() for what in deaths]
        if active is not None and active.address:
            deaths = operations.master_task_deaths()
            found += [AdminTaskDeath(f"master {active.address}", what) for what in deaths]
        return found

    # ---------------------------------------------------------------- as structs

    def _servers(
        self,
        servers: Iterable[LivingServer],
        statuses: Mapping[str, Sequence[TabletStatus]],
        tables: Iterable[TableRecord],
    ) -> list[AdminServer]:
        schemas = {table.table_id: table.schema for table in tables}
        found = []
        for server in servers:
            host, port = self._names.place(server.name)
            tablets, families = [], 0
            for status in statuses.get(server.name, ()):
                schema: TableSchema | None = schemas.get(status.record.table_id)
                families += len(schema.families) if schema is not None else 1
                name = schema.name if schema is not None else _META
                tablets.append(admin_tablet(self._names, name, status.record, status, server.started_millis))
            silent = server.name not in statuses
            found.append(AdminServer(server.name, host, port, server.started_millis, tablets, families, silent))
        return found

    def _master(self, address: str, started_millis: int, servers: Sequence[LivingServer]) -> AdminMaster:
        if address:
            host, _, port = address.rpartition(":")
            return AdminMaster(host, int(port), started_millis)
        # It lives in the process of the only tablet server.
        return AdminMaster(*self._names.place(""), servers[0].started_millis if servers else 0)

"""The services of a Thrift port: HBase's Thrift1 and Thrift2, and our own. A part of one has one kind of call."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from hbtable.client.admin import Admin
from hbtable.client.write_parts import rows_of_a_part
from hbtable.filters.grammar import parse as parse_filter
from hbtable.hbase.admin.aggregates import AdminAggregateCalls
from hbtable.hbase.admin.arrow_scans import AdminArrowCalls
from hbtable.hbase.admin.cells import AdminCellCalls
from hbtable.hbase.admin.chores import AdminChoreCalls
from hbtable.hbase.admin.cluster import AdminClusterCalls
from hbtable.hbase.admin.compactions import AdminCompactionCalls
from hbtable.hbase.admin.declared import DeclaredAdminCalls
from hbtable.hbase.admin.grants import AdminGrantCalls
from hbtable.hbase.admin.positions import AdminPositions
from hbtable.hbase.admin.tables import AdminTableCalls
from hbtable.hbase.admin.tablets import AdminTabletCalls
from hbtable.hbase.backend import Address, OpenTable, TableBackend
from hbtable.hbase.calls.handler import bind, bind_admin, bind_thrift2
from hbtable.hbase.calls.reads import ReadCalls
from hbtable.hbase.calls.scanner_calls import ScannerCalls
from hbtable.hbase.calls.scanners import Scanners
from hbtable.hbase.calls.tables import TableAdminCalls
from hbtable.hbase.calls.writes import WriteCalls
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.meta.meta_rows import MetaRows
from hbtable.hbase.meta.meta_table import MetaTable
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.server_names import ServerNames
from hbtable.hbase.thrift2.reads import Thrift2ReadCalls
from hbtable.hbase.thrift2.scanners import Thrift2ScannerCalls
from hbtable.hbase.thrift2.tables import Thrift2TableCalls
from hbtable.hbase.thrift2.writes import Thrift2WriteCalls
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """The cluster's UUID, and the host and port of each tablet server, for clients that ask."""

    cluster_id: Callable[[], str]
    address: Address


@final
class PortServices:
    """Makes the parts and binds them to the methods of an interface."""

    def __init__(
        self,
        runtime: Runtime,
        interface: ThriftInterface,
        context: ConnectionContext,
        options: ThriftGatewayOptions,
        scanners: Scanners,
        guard: Guard | None,
    ) -> None:
        """Without `guard` everybody may do everything."""
        self._runtime = runtime
        self._interface = interface
        self._context = context
        self._options = options
        self._scanners = scanners
        self._guard = guard

    def bind(
        self, open_table: OpenTable, admin: Admin, identity: ClusterIdentity, cluster: ClusterBackend | None
    ) -> None:
        """Without `cluster` there is Thrift1 alone."""
        meta = None if cluster is None else MetaTable(self._runtime, partial(MetaRows, cluster, identity.address))
        tables = TableBackend(open_table, None if self._guard is None else self._guard.data, meta)
        scanner_calls, table_calls = self._bind_thrift1(tables, admin, identity)
        if cluster is None:
            return
        names = ServerNames(cluster, identity.address)
        self._bind_admin(tables, cluster, names)
        self._context.measure(self._interface.admin_methods.values())
        options, pause = self._options, self._context.pause
        parts = (
            Thrift2ReadCalls(tables, options.answer_bytes, pause),
            Thrift2WriteCalls(
                tables,
                _families(tables),
                options.cell_bytes,
                options.answer_bytes,
                pause,
                partial(rows_of_a_part, self._runtime),
            ),
            Thrift2ScannerCalls(scanner_calls, options.answer_bytes, pause),
            Thrift2TableCalls(tables, admin, cluster, names, table_calls, self._runtime),
        )
        bind_thrift2(self._interface, parts, self._guard)
        self._context.measure(self._interface.thrift2_methods.values())

    def _bind_thrift1(
        self, tables: TableBackend, admin: Admin, identity: ClusterIdentity
    ) -> tuple[ScannerCalls, TableAdminCalls]:
        options, pause = self._options, self._context.pause
        parse = partial(parse_filter, pause=pause)
        scanner_calls = ScannerCalls(
            tables, tables.record, self._scanners, parse, options.answer_bytes, pause, self._context.budget
        )
        table_calls = TableAdminCalls(
            self._runtime,
            tables,
            admin,
            identity.cluster_id,
            identity.address,
            options.compaction_wait_seconds,
            self._guard,
        )
        parts = (
            ReadCalls(tables, options.answer_bytes, pause),
            WriteCalls(tables, _families(tables), options.cell_bytes, pause),
            scanner_calls,
            table_calls,
        )
        bind(self._interface, parts, self._guard)
        self._interface.methods[b"scannerGetList"].look_ahead = scanner_calls.look_ahead
        return scanner_calls, table_calls

    def _bind_admin(self, tables: TableBackend, cluster: ClusterBackend, names: ServerNames) -> None:
        options, pause = self._options, self._context.pause
        positions = AdminPositions(tables, None if self._guard is None else self._guard.position_key)
        parts = (
            AdminTableCalls(tables, cluster),
            AdminTabletCalls(tables, cluster, names),
            AdminClusterCalls(cluster, names),
            AdminCompactionCalls(self._runtime, tables, cluster, names),
            AdminChoreCalls(tables, cluster, names, self._context.slow),
            AdminCellCalls(tables, _families(tables), positions, options.answer_bytes, pause),
            AdminArrowCalls(self._runtime, positions, options.answer_bytes, pause),
            AdminAggregateCalls(self._runtime, positions, options, pause),
            AdminGrantCalls(self._guard),
            DeclaredAdminCalls(tables, cluster, names, pause),
        )
        bind_admin(self._interface, parts, self._guard)


def _families(tables: TableBackend) -> Callable[[bytes], list[bytes]]:
    """A function that gives the families of a table by its canonical name, to whoever may delete whole rows of it."""

    @switches
    def families(name: bytes) -> list[bytes]:
        found = list(tables.record(name).schema.families)
        tables.check_whole_rows(name, found)
        return found

    return families

"""One server, or one cluster, through all workloads, on two tables that are made for it and dropped afterwards."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from hbtable.hbase.errors import NAME_IN_USE
from hbtable.model.names import shown
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.repeated import repeated
from hbtable.shell.bench.clients import PIECES_A_CLIENT, BenchClients
from hbtable.shell.bench.workloads import (
    MEMORY_READS,
    MEMORY_WRITES,
    PAPER,
    RANDOM_READS,
    RANDOM_WRITES,
    SCANS,
    SEQUENTIAL_READS,
    SEQUENTIAL_WRITES,
    BenchPlan,
    key,
)
from hbtable.shell.connection import ShellConnection
from hbtable.shell.copying.hbtable_peer import HbtablePeer
from hbtable.shell.copying.peers import CopyPeer, PeerAddress, connect_peer
from hbtable.shell.errors import ArgumentError, ServerError, ShellError

ORDER: Final = (SEQUENTIAL_WRITES, RANDOM_WRITES, SEQUENTIAL_READS, RANDOM_READS, SCANS, MEMORY_READS)
"""Reads come behind the writes of what they read."""
_TABLETS_A_SERVER: Final = 4
_MEMORY_SHARE: Final = 10
"""The paper's random reads (mem) have a tenth of the other workloads' rows."""
_SPREAD_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The command's options. The numbers are at least 1, `value_bytes` at least a key's ten."""

    rows: int
    """For each tablet server."""
    value_bytes: int
    clients: int | None
    """None: as many as tablet servers, as in the paper."""
    workloads: Sequence[str]
    table: bytes


@dataclass(frozen=True, slots=True)
class BenchResult:
    """The rates of one server or cluster."""

    servers: int
    """Tablet servers that hold the table."""
    clients: int
    rates: dict[str, float]
    """Values a second, of all tablet servers together, by workload."""


def measure(
    address: str, options: BenchOptions, seconds: Callable[[], float], tell: Callable[[str], object]
) -> BenchResult:
    """ShellError, also where a table of the benchmark's name is there. `tell` is called with each workload's result."""
    server = ShellConnection(address)
    with closing(server), closing(connect_peer(PeerAddress("thrift", address), 600.0)) as peer:
        running = _running_servers(server, peer)
        rows, clients = options.rows * running, options.clients or running
        if rows < PIECES_A_CLIENT * clients:
            raise ArgumentError(f"{rows} rows are no {PIECES_A_CLIENT} pieces for each of {clients} clients: take more")
        memory_rows = max(rows // _MEMORY_SHARE, PIECES_A_CLIENT * clients)
        memory_table = options.table + b"_mem"
        plan = BenchPlan(address, options.table, memory_table, rows, memory_rows, options.value_bytes)
        with _tables(server, peer, plan, running), BenchClients(plan, clients, seconds) as started:
            holders = _spread(server, peer, plan.table, running)
            rates = {}
            for workload in _prepared(options.workloads, server, peer, plan, started):
                rates[workload] = started.run(workload)
                tell(f"{workload}: {rates[workload]:.0f} values a second")
    return BenchResult(holders, clients, {workload: rates[workload] for workload in PAPER if workload in rates})


def _prepared(
    asked: Sequence[str], server: ShellConnection, peer: CopyPeer, plan: BenchPlan, clients: BenchClients
) -> Iterator[str]:
    """The workloads that are asked for, in their order, each when what it reads is there, in SSTables."""
    reads = [workload for workload in ORDER if workload in asked and not workload.endswith("writes")]
    writes = [workload for workload in ORDER if workload in asked and workload.endswith("writes")]
    yield from writes
    if reads and SEQUENTIAL_WRITES not in writes:
        clients.run(SEQUENTIAL_WRITES)
    if MEMORY_READS in reads:
        clients.run(MEMORY_WRITES)
    if reads and isinstance(peer, HbtablePeer):  # HBase's Thrift1 has no such call
        for table in (plan.table, plan.memory_table):
            server.admin("adminFlush", table)
    yield from reads


# ------------------------------------------------------------------------------------------ tables


@contextmanager
def _tables(server: ShellConnection, peer: CopyPeer, plan: BenchPlan, servers: int) -> Iterator[None]:
    """Made for this, and dropped in the end, also where it is not known whether they were made. By Thrift1 alone a
    table has one tablet."""
    for name in sorted({plan.table, plan.memory_table} & set(peer.tables())):
        raise _there_already(name)
    made = []
    try:
        for name, rows in ((plan.table, plan.rows), (plan.memory_table, plan.memory_rows)):
            family = FamilySchema(b"f", max_versions=1, in_memory=name == plan.memory_table)
            tablets = _TABLETS_A_SERVER * servers if servers > 1 else 1
            splits = [key(rows * one // tablets) for one in range(1, tablets)]
            made.append(name)
            try:
                peer.create(TableSchema(name, {b"f": family}), splits)
            except ServerError as error:
                if not _says_exists(error):
                    raise
                made.remove(name)  # somebody made it since the look, as a benchmark beside this one does
                raise _there_already(name) from None
        yield
    finally:
        for name in made:
            if name in peer.tables():
                server.hbase("disableTable", name)
                server.hbase("deleteTable", name)


def _there_already(name: bytes) -> ArgumentError:
    return ArgumentError(
        f"the table {shown(name)} is there already, and the benchmark drops its tables when it ends: give another "
        "name with --table, or drop this one"
    )


def _says_exists(error: ServerError) -> bool:
    """Thrift1's AlreadyExists has no class, but always this text."""
    return error.java_class.endswith("TableExistsException") or str(error) == NAME_IN_USE


def _running_servers(server: ShellConnection, peer: CopyPeer) -> int:
    """HBase's Thrift1 tells of none before there is a table: of that, _spread says how many have it."""
    return len(server.admin("adminServers", [])) if isinstance(peer, HbtablePeer) else 1


def _spread(server: ShellConnection, peer: CopyPeer, table: bytes, running: int) -> int:
    """The number of tablet servers that hold the table, when it is on all that run, or after a time."""

    def holders() -> int:
        if isinstance(peer, HbtablePeer):
            return len({tablet.server for tablet in server.admin("adminTablets", table)})
        return len({(one.serverName, one.port) for one in server.hbase("getTableRegions", table)})

    def all_hold() -> int:
        if (found := holders()) < running:
            raise ShellError(f"{found} of {running} tablet servers hold the table")
        return found

    try:
        return repeated(_SPREAD_SECONDS, ShellError, all_hold)
    except ShellError:
        return holders()

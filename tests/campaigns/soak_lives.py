"""Patterns of `make soak` in which the whole database ends and begins again, or others connect and leave.

Short lives run on a simulated machine, as the other patterns do. What holds descriptors runs over real sockets of this
machine, and in its time.
"""

import contextlib
import struct
import time
from collections.abc import Callable
from typing import Any, Final

from gevent.socket import SHUT_WR, SO_LINGER, SOL_SOCKET, create_connection

from hbtable.errors import HbtableError
from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.security import GatewaySecurity
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.thrift_gateway import make_thrift_gateway
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network import sockets
from hbtable.runtime.network.tls import TlsOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from tests.campaigns.soak_worn import Worn, living_objects, open_descriptors

HOST: Final = "127.0.0.1"
FIFTHS: Final = 5
SETTLE_SECONDS: Final = 60.0
"""So long what was closed may take to go, on a busy machine."""
BETWEEN_SECONDS: Final = 100.0
"""Of simulated time, from one short life to the next: the trash keeps what it has for so long at most."""
GET_NAMES: Final = b"\x80\x01\x00\x01\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x01\x00"
LONG: Final = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60)


def _measured(worn: Worn, count: int, operation: Callable[[int], None], settled: Callable[[], None]) -> None:
    """Processor time and what stays, of `count` operations."""
    fifth = max(1, count // FIFTHS)
    objects = descriptors = 0
    for part in range(FIFTHS):
        begin = time.process_time()
        for number in range(part * fifth, (part + 1) * fifth):
            operation(number)
        worn.last_micros = (time.process_time() - begin) / fifth * 1e6
        if not part:
            settled()
            worn.first_micros, objects, descriptors = worn.last_micros, living_objects(), open_descriptors()
    settled()
    worn.objects, worn.descriptors = living_objects() - objects, open_descriptors() - descriptors


def short_lives(count: int, seed: int) -> Worn:
    """A program opens its folder, overwrites the same rows and ends, each third time without closing anything."""
    runtime = SimulatedRuntime(seed, SimulationOptions(limit_seconds=1e6))
    memory = MemoryFileSystem(runtime)
    worn = Worn("short lives")
    rows = [RowMutation(b"%03d" % row, [(PUT, b"f", b"q", SERVER_TIME, bytes(1000))]) for row in range(100)]

    def live(number: int) -> None:
        nonlocal memory
        runtime.sleep(BETWEEN_SECONDS)
        cluster = EmbeddedCluster(runtime, memory, LocalLockService(memory, runtime))
        cluster.start()
        if not number:
            cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
        cluster.client.table(b"t").mutate(rows)
        if number % 3 < 2:
            assert cluster.stop() == ""
            return
        memory = memory.restarted()  # what this process still does reaches no file
        with contextlib.suppress(HbtableError):
            cluster.stop(clean=False)

    def main() -> None:
        _measured(worn, count, live, lambda: None)
        kept = [file for file in memory.list_files("") if not file.path.startswith("trash/")]
        tables = [file for file in kept if file.path.startswith("sstables/")]
        worn.files, worn.sstable_bytes = len(kept), sum(file.length_bytes for file in tables)
        worn.log_bytes = sum(file.length_bytes for file in memory.list_files("logs"))

    runtime.run(main)
    worn.objects = (
        0  # a test's record of the log keeps the errors of killed lives; tests of hbtable.open() count objects
    )
    return worn


def _settling(runtime: GeventRuntime) -> Callable[[], None]:
    """Waits until as few descriptors are open as at its first call, and as many as at the call before."""
    fewest: list[int] = []

    def settle() -> None:
        end = time.monotonic() + SETTLE_SECONDS
        runtime.sleep(0.1)
        while fewest and open_descriptors() > fewest[0] and time.monotonic() < end:
            runtime.sleep(0.05)
        fewest.append(open_descriptors())

    return settle


class _Peer:
    """A tablet server of another process, as far as a caller sees."""

    def mutate(self, _tablet_id: int, _mutations: object) -> None: ...


def peers(count: int, seed: int) -> Worn:
    """Tablet servers start, are called, and stop in order; their caller lives on."""
    runtime = GeventRuntime()
    addresses: dict[str, str] = {}
    transport = RpcTransport(runtime, addresses.get, lambda: None, LONG)
    worn = Worn("peers")

    def live(number: int) -> None:
        name, roles, service = f"s{seed}-{number}", LocalTransport(), _Peer()
        roles.register_server(name, service, service)  # type: ignore[arg-type]
        server = RpcServer(runtime, roles, lambda handle: sockets.serve(HOST, 0, handle))
        addresses[name] = f"{HOST}:{server.start()}"
        transport.tablet_service(name).mutate(1, [RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")])])
        del addresses[name]
        server.close()

    try:
        _measured(worn, count, live, _settling(runtime))
    finally:
        transport.close()
        runtime.close()
    return worn


def connections(count: int, seed: int) -> Worn:
    """Clients of the Thrift port come and go: in order, with a reset, in the middle of a message, or half closed."""
    runtime = GeventRuntime()
    memory = MemoryFileSystem(runtime)
    cluster = EmbeddedCluster(runtime, memory, LocalLockService(memory, runtime))
    worn = Worn("connections")
    cluster.start()
    options, security = ThriftGatewayOptions(drain_seconds=60.0), GatewaySecurity(TlsOptions())
    where: Any = lambda _name: (b"host", 1)  # noqa: E731
    gateway = make_thrift_gateway(
        runtime,
        cluster.client,
        cluster.transport,
        cluster.session,
        cluster.registry,
        HOST,
        0,
        options,
        "",
        where,
        security,
    )
    gateway.start()

    def live(number: int) -> None:
        client = create_connection((HOST, gateway.port))
        way = (number + seed) % 4
        client.sendall(GET_NAMES[: 20 if way == 2 else None])
        if way != 2:
            assert client.recv(4096)
        if way == 1:
            client.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        if way == 3:
            client.shutdown(SHUT_WR)
            assert client.recv(4096) == b""
        client.close()

    try:
        _measured(worn, count, live, _settling(runtime))
    finally:
        gateway.drain()
        gateway.close()
        cluster.stop()
        runtime.close()
    return worn


LIVES: Final[list[tuple[str, Callable[[int, int], Worn], int]]] = [
    ("short lives", short_lives, 500),
    ("peers", peers, 5_000),
    ("connections", connections, 50_000),
]

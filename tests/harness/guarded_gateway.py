"""A whole gateway with permissions over a cluster of one, in memory and in virtual time; its clients say who they are,
and speak through Thrift's own client library."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.thrift import TClient

from hbtable.access.options import AuthOptions
from hbtable.access.user import User, act_as
from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.port_services import ClusterIdentity
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.launch.thrift_gateway import living_servers, masters
from hbtable.lockservice.interface import Session
from hbtable.lockservice.toggles import OperatorToggles
from hbtable.metrics.registry import Registry
from hbtable.runtime.network.tls import TlsOptions
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.thrift.message_input import Stream
from tests.harness import interfaces

SERVICES = {"thrift1": ("hbase", "Hbase"), "thrift2": ("hbase2", "THBaseService"), "admin": ("admin", "HbtableAdmin")}
SUPERUSERS = frozenset(("admin", "root", "@supers"))


def interface(service: str) -> Any:
    """The structs and the service of an interface file."""
    return interfaces.interface(SERVICES[service][0])


class _Listener:
    port = 9090
    capacity = 1000

    def stop_accepting(self) -> None: ...


class GuardedGateway:
    """start() and everything afterwards inside of `runtime.run`."""

    def __init__(self, seed: int = 1, options: EmbeddedOptions | None = None) -> None:
        self.runtime = SimulatedRuntime(seed)
        self._options = options
        self.serve: Callable[[Stream, tuple[str, int]], None]

    def start(self) -> None:
        runtime = self.runtime
        fs, lock_service = MemoryFileSystem(runtime), MemoryLockService(runtime)
        self.cluster = cluster = EmbeddedCluster(runtime, fs, lock_service, self._options)
        cluster.start()
        client, session = cluster.client, cluster.session
        self.guard = self.another_guard()
        self.gateway = ThriftGateway(
            runtime,
            self._listen,
            client.table,
            client.admin,
            Registry(),
            ClusterIdentity(lambda: "an-id", lambda owner: (b"host", 9090)),
            cluster=ClusterBackend(
                client.admin,
                lambda: living_servers(session),
                client.operations,
                lambda: masters(session),
                OperatorToggles(session),
            ),
            security=GatewaySecurity(TlsOptions(), AuthOptions(enabled=True)),
            guard=self.guard,
        )
        self.gateway.start()

    def another_guard(self, session: Session | None = None) -> Guard:
        """As a second gateway of the cluster has one. `session`: another one than the first's."""
        admin = self.cluster.client.admin
        return Guard(self.runtime, session or self.cluster.session, SUPERUSERS, admin.namespaces, admin.record)

    def stop(self) -> None:
        self.gateway.drain()
        self.gateway.close()
        self.cluster.stop()

    def _listen(self, serve: Callable[[Stream, tuple[str, int]], None]) -> _Listener:
        self.serve = serve
        return _Listener()

    def client(self, user: User | None, service: str) -> Any:
        """Thrift's own client of a service, whose calls are this user's."""
        protocol = TBinaryProtocol(_Wire(self, user))
        return TClient(getattr(interface(service), SERVICES[service][1]), protocol)

    @contextlib.contextmanager
    def of(self, user: User | None) -> Iterator[None]:
        """Connections made meanwhile are this user's."""
        context = self.gateway._context
        before, context.user = context.user, user
        try:
            yield
        finally:
            context.user = before
            act_as(None)


class _Wire:
    """A thriftpy2 transport: each message is a connection of its own."""

    def __init__(self, gateway: GuardedGateway, user: User | None) -> None:
        self._gateway = gateway
        self._user = user
        self._out = b""
        self._in = b""

    def write(self, data: bytes) -> None:
        self._out += data

    def flush(self) -> None:
        stream = _Stream(self._out)
        self._out = b""
        with self._gateway.of(self._user):
            connection = GatewayConnection(stream, "host:1", self._gateway.gateway._context)
        connection.serve()
        self._in = stream.sent

    def read(self, size: int) -> bytes:
        data, self._in = self._in[:size], self._in[size:]
        return data


class _Stream:
    """A client that sends one message and leaves."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self.sent = b""

    def recv(self, most: int) -> bytes:
        piece, self._message = self._message[:most], self._message[most:]
        return piece

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def settimeout(self, seconds: float | None) -> None: ...

    def close(self) -> None: ...

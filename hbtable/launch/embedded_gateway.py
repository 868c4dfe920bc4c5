"""The ways in to a database of hbtable.open(), a Thrift port and a Unix socket: other programs use the tables while
this one has them open."""

import socket
from collections.abc import Callable
from typing import final

from hbtable.errors import InvalidRequest
from hbtable.fs.data_folder import SHARED
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.security import NO_SECURITY
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.roles.startup_checks import check_ports
from hbtable.launch.thrift_gateway import make_thrift_gateway
from hbtable.master.bootstrap import cluster_id
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.network.sockets import Address, Listener, Socket, capacity_of, raise_descriptors, serve
from hbtable.runtime.network.unix_sockets import let_go, serve_unix
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

_DRAIN_SECONDS = 10.0
"""As long as close() waits for the program's own calls."""

Handle = Callable[[Socket, Address], None]


@final
class _WaysIn:
    """All listeners of a gateway, which takes them for one."""

    port = 0

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.capacity = capacity_of(raise_descriptors())
        self.open: list[Listener] = []

    def stop_accepting(self) -> None:
        for one in self.open:
            one.stop_accepting()


@final
class EmbeddedGateway:
    """serve() and share(), and before the cluster stops stop(), all in the hub."""

    def __init__(self, runtime: Runtime, cluster: EmbeddedCluster) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._starting = runtime.lock()
        self._host = ""
        self._port = 0
        self._shared = False
        self._gateway: ThriftGateway | None = None
        self._ways_in: _WaysIn
        self._lost_watch: Task | None = None

    @switches
    def serve(self, host: str, port: int) -> int:
        """The port that is listened on; `port` 0: any free one. Unavailable when it is in use. InvalidRequest when the
        database has one already."""
        if self._host:
            raise InvalidRequest(
                f"this database is served already, at {self._host}:{self._port}: close it to serve it elsewhere"
            )
        self._host, self._port = host, port
        try:
            check_ports(host, [port])
            gateway = self._started()
            listener = serve(host, port, self._ways_in.handle)
        except BaseException:
            self._host, self._port = "", 0
            raise
        self._port = listener.port
        self._ways_in.open.append(listener)
        gateway.say_where(host, listener.port)
        return listener.port

    @switches
    def share(self, bind: Callable[[], socket.socket]) -> None:
        """`bind`: makes the socket; it is called once."""
        if self._shared:
            return
        self._shared = True
        try:
            self._started()
            self._ways_in.open.append(serve_unix(bind(), self._ways_in.handle))
        except BaseException:
            self._shared = False
            raise

    @switches
    def _started(self) -> ThriftGateway:
        with self._starting:
            if self._gateway is None:
                gateway = self._make()
                gateway.start()
                self._gateway = gateway
                self._lost_watch = supervise(self._runtime, self._watch_lock, name="gateway lock watch")
            return self._gateway

    @switches
    def _make(self) -> ThriftGateway:
        cluster = self._cluster

        def listen(handle: Handle) -> _WaysIn:
            self._ways_in = _WaysIn(handle)
            return self._ways_in

        return make_thrift_gateway(
            self._runtime,
            cluster.client,
            cluster.transport,
            cluster.session,
            cluster.registry,
            "",
            0,
            ThriftGatewayOptions(drain_seconds=_DRAIN_SECONDS),
            cluster_id(self._runtime, cluster.session, cluster.log_kind),
            lambda _: (self._host.encode(), self._port),
            NO_SECURITY,
            listen=listen,
        )

    @switches
    def _watch_lock(self) -> None:
        """Another process may have the folder from then on: nobody is answered any more."""
        self._cluster.lost.wait()
        self._end()

    @switches
    def stop(self) -> None:
        """Requests under way are answered."""
        if self._lost_watch is not None:
            self._lost_watch.kill()
        self._end()

    @switches
    def _end(self) -> None:
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            gateway.drain()
            gateway.close()

    def ways_in(self) -> list[str]:
        """In words."""
        port = [f"{self._host}:{self._port}"] if self._host else []
        return [SHARED, *port] if self._shared else port

    def leave_to_parent(self) -> None:
        """In a forked child, where nobody answers: clients see the end of the parent, and wait for no other process."""
        if self._gateway is not None:
            let_go([descriptor for one in self._ways_in.open for descriptor in one.descriptors()])

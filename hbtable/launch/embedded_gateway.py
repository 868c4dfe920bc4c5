"""The Thrift port of a database of hbtable.open(): other programs use the tables while this one has them open."""

from typing import final

from hbtable.errors import InvalidRequest
from hbtable.hbase.security import NO_SECURITY
from hbtable.hbase.server import ThriftGateway, ThriftGatewayOptions
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.roles.startup_checks import check_ports
from hbtable.launch.thrift_gateway import make_thrift_gateway
from hbtable.master.bootstrap import cluster_id
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

_DRAIN_SECONDS = 10.0
"""As long as close() waits for the program's own calls."""


@final
class EmbeddedGateway:
    """start(), and before the cluster stops stop(), both in the hub."""

    def __init__(self, runtime: Runtime, cluster: EmbeddedCluster) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._place = ""
        self._port = 0
        self._gateway: ThriftGateway | None = None
        self._lost_watch: Task | None = None

    @switches
    def start(self, host: str, port: int) -> int:
        """The port that is listened on; `port` 0: any free one. Unavailable when it is in use. InvalidRequest when the
        database has one already."""
        if self._place:
            raise InvalidRequest(f"this database is served already, at {self._place}: close it to serve it elsewhere")
        self._place = f"{host}:{port}"
        try:
            check_ports(host, [port])
            self._gateway = gateway = self._make(host, port)
            gateway.start(host)
        except BaseException:
            self._place, self._gateway = "", None
            raise
        self._port = gateway.port
        self._place = f"{host}:{self._port}"
        self._lost_watch = supervise(self._runtime, self._watch_lock, name="gateway lock watch")
        return gateway.port

    @switches
    def _make(self, host: str, port: int) -> ThriftGateway:
        cluster = self._cluster
        identity = cluster_id(self._runtime, cluster.session, cluster.log_kind)

        return make_thrift_gateway(
            self._runtime,
            cluster.client,
            cluster.transport,
            cluster.session,
            cluster.registry,
            host,
            port,
            ThriftGatewayOptions(drain_seconds=_DRAIN_SECONDS),
            identity,
            lambda _: (host.encode(), self._port),
            NO_SECURITY,
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

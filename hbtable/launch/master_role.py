"""One master as a process (paper, section 4): a standby until it gets the master's lock, then the master until it ends.

Start: ports tried -> file system -> session -> internal service listens -> waits for the lock in a task of its own.
A master keeps nothing: it ends by letting go of its lock, and the next one reads everything again. When its lock is
lost the process ends at once.
"""

import logging
from typing import final

from hbtable import __version__
from hbtable.launch.cluster_configuration import ClusterOptions, ListenOptions, master_options
from hbtable.launch.cluster_parts import Parts
from hbtable.launch.configuration import Configuration
from hbtable.launch.lifeline import Lifeline
from hbtable.launch.pages import Pages
from hbtable.launch.reaching import check_ports
from hbtable.lockservice.zookeeper import ZooKeeperSession
from hbtable.master.collector import CollectorOptions
from hbtable.master.master import Master
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import ThriftServer
from hbtable.runtime.http import HttpListener, serve_http
from hbtable.runtime.hub_lag import HubLag
from hbtable.runtime.interface import Runtime

log = logging.getLogger(__name__)


@final
class MasterProcess:
    """start() once, stop() once."""

    session: ZooKeeperSession
    master: Master

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, lifeline: Lifeline
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._cluster = configuration.options("cluster", ClusterOptions)
        self._listen = listen
        self._lifeline = lifeline
        self.registry = Registry()
        self._hub_lag = HubLag(runtime, self.registry)
        self._draining = False
        self._rpc: ThriftServer
        self._rpc_port = 0
        self._pages: HttpListener | None = None

    def start(self) -> None:
        """A candidate on return. Raises a sentence: port in use, ZooKeeper or NameNode not reachable, folder not
        writable, a kind of log that it cannot fence."""
        listen = self._listen
        announced = listen.announced()
        check_ports(listen.host, [listen.master_port, listen.http_port])
        parts = Parts(self._runtime, self._configuration)
        parts.reach("master")
        self.session = session = parts.session
        try:
            self._lifeline.watch(session)
            local = LocalTransport()
            self.master = Master(
                self._runtime,
                session,
                parts.fs,
                parts.transport(local),
                self._lifeline.lost,
                master_options(self._configuration, session.timeout_seconds),
                self._configuration.options("garbage", CollectorOptions),
            )
            local.register_master(self.master.tables)
            self._rpc, self._rpc_port = parts.serve_roles(local, listen.host, listen.master_port)
            self._open_pages()
            self.master.start(f"{announced}:{self._rpc_port}")
        except BaseException:
            self._lifeline.release()
            session.close()
            raise

    def _open_pages(self) -> None:
        registry = self.registry
        registry.gauge("hbtable_build_info", "1; the label says which version.", lambda: 1.0, version=__version__)
        registry.gauge("hbtable_is_master", "1 while this is the master, 0 on a standby.", self._is_master)
        self._hub_lag.start()
        if self._listen.http_port:
            pages = Pages(registry, self.not_ready, self._hub_lag.lag_seconds, list)
            self._pages = serve_http(self._listen.host, self._listen.http_port, pages)

    def _is_master(self) -> float:
        return float(self.master.acting)

    def not_ready(self) -> list[str]:
        """A standby is ready: to take over is what it is there for."""
        reasons = ["draining"] if self._draining else []
        if self.session.over():
            reasons.append("the lock was lost")
        elif not self.session.valid():
            reasons.append("ZooKeeper cannot be reached")
        return reasons

    def stop(self) -> None:
        """Ends after the step it is in; another master takes over at once."""
        self._draining = True
        self._lifeline.release()
        self.master.stop()
        self._rpc.close()
        self._hub_lag.stop()
        self.session.close()
        if self._pages is not None:
            self._pages.close()

    def banner(self) -> str:
        """What is printed when it is a candidate."""
        host = self._listen.announced()
        lines = [
            f"hbtable {__version__} master: other roles on {host}:{self._rpc_port}",
            f"files {self._cluster.files}, ZooKeeper {self._cluster.zookeeper}{self._cluster.root}",
        ]
        if self._pages is not None:
            lines.append(f"pages http://{host}:{self._pages.port}/metrics  /livez  /readyz")
        return "\n".join(lines)

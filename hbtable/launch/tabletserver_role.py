"""One tablet server as a process (paper, section 5.2): everything composed, started in order, drained in reverse.

Start: ports tried -> file system -> session -> log -> front door and internal service listen -> server file (the master
gives tablets from then on) -> HTTP port.
Stop: not ready -> tablets flushed and unloaded, while the front door forwards what moved away -> front door drained ->
scanners saved -> internal service closed -> log, server file, session. A second signal stops at once; the log makes
that safe. A lost lock ends the process in the middle of whatever it does.
"""

import logging
from typing import final

from hbtable import __version__
from hbtable.client.client import Client
from hbtable.errors import HbtableError
from hbtable.hbase.server import FrontDoor, FrontDoorOptions
from hbtable.launch.cluster_configuration import ClusterOptions, ListenOptions, tabletserver_options
from hbtable.launch.cluster_parts import Parts
from hbtable.launch.configuration import Configuration
from hbtable.launch.front_door import make_front_door, restore_scanners, save_scanners, scanners_file
from hbtable.launch.lifeline import Lifeline
from hbtable.launch.pages import Pages
from hbtable.launch.reaching import check_ports
from hbtable.lockservice.interface import Session
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import ThriftServer
from hbtable.runtime.http import HttpListener, serve_http
from hbtable.runtime.hub_lag import HubLag
from hbtable.runtime.interface import Runtime
from hbtable.tabletserver.role import TabletServerRole

log = logging.getLogger(__name__)


@final
class TabletServerProcess:
    """start() once, stop() once."""

    session: Session
    role: TabletServerRole
    door: FrontDoor

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
        self._scanners = ""
        self._parts: Parts
        self._pages: HttpListener | None = None

    def start(self) -> None:
        """Serving on return, as far as the master has given it tablets. Raises a sentence: port in use, ZooKeeper or
        NameNode not reachable, folder not writable, another kind of log."""
        listen = self._listen
        announced = listen.announced()
        check_ports(listen.host, [listen.thrift_port, listen.tabletserver_port, listen.http_port])
        self._parts = parts = Parts(self._runtime, self._configuration)
        parts.reach("tabletserver")
        self.session = session = parts.session
        try:
            self._lifeline.watch(session)
            self._serve(announced)
        except BaseException:
            self._lifeline.release()
            session.close()
            raise

    def _serve(self, announced: str) -> None:
        runtime, parts, session = self._runtime, self._parts, self.session
        local = LocalTransport()
        transport = parts.transport(local)
        locator = Locator(session, transport, runtime)
        catalog = Catalog(session, locator, parts.fs)
        self.role = role = TabletServerRole(
            runtime,
            session,
            parts.fs,
            catalog,
            self.registry,
            self._lifeline.lost,
            tabletserver_options(self._configuration),
        )
        local.register_server(role.incarnation, role.service, role.admin)
        self._rpc, self._rpc_port = parts.serve_roles(local, self._listen.host, self._listen.tabletserver_port)
        client = Client(runtime, session, transport, locator=locator)
        self.door = make_front_door(
            runtime,
            client,
            transport,
            session,
            self.registry,
            self._listen.host,
            self._listen.thrift_port,
            self._configuration.options("thrift", FrontDoorOptions),
            parts.cluster_id,
            lambda owner: parts.addresses.door(owner) or (announced.encode(), self.door.port),
        )
        self._open_ports(announced)

    def _open_ports(self, announced: str) -> None:
        self.door.start(announced)
        # After the port is known: a scanner goes on only where its client looks for it.
        self._scanners = scanners_file(f"{announced}-{self.door.port}")
        restore_scanners(self.door, self._parts.fs, self._scanners)
        self.role.start(f"{announced}:{self._rpc_port}", self._parts.fs.log_kind, door=f"{announced}:{self.door.port}")
        self.registry.gauge("hbtable_build_info", "1; the label says which version.", lambda: 1.0, version=__version__)
        self._hub_lag.start()
        if self._listen.http_port:
            pages = Pages(self.registry, self.not_ready, self._hub_lag.lag_seconds, self.door.slow.newest_first)
            self._pages = serve_http(self._listen.host, self._listen.http_port, pages)

    def not_ready(self) -> list[str]:
        """Reasons not to send clients here."""
        reasons = ["draining"] if self._draining else []
        if self.session.over():
            reasons.append("the lock was lost")
        elif not self.session.valid():
            reasons.append("ZooKeeper cannot be reached")
        return reasons

    def stop(self) -> None:
        """Drains: the tablets move to other servers, every request under way is answered."""
        self._draining = True
        try:
            self.role.drain()
        except HbtableError as error:
            log.warning("not every tablet could be flushed: %s", error)
        self.door.drain()
        save_scanners(self.door, self._parts.fs, self._scanners)
        self.door.close()
        self._hub_lag.stop()
        self._rpc.close()
        # From here on the session ends in order; the server file goes before the lock, so nobody buries this server.
        self._lifeline.release()
        self.role.stop(clean=False)
        self.session.close()
        if self._pages is not None:
            self._pages.close()  # last: /readyz says draining for as long as it does

    def banner(self) -> str:
        """What is printed when it serves."""
        host = self._listen.announced()
        lines = [
            f"hbtable {__version__} tablet server {self.role.incarnation}: HBase Thrift1 on {host}:{self.door.port}, "
            f"other roles on {host}:{self._rpc_port}",
            f"files {self._cluster.files}, ZooKeeper {self._cluster.zookeeper}{self._cluster.root}",
        ]
        if self._pages is not None:
            lines.append(f"pages http://{host}:{self._pages.port}/metrics  /livez  /readyz  /slow")
        return "\n".join(lines)

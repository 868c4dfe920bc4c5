"""One tablet server as a process (paper, section 5.2): everything composed, started in order, drained in reverse.

Start: ports tried -> file system -> session -> log -> front door and internal service listen -> server file (the master
gives tablets from then on) -> HTTP port.
Stop: not ready -> tablets flushed and unloaded, while the front door forwards what moved away -> front door drained ->
scanners saved -> internal service closed -> log, server file, session. A second signal stops at once; the log makes
that safe. A lost lock ends the process in the middle of whatever it does.
"""

import logging
from typing import final

from hbtable.client.client import Client
from hbtable.errors import HbtableError
from hbtable.hbase.server import FrontDoor, FrontDoorOptions
from hbtable.launch.config.cluster_configuration import ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.sections import tabletserver_options
from hbtable.launch.front_door import make_front_door, restore_scanners, save_scanners, scanners_file
from hbtable.launch.http.status import Status
from hbtable.launch.roles.cluster_parts import Parts
from hbtable.launch.roles.lifeline import Lifeline
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import ThriftServer
from hbtable.runtime.interface import Runtime
from hbtable.tabletserver.role import TabletServerRole

log = logging.getLogger(__name__)


@final
class TabletServerProcess:
    """start() once, stop() once."""

    role: TabletServerRole
    door: FrontDoor

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, lifeline: Lifeline
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._listen = listen
        self._lifeline = lifeline
        self._parts = Parts(runtime, configuration, listen, lifeline)
        self._rpc: ThriftServer
        self._address = ""
        self._scanners = ""
        self._status: Status

    def start(self) -> None:
        """Serving on return, as far as the master has given it tablets. Raises a sentence, as Parts.reach does."""
        listen = self._listen
        self._parts.reach("tabletserver", [listen.thrift_port, listen.tabletserver_port, listen.http_port])
        try:
            self._serve()
        except BaseException:
            self._parts.leave()
            raise

    def _serve(self) -> None:
        runtime, parts, session = self._runtime, self._parts, self._parts.session
        registry, local = Registry(), LocalTransport()
        transport = parts.transport(local)
        locator = Locator(session, transport, runtime)
        catalog = Catalog(session, locator, parts.fs)
        options = tabletserver_options(self._configuration)
        self.role = role = TabletServerRole(runtime, session, parts.fs, catalog, registry, self._lifeline.lost, options)
        local.register_server(role.incarnation, role.service, role.admin)
        self._rpc, self._address = parts.serve_roles(local, self._listen.tabletserver_port)
        announced = self._listen.announced()
        self.door = make_front_door(
            runtime,
            Client(runtime, session, transport, locator=locator),
            transport,
            session,
            registry,
            self._listen.host,
            self._listen.thrift_port,
            self._configuration.options("thrift", FrontDoorOptions),
            parts.cluster_id,
            lambda owner: parts.addresses.door(owner) or (announced.encode(), self.door.port),
        )
        self._status = Status(runtime, registry, session, clock=self.role.shared.wall.refused_jump)
        self._open_ports(announced)

    def _open_ports(self, announced: str) -> None:
        self.door.start(announced)
        # After the port is known: a scanner goes on only where its client looks for it.
        self._scanners = scanners_file(f"{announced}-{self.door.port}")
        restore_scanners(self.door, self._parts.fs, self._scanners)
        self.role.start(self._address, f"{announced}:{self.door.port}")
        slow, damage = self.door.slow.newest_first, self.role.damage
        self._status.open(self._listen.host, self._listen.http_port, slow, damage)

    def stop(self) -> None:
        """Drains: the tablets move to other servers, every request under way is answered."""
        self._status.drain()
        try:
            self.role.drain()
        except HbtableError as error:
            log.warning("not every tablet could be flushed: %s", error)
        self.door.drain()
        save_scanners(self.door, self._parts.fs, self._scanners)
        self.door.close()
        self._rpc.close()
        # From here on the session ends in order; the server file goes before the lock, so nobody buries this server.
        self._lifeline.release()
        self.role.stop(clean=False)
        self._parts.leave()
        self._status.close()

    def banner(self) -> str:
        """What is printed when it serves."""
        host = self._listen.announced()
        who = f"tablet server {self.role.incarnation}: HBase Thrift1 on {host}:{self.door.port}"
        return self._parts.banner(f"{who}, other roles on {self._address}", self._status.pages(host))

"""One of the servers behind `hbtable start --servers N`: a tablet server and a Thrift gateway in a process of its own.

It has no port: the launcher hands over its connections. Start: lock service session -> tablet server -> gateway ->
ready. Stop: tablets to others, or flushed -> gateway drained -> session closed. It ends at once when the launcher is
gone, by the kernel's hand, and by the watchdog's where the session breaks.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Final, NoReturn, final

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.client.client import Client
from hbtable.errors import HbtableError, LockLost, Unavailable
from hbtable.fs.folder_identity import InheritedFolder
from hbtable.fs.local import LocalFileSystem
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.relays.relay import Relay
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.access_warnings import readiness_warnings
from hbtable.launch.composed_server import compose_server, drain
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.memory import MemoryOptions, of_machine
from hbtable.launch.config.sections import read_configuration, servers_options
from hbtable.launch.http.page_access import page_access
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.memory_watch import MemoryWatch
from hbtable.launch.process import exit_now, prepare
from hbtable.launch.roles.addresses import Addresses
from hbtable.launch.roles.watchdog import LOST, Watchdog
from hbtable.launch.servers.handed_connections import HandedConnections, address_of
from hbtable.launch.servers.inheritance import Inheritance
from hbtable.launch.thrift_gateway import ask_users, make_thrift_gateway, reload_security
from hbtable.lockservice import features
from hbtable.lockservice.interface import Session
from hbtable.lockservice.over_sockets.session import SocketLockService
from hbtable.master.bootstrap import cluster_id
from hbtable.metrics.registry import Registry
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.runtime.joining import Joiner
from hbtable.runtime.network.handed_sockets import HandedListener, Handover, connected
from hbtable.runtime.network.sockets import Address, Socket
from hbtable.runtime.network.tls import TlsOptions
from hbtable.runtime.processes.parent_death import die_with
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerRole

log = logging.getLogger("hbtable.launch.servers.server_process")  # it is run as __main__

_BEAT_SECONDS: Final = 0.5
_CONNECT_SECONDS: Final = 2.0


@final
class ServerProcess:
    """A tablet server, its gateway and its session, in this process. start() once, stop() once."""

    role: TabletServerRole
    gateway: ThriftGateway
    session: Session

    def __init__(
        self, runtime: Runtime, configuration: Configuration, inheritance: Inheritance, watchdog: Watchdog
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._inheritance = inheritance
        self._watchdog = watchdog
        self._tls = configuration.options("tls", TlsOptions)
        self.security = GatewaySecurity(self._tls, configuration.options("auth", AuthOptions))
        self._connections = HandedConnections(runtime, Handover(inheritance.handover_fd))
        self._registry = Registry()
        self._addresses: Addresses
        self._rpc: RpcServer
        self._status: ProcessStatus
        self._memory: MemoryWatch

    @switches
    def start(self) -> None:
        """Serving on return, as far as the master has given it tablets."""
        gets, runtime = self._inheritance, self._runtime
        service = SocketLockService(runtime, lambda: connected(gets.session_fd))
        self.session = session = service.open_session(f"server-{gets.serial}")
        self._watchdog.watch(session)
        features.check(session)
        fs = LocalFileSystem(gets.folder, runtime)
        fs.check_held = InheritedFolder(gets.folder, gets.lock_fd, gets.folder_fd).check_held
        local = LocalTransport()
        self._addresses = addresses = Addresses(session)
        transport = RpcTransport(
            runtime, addresses.server, addresses.master, RpcOptions(), local, connect=self._connections.connect
        )
        self._rpc = RpcServer(runtime, local, self._listen_to_roles)
        self._rpc.start()
        self._connections.start()
        options, lost = servers_options(self._configuration), self._watchdog.lost
        self.role, client, guard = compose_server(
            runtime, session, fs, transport, local, self._registry, lost, options, self.security
        )
        self._open_gateway(client, transport, fs, guard)

    def _listen_to_roles(self, handle: Callable[[Socket, Address], None]) -> HandedListener:
        self._connections.roles = HandedListener(self._runtime, 0, handle)
        return self._connections.roles

    def _listen_to_clients(self, handle: Callable[[Socket, Address], None]) -> HandedListener:
        self._connections.clients = HandedListener(self._runtime, self._inheritance.port, handle)
        return self._connections.clients

    @switches
    def _connect_relayed(self, incarnation: str) -> Socket:
        address = self._addresses.server(incarnation)
        if address is None:
            raise Unavailable(f"tablet server {incarnation} is gone")
        return self._connections.connect_relayed(address, _CONNECT_SECONDS)

    @switches
    def _open_gateway(self, client: Client, transport: RpcTransport, fs: LocalFileSystem, guard: Guard | None) -> None:
        runtime, gets = self._runtime, self._inheritance
        ask_users(runtime, self.security, AccountFile(gets.folder))
        options = self._configuration.options("thrift", ThriftGatewayOptions)
        self.gateway = gateway = make_thrift_gateway(
            runtime,
            client,
            transport,
            self.session,
            self._registry,
            gets.host,
            gets.port,
            options,
            cluster_id(runtime, self.session, fs.log_kind),
            lambda owner: (gets.host.encode(), gets.port),
            self.security,
            guard,
            self._listen_to_clients,
        )
        role = self.role

        def ping(incarnation: str) -> None:
            transport.tablet_admin(incarnation).ping()

        pause, join = partial(runtime.sleep, 0.0), Joiner(runtime)
        gateway.relay_by(
            Relay(role.incarnation, client.table, self._connect_relayed, ping, self._registry, pause, join)
        )
        gateway.start(gets.host)
        self._status = ProcessStatus(
            runtime,
            self._registry,
            self.session,
            clock=role.shared.wall.refused_jump,
            broken=role.broken,
            busy_poll_seconds=options.busy_poll_seconds,
        )
        limit_bytes = self._configuration.options("memory", MemoryOptions).limit(of_machine())
        self._memory = MemoryWatch(runtime, self._registry, limit_bytes, [gateway.budget, self._rpc.budget], role.cache)
        self._memory.start()
        access = page_access(self.security, gateway.administers, gateway.describes)
        warnings = readiness_warnings(self.security.auth, gets.folder)
        slow = gateway.slow.newest_first
        self._status.open(gets.host, gets.http_port, slow, role.damage, access=access, warnings=warnings)
        role.start(address_of(gets.serial), f"{gets.host}:{gets.port}")
        self._connections.say_ready()

    @switches
    def stop(self) -> None:
        """Drains: its tablets are others', or flushed; every request under way is answered."""
        self._status.drain()
        drain(self.role, self.gateway)
        self.gateway.close()
        self._rpc.close()
        self._memory.stop()
        self.role.stop(clean=False)
        self._watchdog.release()
        self.session.close()
        self._status.close()


def _beat(descriptor: int) -> None:
    """Tells the launcher that this process is not stopped. In a thread: a hub that computes is no reason to be killed,
    and one that hangs the watchdog ends."""
    pause = threading.Event()
    while True:
        try:
            os.write(descriptor, b".")
        except OSError:
            return  # the launcher is gone, and this process at once, too
        pause.wait(_BEAT_SECONDS)


@switches
def _run(inheritance: Inheritance) -> int:
    prepare()
    configuration = read_configuration(inheritance.config or None, os.environ, inheritance.defines)
    runtime = GeventRuntime()
    watchdog = Watchdog(runtime)
    server = ServerProcess(runtime, configuration, inheritance, watchdog)
    watchdog.handle_signals(partial(reload_security, server.security) if server.security.has_files else None)
    threading.Thread(target=_beat, args=(inheritance.beat_fd,), name="hbtable beat", daemon=True).start()
    try:
        server.start()
        watchdog.wait()
        log.info("draining")
        server.stop()
    except LockLost as error:
        log.error("%s", error)
        return LOST
    return 0


@switches
def main() -> NoReturn:
    inheritance = Inheritance.read(os.environ)
    die_with(inheritance.parent)
    try:
        code = _run(inheritance)
    except HbtableError as error:
        print(f"hbtable: a server process: {error}", file=sys.stderr)  # noqa: T201 -- what its starter needs
        code = 1
    exit_now(code)


if __name__ == "__main__":
    main()

"""One tablet server as a process (paper, section 5.2): everything composed, started in order, drained in reverse.

Start: ports tried -> file system -> session -> log -> gateway and internal service listen -> server file (the master
gives tablets from then on) -> HTTP port.
Stop: not ready -> tablets flushed and unloaded, while the gateway forwards what moved away -> gateway drained ->
scanners saved -> internal service closed -> log, server file, session. A second signal stops at once; the log makes
that safe. A lost lock ends the process in the middle of whatever it does.
"""

from collections.abc import Callable
from functools import partial
from typing import final

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountNode
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import ThriftGateway, ThriftGatewayOptions
from hbtable.launch.access_warnings import warn_of_access
from hbtable.launch.composed_server import compose_server, drain
from hbtable.launch.config.cluster_configuration import ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.sections import tabletserver_options
from hbtable.launch.http.page_access import page_access
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.launch.thrift_gateway import (
    ask_users,
    make_thrift_gateway,
    reload_security,
    restore_scanners,
    save_scanners,
    scanners_file,
)
from hbtable.metrics.registry import Registry
from hbtable.reachability.giving_up import GivingUp
from hbtable.reachability.observing import Observer
from hbtable.reachability.options import ReachabilityOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.tls import TlsOptions
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerRole


@final
class TabletServerProcess:
    """A tablet server, its gateway, its session and its ports, in this process. start() once, stop() once."""

    role: TabletServerRole
    gateway: ThriftGateway

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, watchdog: Watchdog
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._listen = listen
        self._watchdog = watchdog
        self._security = GatewaySecurity(
            configuration.options("tls", TlsOptions), configuration.options("auth", AuthOptions)
        )
        self._environment = RoleEnvironment(runtime, configuration, listen, watchdog)
        self._rpc: RpcServer
        self._address = ""
        self._scanners = ""
        self._status: ProcessStatus

    @property
    def reload(self) -> Callable[[], None] | None:
        """The effect of SIGHUP; None: it stops the process."""
        return partial(reload_security, self._security) if self._security.has_files else None

    @switches
    def start(self) -> None:
        """Serving on return, as far as the master has given it tablets. Raises what RoleEnvironment.begin raises."""
        listen = self._listen
        ports = [listen.thrift_port, listen.tabletserver_port, listen.http_port]
        self._environment.begin("tabletserver", ports, self._serve)

    @switches
    def _serve(self) -> None:
        runtime, environment, session = self._runtime, self._environment, self._environment.session
        registry, local = Registry(), LocalTransport()
        transport = environment.transport(local)
        options, lost = tabletserver_options(self._configuration), self._watchdog.lost
        self.role, client, guard = compose_server(
            runtime, session, environment.fs, transport, local, registry, lost, options, self._security
        )
        role = self.role
        self._rpc, self._address = environment.serve_roles(local, self._listen.tabletserver_port)
        announced = self._listen.announced()
        users = AccountNode(session, runtime.clock_seconds)
        warn_of_access(self._configuration.options("tls", TlsOptions), self._security.auth, users)
        ask_users(runtime, self._security, users)
        self.gateway = make_thrift_gateway(
            runtime,
            client,
            transport,
            session,
            registry,
            self._listen.host,
            self._listen.thrift_port,
            self._configuration.options("thrift", ThriftGatewayOptions),
            environment.cluster_id,
            lambda owner: environment.addresses.gateway(owner) or (announced.encode(), self.gateway.port),
            self._security,
            guard,
        )
        reachability = self._configuration.options("reachability", ReachabilityOptions)
        self._observer = Observer(runtime, session, transport, role.incarnation, reachability, registry)
        self._giving_up = GivingUp(
            runtime,
            session,
            role.incarnation,
            reachability,
            registry,
            role.serves_tablets,
            self._give_up,
            role.shared.wall.millis,
        )
        self._status = ProcessStatus(
            runtime, registry, session, clock=role.shared.wall.refused_jump, unreachable=self._unreachable
        )
        self._memory = environment.watch_memory(registry, [self.gateway.budget, self._rpc.budget], role.cache)
        self._open_ports(announced)

    @switches
    def _open_ports(self, announced: str) -> None:
        self.gateway.start(announced)
        # After the port is known: a scanner goes on only where its client looks for it.
        self._scanners = scanners_file(f"{announced}-{self.gateway.port}")
        restore_scanners(self.gateway, self._environment.fs, self._scanners)
        self.role.start(self._address, f"{announced}:{self.gateway.port}")
        slow, damage = self.gateway.slow.newest_first, self.role.damage
        access = page_access(self._security, self.gateway.administers)
        self._status.open(self._listen.host, self._listen.http_port, slow, damage, access)
        self._observer.start()
        self._giving_up.start()

    def _unreachable(self) -> list[str]:
        return [*self._giving_up.reasons(), *self._observer.reasons()]

    def _give_up(self, why: str) -> None:
        self.role.end_serving()
        self._watchdog.lost(f"this tablet server gives its tablets up: {why}")

    @switches
    def stop(self) -> None:
        """Drains: the tablets move to other servers, every request under way is answered."""
        self._status.drain()
        drain(self.role, self.gateway)
        save_scanners(self.gateway, self._environment.fs, self._scanners)
        self.gateway.close()
        self._rpc.close()
        self._memory.stop()
        # The server file goes before the lock, so nobody expires this server. The watchdog watches until the end of the
        # session: each step may hang when storage and lock service are away.
        self._giving_up.stop()
        self._observer.stop()
        self.role.stop(clean=False)
        self._environment.leave()
        self._status.close()

    def banner(self) -> str:
        """The line that is printed when it serves."""
        host = self._listen.announced()
        who = f"tablet server {self.role.incarnation}: HBase Thrift1 on {host}:{self.gateway.port}"
        who += f", other roles on {self._address}"
        return self._environment.banner(who, self._status.pages(host), self.role.cache.capacity_bytes)

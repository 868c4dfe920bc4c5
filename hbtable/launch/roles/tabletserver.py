"""One tablet server as a process (paper, section 5.2): everything composed, started in order, drained in reverse.

Start: ports tried -> file system -> session -> log -> gateway and internal service listen -> server file (the master
gives tablets from then on) -> HTTP port.
Stop: not ready -> tablets flushed and unloaded, while the gateway forwards what moved away -> gateway drained ->
scanners saved -> internal service closed -> log, server file, session. A second signal stops at once; the log makes
that safe. A lost lock ends the process in the middle of whatever it does.
"""

from collections.abc import Callable
from typing import final

from hbtable.hbase.relays.role_relay import RoleRelay
from hbtable.launch.composed_server import compose_server, drain
from hbtable.launch.config.cluster_configuration import ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.config.sections import tabletserver_options
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.roles.role_gateway import RoleGateway
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.metrics.registry import Registry
from hbtable.reachability.giving_up import GivingUp
from hbtable.reachability.observing import Observer
from hbtable.reachability.options import ReachabilityOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerRole


@final
class TabletServerProcess:
    """A tablet server, its gateway, its session and its ports, in this process. start() once, stop() once."""

    role: TabletServerRole

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, watchdog: Watchdog
    ) -> None:
        self._runtime = runtime
        self._configuration = configuration
        self._listen = listen
        self._watchdog = watchdog
        self._environment = RoleEnvironment(runtime, configuration, listen, watchdog)
        self._gateway = RoleGateway(runtime, configuration, listen, self._environment)
        self._rpc: RpcServer
        self._address = ""
        self._status: ProcessStatus

    @property
    def reload(self) -> Callable[[], None] | None:
        """The effect of SIGHUP; None: it stops the process."""
        return self._gateway.reload

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
            runtime, session, environment.fs, transport, local, registry, lost, options, self._gateway.security
        )
        role = self.role
        self._rpc, self._address = environment.serve_roles(local, self._listen.tabletserver_port)
        self._gateway.compose(transport, registry, client, guard)
        gateway = self._gateway.server
        gateway.relay_by_roles(RoleRelay(role.incarnation, client.table, transport.relays, registry))
        local.register_relays(role.incarnation, gateway.relayed_calls(local.tablet_service(role.incarnation)))
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
            runtime,
            registry,
            session,
            clock=role.shared.wall.refused_jump,
            unreachable=self._unreachable,
            busy_poll_seconds=self._gateway.options.busy_poll_seconds,
        )
        budgets = [self._gateway.server.budget, self._rpc.budget]
        self._memory = environment.watch_memory(registry, budgets, role.cache)
        self._open_ports()

    @switches
    def _open_ports(self) -> None:
        gateway = self._gateway
        gateway.open()
        self.role.start(self._address, gateway.address)
        slow, damage = gateway.server.slow.newest_first, self.role.damage
        access, warnings = gateway.page_access(), gateway.warnings
        self._status.open(self._listen.host, self._listen.http_port, slow, damage, access=access, warnings=warnings)
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
        drain(self.role, self._gateway.server)
        self._gateway.save_scanners()
        self._gateway.close()
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
        who = f"tablet server {self.role.incarnation}: HBase Thrift1 on {self._gateway.address}"
        who += f", other roles on {self._address}"
        pages = self._status.pages(self._listen.announced())
        return self._environment.banner(who, pages, self.role.cache.capacity_bytes)

"""`hbtable thrift`: a gateway for HBase's clients that serves no tablets, one of any number behind a balancer.

It is the gateway that tablet servers have, in a process of its own: clients that come and go, TLS and logins cost the
servers nothing then. It keeps nothing but open scanners, which go on at the same address after an orderly restart.

Stop: not ready -> whoever comes is served until balancers have noticed -> no new clients, those connected go by
themselves -> idle ones are closed, requests under way answered -> scanners saved -> session. A second signal stops at
once.
"""

from collections.abc import Callable
from typing import final

from hbtable.hbase.relays.role_relay import RoleRelay
from hbtable.launch.composed_server import compose_client
from hbtable.launch.config.cluster_configuration import ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.http.status import ProcessStatus
from hbtable.launch.roles.leaving import LeavingOptions
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.roles.role_gateway import RoleGateway
from hbtable.launch.roles.watchdog import Watchdog
from hbtable.metadata.locator import Locator
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@final
class ThriftGatewayProcess:
    """A gateway, its session and its ports, in this process. start() once, stop() once."""

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, watchdog: Watchdog
    ) -> None:
        self._runtime = runtime
        self._listen = listen
        self._leaving = configuration.options("gateway", LeavingOptions)
        self._environment = RoleEnvironment(runtime, configuration, listen, watchdog)
        self._gateway = RoleGateway(runtime, configuration, listen, self._environment)
        self._status: ProcessStatus

    @property
    def reload(self) -> Callable[[], None] | None:
        """The effect of SIGHUP; None: it stops the process."""
        return self._gateway.reload

    @switches
    def start(self) -> None:
        """Serving on return. Raises what RoleEnvironment.begin raises."""
        self._environment.begin("thrift", [self._listen.thrift_port, self._listen.http_port], self._serve)

    @switches
    def _serve(self) -> None:
        runtime, environment, session = self._runtime, self._environment, self._environment.session
        registry = Registry()
        transport = environment.transport(LocalTransport())
        gateway = self._gateway
        client, guard = compose_client(
            runtime, session, transport, Locator(session, transport, runtime), gateway.security
        )
        gateway.compose(transport, registry, client, guard)
        gateway.server.relay_by_roles(RoleRelay("", client.table, transport.relays, registry))
        busy_poll_seconds = gateway.options.busy_poll_seconds
        self._status = ProcessStatus(runtime, registry, session, busy_poll_seconds=busy_poll_seconds)
        self._memory = environment.watch_memory(registry, [gateway.server.budget])
        gateway.open()
        slow, access, warnings = gateway.server.slow.newest_first, gateway.page_access(), gateway.warnings
        self._status.open(self._listen.host, self._listen.http_port, slow, access=access, warnings=warnings)

    @switches
    def stop(self) -> None:
        """Every request is answered, and clients that come and go within the times of [gateway] see no error."""
        self._status.drain()
        self._gateway.server.leave(self._leaving.notice_seconds, self._leaving.leave_seconds)
        self._gateway.server.drain()
        self._gateway.save_scanners()
        self._gateway.close()
        self._memory.stop()
        self._environment.leave()
        self._status.close()

    def banner(self) -> str:
        """The line that is printed when it serves."""
        pages = self._status.pages(self._listen.announced())
        return self._environment.banner(f"gateway: HBase Thrift1 on {self._gateway.address}", pages)

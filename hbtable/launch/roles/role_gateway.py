"""A gateway of a cluster with what it stands on, for HBase's clients: tablet servers have it beside their tablets, and
`hbtable thrift` has it alone.

Its order: compose(), open() when the process serves otherwise; when its server is drained, save_scanners() and close().
"""

from collections.abc import Callable
from functools import partial
from typing import final

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountNode
from hbtable.client.client import Client
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.access_warnings import warn_of_access
from hbtable.launch.config.cluster_configuration import ListenOptions
from hbtable.launch.config.configuration import Configuration
from hbtable.launch.http.page_access import PageAccess, page_access
from hbtable.launch.roles.role_environment import RoleEnvironment
from hbtable.launch.thrift_gateway import (
    ask_users,
    make_thrift_gateway,
    reload_security,
    restore_scanners,
    save_scanners,
    scanners_file,
)
from hbtable.metrics.registry import Registry
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.tls import TlsOptions
from hbtable.switches import switches


@final
class RoleGateway:
    """The work is done by `server`, once it is composed."""

    server: ThriftGateway

    def __init__(
        self, runtime: Runtime, configuration: Configuration, listen: ListenOptions, environment: RoleEnvironment
    ) -> None:
        """InvalidConfiguration when the certificates cannot be used."""
        self._runtime = runtime
        self._configuration = configuration
        self._listen = listen
        self._environment = environment
        self.security = GatewaySecurity(
            configuration.options("tls", TlsOptions), configuration.options("auth", AuthOptions)
        )
        self.options = configuration.options("thrift", ThriftGatewayOptions)
        self._scanners = ""
        self._warnings: list[str] = []

    @property
    def reload(self) -> Callable[[], None] | None:
        """The effect of SIGHUP; None: it stops the process."""
        return partial(reload_security, self.security) if self.security.has_files else None

    @switches
    def compose(self, transport: Transport, registry: Registry, client: Client, guard: Guard | None) -> None:
        """The environment has begun. Nothing listens yet. `guard`: of make_guard()."""
        runtime, environment, session = self._runtime, self._environment, self._environment.session
        announced = self.announced
        users = AccountNode(session, runtime.clock_seconds)
        self._warnings = warn_of_access(self._configuration.options("tls", TlsOptions), self.security.auth, users)
        ask_users(runtime, self.security, users)
        self.server = make_thrift_gateway(
            runtime,
            client,
            transport,
            session,
            registry,
            self._listen.host,
            self._listen.thrift_port,
            self.options,
            environment.cluster_id,
            lambda owner: environment.addresses.gateway(owner) or (announced.encode(), self.server.port),
            self.security,
            guard,
        )

    @property
    def announced(self) -> str:
        return self._listen.announced()

    @property
    def address(self) -> str:
        """HOST:PORT, once it is open."""
        return f"{self.announced}:{self.server.port}"

    def page_access(self) -> PageAccess | None:
        """None: everybody may see every page."""
        return page_access(self.security, self.server.administers, self.server.describes)

    def warnings(self) -> list[str]:
        """The warnings of /readyz, as they were when this began."""
        return self._warnings

    @switches
    def open(self) -> None:
        """Clients come in on return; scanners that the last orderly stop saved at this address go on."""
        port = self._listen.thrift_port
        if port:
            is_restored = self._restore(port)  # before a client that asks for its scanner can come in
            try:
                self.server.start(self.announced)
            except BaseException:
                if is_restored:
                    self.save_scanners()  # the next start may find the port free
                raise
        else:
            self.server.start(self.announced)
            self._restore(self.server.port)  # nobody has been told of it yet

    @switches
    def _restore(self, port: int) -> bool:
        """Whether any were saved there. A scanner goes on only where its client looks for it."""
        fs, self._scanners = self._environment.fs, scanners_file(f"{self.announced}-{port}")
        was_saved = fs.exists(self._scanners)
        restore_scanners(self.server, fs, self._scanners)
        return was_saved

    @switches
    def save_scanners(self) -> None:
        """Between the server's drain() and close(): they go on when it is started again."""
        save_scanners(self.server, self._environment.fs, self._scanners)

    @switches
    def close(self) -> None:
        """Cuts off whoever is left."""
        self.server.close()

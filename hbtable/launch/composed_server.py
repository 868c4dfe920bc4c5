"""A tablet server with the client that its gateway uses, in a process with a session and a port of its own: one of a
cluster, or one of several of the same folder."""

import logging
from collections.abc import Callable
from typing import NamedTuple

from hbtable.client.client import Client
from hbtable.client.suspects import Suspects
from hbtable.errors import HbtableError
from hbtable.fs.interface import FileSystem
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.thrift_gateway import make_guard
from hbtable.lockservice.interface import Session
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerOptions, TabletServerRole

log = logging.getLogger(__name__)


class ComposedServer(NamedTuple):
    """The parts of such a process. `guard`: None when everybody may do everything."""

    role: TabletServerRole
    client: Client
    guard: Guard | None


@switches
def compose_server(
    runtime: Runtime,
    session: Session,
    fs: FileSystem,
    transport: Transport,
    local: LocalTransport,
    registry: Registry,
    lost: Callable[[], None],
    options: TabletServerOptions,
    security: GatewaySecurity,
) -> ComposedServer:
    """The role is in `local`, and not started. `lost` ends the process."""
    locator = Locator(session, transport, runtime)
    role = TabletServerRole(runtime, session, fs, Catalog(session, locator, fs), registry, lost, options)
    client, guard = compose_client(runtime, session, transport, locator, security)
    if guard is not None:
        role.guard(guard.data)
    local.register_server(role.incarnation, role.service, role.admin)
    return ComposedServer(role, client, guard)


@switches
def compose_client(
    runtime: Runtime, session: Session, transport: Transport, locator: Locator, security: GatewaySecurity
) -> tuple[Client, Guard | None]:
    """The client of a gateway, and what its users may do (make_guard)."""
    suspects = Suspects(runtime, session)
    client = Client(runtime, session, transport, locator=locator, suspects=suspects)
    suspects.start()
    return client, make_guard(runtime, session, client, security)


@switches
def drain(role: TabletServerRole, gateway: ThriftGateway) -> None:
    """The tablets are other servers', or flushed, and every request under way is answered, on return."""
    try:
        role.drain()
    except HbtableError as error:
        log.warning("not every tablet could be flushed: %s", error)
    gateway.drain()

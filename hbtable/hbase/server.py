"""The gateway as a whole: composes its parts, accepts clients, drains.

Drain: no new connections; idle ones are closed at once, and those whose request has not arrived whole; requests under
way get their answer first.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, final

from hbtable.access.actions import Action
from hbtable.access.scopes import GLOBAL
from hbtable.access.user import User, acting_as
from hbtable.client.admin import Admin
from hbtable.errors import Unavailable
from hbtable.hbase.backend import OpenTable
from hbtable.hbase.calls.scanner_ids import Reserve, ScannerIds, unsaved
from hbtable.hbase.calls.scanners import ScannerOptions, Scanners
from hbtable.hbase.cluster_backend import ClusterBackend
from hbtable.hbase.codec import sniffing
from hbtable.hbase.codec.answers import BinaryDialect, CompactDialect
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.large_answers import paced
from hbtable.hbase.codec.wires import Wire, wires
from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.open_logins import LoginWatch
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.permissions.guard import Guard
from hbtable.hbase.port_services import ClusterIdentity, PortServices
from hbtable.hbase.relays.direct_answers import accept_link
from hbtable.hbase.relays.relay import RELAYED, Relay
from hbtable.hbase.relays.relayed_calls import RelayedCalls
from hbtable.hbase.relays.role_relay import RoleRelay
from hbtable.hbase.security import NO_SECURITY, GatewaySecurity
from hbtable.hbase.slow import SlowRequests
from hbtable.metrics.registry import Registry
from hbtable.rpc.services import TabletService
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.network.occupancy import Occupancy
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_LOG: Final = logging.getLogger(__name__)
_EXPIRY_SECONDS: Final = 60.0
_DRAIN_STEP_SECONDS: Final = 0.02


class GatewayListener(Protocol):
    """An open port."""

    @property
    def port(self) -> int: ...
    @property
    def capacity(self) -> int:
        """The number of connections for which this process has file descriptors."""

    def stop_accepting(self) -> None:
        """No new connections from now on; those there are stay."""


Listen = Callable[[Callable[[Stream, tuple[str, int]], None]], GatewayListener]
"""Opens the port and calls (stream, client's address) in a task of its own for each connection, as
runtime.sockets.serve does."""


@final
class ThriftGateway:
    """One Thrift port. start(), then drain() and close()."""

    @switches
    def __init__(
        self,
        runtime: Runtime,
        listen: Listen,
        open_table: OpenTable,
        admin: Admin,
        registry: Registry,
        identity: ClusterIdentity,
        options: ThriftGatewayOptions | None = None,
        reserve_scanner_ids: Reserve | None = None,
        cluster: ClusterBackend | None = None,
        security: GatewaySecurity = NO_SECURITY,
        guard: Guard | None = None,
    ) -> None:
        """Without `cluster` there is no service of our own, without `guard` everybody may do everything."""
        options = options or ThriftGatewayOptions()
        self._runtime = runtime
        self._listen = listen
        self._guard = guard
        self._options = options
        self._listener: GatewayListener | None = None
        self._connections = Occupancy[GatewayConnection]()
        self._expiry: Task | None = None
        self._logins: LoginWatch | None = None
        self._verifier = security.verifier
        self._scanner_ids = ScannerIds(reserve_scanner_ids or unsaved())
        self.scanners = Scanners(
            runtime,
            self._scanner_ids,
            ScannerOptions(options.scanner_idle_seconds, options.scanner_memory_bytes),
            security.foreign_scanner,
        )
        interface = ThriftInterface()
        self.slow = SlowRequests(options.slow_requests, options.slow_seconds, self.scanners.table_of)
        self._context = ConnectionContext(
            runtime,
            interface,
            _spoken(runtime, interface),
            registry,
            self.slow,
            options.message_bytes,
            options.stall_seconds,
            options.transfer_bytes,
            options.waiting_calls,
            security,
        )
        services = PortServices(runtime, interface, self._context, options, self.scanners, guard)
        services.bind(open_table, admin, identity, cluster)
        security.watch(interface)
        registry.gauge("hbtable_rpc_connections", "Clients connected.", lambda: float(self._clients()))
        registry.gauge("hbtable_open_scanners", "Scanners open.", lambda: float(len(self.scanners)))

    @switches
    def administers(self, user: User) -> bool:
        """Whether he may administer everything. Unavailable."""
        if self._guard is None:
            return True
        with acting_as(user):
            self._guard.in_force()
            return self._guard.may(GLOBAL, Action.ADMIN)

    @switches
    def describes(self, user: User, table: bytes | None) -> bool:
        """Whether he may see how the table, or each one (None), is made; not while that cannot be found out. `table` is
        canonical."""
        if self._guard is None:
            return True
        with acting_as(user), suppress(Unavailable):
            self._guard.in_force()
            if table is None:
                return self._guard.may(GLOBAL, Action.CREATE, Action.ADMIN)
            return self._guard.describes(table)
        return False

    def relay_by(self, relay: Relay) -> None:
        """Calls are passed on from now on. Only without users: those are known to this gateway alone."""
        self._context.relay = relay if self._guard is None else None

    def relay_by_roles(self, relay: RoleRelay) -> None:
        """The same for calls that other tablet servers carry out."""
        self._context.role_relay = relay if self._guard is None else None

    def relayed_calls(self, service: TabletService) -> RelayedCalls:
        """Carries out what other gateways pass on to the tablet server beside this one, whose calls are `service`."""
        options, wire = self._options, self._context.wires[sniffing.Protocol.STRICT]
        return RelayedCalls(service, self._context, wire, options.answer_bytes, options.cell_bytes)

    @property
    def port(self) -> int:
        return self._context.port

    def say_where(self, host: str, port: int) -> None:
        """The place that a lost HTTP client is told to connect to."""
        self._context.host, self._context.port = host, port

    def _clients(self) -> int:
        return sum(not connection.relayed for connection in self._connections)

    @property
    def budget(self) -> MemoryBudget:
        """Memory of large requests and answers."""
        return self._context.budget

    @switches
    def start(self, host: str = "127.0.0.1") -> None:
        """Opens the port. `host` is what a lost HTTP client is told to connect to."""
        if self._guard is not None:
            self._guard.start()
        self._scanner_ids.prepare()
        self._listener = self._listen(self._serve)
        self.say_where(host, self._listener.port)
        self._expiry = supervise(self._runtime, self._expire, name="scanner-expiry")
        if self._verifier is not None:
            context = self._context
            changed = context.security.users_changed
            self._logins = LoginWatch(self._runtime, self._verifier, self._connections, context.pause, changed)

    @switches
    def leave(self, notice_seconds: float, leave_seconds: float) -> None:
        """Lets clients go by themselves: for `notice_seconds` new ones are served as before, then none comes in any
        more, and on return all have gone, or `leave_seconds` are over. Over HTTP each is asked to close its connection.
        *Switches.* drain() comes next."""
        self._context.leaving = True
        self._runtime.sleep(notice_seconds)
        if self._listener is not None:
            self._listener.stop_accepting()
        deadline = self._runtime.clock_seconds() + leave_seconds
        while self._clients() and self._runtime.clock_seconds() < deadline:
            self._runtime.sleep(_DRAIN_STEP_SECONDS)
        if left := self._clients():
            _LOG.info("%d clients were still connected after %g s; idle ones are closed now", left, leave_seconds)

    @switches
    def drain(self) -> int:
        """Takes no new clients and no new requests, and waits for those under way. Returns how many were not done in
        time."""
        self._context.draining = True
        if self._listener is not None:
            self._listener.stop_accepting()
        for connection in self._connections:
            if not connection.busy:
                connection.close()
        deadline = self._runtime.clock_seconds() + self._options.drain_seconds
        while self._context.in_flight and self._runtime.clock_seconds() < deadline:
            self._runtime.sleep(_DRAIN_STEP_SECONDS)
        if self._context.in_flight:
            _LOG.warning("%d requests were still under way when the server stopped", self._context.in_flight)
        return self._context.in_flight

    @switches
    def close(self) -> None:
        """Cuts off whoever is left. Save `scanners` between drain() and this."""
        if self._expiry is not None:
            self._expiry.kill()
            self._expiry = None
        if self._logins is not None:
            self._logins.stop()
        if self._guard is not None:
            self._guard.stop()
        for connection in self._connections:
            connection.close()

    @switches
    def _serve(self, stream: Stream, address: tuple[str, int]) -> None:
        client = f"{address[0]}:{address[1]}"
        if address[0] == RELAYED:
            accepted = accept_link(stream, address)
            if accepted is None:
                return
            stream, client = accepted
        connection = GatewayConnection(stream, client, self._context)
        most = self._options.connections
        if self._listener is not None:
            most = min(most, self._listener.capacity)
        if not self._connections.admit(connection, most):
            self._context.log_limiter.warning(
                "%s was turned away: all %d connections have requests under way", connection.client, most
            )
            stream.close()
            return
        try:
            connection.serve()
        finally:
            self._connections.leave(connection)

    @switches
    def _expire(self) -> None:
        while True:
            self._runtime.sleep(_EXPIRY_SECONDS)
            self.scanners.expire()
            for connection in self._connections:
                connection.forget_answered()
            self._context.budget.drop_kept()  # of clients that pause, or went away without a word
            if self._context.relay is not None:
                self._context.relay.drop_unused()


def _spoken(runtime: Runtime, interface: ThriftInterface) -> dict[sniffing.Protocol, Wire]:
    """The protocols of the port. Large answers are encoded in turns with other work, or, of the compact one, in
    a thread."""
    collect = paced(runtime.clock_seconds, partial(runtime.sleep, 0.0), runtime.slice_end)
    offload = partial(runtime.offload, "encode")
    return wires(
        BinaryDialect(interface, True, collect),
        BinaryDialect(interface, False, collect),
        CompactDialect(interface, offload),
    )

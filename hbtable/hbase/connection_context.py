"""State that all connections of a gateway share: limits, the methods, and the counting of requests."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Protocol as Interface
from typing import final

from hbtable.access.log_limiter import LogLimiter
from hbtable.access.user import User
from hbtable.hbase.codec.interface import ThriftInterface, ThriftMethod
from hbtable.hbase.codec.sniffing import Protocol
from hbtable.hbase.codec.wires import Wire
from hbtable.hbase.relays.direct_answers import DirectStream
from hbtable.hbase.relays.direct_calls import DirectCalls, RelayedClient
from hbtable.hbase.relays.relay import Ask, Relay
from hbtable.hbase.relays.role_relay import RoleRelay
from hbtable.hbase.security import NO_SECURITY, GatewaySecurity
from hbtable.hbase.slow import SlowRequests
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime
from hbtable.runtime.joining import Joiner
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.network.sockets import ServedSocket
from hbtable.switches import switches
from hbtable.thrift.binary_reader import read_strict
from hbtable.thrift.message_input import MessageInput, Stream

_REQUESTS = "hbtable_rpc_requests_total"
_REQUESTS_HELP = "Thrift calls answered, by method and outcome (ok or the error's class)."
_SECONDS_HELP = "Seconds from the first byte of a call to the last byte of its answer, by method."


class RequestGates(Interface):
    """Runtime.request_gate, for calls of a host."""

    def __call__(self, host: str, stream: Stream | None = None) -> Callable[[float], float]: ...


@final
class ConnectionContext:
    """The state that the connections of one gateway share. `in_flight` requests have arrived whole, and their answers
    are not sent yet."""

    __slots__ = (
        "_loaded", "_runtime", "budget", "clock", "draining", "host", "in_flight", "join", "leaving", "log_limiter",
        "message_bytes", "methods", "pause", "port", "read_in_turns", "registry", "relay", "request_gate",
        "role_relay", "security", "slice_end", "slow", "stall_seconds", "user", "wall_millis", "wires",
    )  # fmt: skip

    def __init__(
        self,
        runtime: Runtime,
        interface: ThriftInterface,
        wires: Mapping[Protocol, Wire],
        registry: Registry,
        slow: SlowRequests,
        message_bytes: int,
        stall_seconds: float,
        transfer_bytes: int = 256 << 20,
        waiting_calls: int = 5000,
        security: GatewaySecurity = NO_SECURITY,
    ) -> None:
        self._runtime = runtime
        self._loaded: dict[str, ModuleType] = {}
        self.request_gate: RequestGates = lambda host, stream=None: runtime.request_gate(host, waiting_calls, stream)
        self.read_in_turns = runtime.read_in_turns
        self.clock: Callable[[], float] = runtime.clock_seconds
        self.slice_end: Callable[[float], float] = runtime.slice_end
        self.wall_millis: Callable[[], int] = runtime.wall_millis
        self.methods: dict[bytes, ThriftMethod] = interface.methods
        self.wires = wires
        self.registry = registry
        self.slow = slow
        self.security = security
        self.user: User | None = None
        """The user of clients that do not say who they are."""
        self.message_bytes = message_bytes
        self.stall_seconds = stall_seconds
        self.budget = MemoryBudget(transfer_bytes, runtime.sleep, runtime.clock_seconds)
        self.log_limiter = LogLimiter(logging.getLogger("hbtable.hbase"), self.clock)
        self.in_flight = 0
        self.draining = False
        self.leaving = False
        """Clients are to go by themselves."""
        self.relay: Relay | None = None
        """Passes calls on to gateways of other processes."""
        self.role_relay: RoleRelay | None = None
        """Has calls carried out by other tablet servers."""
        self.host = "127.0.0.1"
        self.port = 0
        self.pause: Callable[[], None] = runtime.pause_when_due
        self.join = Joiner(runtime)
        self.measure(interface.methods.values())
        registry.gauge("hbtable_rpc_in_flight", "Thrift calls being carried out.", lambda: float(self.in_flight))
        registry.gauge(
            "hbtable_rpc_transfer_bytes",
            "Bytes of large requests and answers under way.",
            lambda: float(self.budget.used_bytes),
        )

    @switches
    def load(self, module: str) -> ModuleType:
        """*Switches* at the first time. What only some clients need is not loaded before there is one, and then by a
        thread: the parser of HTTP takes 20 to 50 ms, in which others want to be answered."""
        if module not in self._loaded:
            self._loaded[module] = self._runtime.offload("loading", import_module, module)
        return self._loaded[module]

    def relay_of(self, relayed: bool, stream: Stream, wire: Wire) -> Ask | None:
        """The function that is asked first for the answers to a client's calls; None: there is none. `relayed`: another
        gateway passes them on."""
        if wire.read_head is not read_strict:
            return None
        if self.relay is None:
            return None if self.role_relay is None else self.role_relay.ask
        if isinstance(stream, DirectStream):
            return partial(stream.take, self.relay)
        return self.relay.refuse if relayed else self.relay.ask

    def direct_calls(
        self, client: RelayedClient, stream: Stream, source: MessageInput, wire: Wire
    ) -> DirectCalls | None:
        """Passes a client's calls on. None: no other process could answer it, as where it speaks TLS or HTTP."""
        if self.relay is None or wire.read_head is not read_strict or not isinstance(stream, ServedSocket):
            return None
        return DirectCalls(self._runtime, self.relay, client, stream, source)

    def measure(self, methods: Iterable[ThriftMethod]) -> None:
        """Counts and times their calls from now on."""
        for method in methods:
            method.ok = self.registry.counter(_REQUESTS, _REQUESTS_HELP, method=method.name, code="ok")
            method.seconds = self.registry.histogram("hbtable_rpc_seconds", _SECONDS_HELP, method=method.name)

    def count(self, method: str, outcome: str) -> None:
        """A request that did not end well."""
        self.registry.counter(_REQUESTS, _REQUESTS_HELP, method=method, code=outcome).value += 1

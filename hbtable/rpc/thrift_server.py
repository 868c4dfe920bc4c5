"""Answers other processes' calls to the roles of this one: frames in, frames out, one call at a time on a connection.

A call for an incarnation that is not here is refused as such. A peer that sends what is no Thrift message, or one that
is too large, is logged and cut off. A peer that falls silent in the middle of a message, or does not take its answer,
is cut off as well; between calls it may be silent for ever.

Stopping: what has arrived is answered, then each peer is told goodbye (thrift/tabletserver.thrift), so that a call
that crosses it is known not to have been begun.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from socket import SHUT_WR
from typing import Any, Final, Protocol, final

from hbtable.access.log_limiter import LogLimiter
from hbtable.access.user import User, acting_as
from hbtable.errors import Corruption, HbtableError, LimitExceeded, OutcomeUnknown, Overloaded, UnsupportedFormat
from hbtable.rpc.admission import Greeted
from hbtable.rpc.codec import calls
from hbtable.rpc.codec.call_budget import CallBudget, cost_to_send
from hbtable.rpc.codec.calls import Role, RpcMethod
from hbtable.rpc.codec.errors import described
from hbtable.rpc.handshake import BEFORE, is_hello
from hbtable.rpc.hbase_clients import COMPACT_CALL, compact_refusal, is_named_by_hbase, refusal
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.proof import ClusterKey
from hbtable.rpc.served import Foreign, Served
from hbtable.runtime.interface import Runtime
from hbtable.runtime.joining import Joiner
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.network.occupancy import Occupancy
from hbtable.runtime.network.sockets import Address, Socket
from hbtable.runtime.request_budget import current_budget, work_for
from hbtable.switches import switches
from hbtable.thrift.frames import FRAME_BYTES, GOODBYE
from hbtable.thrift.message import MessageReader
from hbtable.thrift.wire import CALL, INTERNAL_ERROR, PROTOCOL_ERROR, UNKNOWN_METHOD

_LOG: Final = logging.getLogger(__name__)
OTHER_PORT: Final = (
    "this port is for hbtable's masters and tablet servers among themselves; clients of HBase Thrift1 connect to the "
    "Thrift port of any tablet server, 9090 unless listen.thrift_port says otherwise"
)
_ROOM_SECONDS: Final = 6.0
"""An answer waits for room so long, all in all: less than its caller waits for a read (connections.RpcOptions). Whoever
is refused is told so; whoever is told nothing asks again at once."""
_ANY_NUMBER: Final = 1 << 30
"""Of calls may wait for their turn: refused, a role would only ask again."""
_HOSTS_NOTED: Final = 1000
_FAREWELL_SECONDS: Final = 2.0
_FAREWELL_READS: Final = 64
_FAREWELL_BYTES: Final = 1 << 20


class RpcListener(Protocol):
    """An open port (runtime.sockets.Listener)."""

    @property
    def port(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    def stop_accepting(self) -> None: ...
    @switches
    def close(self, grace_seconds: float = 5.0) -> None: ...


Listen = Callable[[Callable[[Socket, Address], None]], RpcListener]
"""Opens the port and calls (socket, peer) in a task of its own for each connection."""


@dataclass(frozen=True, slots=True)
class RpcServerOptions:
    """Limits of the port between roles."""

    frame_bytes: int = FRAME_BYTES
    """The largest message either way. Raising it lets one peer take that much memory, about three times."""
    stall_seconds: float = 30.0
    """For the rest of a message that has begun, and for taking an answer. Raising it keeps frozen peers longer."""
    grace_seconds: float = 5.0
    """The longest time that a stop waits for calls under way."""
    connections: int = 4096
    """Of all peers. Beyond it the address that holds most of them loses one, as on the Thrift port. Each costs about
    20 KB. Raising it takes more files and memory, and serves more peers."""
    transfer_bytes: int = 256 << 20
    """Large calls and answers of all peers together; beyond it the one under way for longest is cut off. Raising it
    lets that much more memory be taken by many peers at once; it should be a few times the largest message."""


@final
class RpcServer:
    """The port between roles. `roles` holds whatever this process serves at the moment. `key`: by which callers prove
    that they are of the cluster; None: nobody is asked. start(), then close()."""

    def __init__(
        self,
        runtime: Runtime,
        roles: LocalTransport,
        listen: Listen,
        options: RpcServerOptions | None = None,
        key: ClusterKey | None = None,
    ) -> None:
        self._runtime = runtime
        self._roles = roles
        self._listen = listen
        self._options = options or RpcServerOptions()
        self._key = key
        self._listener: RpcListener | None = None
        self._join = Joiner(runtime)
        self._peers = Occupancy[Served]()
        self._log_limiter = LogLimiter(_LOG, runtime.clock_seconds)
        self._without_hello: set[str] = set()
        """Hosts whose last new connection began without one."""
        self.budget = MemoryBudget(self._options.transfer_bytes, runtime.sleep, runtime.clock_seconds, _ROOM_SECONDS)

    @switches
    def start(self) -> int:
        """Opens the port and returns it."""
        self._listener = self._listen(self._serve)
        return self._listener.port

    @switches
    def close(self) -> None:
        """*Switches.* Calls under way get their answer, within the grace. Idempotent."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close(self._options.grace_seconds)

    # ---------------------------------------------------------------- a connection

    @switches
    def _serve(self, socket: Socket, peer: Address) -> None:
        options = self._options
        served = Served(
            socket,
            peer,
            self.budget,
            self._runtime.clock_seconds,
            options.frame_bytes,
            options.stall_seconds,
            lambda: self._runtime.sleep(0),
            self._key,
            self._join,
        )
        most = options.connections if self._listener is None else min(options.connections, self._listener.capacity)
        if not self._peers.admit(served, most):
            self._log_limiter.warning("%s was turned away: all %d connections have calls under way", served.peer, most)
            return
        work_for(served.cost)
        try:
            self._calls(served, socket)
        except Foreign as client:
            self._turn_away(socket, peer, client.data)
        except Corruption as error:
            self._log_limiter.warning("%s was cut off: %s", served.peer, error.reason)
            if served.frames.checked:
                with suppress(OSError):
                    served.say_goodbye()  # the call was not begun, and may be sent again
        except Overloaded as error:
            self._log_limiter.warning("%s was told goodbye in the middle of a call: %s", served.peer, error)
            served.cut()
        except TimeoutError:
            self._log_limiter.warning(
                "%s fell silent for %g s in a call and was cut off", served.peer, options.stall_seconds
            )
        except OSError:
            return  # the peer went away: its business
        finally:
            served.release()
            self._peers.leave(served)

    @switches
    def _calls(self, served: Served, socket: Socket) -> None:
        """Answers calls until the peer has ended, or does not speak as agreed."""
        clock, wait_for_turn = self._runtime.clock_seconds, self._runtime.request_gate(served.host, _ANY_NUMBER, socket)
        while (message := served.receive()) is not None:
            wait_for_turn(clock())
            greeted = served.admission.answer(message)
            if greeted is not None:
                if not self._greet(served, message, greeted):
                    return
                continue
            answer, goes_on = self._answer(message, served.peer, not served.answered)
            if goes_on and not served.answered:
                self._note_version(served, False)
            served.send(answer)
            if not goes_on:
                return
            del message, answer  # an idle peer must not cost what its last call did
        served.say_goodbye()

    @switches
    def _greet(self, served: Served, message: bytes, greeted: Greeted) -> bool:
        """Answers what comes before calls. Whether the connection goes on."""
        if greeted.goes_on and not served.answered:
            self._note_version(served, True)
        if greeted.refusal:
            self._log_limiter.warning("%s was cut off: it was told that %s", served.peer, greeted.refusal)
        served.send(greeted.frame)
        served.frames.checked = served.frames.checked or is_hello(message)
        served.frames.tags = greeted.tags or served.frames.tags
        return greeted.goes_on

    def _note_version(self, served: Served, greeted: bool) -> None:
        if greeted:
            self._without_hello.discard(served.host)
        elif served.host not in self._without_hello and len(self._without_hello) < _HOSTS_NOTED:
            self._without_hello.add(served.host)
            self._log_limiter.warning(
                "%s began without a hello and is taken for an hbtable of %s: messages to it and from it have no "
                "checksums until it is upgraded",
                served.peer,
                BEFORE,
            )

    @switches
    def _turn_away(self, socket: Socket, peer: Address, data: bytes) -> None:
        """A client of HBase's Thrift 1, in its own protocol. What it still sends is read, or the reset of the
        connection would take the message away."""
        self._log_limiter.warning(
            "%s speaks HBase's Thrift: it was sent to a tablet server's Thrift port", f"{peer[0]}:{peer[1]}"
        )
        try:
            socket.settimeout(self._options.stall_seconds)
            socket.sendall(_refused(data))
            socket.shutdown(SHUT_WR)
            socket.settimeout(_FAREWELL_SECONDS)
            for _ in range(_FAREWELL_READS):
                if not socket.recv(_FAREWELL_BYTES):
                    return
        except OSError:
            return  # it left: its business

    @switches
    def _answer(self, message: bytes, peer: str, first: bool) -> tuple[bytes, bool]:
        """(the frame to send, whether the connection goes on). Corruption when not even the head can be read.

        The `first` message may be a hello of which a bit changed: its connection must not go on without checksums."""
        if message.startswith(COMPACT_CALL):
            answer = compact_refusal(message, OTHER_PORT)
            return len(answer).to_bytes(4, "big") + answer, True
        kind, name, sequence, position = calls.read_head(message)
        if kind != CALL:
            raise Corruption("a message", 3, f"message type {kind} is no call")
        shown = name.decode("utf-8", "backslashreplace")
        method = calls.BY_WIRE_NAME.get(shown)
        if method is None:
            text = f"there is no call {shown}: {OTHER_PORT}"
            if is_named_by_hbase(name):
                return refusal(name, sequence, text), True
            unknown = calls.failure(name, sequence, UNKNOWN_METHOD, text)
            if not first:
                return unknown, True
            self._log_limiter.warning(
                "%s was cut off: its first message is no hello, and there is no call %s", peer, shown
            )
            return unknown + GOODBYE, False
        try:
            arguments, budget = method.read_call(MessageReader(message, self._pause), position)
        except (Corruption, UnsupportedFormat) as error:
            self._log_limiter.warning("%s was cut off: %s: %s", peer, method.name, error)
            return calls.failure(name, sequence, PROTOCOL_ERROR, str(error)), False
        return self._carried_out(method, sequence, arguments, budget), True

    @switches
    def _carried_out(
        self, method: RpcMethod, sequence: int, arguments: tuple[Any, ...], budget: CallBudget | None
    ) -> bytes:
        """`budget`: of the request that the caller works on; he hears what this cost it."""
        mine = current_budget() if budget is not None and budget.wait_millis else None
        if budget is not None and mine is not None:
            budget.take_up(mine, self._runtime.clock_seconds())
        wrong_incarnation = method.role is not Role.MASTER and not self._roles.serves(arguments[0])
        try:
            value = self._call(method, arguments)
        except HbtableError as error:
            told = described(error, wrong_incarnation)
            return method.reply(sequence, None, told, self._pause, mine and cost_to_send(mine))
        except Exception as error:  # noqa: BLE001  a mistake of ours must not look like a lost connection
            _LOG.error("%s failed: %s: %s", method.name, type(error).__name__, error, exc_info=error)
            text = f"{type(error).__name__}: {error}"
            return calls.failure(method.name.encode(), sequence, INTERNAL_ERROR, text)
        answer = method.reply(sequence, value, None, self._pause, mine and cost_to_send(mine), self._join)
        if len(answer) - 4 > self._options.frame_bytes:
            kind = LimitExceeded if method.repeatable else OutcomeUnknown
            large = kind(
                f"the answer to {method.name} has {len(answer) - 4} bytes, more than the {self._options.frame_bytes} "
                "that a message may have; ask for less at a time"
            )
            return method.reply(sequence, None, described(large), self._pause)
        return answer

    def _call(self, method: RpcMethod, arguments: tuple[Any, ...]) -> Any:
        target: object
        if method.for_user:
            incarnation, name, groups, *others = arguments
            target = self._roles.tablet_service(incarnation)
            with acting_as(User(name, frozenset(groups))):
                return getattr(target, method.for_user)(*others)
        if method.role is Role.MASTER:
            target = self._roles.master()
        elif method.role is Role.TABLETS:
            target, arguments = self._roles.tablet_service(arguments[0]), arguments[1:]
        elif method.role is Role.RELAYS:
            target, arguments = self._roles.relays(arguments[0]), arguments[1:]
        else:
            target, arguments = self._roles.tablet_admin(arguments[0]), arguments[1:]
        return getattr(target, method.name)(*arguments)

    @switches
    def _pause(self) -> None:
        self._runtime.sleep(0)


@switches
def _refused(data: bytes) -> bytes:
    """The answer, without a frame, to a client of HBase's Thrift that has sent `data` first."""
    if data.startswith(COMPACT_CALL):
        return compact_refusal(data, OTHER_PORT)
    try:
        _, name, sequence, _ = calls.read_head(data)
    except Corruption:
        name, sequence = b"", 0  # its head has not arrived whole
    return refusal(name, sequence, OTHER_PORT)[4:]

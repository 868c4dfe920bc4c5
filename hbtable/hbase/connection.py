"""One client: find out what it speaks, then read a call, carry it out, send the whole answer, for as long as it stays.

A connection may be silent for ever between calls. It ends when the client ends it, when its bytes cannot be
understood (answered in kind where possible, one log line), or when the server drains: then after the answer under way.
No error of a call closes it.
"""

import logging
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from hbtable.access.login import CertificateLogin, Login
from hbtable.access.user import User, act_as
from hbtable.errors import HbtableError, NotAuthenticated, Overloaded, Unavailable
from hbtable.hbase import errors
from hbtable.hbase.audit import come_from
from hbtable.hbase.codec.interface import ThriftMethod
from hbtable.hbase.codec.large_answers import LargeAnswer
from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol
from hbtable.hbase.codec.wires import Wire, head_of_refused
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.failed_calls import FailedCalls
from hbtable.hbase.open_logins import OpenLogin, gate
from hbtable.hbase.opening import open_stream
from hbtable.hbase.read_ahead import ReadAhead
from hbtable.hbase.relays.direct_answers import DirectStream
from hbtable.hbase.relays.direct_calls import DirectCalls, PassOn
from hbtable.hbase.relays.relay import RELAYED, Ask, bid_farewell
from hbtable.hbase.sending import send_large
from hbtable.hbase.transports.discarding import answer_apart, discard
from hbtable.hbase.wrong_protocols import FELL_SILENT, NO_ENCRYPTION, explanation, reason
from hbtable.runtime.memory_budget import SMALL_BYTES
from hbtable.runtime.request_budget import RequestBudget, work_for
from hbtable.switches import switches
from hbtable.thrift.message_input import DISCARDING_SECONDS, SILENT_SECONDS, MessageInput, Stream
from hbtable.thrift.wire import (
    CALL,
    INTERNAL_ERROR,
    ONEWAY,
    Call,
    EndOfStream,
    Malformed,
    MessageTooLarge,
)  # fmt: skip

_LOG: Final = logging.getLogger(__name__)
_U32: Final = struct.Struct(">I").pack
_LARGEST_FRAME_BYTES: Final = 1 << 31
_NOTHING: Final[list[object]] = []
_NO_CALL: Final[Call] = (b"", CALL, 0)
"""In the place of one whose head cannot be read."""


@final
class GatewayConnection:
    """The connection of one client. `client` is its address, for people, and `host` without the port. `busy` from the
    last byte of a call until its answer is sent: a stop waits for that, but not for calls that may never arrive. A
    runtime.occupancy.Guest."""

    __slots__ = (
        "_ahead", "_before", "_context", "_cost", "_direct", "_failures", "_head", "_left", "_stream", "_wire",
        "answered", "busy", "client", "framed", "host", "idle_since", "login", "relayed", "sending", "user",
    )  # fmt: skip

    def __init__(self, stream: Stream, client: str, context: ConnectionContext) -> None:
        self._stream = stream
        self._context = context
        self._ahead = ReadAhead(context.budget)
        self._cost = RequestBudget(context.budget)
        self._head: Call | None = None
        self._before: ThriftMethod | None = None
        """The last call. It tells to which of two services a call without arguments belongs."""
        self._wire: Wire | None = None
        self._failures = FailedCalls(client, context)
        self.client = client
        self.user: User | None = context.user
        """The user that the client proved to be. None: it proved nothing."""
        self.login: OpenLogin | None = None
        """The proof, where it may become invalid."""
        self.host = client.rpartition(":")[0]
        self.relayed = isinstance(stream, DirectStream) or self.host == RELAYED
        """The gateway of another process reads what clients send, and has let them in."""
        self._direct: DirectCalls | None = None
        self.framed = False
        self.busy = False
        self.sending = False
        self.answered = False
        self._left = False
        self.idle_since = context.clock()

    def close(self) -> None:
        """Closes the connection. No call is begun any more."""
        self._left = True
        if self.host == RELAYED and not self.busy:
            bid_farewell(self._stream)
        self._stream.close()

    @property
    def working(self) -> bool:
        """A call is being carried out. Its answer, once there, waits for the client."""
        return (self.busy and not self.sending) or (self._direct is not None and self._direct.awaits)

    def forget_answered(self) -> None:
        """Memory of calls that another process has answered. Does not switch."""
        if self._direct is not None:
            self._direct.forget_answered()

    def turn_out(self, most: int) -> None:
        """The client reads why as the answer to its next call, if it has spoken at all."""
        self._warn("cut %s off, which was idle: all %d connections are taken", most)
        if self._head is None:
            self._tell(errors.TURNED_OUT.format(most=most, host=self.host))
        self.close()

    def _tell(self, why: str) -> None:
        """Whatever its socket takes not at once is lost. Another process's gateway is told nothing: it answers."""
        if self._wire is not None and not self.sending and not self.relayed:
            name, _, sequence = self._head or _NO_CALL
            with suppress(OSError):
                self._stream.settimeout(0.0)
                self._send(self._wire.dialect.refusal(name, sequence, INTERNAL_ERROR, why), self.framed)

    @switches
    def serve(self) -> None:
        """Returns when the connection is over. Raises nothing that a client can cause."""
        try:
            come_from(self.client)
            self._context.read_in_turns(self.host, self._stream)
            opened = open_stream(self._stream, self.client, self._context, self._logged_in)
            if opened is None:
                return
            self._stream, first, spoken, encrypted, user, proves_by_request, unusable = opened
            opened = None
            wire = self._context.wires.get(spoken.protocol)
            if wire is None:
                self._explain(spoken, first)
                return
            source = MessageInput(
                self._stream,
                self._context.message_bytes,
                self._context.stall_seconds,
                self._context.pause,
                self._context.budget,
                self._context.clock,
                spoken.framed,
                first,
                self._context.join,
            )
            first = b""
            try:
                if not proves_by_request:
                    self.user = user or self.user
                    act_as(self.user)
                work_for(self._cost)
                is_known = proves_by_request or self.user is not None
                encrypted = encrypted or self.relayed  # on this machine, by the gateway that asked its client
                self._serve(source, wire, self._context.security.refusal(encrypted, is_known, unusable))
            finally:
                source.release()
        except TimeoutError:
            self._warn("closed the connection of %s: it fell silent in the middle of a request")
            self._tell(FELL_SILENT)
        except (Malformed, Overloaded) as error:  # before the first call
            self._warn("closed the connection of %s: %s", error)
        except (OSError, EndOfStream):
            # Clients close as they like: with a reset (happybase sets SO_LINGER 0), or in the middle of a call.
            pass
        finally:
            if self.busy:
                self._context.in_flight -= 1
            act_as(None)
            work_for(None)
            self._cost.clear()
            self._ahead.drop()
            if self._direct is not None:
                self._direct.close()
            self._stream.close()

    def _logged_in(self, login: Login | CertificateLogin, user: User) -> None:
        self.login = OpenLogin(login, user, self.client, self._context)

    def _warn(self, message: str, *values: object) -> None:
        self._context.log_limiter.warning(message, self.client, *values)

    @switches
    def _serve(self, source: MessageInput, wire: Wire, refusal: HbtableError | None) -> None:
        framed = source.framed
        try:
            source.count_first()
            if refusal is None:
                self._calls(source, wire)
            else:
                self._refuse_calls(source, wire, refusal)
        except (Malformed, MessageTooLarge, Overloaded) as error:
            self._warn("closed the connection of %s: %s", error)
            if self._head is None and not isinstance(error, Malformed):
                self._head = head_of_refused(source, wire)
            self._send(self._failures.unread(self._head or _NO_CALL, wire.dialect, error), framed)
            self._discard(source)

    @switches
    def _discard(self, source: MessageInput) -> None:
        """Throws the rest of a refused message away. A frame says how much that is; without one, happybase's way, it
        may be as much as a frame could be."""
        clock = self._context.clock
        until = clock() + DISCARDING_SECONDS
        source.discard(source.refused_bytes or _LARGEST_FRAME_BYTES, SILENT_SECONDS, lambda: clock() < until)

    @switches
    def _calls(self, source: MessageInput, wire: Wire) -> None:
        """The loop that every request passes through: as few steps as it can be."""
        context = self._context
        clock, methods, slow_seconds = context.clock, context.methods, context.slow.threshold_seconds
        read_head, read_arguments, _, dialect = wire
        reply, framed, sendall = dialect.reply, source.framed, self._stream.sendall
        self._wire, self.framed, (ask, pass_on, more) = wire, framed, self._relaying(source, wire)
        ahead, cost, source.wait_for_turn = self._ahead, self._cost, gate(context, self.host, self.login, self._stream)
        pending = bool(source.data)  # what the sniffer read of an unframed message is there already
        while pending or more():
            pending = False
            try:
                started = source.wait_for_turn(clock())
            except (Unavailable, NotAuthenticated) as error:
                self._refuse(source, wire, error)
                continue
            self._head = name, kind, sequence = read_head(source)
            method = methods.get(name)
            if method is None or kind != CALL:
                self._unusual(source, wire, self._head, method)
            else:
                values = read_arguments(source, method)
                if method.choose is not None:
                    method, values = method.choose(values, self._before)
                self._before = method
                if context.draining or self._left:
                    return  # closed while this waited or was being decoded: carried out, it could not be answered
                if pass_on is not None and not ahead.made and pass_on(method, sequence, values):
                    values, self._head, self.idle_since, self.answered = _NOTHING, None, clock(), True
                    continue
                decoded, self.busy, outcome = clock(), True, "ok"
                context.in_flight += 1
                try:
                    source.settle()
                    ready = ahead.take(method, sequence, values) if ahead.made else ask and ask(method, values, source)
                    answer = ready or reply(method, sequence, method.call(*values))
                    method.ok.value += 1
                except Exception as error:  # noqa: BLE001 - whatever a call raises is answered, not dropped
                    answer, outcome = self._failures.failed(error, method, sequence, dialect, began=True)
                handled, size = clock(), len(answer)
                self.sending = True
                if size > SMALL_BYTES or source.reservation is not None or isinstance(answer, LargeAnswer):
                    cost.clear()  # the answer counts itself from now on
                    send_large(answer, framed, self._stream, context)
                    answer = b""
                else:
                    sendall(_U32(size) + answer if framed else answer)
                ended = clock()
                method.seconds.observe(ended - started)
                if ended - started >= slow_seconds:
                    self._remember(method, values, outcome, (started, decoded, handled, ended), source, size)
                if method.look_ahead is not None and outcome == "ok":
                    ahead.make(method, sequence, values, reply, size)
                values = source.freed(values)  # an idle client must not cost what its last request did
                self.idle_since, self.answered, self.busy, self.sending = ended, True, False, False
                cost.clear()
                context.in_flight -= 1
            self._head = None
            if context.draining:
                return

    def _remember(
        self,
        method: ThriftMethod,
        values: list[object],
        outcome: str,
        times: tuple[float, float, float, float],
        source: MessageInput,
        size: int,
    ) -> None:
        now, sizes = self._context.wall_millis(), (source.message_bytes(), size)
        self._context.slow.remember(now, method.name, values, outcome, times, sizes, self.client)

    def _relaying(self, source: MessageInput, wire: Wire) -> tuple[Ask | None, PassOn | None, Callable[[], bool]]:
        """(what gets answers of other processes, what lets these answer, what goes on to the next call)."""
        context, stream = self._context, self._stream
        if not self.relayed:
            self._direct = context.direct_calls(self, stream, source, wire)
        if self._direct is None:
            return context.relay_of(self.relayed, stream, wire), None, source.begin
        return self._direct.exchange, self._direct.pass_on, self._direct.begin

    @switches
    def answer_here(
        self, method: ThriftMethod, sequence: int, values: list[object], error: HbtableError | None
    ) -> None:
        """Carries out and answers a call that was passed on, and that nobody else answers; or answers it with the
        error."""
        assert self._wire is not None
        dialect, context = self._wire.dialect, self._context
        context.in_flight += 1
        come_from(self.client)
        work_for(cost := RequestBudget(context.budget))  # not the connection's, which may have its next call by then
        try:
            if error is not None:
                raise error
            answer = dialect.reply(method, sequence, method.call(*values))
            method.ok.value += 1
        except Exception as failure:  # noqa: BLE001 - whatever a call raises is answered, not dropped
            answer, _ = self._failures.failed(failure, method, sequence, dialect, began=self.busy)
        finally:
            context.in_flight -= 1
            cost.clear()  # the answer counts itself from now on
        with suppress(OSError):  # the client left
            send_large(answer, self.framed, self._stream, context)

    @switches
    def _refuse_calls(self, source: MessageInput, wire: Wire, error: HbtableError) -> None:
        """All of them: each of the client's calls tells it why."""
        self._warn("refused the calls of %s: %s", error)
        self._context.security.denied(self.client, "login", str(error))
        context = self._context
        wait_for_turn = context.request_gate(self.host, self._stream)
        self._wire, self.framed = wire, source.framed
        pending = bool(source.data)
        while pending or source.begin():
            pending = False
            try:
                wait_for_turn(context.clock())
            except Overloaded as busy:
                self._refuse(source, wire, busy)
            else:
                self._refuse(source, wire, error)
            self.idle_since = context.clock()
            if context.draining:
                return

    def _refuse(self, source: MessageInput, wire: Wire, error: HbtableError) -> None:
        """The call is read, or what follows it could not be, and answered without having begun."""
        self._head = name, kind, sequence = wire.read_head(source)
        method = self._context.methods.get(name)
        if method is None or kind != CALL:
            self._unusual(source, wire, self._head, method)
        else:
            wire.skip_arguments(source)
            answer, _ = self._failures.failed(error, method, sequence, wire.dialect, began=False)
            self._send(answer, source.framed)
        self._head = None

    def _unusual(self, source: MessageInput, wire: Wire, head: Call, method: ThriftMethod | None) -> None:
        """An unknown method, or a message that is no call. HBase has no one-way methods: those are refused, too."""
        if head[1] not in (CALL, ONEWAY):
            raise Malformed(f"a message of type {head[1]} instead of a call")
        wire.skip_arguments(source)
        self._send(self._failures.unusable(head, wire.dialect, method), source.framed)

    def _send(self, answer: bytes, framed: bool) -> None:
        self._stream.sendall(_U32(len(answer)) + answer if framed else answer)

    @switches
    def _explain(self, spoken: DetectedProtocol, first: bytes) -> None:
        what = reason(spoken.protocol, first)
        self._warn("closed the connection of %s, which speaks %s: %s", spoken.protocol.value, what)
        begins = NO_ENCRYPTION if spoken.protocol is Protocol.POSTGRESQL else b""
        answer_apart(self._stream, begins, explanation(spoken, first), self._context)
        discard(self._stream, self._context)

"""Thrift over HTTP: each POST is a message, and its answer is the response (Thrift's THttpClient, HBase's TServlet).

To the connection this is a stream of framed messages. It reads each body behind its length. It sends a length and a
message, which go out as a response of that length. The parser is h11: who may send what when, bodies in chunks,
connections that stay, and the "100 Continue" that some clients wait for.

What is no call is answered here: another method, a body that is empty or too long, a request that is none.
"""

import re
import struct
from contextlib import suppress
from typing import Final, final

import h11

from hbtable.access.user import User, act_as
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated, Overloaded, Unavailable
from hbtable.hbase.audit import claim
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.discarding import discard
from hbtable.hbase.transports.http_heads import RawRequest
from hbtable.hbase.transports.http_refusals import START_BYTES, THRIFT, as_error, in_thrift, is_of_browser, is_thrift
from hbtable.hbase.transports.http_users import answered, challenges, refusal_without_tls, says_who, user_of
from hbtable.runtime.memory_budget import SMALL_BYTES, MemoryReservation
from hbtable.switches import switches
from hbtable.thrift.gathered import Gathered
from hbtable.thrift.message_input import Stream

_QUOTED: Final = re.compile(r""":? (?:bytearray\()?b['"]""")
_LENGTH: Final = struct.Struct(">I")
_READ_BYTES: Final = 64 << 10
_HEAD_BYTES: Final = 64 << 10
"""Request line and headers; HBase takes as much."""
_EVENTS_AT_ONCE: Final = 16
"""Of the parser, each some 20 us."""
_WHAT_THIS_IS: Final = (
    "This port speaks HBase's Thrift interfaces over plain TCP (framed or unframed, binary or compact) and over HTTP, "
    'as POST requests with one message each. Connect with a Thrift client, for example happybase.Connection("{host}", '
    "{port}) or thriftpy2's THttpClient."
)
_OF_A_BROWSER: Final = (
    "This is a request of a browser (Origin, Sec-Fetch-Site), which any page may have it send, and with its user's "
    "rights: none is carried out. A proxy in between takes these headers away for pages of yours."
)
_MAY_BE_READ_IN_TWO_WAYS: Final = "A proxy might read this request in another way: {}."


@final
class HttpStream:
    """The messages inside of an HTTP connection."""

    def __init__(
        self,
        carrier: Stream,
        first: bytes,
        client: str,
        context: ConnectionContext,
        encrypted: bool = False,
        user: User | None = None,
        unusable: str = "",
    ) -> None:
        """`first`: what was read of `carrier` already. `user`: the one of the client's certificate. `unusable`: the
        reason why that names none."""
        self._carrier = carrier
        self._client = client
        self._context = context
        self._encrypted = encrypted
        self._user = user
        self._unusable = unusable
        self._most = context.message_bytes
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self._raw = RawRequest()
        self._raw.add(first)
        self._http.receive_data(first)
        self._timeout: float | None = None
        self._chunks: Gathered | None = None
        self._reservation: MemoryReservation | None = None
        """Of these chunks."""
        self._wants_head = False
        self._is_thrift = False
        """The request says that its body is a message of Thrift."""
        self._awaits = False
        """A message was handed on, and its answer is still to come."""
        self._proof = b""
        """The server's answer to the ticket of the request."""
        self._unsent = 0
        """Bytes of the answer that is being sent."""

    def settimeout(self, seconds: float | None, /) -> None:
        self._timeout = seconds
        self._carrier.settimeout(seconds)

    def close(self) -> None:
        """A message that could not be answered in Thrift has an answer in HTTP. Does not switch."""
        self._forget_chunks()
        if self._awaits:
            self._awaits = False
            with suppress(OSError):
                self._carrier.settimeout(0.0)
                self._carrier.sendall(self._refusal(400, "The body is no whole message of Thrift."))
        self._carrier.close()

    @switches
    def recv(self, most: int, /) -> bytes:
        """The next bytes of a message, or of its length; b"" when no request follows. `most` is not looked at: what a
        read of the carrier has brought is handed on as a whole."""
        http, began, events = self._http, self._context.clock(), 0
        while True:
            events += 1
            if not events % _EVENTS_AT_ONCE:
                self._context.pause()  # a read brings 10,000 chunks of a byte, and the next one may be there, too
            if http.our_state is h11.DONE and http.their_state is h11.DONE:
                http.start_next_cycle()
                self._raw.begin(http.trailing_data[0])
            elif http.our_state in (h11.MUST_CLOSE, h11.CLOSED):
                return b""
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                status = error.error_status_hint
                self._refuse(413 if status == 431 else status, f"This is no HTTP request: {_without_quoted(error)}.")
                return b""
            if event is h11.NEED_DATA:
                if self._raw.is_hopeless():
                    self._refuse(400, "This is no HTTP request: its first line is none.")
                    return b""
                if not self._receive(began):
                    return b""
                continue
            piece = self._taken(event)
            if piece is None:
                return b""
            if piece:
                return piece

    @switches
    def _taken(self, event: object) -> bytes | None:
        """The bytes of a message that an event brings; perhaps none. None: the end of the connection."""
        if isinstance(event, h11.Request):
            return self._begin(event)
        if isinstance(event, h11.Data):
            return bytes(event.data) if self._chunks is None else self._gather(self._chunks, bytes(event.data))
        if isinstance(event, h11.EndOfMessage):
            return b"" if self._chunks is None else self._ended(event, self._chunks)
        return None  # the client left, or sent something before it was answered

    @switches
    def _receive(self, began: float) -> bool:
        """Whether more may follow. Between requests a client may be silent for ever; in one it may not."""
        http, context = self._http, self._context
        if http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        if http.their_state is not h11.IDLE or http.trailing_data[0]:
            if context.clock() - began > context.stall_seconds:
                raise TimeoutError("the request arrives too slowly")
            self._carrier.settimeout(context.stall_seconds)
        piece = self._carrier.recv(_READ_BYTES)
        self._carrier.settimeout(self._timeout)
        self._raw.add(piece)
        http.receive_data(piece)
        return bool(piece)

    @switches
    def _begin(self, request: h11.Request) -> bytes | None:
        """The length that is handed on, where it is known. None: the request was refused."""
        self._wants_head = request.method == b"HEAD"
        self._is_thrift = request.method == b"POST" and is_thrift(list(request.headers))
        if request.method != b"POST":
            status = 403 if request.method in (b"TRACE", b"OPTIONS") else 400
            self._refuse(status, f"{request.method.decode('latin-1')} is no call.")
            return None
        fault = self._raw.fault_of_head(request, self._http.trailing_data[0])
        if fault:
            self._refuse(400, _MAY_BE_READ_IN_TWO_WAYS.format(fault))
            return None
        if is_of_browser(list(request.headers)):
            self._refuse(403, _OF_A_BROWSER)
            return None
        verifier = self._context.security.verifier
        if verifier is not None and not self._let_in(request, verifier):
            return None
        length = next((int(value) for name, value in request.headers if name == b"content-length"), -1)
        if length > self._most:
            self._refuse(413, self._too_long(length))
            return None
        if length < 0:
            self._chunks = Gathered(b"")  # or there is no body, which shows at its end
            return b""
        if length == 0:
            self._refuse(400, "The body is empty.")
            return None
        self._awaits = True
        return _LENGTH.pack(length)

    @switches
    def _let_in(self, request: h11.Request, verifier: Verifier) -> bool:
        """Whether the request is of a user, for whom this task works from now on; otherwise it was refused."""
        context, headers = self._context, list(request.headers)
        act_as(None)  # the request before may have been of a user
        claim("")
        self._proof = b""
        why = "" if self._encrypted else refusal_without_tls(headers, context.security.auth)
        if why:
            context.security.denied(self._client, "login", why)
            self._refuse(403, why)
            return False
        try:
            user, self._proof = user_of(headers, request.target, self._client, context, verifier, self._user)
            act_as(user)
        except NotAuthenticated as error:
            why = f"{self._unusable}; {error}" if self._unusable and not says_who(headers) else str(error)
            context.security.denied(self._client, "login", why)
            self._refuse(401, f"You were not let in: {why}.")
            return False
        except Unavailable as error:
            context.security.denied(self._client, "login", str(error))
            self._refuse(503, f"You were not let in: {error}.")
            return False
        return True

    @switches
    def _gather(self, chunks: Gathered, data: bytes) -> bytes | None:
        chunks.add(data)
        if chunks.size > self._most:
            self._refuse(413, self._too_long(chunks.size))
            return None
        if chunks.size > SMALL_BYTES:
            budget = self._context.budget
            try:
                if self._reservation is None:
                    self._reservation = budget.begin(self._carrier.close)
                    budget.arrive(self._reservation, chunks.size - len(data))
                budget.arrive(self._reservation, len(data))
            except Overloaded as error:
                self._refuse(503, f"The request was not begun: {error}.")
                return None
        return b""

    @switches
    def _ended(self, event: h11.EndOfMessage, chunks: Gathered) -> bytes | None:
        fault = self._raw.fault_of_end(event, self._http.trailing_data[0])
        if fault:
            self._refuse(400, _MAY_BE_READ_IN_TWO_WAYS.format(fault))
            return None
        return self._whole(chunks)

    @switches
    def _whole(self, body: Gathered) -> bytes | None:
        if not body.size:
            self._forget_chunks()
            self._refuse(400, "The body is empty.")
            return None
        length = _LENGTH.pack(body.size)
        message, _ = body.split(body.size, lambda pieces: self._context.join([length, *pieces]))
        self._forget_chunks()  # and without a switch whoever reads the message counts it
        self._awaits = True
        return message

    def _forget_chunks(self) -> None:
        self._chunks = None
        if self._reservation is not None:
            self._context.budget.end(self._reservation)
            self._reservation = None

    def _too_long(self, length: int) -> str:
        return (
            f"A body of {length} bytes or more is over this server's limit of {self._most} bytes "
            "(thrift.message_bytes): send smaller batches, or have the limit raised."
        )

    @switches
    def sendall(self, data: bytes, /) -> None:
        """A framed message, or a piece of one. What nobody asked for has no place in HTTP, and is dropped."""
        http, head = self._http, b""
        if not self._unsent:
            if not self._awaits:
                return
            self._awaits = False
            (self._unsent,) = _LENGTH.unpack_from(data)
            data = data[_LENGTH.size :]
            headers = [(b"Content-Type", THRIFT), (b"Content-Length", b"%d" % self._unsent)]
            headers += answered(self._proof)
            if self._context.leaving:
                headers.append((b"Connection", b"close"))
            head = http.send(h11.Response(status_code=200, headers=headers, reason=b"OK")) or b""
        if data:
            http.send_with_data_passthrough(h11.Data(data=data))  # which goes out as it is: its length was said
            self._unsent -= len(data)
        if len(data) > _READ_BYTES:
            self._carrier.sendall(head)
            self._carrier.sendall(data)
        else:
            self._carrier.sendall(head + data)
        if not self._unsent:
            http.send(h11.EndOfMessage())

    @switches
    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._carrier.sendall(data)

    @switches
    def _refuse(self, status: int, why: str) -> None:
        """A sentence, and the end of the connection. Nothing when the client cannot be answered any more."""
        self._context.log_limiter.warning("refused an HTTP request of %s: %s", self._client, why)
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        self._awaits = False  # a message whose rest was none has this answer
        start = self._start_of_body() if self._is_thrift else b""
        answer = in_thrift(start, as_error(status, why), self._context) if start else None
        self._carrier.settimeout(self._context.stall_seconds)
        self._carrier.sendall(self._refusal(status, why, answer))
        self._forget_chunks()  # others wait for its memory
        discard(self._carrier, self._context)

    @switches
    def _start_of_body(self) -> bytes:
        """As much of it as its message's head takes; less where the body is shorter, or the client wants to be asked
        for it."""
        http, began = self._http, self._context.clock()
        start = b"" if self._chunks is None else self._chunks.beginning(START_BYTES)
        while len(start) < START_BYTES and not http.they_are_waiting_for_100_continue:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError:
                break
            if isinstance(event, h11.Data):
                start += event.data
            elif event is not h11.NEED_DATA or not self._receive(began):
                break
        return start[:START_BYTES]

    def _refusal(self, status: int, why: str, answer: bytes | None = None) -> bytes:
        """`answer`: the same as an answer of Thrift."""
        http, context = self._http, self._context
        body = answer or f"{why} {_WHAT_THIS_IS.format(host=context.host, port=context.port)}\n".encode()
        headers = [
            (b"Content-Type", THRIFT if answer else b"text/plain; charset=utf-8"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Connection", b"close"),
        ]
        if status == 401:
            headers += challenges(context)
        response = h11.Response(status_code=status, headers=headers, reason=_PHRASES.get(status, b"Bad Request"))
        events = (
            (response, h11.EndOfMessage()) if self._wants_head else (response, h11.Data(data=body), h11.EndOfMessage())
        )
        return b"".join(http.send(event) or b"" for event in events)


_PHRASES: Final = {
    401: b"Unauthorized",
    403: b"Forbidden",
    413: b"Content Too Large",
    431: b"Request Header Fields Too Large",
    501: b"Not Implemented",
    503: b"Service Unavailable",
}


def _without_quoted(error: h11.RemoteProtocolError) -> str:
    """The message of `error` up to the client's bytes, which h11 quotes: a password or a token may be among them."""
    return _QUOTED.split(str(error), maxsplit=1)[0]

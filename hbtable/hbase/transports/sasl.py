"""SASL before the calls, in the frames of Thrift's TSaslTransport: a status, 4 bytes of length, and what belongs to it.

    client   START "PLAIN"    OK "for whom NUL name NUL password"
    server   COMPLETE ""      or BAD, with a message

Afterwards all bytes come in frames, 4 bytes of length before each. A client cuts them as its buffer is filled: a frame
may be a part of a message, so what is inside of them is a stream again. A password may be a token
(access/passwords.py). Clients show the message of a refusal.
"""

import struct
from typing import Final, NamedTuple, final

from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated, Unavailable
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.discarding import discard
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_HEAD: Final = struct.Struct(">BI")
_LENGTH: Final = struct.Struct(">I")
_READ_BYTES: Final = 64 << 10
_START: Final = 1
_OK: Final = 2
_BAD: Final = 3
_COMPLETE: Final = 5
_PLAIN: Final = b"PLAIN"
_MECHANISM_BYTES: Final = 20
"""SASL's own limit."""
_RESPONSE_BYTES: Final = 8192
_NEEDS_TLS: Final = (
    "this server takes passwords over TLS only (auth.plain_text): connect with TLS. If a password was sent just now, "
    "others may have read it: change it"
)


class Negotiated(NamedTuple):
    """The end of a negotiation that went well."""

    user: User
    stream: "SaslStream"


@final
class SaslStream:
    """The inside of the frames. One task at a time reads or writes."""

    def __init__(self, carrier: Stream, first: bytes) -> None:
        """`first`: what was read of `carrier` already."""
        self._carrier = carrier
        self._read = first
        self._left = 0
        """Bytes of the frame that are still to come."""
        self.settimeout = carrier.settimeout
        self.close = carrier.close

    @switches
    def recv(self, most: int, /) -> bytes:
        """`most` is not looked at: what a read of the carrier has brought is handed on as a whole."""
        while True:
            inside = self._without_heads()
            if inside:
                return inside
            piece = self._carrier.recv(_READ_BYTES)
            if not piece:
                return b""
            self._read += piece

    def _without_heads(self) -> bytes:
        """Of what was read; a head of which a part is missing stays."""
        if self._left >= len(self._read):
            inside, self._read = self._read, b""
            self._left -= len(inside)
            return inside
        pieces, place, end = [], 0, len(self._read)
        while place < end:
            if not self._left:
                if end - place < _LENGTH.size:
                    break
                (self._left,) = _LENGTH.unpack_from(self._read, place)
                place += _LENGTH.size
            taken = min(self._left, end - place)
            pieces.append(self._read[place : place + taken])
            self._left -= taken
            place += taken
        self._read = self._read[place:]
        return b"".join(pieces)

    @switches
    def sendall(self, data: bytes, /) -> None:
        if len(data) > _READ_BYTES:
            self._carrier.sendall(_LENGTH.pack(len(data)))
            self._carrier.sendall(data)
        elif data:
            self._carrier.sendall(_LENGTH.pack(len(data)) + data)


class _Refused(Exception):
    """The text is for the client."""


@switches
def negotiate(
    stream: Stream, first: bytes, client: str, context: ConnectionContext, verifier: Verifier, encrypted: bool
) -> Negotiated | None:
    """None: the client left, or was sent away with a message. OSError as the stream raises it. `first`: what was read
    of it already."""
    messages = _Messages(stream, first, context)
    try:
        user = _user(messages, client, context, verifier, encrypted)
    except EOFError:
        return None
    except (_Refused, NotAuthenticated, Unavailable) as error:
        context.log_limiter.warning("did not let %s in: %s", client, error)
        context.security.denied(client, "login", str(error))
        messages.send(_BAD, str(error).encode())
        discard(stream, context)
        return None
    messages.send(_COMPLETE, b"")
    stream.settimeout(None)
    return Negotiated(user, SaslStream(stream, messages.rest))


@switches
def _user(messages: "_Messages", client: str, context: ConnectionContext, verifier: Verifier, encrypted: bool) -> User:
    """EOFError, _Refused, NotAuthenticated, Unavailable."""
    _, mechanism = messages.receive((_START,), _MECHANISM_BYTES)
    if mechanism != _PLAIN:
        raise _Refused(f"this server knows the SASL mechanism PLAIN, and not {_shown(mechanism)}")
    if not encrypted and not context.security.auth.plain_text:
        raise _Refused(_NEEDS_TLS)
    _, response = messages.receive((_OK, _COMPLETE), _RESPONSE_BYTES)
    if not response:  # of a client that waits to be asked
        messages.send(_OK, b"")
        _, response = messages.receive((_OK, _COMPLETE), _RESPONSE_BYTES)
    parts = response.split(b"\0")
    if len(parts) != 3:
        raise _Refused("the answer to PLAIN is not: for whom, a zero byte, the user's name, a zero byte, the password")
    acting_for, name, secret = parts
    host = client.rpartition(":")[0]
    context.request_gate(host)(context.clock())
    user = verifier.by_password(_shown(name), secret, host)
    return verifier.acting_for(user, _shown(acting_for))


def _shown(name: bytes) -> str:
    """A name that is no UTF-8 is no user's, either."""
    return name.decode("utf-8", "replace")


@final
class _Messages:
    """The negotiation's frames. All of it must be over in time, however slowly its bytes drip in."""

    def __init__(self, stream: Stream, first: bytes, context: ConnectionContext) -> None:
        self.rest = first
        self._stream = stream
        self._clock = context.clock
        self._until = context.clock() + context.stall_seconds
        stream.settimeout(context.stall_seconds)

    @switches
    def receive(self, due: tuple[int, ...], most: int) -> tuple[int, bytes]:
        """(status, content). EOFError: the client left, or gave up. TimeoutError."""
        status, size = _HEAD.unpack(self._take(_HEAD.size))
        if status not in due:
            raise _Refused(f"a message of SASL has the status {status}, where {' or '.join(map(str, due))} is due")
        if size > most:
            raise _Refused(f"a message of SASL has {size} bytes, and {most} at most are due")
        return status, self._take(size)

    @switches
    def send(self, status: int, content: bytes) -> None:
        self._stream.sendall(_HEAD.pack(status, len(content)) + content)

    @switches
    def _take(self, size: int) -> bytes:
        while len(self.rest) < size:
            if self._clock() >= self._until:
                raise TimeoutError("the negotiation of SASL takes too long")
            piece = self._stream.recv(_RESPONSE_BYTES)
            if not piece:
                raise EOFError
            self.rest += piece
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

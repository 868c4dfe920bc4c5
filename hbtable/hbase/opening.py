"""The beginning of a connection, up to its first call: what the client speaks, and through which layers.

The first bytes tell (codec/sniffing.py). After a TLS handshake the question is asked once more, of what is inside.
"""

from typing import NamedTuple

from hbtable.errors import Overloaded
from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol, sniff
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.runtime.tls import HandshakeFailed, ServerTls, TlsStream
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_DISCARD_SECONDS = 2.0
_DISCARD_AT_MOST_SECONDS = 10.0


class Opened(NamedTuple):
    """A connection that has begun to speak."""

    stream: Stream
    """Of the innermost layer."""
    first: bytes
    """What was read of it."""
    spoken: DetectedProtocol
    encrypted: bool


@switches
def open_stream(stream: Stream, client: str, context: ConnectionContext) -> Opened | None:
    """None: the client left, or was sent away. OSError as the stream raises it."""
    first, spoken = _sniff(stream, context)
    if spoken is None:
        return None
    tls = context.security.tls
    if spoken.protocol is not Protocol.TLS or tls is None:
        return Opened(stream, first, spoken, encrypted=False)
    inside = _encrypted(tls, stream, first, client, context)
    if inside is None:
        return None
    first, spoken = _sniff(inside, context)
    return None if spoken is None else Opened(inside, first, spoken, encrypted=True)


@switches
def discard(stream: Stream, context: ConnectionContext) -> None:
    """Reads what the client still sends, for a while. Closing with unread bytes would reset the connection, and it
    would never see what it was told."""
    clock = context.clock
    until = clock() + _DISCARD_AT_MOST_SECONDS
    stream.settimeout(_DISCARD_SECONDS)
    try:
        while clock() < until and stream.recv(65536):
            context.pause()
    except OSError:
        return


@switches
def _sniff(stream: Stream, context: ConnectionContext) -> tuple[bytes, DetectedProtocol | None]:
    """(what was read, None) when the client left before it said anything."""
    first = b""
    while True:
        piece = stream.recv(65536)
        if not piece:
            return first, None
        first += piece
        spoken = sniff(first)
        if spoken is not None:
            stream.settimeout(None)
            return first, spoken
        stream.settimeout(context.stall_seconds)


@switches
def _encrypted(
    tls: ServerTls, stream: Stream, first: bytes, client: str, context: ConnectionContext
) -> TlsStream | None:
    """A handshake costs as much as some calls, so it waits for its turn as one."""
    clock = context.clock
    until = clock() + context.stall_seconds
    inside = tls.over(stream, first)
    stream.settimeout(context.stall_seconds)
    try:
        context.request_gate(client.rpartition(":")[0])(clock())
        inside.handshake(lambda: clock() < until)
    except (HandshakeFailed, Overloaded) as error:
        context.log_limiter.warning("closed the connection of %s: its TLS handshake failed: %s", client, error)
        discard(stream, context)
        return None
    return inside

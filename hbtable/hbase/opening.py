"""The beginning of a connection, up to its first call: what the client speaks, and through which layers.

The first bytes tell (codec/sniffing.py). After a TLS handshake, and in HTTP, the question is asked once more.
"""

from collections.abc import Callable
from typing import NamedTuple

from hbtable.errors import Overloaded
from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol, sniff, sniff_frame
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.discarding import discard
from hbtable.runtime.tls import HandshakeFailed, ServerTls, TlsStream
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream


class Opened(NamedTuple):
    """A connection that has begun to speak."""

    stream: Stream
    """Of the innermost layer."""
    first: bytes
    """Bytes that were read of it already."""
    spoken: DetectedProtocol
    encrypted: bool


@switches
def open_stream(stream: Stream, client: str, context: ConnectionContext) -> Opened | None:
    """None: the client left, or was sent away. OSError as the stream raises it."""
    first, spoken = _sniff(stream, context)
    tls = context.security.tls
    encrypted = tls is not None and spoken is not None and spoken.protocol is Protocol.TLS
    if tls is not None and encrypted:
        inside = _encrypted(tls, stream, first, client, context)
        if inside is None:
            return None
        stream = inside
        first, spoken = _sniff(stream, context)
    if spoken is not None and spoken.protocol is Protocol.HTTP:
        from hbtable.hbase.transports.http import HttpStream  # its parser is loaded for those who need it

        stream = HttpStream(stream, first, client, context)
        first, spoken = _sniff(stream, context, sniff_frame)
    return None if spoken is None else Opened(stream, first, spoken, encrypted)


@switches
def _sniff(
    stream: Stream, context: ConnectionContext, detect: Callable[[bytes], DetectedProtocol | None] = sniff
) -> tuple[bytes, DetectedProtocol | None]:
    """(what was read, None) when the client left before it said anything."""
    first = b""
    while True:
        piece = stream.recv(65536)
        if not piece:
            return first, None
        first += piece
        spoken = detect(first)
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

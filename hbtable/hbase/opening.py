"""The beginning of a connection, up to its first call: what the client speaks, and through which layers.

The first bytes tell (codec/sniffing.py). After TLS's handshake, after SASL's, and in HTTP the question is asked again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from hbtable.access.login import CertificateLogin, Login
from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated, Overloaded
from hbtable.hbase.audit import claim
from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol, sniff, sniff_frame, sniff_silent
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.discarding import discard
from hbtable.hbase.transports.protected_stream import ProtectedStream
from hbtable.hbase.transports.sasl import negotiate
from hbtable.runtime.network.tls import HandshakeFailed, ServerTls, TlsStream
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream
from hbtable.thrift.wire import Malformed

if TYPE_CHECKING:
    from hbtable.hbase.transports.http import HttpStream

_FIRST_SECONDS: Final = 5.0
"""For the first bytes of a client, once there is one: clients of other protocols wait for an answer to fewer."""


class Opened(NamedTuple):
    """A connection that has begun to speak."""

    stream: Stream
    """Of the innermost layer."""
    first: bytes
    """Bytes that were read of it already."""
    spoken: DetectedProtocol
    encrypted: bool
    user: User | None
    """The user that it proved to be."""
    proves_by_request: bool = False
    """Each request says for itself whose it is: the stream answers those of nobody."""
    unusable: str = ""
    """The reason why its certificate makes nobody of it, or cannot be read."""


@switches
def open_stream(
    stream: Stream, client: str, context: ConnectionContext, logged_in: Callable[[Login | CertificateLogin, User], None]
) -> Opened | None:
    """None: the client left, or was sent away. OSError as the stream raises it, Malformed. `logged_in`: hears of a
    login by the list of users or by a certificate, which is for as long as the connection is open, and for whom it
    works, before it says anything."""
    first, spoken = _sniff(stream, context)
    tls = context.security.tls
    encrypted = tls is not None and spoken is not None and spoken.protocol is Protocol.TLS
    verifier, user, unusable = context.security.verifier, None, ""
    if tls is not None and encrypted:
        inside = _encrypted(tls, stream, first, client, context)
        if inside is None:
            return None
        stream, unusable = inside, inside.unreadable
        if verifier is not None and not unusable:
            user, unusable = _of_certificate(inside, verifier, client, context)
            if user is not None:
                logged_in(CertificateLogin(user, inside.certificate_ends_millis()), user)
        first, spoken = _sniff(stream, context)
    if verifier is not None and spoken is not None and spoken.protocol is Protocol.SASL:
        negotiated = negotiate(stream, first, client, context, verifier, encrypted)
        if negotiated is None:
            return None
        user, stream, login = negotiated
        if login is not None:
            logged_in(login, user)
        first, spoken = _sniff(stream, context)
    if spoken is not None and spoken.protocol is Protocol.HTTP:
        if isinstance(stream, ProtectedStream):
            raise Malformed("it speaks HTTP inside of frames that Kerberos protects, which have Thrift alone")
        http: type[HttpStream] = context.load("hbtable.hbase.transports.http").HttpStream
        stream = http(stream, first, client, context, encrypted, user, unusable)
        first, spoken = _sniff(stream, context, sniff_frame)
        if spoken is not None:
            return Opened(stream, first, spoken, encrypted, user, verifier is not None, unusable)
    return None if spoken is None else Opened(stream, first, spoken, encrypted, user, unusable=unusable)


def _of_certificate(
    inside: TlsStream, verifier: Verifier, client: str, context: ConnectionContext
) -> tuple[User | None, str]:
    """(the user whom the client's certificate names, if it has shown one; the reason why it names none)."""
    if not inside.shows_certificate:
        return None, ""
    names = inside.common_names()
    try:
        return verifier.by_certificate(names), ""
    except NotAuthenticated as error:
        claim(", ".join(names))
        context.log_limiter.warning("the certificate of %s makes nobody of it: %s", client, error)
        return None, str(error)


@switches
def _sniff(
    stream: Stream, context: ConnectionContext, detect: Callable[[bytes], DetectedProtocol | None] = sniff
) -> tuple[bytes, DetectedProtocol | None]:
    """(what was read, None) when the client left before it said anything."""
    first = b""
    while True:
        try:
            piece = stream.recv(65536)
        except TimeoutError:
            if not first or detect is not sniff:
                raise
            return first, sniff_silent(first)
        if not piece:
            return first, None
        first += piece
        spoken = detect(first)
        if spoken is not None:
            stream.settimeout(None)
            return first, spoken
        stream.settimeout(min(_FIRST_SECONDS, context.stall_seconds))


@switches
def _encrypted(
    tls: ServerTls, stream: Stream, first: bytes, client: str, context: ConnectionContext
) -> TlsStream | None:
    """A handshake costs as much as some calls, so it waits for its turn as one."""
    clock = context.clock
    until = clock() + context.stall_seconds
    inside = tls.over(stream, first, context.pause)
    stream.settimeout(context.stall_seconds)
    try:
        context.request_gate(client.rpartition(":")[0])(clock())
        inside.handshake(lambda: clock() < until)
        if inside.certificate_ends_millis() <= context.wall_millis():
            raise HandshakeFailed("the client's certificate has expired")
        if inside.unreadable:
            context.log_limiter.warning("the certificate of %s makes nobody of it: %s", client, inside.unreadable)
    except (HandshakeFailed, Overloaded) as error:
        context.log_limiter.warning("closed the connection of %s: its TLS handshake failed: %s", client, error)
        discard(stream, context)
        return None
    return inside

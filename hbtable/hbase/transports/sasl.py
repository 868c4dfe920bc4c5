"""SASL before the calls, in the frames of Thrift's TSaslTransport: a status, 4 bytes of length, and what belongs to it.

    client   START "PLAIN"    OK "for whom NUL name NUL password"
    server   COMPLETE ""      or BAD, with a message; ERROR where the server is at fault

GSSAPI, which is Kerberos, takes more of them (kerberos.py).

Afterwards all bytes come in frames, 4 bytes of length before each. A client cuts them as its buffer is filled: a frame
may be a part of a message, so what is inside of them is a stream again. A password may be a token
(access/passwords.py). Clients show the message of a refusal.
"""

from typing import Final, NamedTuple

from hbtable.access.login import Login
from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated, Unavailable
from hbtable.hbase.audit import claim
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.discarding import discard
from hbtable.hbase.transports.kerberos import by_kerberos
from hbtable.hbase.transports.protected_stream import Layer, ProtectedStream
from hbtable.hbase.transports.sasl_frames import SaslStream
from hbtable.hbase.transports.sasl_messages import (
    BAD,
    COMPLETE,
    ERROR,
    OK,
    RESPONSE_BYTES,
    START,
    SaslMessages,
    SaslRefused,
)
from hbtable.model.visible import visible
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_PLAIN: Final = b"PLAIN"
_GSSAPI: Final = b"GSSAPI"
_MECHANISM_BYTES: Final = 20
"""SASL's own limit."""
_NEEDS_TLS: Final = (
    "this server takes passwords over TLS only (auth.plain_text): connect with TLS. If a password was sent just now, "
    "others may have read it: change it"
)


class Negotiated(NamedTuple):
    """The end of a negotiation that went well."""

    user: User
    stream: SaslStream | ProtectedStream
    login: Login | None
    """By the list of users; None: by Kerberos."""


@switches
def negotiate(
    stream: Stream, first: bytes, client: str, context: ConnectionContext, verifier: Verifier, encrypted: bool
) -> Negotiated | None:
    """None: the client left, or was sent away with a message. OSError as the stream raises it. `first`: what was read
    of it already."""
    messages = SaslMessages(stream, first, context.clock, context.stall_seconds)
    try:
        user, layer, login = _user(messages, client, context, verifier, encrypted)
    except EOFError:
        return None
    except (SaslRefused, NotAuthenticated, Unavailable) as error:
        context.log_limiter.warning("did not let %s in: %s", client, error)
        context.security.denied(client, "login", str(error))
        messages.send(ERROR if isinstance(error, Unavailable) else BAD, str(error).encode())
        discard(stream, context)
        return None
    messages.send(COMPLETE, b"")
    stream.settimeout(None)
    if layer is None:
        return Negotiated(user, SaslStream(stream, messages.rest, context.pause), login)
    return Negotiated(user, ProtectedStream(stream, messages.rest, layer, context), login)


@switches
def _user(
    messages: SaslMessages, client: str, context: ConnectionContext, verifier: Verifier, encrypted: bool
) -> tuple[User, Layer | None, Login | None]:
    """The layer of Kerberos that protects what follows, if one does; the login by the list of users, if it was one.
    EOFError, SaslRefused, NotAuthenticated, Unavailable."""
    _, mechanism = messages.receive((START,), _MECHANISM_BYTES)
    kerberos = context.security.kerberos
    if mechanism == _GSSAPI and kerberos is not None:
        context.request_gate(client.rpartition(":")[0])(context.clock())
        proved = by_kerberos(messages, kerberos)
        claim(proved.name)
        return verifier.acting_for(verifier.user(proved.name), proved.acting_for), proved.layer, None
    if mechanism != _PLAIN:
        known = "PLAIN" if kerberos is None else "PLAIN and GSSAPI"
        raise SaslRefused(f"this server knows the SASL mechanism {known}, and not {visible(_shown(mechanism))}")
    if not encrypted and not context.security.auth.plain_text:
        raise SaslRefused(_NEEDS_TLS)
    user, login = _by_plain(messages, client, context, verifier)
    return user, None, login


@switches
def _by_plain(
    messages: SaslMessages, client: str, context: ConnectionContext, verifier: Verifier
) -> tuple[User, Login]:
    _, response = messages.receive((OK, COMPLETE), RESPONSE_BYTES)
    if not response:  # of a client that waits to be asked
        messages.send(OK, b"")
        _, response = messages.receive((OK, COMPLETE), RESPONSE_BYTES)
    parts = response.split(b"\0")
    if len(parts) != 3:
        raise SaslRefused("the answer to PLAIN is not: for whom, a zero byte, the user, a zero byte, the password")
    acting_for, name, secret = parts
    claim(_shown(name))
    host = client.rpartition(":")[0]
    context.request_gate(host)(context.clock())
    login = verifier.log_in(_shown(name), secret, host)
    return verifier.acting_for(login.user, _shown(acting_for)), login


def _shown(name: bytes) -> str:
    """A name that is no UTF-8 is no user's, either."""
    return name.decode("utf-8", "replace")

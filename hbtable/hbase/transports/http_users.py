"""The user of an HTTP request: Basic with a password or a token, Bearer with a token, Negotiate with a ticket of
Kerberos (SPNEGO, RFC 4559), or the client's certificate.

`doAs`, a header as HBase has it or a parameter of the address, names another user, for whom the first one acts.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs

from hbtable.access.options import AuthOptions
from hbtable.access.passwords import parts_of_token
from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated
from hbtable.hbase.audit import claim
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.switches import switches

if TYPE_CHECKING:
    from hbtable.hbase.transports.kerberos import KerberosService

_NEEDS_TLS: Final = (
    "This server takes passwords and tokens over HTTPS only (auth.plain_text). Others may have read what was sent just "
    "now: change the password, or revoke the token."
)
_TICKET_NEEDS_TLS: Final = (
    "This server takes tickets of Kerberos over HTTPS only, because messages over HTTP have no protection of their own "
    "(auth.qop is without auth)."
)
_NEGOTIATE: Final = b"negotiate"
_OTHER_SCHEMES: Final = frozenset(
    (_NEGOTIATE, b"digest", b"ntlm", b"scram-sha-1", b"scram-sha-256", b"token", b"apikey")
)
"""They may be named in a refusal. Any other word there may be a password or a token whose scheme was forgotten."""
_NOBODY: Final = (
    "this server asks who you are (auth.enabled): send Authorization, Basic with a user and the password or a token, "
    "or Bearer with a token, or, where auth.keytab has the key of HTTP/HOST, Negotiate with a ticket of Kerberos"
)

Headers = Sequence[tuple[bytes, bytes]]
"""Names in small letters."""


class Requester(NamedTuple):
    """The user of one request."""

    user: User
    answer: bytes
    """The server's proof to him, for the head of the response; empty for none."""


def says_who(headers: Headers) -> bool:
    """Whether the request has an Authorization."""
    return any(_values(headers, b"authorization"))


def refusal_without_tls(headers: Headers, auth: AuthOptions) -> str:
    """The reason why what it says of its user is not taken over a connection that anybody can read or change; empty
    when there is none."""
    for said in _values(headers, b"authorization"):
        if said.partition(b" ")[0].lower() == _NEGOTIATE:
            if not auth.plain_text and "auth" not in auth.layers():
                return _TICKET_NEEDS_TLS
        elif said and not auth.plain_text:
            return _NEEDS_TLS
    return ""


def challenges(context: ConnectionContext) -> list[tuple[bytes, bytes]]:
    """The ways to say who one is, as headers."""
    kerberos = context.security.kerberos
    tickets = [(b"WWW-Authenticate", b"Negotiate")] if kerberos is not None and kerberos.has_web_service else []
    return [
        *tickets,
        (b"WWW-Authenticate", b'Basic realm="hbtable", charset="UTF-8"'),
        (b"WWW-Authenticate", b"Bearer"),
    ]


def answered(answer: bytes) -> list[tuple[bytes, bytes]]:
    """`answer`, a Requester's, as headers. The next request on the connection has to bring a ticket as well: curl, for
    one, wants to be told."""
    if not answer:
        return []
    return [(b"WWW-Authenticate", b"Negotiate " + base64.b64encode(answer)), (b"Persistent-Auth", b"false")]


@switches
def user_of(
    headers: Headers, target: bytes, client: str, context: ConnectionContext, verifier: Verifier, user: User | None
) -> Requester:
    """NotAuthenticated, Unavailable. `user`: the one of the client's certificate."""
    values = _values(headers, b"authorization")
    if len(values) > 1:
        raise NotAuthenticated(f"the request has {len(values)} headers Authorization, and one is due")
    said = values[0] if values else b""
    answer, kerberos = b"", context.security.kerberos
    if said:
        host = client.rpartition(":")[0]
        context.request_gate(host)(context.clock())
        if kerberos is not None and said.partition(b" ")[0].lower() == _NEGOTIATE:
            name, answer = _by_ticket(said, kerberos)
            user = verifier.user(name)
        else:
            user = proved(said, host, verifier)
    if user is None:
        raise NotAuthenticated(_NOBODY)
    claim(user.name)
    return Requester(verifier.acting_for(user, _acting_for(headers, target)), answer)


@switches
def _by_ticket(said: bytes, kerberos: "KerberosService") -> tuple[str, bytes]:
    """(the user, the server's answer). NotAuthenticated."""
    try:
        token = base64.b64decode(said.partition(b" ")[2].strip(), validate=True)
    except binascii.Error:
        token = b""
    if not token:
        raise NotAuthenticated("Authorization has no ticket in Base64 behind Negotiate")
    return kerberos.by_spnego(token)


@switches
def proved(said: bytes, host: str, verifier: Verifier) -> User:
    """The user of the value of a header Authorization. NotAuthenticated, Unavailable."""
    scheme, _, value = said.partition(b" ")
    value = value.strip()
    if scheme.lower() == b"bearer":
        claim(_token_id(value))
        return verifier.by_token(value)
    if scheme.lower() != b"basic":
        found = f", and not {scheme.decode()!r}" if scheme.lower() in _OTHER_SCHEMES else ""
        raise NotAuthenticated(f"this server knows Basic and Bearer in front of the secret in Authorization{found}")
    try:
        pair = base64.b64decode(value, validate=True)
    except binascii.Error:
        pair = b""
    if b":" not in pair:
        raise NotAuthenticated("Authorization has no USER:PASSWORD in Base64 behind Basic")
    user, _, secret = pair.partition(b":")
    name = user.decode("utf-8", "replace")
    claim(name)
    return verifier.by_password(name, secret, host)


def _token_id(token: bytes) -> str:
    """By which `hbtable user list` names it; no secret."""
    parts = parts_of_token(token)
    return "" if parts is None else f"token {parts[0]}"


def _acting_for(headers: Headers, target: bytes) -> str:
    """NotAuthenticated when there are two, or one without a name: a client that knows no user and says so would have
    the calls of nobody made with its own rights."""
    asked = target.decode("latin-1").partition("?")[2].partition("#")[0]
    query = parse_qs(asked, keep_blank_values=True)
    found = [value.decode("utf-8", "replace") for name, value in headers if name == b"doas"]
    found += [value for name, values in query.items() if name.lower() == "doas" for value in values]
    if len(set(found)) > 1:
        raise NotAuthenticated("doAs names more than one user")
    if found and not found[0].strip():
        raise NotAuthenticated("doAs is empty: name the user, or leave it out")
    return found[0] if found else ""


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for found, value in headers if found == name]

"""The user of an HTTP request: Basic with a password or a token, Bearer with a token, or the client's certificate.

`doAs`, a header as HBase has it or a parameter of the address, names another user, for whom the first one acts.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qs, urlsplit

from hbtable.access.passwords import parts_of_token
from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated
from hbtable.hbase.audit import claim
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.switches import switches

NEEDS_TLS: Final = (
    "This server takes passwords and tokens over HTTPS only (auth.plain_text). Others may have read what was sent just "
    "now: change the password, or revoke the token."
)
_NOBODY: Final = (
    "this server asks who you are (auth.enabled): send Authorization, Basic with a user and the password or a token, "
    "or Bearer with a token"
)

Headers = Sequence[tuple[bytes, bytes]]
"""Names in small letters."""


def sends_secret(headers: Headers) -> bool:
    """Whether it may be read by whoever listens."""
    return any(_values(headers, b"authorization"))


@switches
def user_of(
    headers: Headers, target: bytes, client: str, context: ConnectionContext, verifier: Verifier, user: User | None
) -> User:
    """NotAuthenticated, Unavailable. `user`: the one of the client's certificate."""
    values = _values(headers, b"authorization")
    if len(values) > 1:
        raise NotAuthenticated(f"the request has {len(values)} headers Authorization, and one is due")
    said = values[0] if values else b""
    if said:
        host = client.rpartition(":")[0]
        context.request_gate(host)(context.clock())
        user = proved(said, host, verifier)
    if user is None:
        raise NotAuthenticated(_NOBODY)
    claim(user.name)
    return verifier.acting_for(user, _acting_for(headers, target))


@switches
def proved(said: bytes, host: str, verifier: Verifier) -> User:
    """The user of the value of a header Authorization. NotAuthenticated, Unavailable."""
    scheme, _, value = said.partition(b" ")
    value = value.strip()
    if scheme.lower() == b"bearer":
        claim(_token_id(value))
        return verifier.by_token(value)
    if scheme.lower() != b"basic":
        name = scheme[:20].decode("latin-1")
        raise NotAuthenticated(f"this server knows Basic and Bearer in Authorization, and not {name!r}")
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
    """NotAuthenticated when there are two."""
    query = parse_qs(urlsplit(target.decode("latin-1")).query, keep_blank_values=True)
    found = [value.decode("utf-8", "replace") for name, value in headers if name == b"doas"]
    found += [value for name, values in query.items() if name.lower() == "doas" for value in values]
    if len(set(found)) > 1:
        raise NotAuthenticated("doAs names more than one user")
    return found[0] if found else ""


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for found, value in headers if found == name]

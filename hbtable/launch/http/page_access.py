"""The checks of the HTTP port's pages, where users are asked who they are (auth.enabled). Figures of a table's families
are for those who may see how the table is made, and those of filters and caches, by which whoever reads a column finds
out whether there is a row, for those who may see that of every table.

The port has no TLS: passwords and tokens are taken from this machine alone, unless auth.plain_text takes them anywhere.
A proxy on this machine makes others look like it; where it says so, it has to say as well that it took them over TLS.
"""

import ipaddress
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple, final

from hbtable.access.user import User, acting_as
from hbtable.access.verification import Verifier
from hbtable.errors import HbtableError, NotAuthenticated
from hbtable.hbase.audit import AuditTrail, claim
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.transports.http_users import proved
from hbtable.model.names import parse
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches

Environment = dict[str, Any]
"""Of WSGI."""
_USER: Final = "hbtable.user"
"""The key of an environment for the user, as servers of WSGI have keys of their own."""
_TABLE: Final = re.compile(rb'^[a-z_]+\{(?:[^"]*"(?:[^"\\]|\\.)*")*?[^"]*\btable="([^"\\]*)"')
"""A sample of a table, and its name: past other labels, whose values may say anything."""
OF_SINGLE_READS: Final = (b"hbtable_bloom_", b"hbtable_block_cache_")
"""The first letters of samples that tell what a single read met."""
_LINES_BETWEEN_PAUSES: Final = 1024


class Needs(Enum):
    """The one who may see a page."""

    NOBODY = "whoever asks"
    USER = "who is let in"
    ADMINISTRATOR = "who may administer everything"


class Refusal(NamedTuple):
    """The answer in a page's place."""

    status: str
    headers: list[tuple[str, str]]
    text: str


_UNAVAILABLE: Final = "503 Service Unavailable"
_CHALLENGE: Final = ("WWW-Authenticate", 'Bearer realm="hbtable"')
_WHO: Final = (
    "this server asks who you are (auth.enabled): send Authorization, Bearer with a token (`hbtable user token`), or "
    "Basic with a user and the password"
)
_HERE: Final = (
    "this port has no TLS, and takes passwords and tokens from its own machine only (or everywhere, with "
    "auth.plain_text = true). Others may have read what was sent just now: change the password, or revoke the token"
)
_OF_A_PROXY: Final = (
    "this port takes passwords and tokens from its own machine only (or everywhere, with auth.plain_text = true), and "
    "a proxy there handed yours on: have it take them over HTTPS, and say X-Forwarded-Proto: https. Others may have "
    "read what was sent just now: change the password, or revoke the token"
)
_SAID_BY_PROXIES: Final = (
    "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)  # fmt: skip
_PROTOCOL: Final = re.compile(r'(?:^|[;,])\s*proto\s*=\s*"?([^";,]*)', re.IGNORECASE)
"""Of the header Forwarded (RFC 7239)."""


@final
class PageAccess:
    """`administers`: whether a user may administer everything; `describes`: whether he may see how a table, or
    each one (None), is made. `denied`: hears of each refusal: client, page, why."""

    def __init__(
        self,
        verifier: Verifier,
        administers: Callable[[User], bool],
        describes: Callable[[User, bytes | None], bool],
        plain_text: bool,
        denied: Callable[[str, str, str], None],
        audit: AuditTrail | None = None,
    ) -> None:
        self.audit = audit
        """The place of the refusals' lines."""
        self._verifier = verifier
        self._administers = administers
        self._describes = describes
        self._plain_text = plain_text
        self._denied = denied

    @switches
    def refusal(self, needs: Needs, environment: Environment) -> Refusal | None:
        """None: the client may see the page. *Switches.*"""
        if needs is Needs.NOBODY:
            return None
        host = str(environment.get("REMOTE_ADDR", ""))
        client = f"{host}:{environment.get('REMOTE_PORT', '')}"
        page = str(environment.get("PATH_INFO", ""))
        claim("")  # the connection's request before this one may have been another user's
        said = str(environment.get("HTTP_AUTHORIZATION", "")).encode("latin-1", "replace")
        if not said:
            self._denied(client, "login", _WHO)  # of those who name nobody there are so many a minute (hbase.audit)
            return Refusal("401 Unauthorized", [_CHALLENGE], _WHO)
        try:
            if not self._plain_text:
                if not _is_here(host):
                    raise NotAuthenticated(_HERE)
                if _came_without_tls(environment):
                    raise NotAuthenticated(_OF_A_PROXY)
            user = proved(said, host, self._verifier)
        except HbtableError as error:  # also where too many passwords wait, as on the Thrift port
            self._denied(client, "login", str(error))
            if isinstance(error, NotAuthenticated):
                return Refusal("401 Unauthorized", [_CHALLENGE], str(error))
            return Refusal(_UNAVAILABLE, [], str(error))
        try:
            is_refused = needs is Needs.ADMINISTRATOR and not self._administers(user)
        except HbtableError as error:
            return Refusal(_UNAVAILABLE, [], str(error))
        if is_refused:
            why = f"Insufficient permissions for user '{user.name}': {page} is for those who have ADMIN everywhere"
            with acting_as(user):
                self._denied(client, page, why)
            return Refusal("403 Forbidden", [], why)
        environment[_USER] = user
        return None

    @switches
    def visible(self, environment: Environment, text: bytes, pause: Callable[[], object]) -> bytes:
        """Prometheus' text as the user may see it whom refusal() let in. *Switches* by `pause`: thousands of tables
        have tens of thousands of lines."""
        user: User = environment[_USER]
        known: dict[bytes, bool] = {}
        sees_reads = self._describes(user, None)

        def may_see(line: bytes) -> bool:
            if line.startswith(OF_SINGLE_READS):
                return sees_reads
            labels = _TABLE.search(line)
            if labels is None:
                return True
            table = labels[1]
            if table not in known:
                known[table] = self._describes(user, parse(table))
            return known[table]

        lines = with_pauses(text.splitlines(keepends=True), pause, _LINES_BETWEEN_PAUSES)
        return b"".join([line for line in lines if may_see(line)])


def page_access(
    security: GatewaySecurity, administers: Callable[[User], bool], describes: Callable[[User, bytes | None], bool]
) -> PageAccess | None:
    """Asks clients of the pages who they are, as `security` asks; None: it does not ask."""
    if security.verifier is None:
        return None
    return PageAccess(
        security.verifier, administers, describes, security.auth.plain_text, security.denied, security.audit
    )


def _is_here(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _came_without_tls(environment: Environment) -> bool:
    """Whether a proxy handed this on, and does not say that it took it over TLS. Who makes that up by himself deceives
    nobody else."""
    if not any(header in environment for header in _SAID_BY_PROXIES):
        return False
    said = str(environment.get("HTTP_X_FORWARDED_PROTO", "")).split(",")
    protocols = [one.strip() for one in said if one.strip()]
    protocols += _PROTOCOL.findall(str(environment.get("HTTP_FORWARDED", "")))
    return not protocols or any(protocol.lower() != "https" for protocol in protocols)

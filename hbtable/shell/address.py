"""A server's address as people give it, HOST:PORT, and how to connect to it: with TLS or without.

Both travel as one text, thrift://HOST:PORT or thrift+tls://USER@HOST:PORT?ca=FILE, which --url takes as well. It
names the file of a secret, and never the secret.
"""

from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

EXAMPLE: Final = "127.0.0.1:9090"
_PLAIN: Final = "thrift://"
_TLS: Final = "thrift+tls://"
_FILES: Final = ("ca", "certificate", "secret")
_PLAIN_TEXT: Final = "plain_text"


class ServerAddress(NamedTuple):
    """The address of a server, and the kind of connection that it takes."""

    host: str
    port: int
    tls: bool = False
    ca: str = ""
    """PEM file of the CA that signed the server's certificate. Empty: the CAs of this machine."""
    certificate: str = ""
    """PEM file of the client's own certificate and key. Empty: it shows none."""
    user: str = ""
    """Name to log in with. Empty: the server is told none."""
    secret: str = ""
    """File with the user's password or token. Empty: it is asked for."""
    plain_text: bool = False
    """Whether the secret may be sent without TLS to another machine."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        if not self.tls and not self.user:
            return f"{host}:{self.port}"
        files = {name: getattr(self, name) for name in _FILES if getattr(self, name)}
        if self.plain_text and self.user and not self.tls:
            files[_PLAIN_TEXT] = "true"
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        return f"{_TLS if self.tls else _PLAIN}{user}{host}:{self.port}{'?' if files else ''}{urlencode(files)}"


def parse_address(text: str) -> ServerAddress:
    """ValueError with a message."""
    place, _, query = text.partition("?")
    tls = place.startswith(_TLS)
    user, _, place = place.removeprefix(_TLS if tls else _PLAIN).rstrip("/").rpartition("@")
    if ":" in user:
        raise ValueError("an address names a user, and no password: give the password with --secret FILE")
    host, _, port = place.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")  # an IPv6 address
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is no HOST:PORT: a server's address is written as in {EXAMPLE}")
    files = dict(parse_qsl(query, keep_blank_values=True))
    known = {*(("ca", "certificate") if tls else ()), *(("secret",) if user else ())}
    known |= {_PLAIN_TEXT} if user and not tls else set()
    if query and (not files or not files.keys() <= known or files.get(_PLAIN_TEXT, "true") != "true"):
        raise ValueError(
            f"{text!r}: behind the question mark stand ca=FILE and certificate=FILE of {_TLS}, secret=FILE of USER@, "
            f"and {_PLAIN_TEXT}=true of USER@ without TLS"
        )
    plain_text = files.pop(_PLAIN_TEXT, "") == "true"
    return ServerAddress(host, int(port), tls, user=unquote(user), plain_text=plain_text, **files)

"""The user of a client's certificate, and what those read whose certificate names none."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.user import User, acting_user
from hbtable.access.verification import Verifier
from hbtable.hbase.audit import AuditTrail
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions

HELLO = b"\x16\x03\x01\x00\x05"
POST = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"


class Inside:
    """The inside of a TLS connection, after its handshake."""

    def __init__(self, carrier: Any, names: list[str] | None, ends_millis: float, unreadable: str) -> None:
        self.carrier = carrier
        self.shows_certificate = names is not None
        self.names = names or []
        self.ends_millis = ends_millis
        self.unreadable = unreadable

    def common_names(self) -> list[str]:
        return self.names

    def certificate_ends_millis(self) -> float:
        return self.ends_millis

    def handshake(self, goes_on: Callable[[], bool]) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return getattr(self.carrier, name)


@pytest.fixture
def asking(gateway: Any) -> Any:
    options = AuthOptions(enabled=True)
    lines: list[dict[str, Any]] = []
    security = gateway.context.security = GatewaySecurity(TlsOptions(), options)
    kept: Any = type("Kept", (), {"read": lambda self, latest=False: Accounts()})()
    trail = AuditTrail(lambda line: lines.append(json.loads(line)), lambda: 0)
    security.ask(Verifier(gateway.runtime, kept, options), trail)
    gateway.names, gateway.lines, gateway.called, gateway.ends_millis = None, lines, [], math.inf
    security.tls = gateway  # type: ignore[assignment]
    gateway.unreadable = ""
    gateway.over = lambda stream, first, pause: Inside(stream, gateway.names, gateway.ends_millis, gateway.unreadable)
    gateway.interface.methods[b"getTableNames"].call = lambda: gateway.called.append(acting_user()) or []
    return gateway


def test_a_name_is_the_user(asking: Any, connect: Callable[..., Any]) -> None:
    asking.names = ["ben"]
    asking.talk(HELLO, connect(asking).encode("getTableNames"))
    assert asking.called == [User("ben")]
    assert asking.lines == []


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["Ann Smith"], "the subject (CN) of the client's certificate names no user: 'Ann Smith' is no name of a user"),
        (["ben", "root"], "the subject of the client's certificate has 2 names (CN), where one is due: 'ben', 'root'"),
        ([], "the subject of the client's certificate has no name (CN)"),
    ],
)
@pytest.mark.parametrize("over_http", [False, True], ids=["thrift", "http"])
def test_a_certificate_that_names_no_user_says_why(
    asking: Any, connect: Callable[..., Any], names: list[str], why: str, over_http: bool
) -> None:
    asking.names = names
    stream = asking.talk(HELLO, POST if over_http else connect(asking).encode("getTableNames"))
    assert why.encode() in stream.sent
    assert b"did not say" not in stream.sent
    (line,) = asking.lines
    assert why in line["why"]
    assert (line["call"], line["user"]) == ("login", None)
    assert asking.called == []
    if not over_http:
        assert line.get("claimed", "") == ", ".join(names)


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("over_http", [False, True], ids=["thrift", "http"])
def test_a_certificate_that_cannot_be_read_says_why(
    asking: Any, connect: Callable[..., Any], over_http: bool, asks: bool
) -> None:
    """Also where nobody is asked who he is, but for a certificate: nobody knows when it ends."""
    if not asks:
        asking.context.security.auth = AuthOptions()
        asking.context.security.verifier = None
    asking.names, asking.unreadable = [], "a name in the client's certificate is no text"
    call = connect(asking).encode("getTableNames")
    if over_http:
        call = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(call) + call
    stream = asking.talk(HELLO, call)
    assert b"a name in the client's certificate is no text" in stream.sent
    assert (b"tls.client_ca" in stream.sent) is not asks
    assert asking.called == []


def test_without_a_certificate_it_did_not_say(asking: Any, connect: Callable[..., Any]) -> None:
    stream = asking.talk(HELLO, connect(asking).encode("getTableNames"))
    assert b"did not say" in stream.sent
    assert asking.called == []


@pytest.mark.parametrize("over_http", [False, True], ids=["thrift", "http"])
def test_an_open_connection_ends_with_its_certificate(
    asking: Any, connect: Callable[..., Any], over_http: bool
) -> None:
    """Its user need not be in the list of users, and the list need not be readable."""
    client = connect(asking)
    call = client.encode("getTableNames")
    if over_http:
        call = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(call) + call
    asking.names, asking.ends_millis = ["ben"], asking.runtime.wall_millis() + 60_000

    def pass_minute() -> None:
        asking.runtime.now += 60.0

    stream = asking.talk(HELLO, call, pass_minute, call, call)
    assert asking.called == [User("ben")]
    why = "this connection was let in as ben, and is so no more: the client's certificate has expired"
    assert stream.sent.count(why.encode()) == 2
    (line,) = asking.lines
    assert (line["user"], line["call"], line["outcome"], line["why"].partition(": connect")[0]) == (
        "ben", "login", "denied", why,
    )  # fmt: skip


def test_a_session_that_outlives_its_certificate_is_not_resumed(asking: Any, connect: Callable[..., Any]) -> None:
    """OpenSSL does not look at the certificate of a session that is resumed."""
    call = connect(asking).encode("getTableNames")
    asking.names, asking.ends_millis = ["ben"], asking.runtime.wall_millis()
    assert asking.talk(HELLO, call).sent == b""
    assert asking.called == []
    asking.ends_millis += 1
    asking.talk(HELLO, call)
    assert asking.called == [User("ben")]

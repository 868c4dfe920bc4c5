"""The user of a client's certificate, and what those read whose certificate names none."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.user import User, acting_user
from hbtable.access.verification import Verifier
from hbtable.hbase import opening
from hbtable.hbase.audit import AuditTrail
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions

HELLO = b"\x16\x03\x01\x00\x05"
POST = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"


class Inside:
    """The inside of a TLS connection, after its handshake."""

    def __init__(self, carrier: Any, names: list[str] | None) -> None:
        self.carrier = carrier
        self.shows_certificate = names is not None
        self.names = names or []

    def common_names(self) -> list[str]:
        return self.names

    def __getattr__(self, name: str) -> Any:
        return getattr(self.carrier, name)


@pytest.fixture
def asking(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    options = AuthOptions(enabled=True)
    lines: list[dict[str, Any]] = []
    security = gateway.context.security = GatewaySecurity(TlsOptions(), options)
    kept: Any = type("Kept", (), {"read": lambda self, latest=False: Accounts()})()
    trail = AuditTrail(lambda line: lines.append(json.loads(line)), lambda: 0)
    security.ask(Verifier(gateway.runtime, kept, options), trail)
    security.tls = object()
    gateway.names, gateway.lines, gateway.called = None, lines, []
    monkeypatch.setattr(opening, "_encrypted", lambda _, stream, *__: Inside(stream, gateway.names))
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


def test_without_a_certificate_it_did_not_say(asking: Any, connect: Callable[..., Any]) -> None:
    stream = asking.talk(HELLO, connect(asking).encode("getTableNames"))
    assert b"did not say" in stream.sent
    assert asking.called == []

"""The lines of an audit: who, from where, what, outcome."""

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.passwords import TokenRecord
from hbtable.access.user import User, act_as, acting_as
from hbtable.access.verification import Verifier
from hbtable.errors import AlreadyExists, Overloaded
from hbtable.hbase import audit_words
from hbtable.hbase.audit import DENIED, REFUSED_A_MINUTE, UNHEARD, AuditTrail, claim
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.thrift_structs import ColumnDescriptor
from hbtable.hbase.errors import JavaError
from hbtable.hbase.security import GatewaySecurity
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.runtime.network.tls import TlsOptions
from tests.harness.cheap_passwords import cheap

CHANGES = re.compile(
    r"(create|delete|enable|disable|truncate|modify|add|grant|revoke|compact|majorCompact"
    r"|admin(Alter|Balance|BalanceSwitch|Clear|Compact|CompactServer|CompactionSwitch|Create|Decommission|Delete|Flush"
    r"|Merge|Move|Normalize|NormalizerSwitch|Recommission|Roll|Run|Set|Split|Switch|Truncate|Grant|Revoke))([A-Z].*)?"
)
OF_CELLS = {"deleteAll", "deleteAllTs", "deleteAllRow", "deleteAllRowTs", "deleteSingle", "deleteMultiple"}


def methods(interface: ThriftInterface) -> list[Any]:
    parts = (interface.methods, interface.admin_methods, interface.thrift2_methods)
    return [method for part in parts for method in part.values()]


def test_every_method_that_changes_more_than_cells_leaves_a_line_and_no_other_does() -> None:
    names = {method.name for method in methods(ThriftInterface())}
    heard = names - UNHEARD
    assert {name for name in heard if not CHANGES.fullmatch(name)} == set()
    assert {name for name in names & UNHEARD if CHANGES.fullmatch(name)} == OF_CELLS & names


@pytest.fixture
def heard(gateway: Any) -> Any:
    """A gateway that asks who its clients are, and the lines that it writes down."""
    lines: list[dict[str, Any]] = []
    options = AuthOptions(enabled=True, superusers="ann, root", plain_text=True)
    accounts = Accounts().with_user("ann", cheap(b"correct horse"))
    accounts = accounts.with_token("ann", TokenRecord("15d339487989", bytes(32), 0), 0)
    kept: Any = type("Kept", (), {"read": lambda self, latest=False: accounts})()
    gateway.runtime.offload = lambda kind, function, *arguments: function(*arguments)
    trail = AuditTrail(lambda line: lines.append(json.loads(line)), lambda: 1_700_000_000_123)
    gateway.context.security = GatewaySecurity(TlsOptions(), options)
    gateway.context.security.ask(verifier := Verifier(gateway.runtime, kept, options), trail)
    assert verifier.look() is accounts
    trail.watch(gateway.interface.methods.values(), audit_words.THRIFT1)
    gateway.lines = lines
    return gateway


ANN = {"at": "2023-11-14T22:13:20.123+00:00", "user": "ann", "from": "client:1"}


def test_a_change_leaves_a_line_and_a_read_none(heard: Any, connect: Callable[..., Any]) -> None:
    heard.context.user = User("ann")
    client = connect(heard)
    client.call("getTableNames")
    client.call("getRow", tableName=b"t", row=b"r")
    client.call("mutateRow", tableName=b"t", row=b"r", mutations=[], attributes={})
    assert heard.lines == []
    client.call("createTable", tableName=b"new", columnFamilies=[client.thrift.ColumnDescriptor(name=b"f:")])
    assert heard.lines == [{**ANN, "call": "createTable", "on": {"table": "new", "families": ["f:"]}, "outcome": "ok"}]


def test_a_change_that_fails_says_why(heard: Any, connect: Callable[..., Any]) -> None:
    heard.context.user = User("ann")
    client = connect(heard)
    with pytest.raises(client.thrift.IOError):
        client.call("deleteTable", tableName=b"none")
    (line,) = heard.lines
    assert (line["call"], line["on"], line["outcome"]) == ("deleteTable", {"table": "none"}, "failed")
    assert line["why"] == "java.io.IOException: table does not exist"


def test_a_denied_call_leaves_one_line_whatever_it_is(heard: Any, connect: Callable[..., Any]) -> None:
    def denied(*_: object) -> object:
        raise JavaError(DENIED, "ben may not read t")

    heard.context.user = User("ben", through="ann")
    trail = heard.context.security.audit
    for name in ("getRow", "deleteTable"):
        method = heard.interface.methods[name.encode()]
        method.call = denied
        trail.watch([method], audit_words.THRIFT1)
    for name, arguments in (("getRow", {"row": b"r"}), ("deleteTable", {})):
        with pytest.raises(Exception, match="AccessDenied"):
            connect(heard).call(name, tableName=b"t", **arguments)
    line = {**ANN, "user": "ben", "through": "ann", "outcome": "denied", "why": "ben may not read t"}
    assert heard.lines == [
        {**line, "call": "getRow"},
        {**line, "call": "deleteTable", "on": {"table": "t"}},
    ]


def test_a_connection_of_nobody_leaves_one_line(heard: Any, connect: Callable[..., Any]) -> None:
    client = connect(heard)
    heard.talk(client.encode("getTableNames") + client.encode("getTableNames"))
    (line,) = heard.lines
    assert (line["user"], line["call"], line["outcome"]) == (None, "login", "denied")


def test_a_login_that_fails_leaves_a_line_without_the_password(heard: Any) -> None:
    response = b"\0ann\0secret word"
    heard.talk(b"\x01\0\0\0\x05PLAIN\x02" + len(response).to_bytes(4, "big") + response)
    pair = base64.b64encode(b"ann:secret word").decode()
    heard.talk(f"POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {pair}\r\nContent-Length: 1\r\n\r\nx".encode())
    why = "the user or the password is wrong"
    line = {**ANN, "user": None, "claimed": "ann", "call": "login", "outcome": "denied"}
    assert heard.lines == [{**line, "why": why}] * 2


def test_strangers_cannot_fill_the_disk() -> None:
    lines: list[dict[str, Any]] = []
    now = [0]
    trail = AuditTrail(lambda line: lines.append(json.loads(line)), lambda: now[0])
    for _ in range(REFUSED_A_MINUTE + 7):
        trail.denied("h:1", "login", "wrong")
    assert len(lines) == REFUSED_A_MINUTE
    with acting_as(User("ann")):
        trail.denied("h:1", "getRow", "no right")
    assert lines[-1]["left_out"] == 7
    now[0] = 60_000
    trail.denied("h:1", "login", "wrong")
    assert "left_out" not in lines[-1]
    assert len(lines) == REFUSED_A_MINUTE + 2


def test_those_who_name_nobody_hide_no_guess_at_a_password(heard: Any) -> None:
    """Anybody can ask for pages ten times a second without a login."""
    trail = heard.context.security.audit
    claim("")
    for _ in range(REFUSED_A_MINUTE + 7):
        trail.denied("far:1", "login", "no Authorization")
    assert len(heard.lines) == REFUSED_A_MINUTE
    response = b"\0ann\0secret word"
    heard.talk(b"\x01\0\0\0\x05PLAIN\x02" + len(response).to_bytes(4, "big") + response)
    line = heard.lines[-1]
    assert (len(heard.lines), line["claimed"]) == (REFUSED_A_MINUTE + 1, "ann")
    assert (line["left_out"], "left_out_of" in line) == (7, False)


def test_made_up_names_hide_no_guess_at_a_users_password(heard: Any) -> None:
    """Nor at a token's secret; and guesses in a user's name hide nothing of his own."""
    trail = heard.context.security.audit
    for _ in range(2):
        for number in range(REFUSED_A_MINUTE // 2 + 7):
            claim(f"made-up{number}")
            trail.denied("far:1", "login", "wrong")
            claim(f"token {number:012x}")
            trail.denied("far:1", "login", "wrong")
    assert len(heard.lines) == REFUSED_A_MINUTE
    for known in ("ann", "root", "token 15d339487989"):
        claim(known)
        for _ in range(REFUSED_A_MINUTE + 1):
            trail.denied("far:2", "login", "wrong")
        assert [line["claimed"] for line in heard.lines[-REFUSED_A_MINUTE:]] == [known] * REFUSED_A_MINUTE
    claim("")
    with acting_as(User("ann")):
        trail.denied("h:1", "getRow", "no right")
    assert heard.lines[-1]["left_out_of"] == {"token 15d339487989 (claimed)": 1}
    assert len(heard.lines) == 4 * REFUSED_A_MINUTE + 1


def test_a_user_who_is_denied_everything_cannot_fill_the_disk_and_hides_nobody_else() -> None:
    lines: list[dict[str, Any]] = []
    now = [0]
    trail = AuditTrail(lambda line: lines.append(json.loads(line)), lambda: now[0])
    create, drop = (ThriftInterface().methods[name] for name in (b"createTable", b"deleteTable"))
    create.call = lambda *_: None
    drop.call = lambda *_: (_ for _ in ()).throw(AlreadyExists("no"))
    trail.watch([create, drop], audit_words.THRIFT1)
    with acting_as(User("bob")):
        for _ in range(REFUSED_A_MINUTE):
            trail.denied("h:1", "getRow", "no right")
        for _ in range(5):
            trail.denied("h:1", "getRow", "no right")
            trail.foreign_scanner(1, b"t", "ann")
            with pytest.raises(AlreadyExists):
                drop.call(b"t")
    assert len(lines) == REFUSED_A_MINUTE
    trail.denied("h:1", "login", "wrong")
    assert (lines[-1]["left_out"], lines[-1]["left_out_of"]) == (15, {"bob": 15})
    with acting_as(User("bob")):
        create.call(b"t", [])
        assert (lines[-1]["outcome"], "left_out" in lines[-1]) == ("ok", False)
        now[0] = 60_000
        trail.denied("h:1", "getRow", "no right")
    assert len(lines) == REFUSED_A_MINUTE + 3


def test_what_is_shown_of_arguments_is_short() -> None:
    lines: list[str] = []
    trail = AuditTrail(lines.append, lambda: 0)
    interface = ThriftInterface()
    method = interface.methods[b"createTable"]
    method.call = lambda *_: None
    trail.watch([method], audit_words.THRIFT1)
    act_as(None)
    method.call(b"t" * 100_000, [ColumnDescriptor(b"f" * 1000)] * 1000)
    assert len(lines[0]) < 3000


def test_any_error_of_a_change_is_written_down() -> None:
    lines: list[str] = []
    trail = AuditTrail(lines.append, lambda: 0)
    method = ThriftInterface().methods[b"createTable"]

    def fail(*_: object) -> object:
        raise AlreadyExists("t is there")

    method.call = fail
    trail.watch([method], audit_words.THRIFT1)
    with pytest.raises(AlreadyExists):
        method.call(b"t", None)
    assert json.loads(lines[0])["why"] == "AlreadyExists: t is there"


def test_a_login_that_is_turned_away_for_the_queue_leaves_a_line(heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> object:
        raise Overloaded("50 passwords are being checked already")

    monkeypatch.setattr(heard.context.security.verifier, "log_in", full, raising=False)
    response = b"\0ann\0secret word"
    heard.talk(b"\x01\0\0\0\x05PLAIN\x02" + len(response).to_bytes(4, "big") + response)
    pair = base64.b64encode(b"ann:secret word").decode()
    answer = heard.talk(
        f"POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {pair}\r\nContent-Length: 1\r\n\r\nx".encode()
    )
    assert b" 503 " in bytes(answer.sent)
    line = {**ANN, "user": None, "claimed": "ann", "call": "login", "outcome": "denied"}
    assert heard.lines == [{**line, "why": "50 passwords are being checked already"}] * 2


def test_a_request_does_not_claim_what_the_one_before_it_did(heard: Any) -> None:
    pair = base64.b64encode(b"ann:correct horse").decode()
    body = b"\0"
    heard.talk(
        f"POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {pair}\r\nContent-Length: 1\r\n\r\n".encode() + body
    )
    assert heard.lines == []
    heard.talk(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
    assert [(line["user"], line.get("claimed")) for line in heard.lines] == [(None, None)]


def test_a_token_is_named_by_its_number(heard: Any) -> None:
    heard.talk(
        b"POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer hbt.15d339487989.secret\r\nContent-Length: 1\r\n\r\nx"
    )
    (line,) = heard.lines
    assert line["claimed"] == "token 15d339487989"
    assert "secret" not in json.dumps(line)


def test_who_uses_the_scanner_of_another_one_leaves_a_line(heard: Any, connect: Callable[..., Any]) -> None:
    scanners = heard.scanners
    scanners._refused = heard.context.security.foreign_scanner
    with acting_as(User("ann")):
        number = scanners.open(b"t", ScanRequest(RowRange(b"", b""), ReadSpec()))
    heard.context.user = User("ben")
    client = connect(heard)
    for name, arguments in (("scannerGet", {}), ("scannerGetList", {"nbRows": 1}), ("scannerClose", {})):
        with pytest.raises(client.thrift.IllegalArgument):
            client.call(name, id=number, **arguments)
        with pytest.raises(client.thrift.IllegalArgument):
            client.call(name, id=number + 1000, **arguments)
    assert (
        heard.lines
        == [
            {
                **ANN,
                "user": "ben",
                "call": "scanner",
                "on": {"scanner": number, "table": "t", "owner": "ann"},
                "outcome": "denied",
                "why": "only who opened a scanner may use it",
            }
        ]
        * 3
    )

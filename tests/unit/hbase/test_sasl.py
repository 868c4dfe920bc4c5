"""SASL on the port: what a client may send, and what it reads when it is not let in."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.user import User, acting_user
from hbtable.access.verification import Verifier
from hbtable.errors import Unavailable
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions
from tests.harness.cheap_passwords import cheap
from tests.harness.tiers import generated

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
CALL = b"\0\0\0\x1d\x80\x01\0\x01\0\0\0\x0dgetTableNames\0\0\0\x01\0"
"""In a frame."""
RIGHT = b"\0ann\0correct horse"


class Kept:
    accounts = Accounts().with_user("ann", cheap(b"correct horse")).with_user("root", cheap(b"battery staple"))

    def read(self, latest: bool = False) -> Accounts:
        return self.accounts


@pytest.fixture
def asking(gateway: Any) -> Any:
    """A gateway that asks who a client is, and takes passwords in plain text."""
    return asks(gateway, plain_text=True)


def asks(gateway: Any, plain_text: bool) -> Any:
    options = AuthOptions(enabled=True, superusers="root", groups="readers = ann", plain_text=plain_text)
    gateway.runtime.offload = lambda kind, function, *arguments: function(*arguments)
    gateway.context.security = GatewaySecurity(TlsOptions(), options)
    gateway.context.security.ask(Verifier(gateway.runtime, Kept(), options))
    return gateway


def message(status: int, content: bytes) -> bytes:
    return struct.pack(">BI", status, len(content)) + content


def negotiation(response: bytes = RIGHT, status: int = OK, mechanism: bytes = b"PLAIN") -> bytes:
    return message(START, mechanism) + message(status, response)


def refused(gateway: Any, *pieces: bytes) -> str:
    """The message that the client reads."""
    stream = gateway.talk(*pieces)
    status, size = struct.unpack(">BI", stream.sent[:5])
    assert (status, size) == (BAD, len(stream.sent) - 5)
    assert stream.closed
    return str(stream.sent[5:].decode())


@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("piece_bytes", [1, 7, 1000])
@pytest.mark.parametrize("frame_bytes", [1, 5, 1000])
@pytest.mark.parametrize("status", [OK, COMPLETE])
def test_calls_follow_in_frames_that_are_cut_anywhere(
    asking: Any,
    connect: Callable[..., Any],
    protocol: str,
    framed: bool,
    piece_bytes: int,
    frame_bytes: int,
    status: int,
) -> None:
    client = connect(asking, protocol, framed=framed)
    one, other = client.encode("getTableNames"), client.encode("getTableNames")
    said = negotiation(status=status) + frames(one + other, frame_bytes)
    stream = asking.talk(*(said[first : first + piece_bytes] for first in range(0, len(said), piece_bytes)))
    assert stream.sent[:5] == message(COMPLETE, b"")
    answers = inside(stream.sent[5:])
    assert len(answers) == 2
    assert client.decode(answers[1], "getTableNames") == [b"t"]


def frames(data: bytes, size: int) -> bytes:
    parts = [data[first : first + size] for first in range(0, len(data), size)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def inside(data: bytes) -> list[bytes]:
    """Of each frame."""
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(data[4 : 4 + size])
        assert len(found[-1]) == size
        data = data[4 + size :]
    return found


def test_frames_without_anything_in_them_are_passed_over(asking: Any, connect: Callable[..., Any]) -> None:
    client = connect(asking)
    stream = asking.talk(negotiation(), bytes(8), frames(client.encode("getTableNames"), 9), bytes(4))
    (answer,) = inside(stream.sent[5:])
    assert client.decode(answer, "getTableNames") == [b"t"]


def test_a_message_over_the_limit_is_refused_in_a_frame(small_gateway: Any, connect: Callable[..., Any]) -> None:
    client = connect(asks(small_gateway, plain_text=True), framed=True)
    said = frames(client.encode("getRow", tableName=b"t", row=b"r" * 50_000), 1000)
    (answer,) = inside(small_gateway.talk(negotiation(), said).sent[5:])
    with pytest.raises(client.thrift.IOError) as refused:
        client.decode(answer, "getRow")
    assert b"2000" in refused.value.message


def test_the_calls_are_the_users(asking: Any, connect: Callable[..., Any]) -> None:
    seen: list[User | None] = []
    asking.interface.methods[b"getTableNames"].call = lambda: seen.append(acting_user()) or []
    asking.talk(negotiation(), frames(connect(asking).encode("getTableNames"), 100))
    asking.talk(negotiation(b"ann\0root\0battery staple"), frames(connect(asking).encode("getTableNames"), 100))
    assert seen == [User("ann", frozenset({"readers"}))] * 2


def test_a_client_that_waits_to_be_asked_is_asked(asking: Any) -> None:
    stream = asking.talk(message(START, b"PLAIN") + message(OK, b""), message(OK, RIGHT))
    assert stream.sent == message(OK, b"") + message(COMPLETE, b"")


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (b"\0ann\0wrong", "the user or the password is wrong"),
        (b"\0nobody\0correct horse", "the user or the password is wrong"),
        (b"\0\xff\0x", "the user or the password is wrong"),
        (b"\0\0", "the user or the password is wrong"),
        (b"root\0ann\0correct horse", "ann may not act for root: only superusers may"),
        (b"ann\0correct horse", "the answer to PLAIN is not"),
        (b"\0ann\0correct\0horse", "the answer to PLAIN is not"),
    ],
)
def test_a_client_that_is_not_let_in_reads_why(asking: Any, response: bytes, words: str) -> None:
    assert words in refused(asking, negotiation(response))


def test_a_list_of_users_that_cannot_be_read_is_no_wrong_password(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "read", away)
    stream = asking.talk(negotiation())
    assert stream.sent[0] == ERROR
    assert b"the list of users cannot be read now" in stream.sent
    assert stream.closed


def away(_: Kept) -> Accounts:
    raise Unavailable("ZooKeeper is away")


def test_the_password_is_in_no_message_and_in_no_log(asking: Any, caplog: pytest.LogCaptureFixture) -> None:
    said = refused(asking, negotiation(b"\0ann\0secret word"))
    assert "secret word" not in said + caplog.text
    assert "did not let client:1 in" in caplog.text


@pytest.mark.parametrize("mechanism", [b"GSSAPI", b"ANONYMOUS", b"plain", b"\xff"])
def test_another_mechanism_is_refused_by_name(asking: Any, mechanism: bytes) -> None:
    said = refused(asking, negotiation(mechanism=mechanism))
    assert "SASL mechanism PLAIN, and not" in said
    assert mechanism.decode("utf-8", "replace") in said


def test_the_name_of_a_mechanism_is_no_line_of_its_own(asking: Any) -> None:
    assert "and not P\\x0A2026 INJECTED1" in refused(asking, negotiation(mechanism=b"P\n2026 INJECTED1"))


def test_over_plain_text_a_password_is_not_taken_unless_that_is_allowed(gateway: Any) -> None:
    assert "over TLS only (auth.plain_text)" in refused(asks(gateway, plain_text=False), negotiation())


def test_without_authentication_the_client_reads_that_nothing_is_asked(gateway: Any) -> None:
    assert gateway.talk(negotiation()).sent[5:].startswith(b"this server asks for no SASL")


def test_a_message_out_of_order_or_too_long_is_refused(asking: Any) -> None:
    assert "has the status 1" in refused(asking, message(START, b"PLAIN") + message(START, RIGHT))
    assert "8192 at most" in refused(asking, message(START, b"PLAIN") + struct.pack(">BI", OK, 1 << 31))


def test_a_negotiation_that_drips_in_is_ended(asking: Any, caplog: pytest.LogCaptureFixture) -> None:
    stream_pieces = [bytes([byte]) for byte in negotiation()]
    clock = asking.context.clock
    reads = [0]

    def dripping() -> float:
        reads[0] += 1
        return float(clock()) + reads[0]

    asking.context.clock = dripping
    stream = asking.talk(*stream_pieces)
    assert stream.closed
    assert stream.sent == b""
    assert stream.pieces
    assert "fell silent" in caplog.text


@pytest.mark.parametrize("left_at", range(1, len(negotiation())))
def test_a_client_that_leaves_in_the_middle_leaves_nothing(asking: Any, left_at: int) -> None:
    stream = asking.talk(negotiation()[:left_at])
    assert stream.closed
    assert stream.sent == b""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=generated(300), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.builds(message, st.integers(0, 255), st.binary(max_size=40)),
            st.builds(negotiation, st.binary(max_size=40) | st.just(RIGHT)),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_whatever_follows_is_answered_or_ended(asking: Any, pieces: list[bytes]) -> None:
    """Nothing gets to a call without the right password."""
    called: list[object] = []
    asking.interface.methods[b"getTableNames"].call = lambda: called.append(acting_user()) or []
    pieces = [message(START, b"PLAIN"), *(piece for piece in pieces if piece), CALL]
    stream = asking.talk(*pieces)
    assert stream.closed
    assert not called or RIGHT in b"".join(pieces)
    assert called == [User("ann", frozenset({"readers"}))] * len(called)


def test_the_call_behind_them_is_carried_out_for_who_is_let_in(asking: Any) -> None:
    assert b"\x00\x00\x00\x01t" in asking.talk(negotiation(), CALL).sent

"""Kerberos without a KDC: the steps behind the tickets, and the frames, over a library that only pretends."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.auth_to_local import AuthToLocal
from hbtable.access.options import AuthOptions
from hbtable.access.user import User
from hbtable.access.verification import Verifier
from hbtable.errors import InvalidConfiguration, NotAuthenticated, Overloaded
from hbtable.hbase import opening
from hbtable.hbase.security import GatewaySecurity
from hbtable.hbase.transports.kerberos import KerberosService, Proved, by_kerberos, kerberos_of
from hbtable.hbase.transports.protected_stream import Layer, ProtectedStream
from hbtable.hbase.transports.sasl import Negotiated
from hbtable.hbase.transports.sasl_messages import SaslRefused
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.network.tls import TlsOptions
from hbtable.thrift.wire import Malformed
from tests.harness.canned_gateway import CannedGateway, CannedRuntime

REALM = "TEST.EXAMPLE"


class BrokenSeal(Exception):
    """As gssapi's GSSError."""


class Unwrapped(NamedTuple):
    message: bytes
    encrypted: bool


class PretendedContext:
    """A checksum is an s before the message, encryption an e."""

    complete = True
    initiator_name = f"ann@{REALM}"
    actual_flags = 0b1010
    """Mutual authentication and sequence detection."""

    def wrap(self, message: bytes, encrypt: bool) -> Unwrapped:
        return Unwrapped((b"e" if encrypt else b"s") + message, encrypt)

    def unwrap(self, message: bytes) -> Unwrapped:
        if message[:1] not in (b"s", b"e"):
            raise BrokenSeal("the seal is broken")
        return Unwrapped(message[1:], message[:1] == b"e")

    def get_wrap_size_limit(self, most: int, encrypted: bool) -> int:
        return most - 1


class PretendedService:
    error = BrokenSeal
    names = AuthToLocal(REALM)
    offer = 7
    answers: tuple[tuple[bytes, bool], ...] = ((b"tickets", True),)

    flags = PretendedContext.actual_flags

    def begin(self) -> PretendedContext:
        self.left = list(self.answers)
        context = PretendedContext()
        context.actual_flags = self.flags
        return context

    def open_apart(self, context: PretendedContext, frame: bytes) -> Unwrapped:
        return context.unwrap(frame)

    def take_token(self, context: object, token: bytes) -> tuple[bytes, bool]:
        return self.left.pop(0) if self.left else (b"more", False)


class Messages:
    def __init__(self, *received: bytes) -> None:
        self.received = list(received)
        self.sent: list[bytes] = []

    def receive(self, due: tuple[int, ...], most: int) -> tuple[int, bytes]:
        if not self.received:
            raise EOFError
        return 2, self.received.pop(0)

    def send(self, status: int, content: bytes) -> None:
        self.sent.append(content)


def proved(*received: bytes, service: Any = None) -> tuple[Proved, list[bytes]]:
    messages: Any = Messages(*received)
    return by_kerberos(messages, service or PretendedService()), messages.sent


def test_a_client_chooses_no_layer() -> None:
    found, sent = proved(b"ticket", b"", b"s\x01\0\0\0")
    assert found == Proved("ann", "", None)
    assert sent == [b"tickets", b"s\x07\xff\xff\xff"]


@pytest.mark.parametrize(("choice", "is_confidential"), [(2, False), (4, True)])
def test_a_client_chooses_a_layer_and_acts_for_another(choice: int, is_confidential: bool) -> None:
    found, _ = proved(b"ticket", b"", b"s" + bytes([choice]) + b"\x01\0\0ben")
    assert (found.name, found.acting_for) == ("ann", "ben")
    assert found.layer is not None
    assert found.layer[2:4] == (is_confidential, 65536)
    assert found.layer.open_apart(b"eframe") == Unwrapped(b"frame", True)


@pytest.mark.parametrize("flags", [0b0010, 0b0110])
@pytest.mark.parametrize("choice", [1, 2, 4])
def test_no_layer_is_for_who_would_not_notice_repeated_messages(flags: int, choice: int) -> None:
    service = PretendedService()
    service.flags = flags
    if choice == 1:
        assert proved(b"ticket", b"", b"s\x01\0\0\0", service=service)[0].layer is None
    else:
        with pytest.raises(SaslRefused, match="ask for sequence detection"):
            proved(b"ticket", b"", b"s" + bytes([choice]) + b"\x01\0\0", service=service)


def test_the_principal_as_the_other_user_is_nobody_else() -> None:
    assert proved(b"ticket", b"", b"s\x01\0\0\0" + f"ann@{REALM}".encode())[0].acting_for == ""


def test_tickets_without_a_last_answer_need_no_empty_message() -> None:
    service = PretendedService()
    service.answers = ((b"go on", False), (b"", True))
    assert proved(b"ticket", b"more", b"s\x01\0\0\0", service=service)[1] == [b"go on", b"s\x07\xff\xff\xff"]


@pytest.mark.parametrize(
    "choice", [b"s", b"s\x01\0\0", b"s\x00\0\0\0", b"s\x03\xff\xff\xff", b"s\x08\xff\xff\xff", b"s\x04\0\0\x09"]
)
def test_a_choice_that_is_none_is_refused(choice: bytes) -> None:
    with pytest.raises(SaslRefused, match="the last step of GSSAPI is damaged"):
        proved(b"ticket", b"", choice)


def test_a_layer_that_is_not_offered_is_refused() -> None:
    service = PretendedService()
    service.offer = 4
    with pytest.raises(SaslRefused, match=r"does not offer the layer that was chosen \(auth.qop\)"):
        proved(b"ticket", b"", b"s\x01\0\0\0", service=service)


def test_a_choice_with_a_broken_seal_is_refused() -> None:
    with pytest.raises(NotAuthenticated, match="the last step of GSSAPI failed"):
        proved(b"ticket", b"", b"x\x01\0\0\0")


def test_tickets_without_end_are_refused() -> None:
    service = PretendedService()
    service.answers = ()
    with pytest.raises(SaslRefused, match="too many steps"):
        proved(*[b"again"] * 50, service=service)


@pytest.mark.parametrize(
    ("principal", "name"),
    [("ann@TEST.EXAMPLE", "ann"), ("hue/host.example@TEST.EXAMPLE", "hue"), ("_x@TEST.EXAMPLE", "_x")],
)
def test_a_principal_of_the_realm_is_a_user(principal: str, name: str) -> None:
    assert AuthToLocal(REALM).user(principal) == name


@pytest.mark.parametrize(
    "principal",
    [
        "ann@OTHER",
        "ann",
        "@TEST.EXAMPLE",
        "/host@TEST.EXAMPLE",
        "a b@TEST.EXAMPLE",
        "ann@test.example",
        "ann@TEST.EXAMPLE@OTHER",
        r"ann/host@OTHER\@TEST.EXAMPLE",
        r"ann\/host@TEST.EXAMPLE",
        r"ann\n@TEST.EXAMPLE",
    ],
)
def test_other_principals_are_nobody(principal: str) -> None:
    with pytest.raises(NotAuthenticated, match="the principal"):
        AuthToLocal(REALM).user(principal)


class Carrier:
    """Looks at the memory that is counted whenever it is asked for more."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)
        self.sent = b""
        self.asked: list[int] = []
        self.timeouts: list[float | None] = []
        self.counted: list[int] = []
        self.at: Any = None
        self.silent_at_end = False

    def recv(self, most: int) -> bytes:
        if self.silent_at_end and not self.pieces:
            raise TimeoutError
        self.asked.append(most)
        self.counted.append(self.at.budget.used_bytes)
        self.at.now += self.at.between_pieces
        return self.pieces.pop(0) if self.pieces else b""

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def settimeout(self, seconds: float | None) -> None:
        self.timeouts.append(seconds)

    def close(self) -> None: ...


class Gateway:
    """The part of a ConnectionContext that a stream asks for, in virtual time."""

    message_bytes, stall_seconds = 1 << 20, 30.0

    def __init__(self, limit_bytes: int = 1 << 30) -> None:
        self.now, self.between_pieces, self.pauses = 0.0, 0.0, 0
        self.budget = MemoryBudget(limit_bytes, self.sleep, self.clock)
        self.join = b"".join

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def pause(self) -> None:
        self.pauses += 1


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def stream(
    pieces: Sequence[bytes],
    is_confidential: bool = True,
    first: bytes = b"",
    most_sent: int = 65536,
    gateway: Gateway | None = None,
) -> Any:
    pretended: Any = PretendedContext()
    carrier: Any = Carrier(*pieces)
    carrier.at = at = gateway or Gateway()
    carrier.apart, carrier.counted_apart = [], []

    def open_apart(frame: bytes) -> Any:
        carrier.apart.append(len(frame))
        carrier.counted_apart.append(at.budget.used_bytes)
        with pytest.raises(OSError, match="farewell"):
            protected.sendall(b"too many connections")
        return pretended.unwrap(frame)

    layer = Layer(pretended, BrokenSeal, is_confidential, most_sent, open_apart)
    context: Any = at
    protected = ProtectedStream(carrier, first, layer, context)
    return carrier, protected


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_frames_are_put_together_and_opened(size: int) -> None:
    data = frame(b"eone") + frame(b"e") + frame(b"etwo")
    _, protected = stream([data[place : place + size] for place in range(0, len(data), size)])
    assert (protected.recv(9), protected.recv(9), protected.recv(9)) == (b"one", b"two", b"")


def test_what_was_read_before_is_the_beginning() -> None:
    assert stream([], first=frame(b"eone"))[1].recv(9) == b"one"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (frame(b"sclear"), "a frame is not encrypted"),
        (frame(b"xbroken"), "was changed on its way"),
        (frame(b""), "was changed on its way"),
        (b"\xff\xff\xff\xff", "a protected frame of 4294967295 bytes, where 1114112 are the most"),
    ],
)
def test_a_frame_that_is_not_as_agreed_ends_the_connection(data: bytes, words: str) -> None:
    with pytest.raises(Malformed, match=words):
        stream([data])[1].recv(9)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[place : place + size] for place in range(0, len(data), size)]


@pytest.mark.parametrize("size", [50_000, 900_000])
def test_a_frame_is_counted_as_it_arrives_and_let_go(size: int) -> None:
    """Otherwise a hundred clients with half a frame each fill the memory, and may wait for ever."""
    gateway = Gateway()
    carrier, protected = stream(cut(frame(b"e" + b"x" * size) + frame(b"enext"), 10_000), gateway=gateway)
    protected.settimeout(7.0)
    assert protected.recv(9) == b"x" * size
    uncounted = [count for place, count in enumerate(carrier.counted) if count < 10_000 * (place - 1)]
    assert (max(carrier.counted) > size - 20_000, uncounted) == (True, [])
    assert (gateway.budget.used_bytes, carrier.timeouts) == (0, [7.0, 30.0, 7.0])
    assert carrier.apart == ([size + 1] if size == 900_000 else [])
    assert protected.recv(9) == b"next"


def test_a_frame_and_what_is_inside_of_it_are_both_counted() -> None:
    """There are both while it is opened."""
    carrier, protected = stream(cut(frame(b"e" + b"x" * 900_000), 10_000))
    protected.recv(9)
    assert carrier.counted_apart[0] >= 1_800_000
    assert carrier.at.budget.used_bytes == carrier.at.budget.growing_bytes == 0


def test_a_frame_is_opened_when_there_is_room_for_what_is_inside() -> None:
    gateway = Gateway(1_000_000)
    before = gateway.budget.begin(None)
    gateway.budget.grow(before, 100_000)  # an answer that goes on whatever it takes
    carrier, protected = stream(cut(frame(b"e" * 900_000), 10_000), gateway=gateway)
    with pytest.raises(Overloaded):
        protected.recv(9)
    assert (carrier.apart, gateway.budget.used_bytes) == ([], 100_000)


def test_a_client_that_leaves_within_a_frame_is_let_go() -> None:
    gateway = Gateway()
    _, protected = stream(cut(frame(b"e" * 100_000), 10_000)[:5], gateway=gateway)
    assert protected.recv(9) == b""
    assert gateway.budget.used_bytes == 0


@pytest.mark.parametrize("size", [100, 500_000])
def test_a_frame_that_arrives_too_slowly_ends_the_connection(size: int) -> None:
    gateway = Gateway()
    gateway.between_pieces = 20.0
    _, protected = stream(cut(frame(b"e" * size), max(size // 100, 10)), gateway=gateway)
    with pytest.raises(TimeoutError, match="arrives too slowly"):
        protected.recv(9)
    assert gateway.budget.used_bytes == 0


def test_who_waited_for_room_is_not_slow() -> None:
    gateway = Gateway(100_000)
    others = gateway.budget.begin(None)
    gateway.budget.arrive(others, 90_000)

    def sleep(seconds: float) -> None:
        gateway.now += 200.0
        gateway.budget.end(others)

    gateway.budget._sleep = sleep
    gateway.between_pieces = 0.5
    _, protected = stream(cut(frame(b"e" * 60_000), 20_000), gateway=gateway)
    assert len(protected.recv(9)) == 59_999


def test_a_frame_for_which_there_is_no_room_is_thrown_away() -> None:
    gateway = Gateway(100_000)
    others = gateway.budget.begin(None)
    gateway.budget.arrive(others, 100_000)
    carrier, protected = stream(cut(frame(b"e" * 90_000), 10_000), gateway=gateway)
    with pytest.raises(Overloaded):
        protected.recv(9)
    assert (carrier.pieces, gateway.budget.used_bytes) == ([], 100_000)


def test_others_run_between_empty_frames() -> None:
    """A client that sends nothing else, faster than we read, would keep everybody from being served for ever."""
    gateway = Gateway()
    _, protected = stream([frame(b"e") * 1000] * 20 + [frame(b"ecall")], gateway=gateway)
    assert protected.recv(9) == b"call"
    assert gateway.pauses >= 20_000 // 64


def test_others_run_while_a_frame_arrives_in_pieces() -> None:
    """As TLS below Kerberos hands them on; nobody waits for a client that sends as fast as we read."""
    gateway = Gateway()
    _, protected = stream(cut(frame(b"e" + b"x" * 1_000_000), 50_000), gateway=gateway)
    protected.recv(9)
    assert gateway.pauses >= 1_000_000 // (2 * 65536)


def test_a_client_whose_frame_waits_for_a_turn_is_not_slow() -> None:
    gateway, slow = Gateway(), list[bool]()

    def wait_for_a_turn() -> None:
        gateway.now += 10
        slow.append(any(one.slow_from <= gateway.now for one in gateway.budget._open))

    gateway.pause = wait_for_a_turn  # type: ignore[method-assign]
    _, protected = stream(cut(frame(b"e" + b"x" * 1_000_000), 50_000), gateway=gateway)
    protected.recv(9)
    assert slow
    assert not any(slow)


@pytest.mark.parametrize("size", [10_000, 60_000])
def test_who_waits_for_a_refusal_in_the_middle_of_a_frame_is_told_of_it(size: int) -> None:
    """It sends nothing more: that is no reason to say that it fell silent. And its first piece may be too much."""
    gateway = Gateway(100_000)
    others = gateway.budget.begin(None)
    gateway.budget.arrive(others, 100_000)
    carrier, protected = stream(cut(frame(b"e" * 500_000), size)[:4], gateway=gateway)
    carrier.silent_at_end = True
    with pytest.raises(Overloaded):
        protected.recv(9)
    assert (carrier.pieces, gateway.budget.used_bytes) == ([], 100_000)


def test_http_is_not_spoken_inside_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parser would copy all that follows each request, of the 60 MB that a frame may have; nobody counts them."""
    carrier, protected = stream([frame(b"ePOST / HTTP/1.1\r\n" + b"x" * 100_000)])
    hello = b"\x01\0\0\0\x06GSSAPI"
    monkeypatch.setattr(opening, "negotiate", lambda *_: Negotiated(User("ann"), protected, None))
    context: Any = SimpleNamespace(security=SimpleNamespace(tls=None, verifier=object()), stall_seconds=30.0)
    outside: Any = Carrier(hello)
    outside.at = carrier.at
    with pytest.raises(Malformed, match="HTTP inside of frames"):
        opening.open_stream(outside, "host:1", context, lambda *_: None)


@pytest.mark.parametrize("bad", [frame(b"xbroken"), b"\xff\xff\xff\xff"], ids=["changed", "too long"])
def test_what_follows_a_frame_that_is_refused_is_read_and_not_opened(
    monkeypatch: pytest.MonkeyPatch, bad: bytes
) -> None:
    """Closed with unread bytes the connection would be reset, and the client would not read why."""
    carrier, protected = stream([frame(b"e\0\0\0\x0e\x80\1\0\1\0\0\0\1x\0\0\0\1\0"), bad, *([frame(b"enext")] * 9)])
    monkeypatch.setattr(opening, "negotiate", lambda *_: Negotiated(User("ann"), protected, None))
    runtime: Any = CannedRuntime()
    security = GatewaySecurity(TlsOptions(), AuthOptions(enabled=True, plain_text=True))
    users: Any = SimpleNamespace(read=Accounts)
    security.ask(Verifier(runtime, users, security.auth))
    outside: Any = Carrier(b"\x01\0\0\0\x06GSSAPI")
    outside.at = carrier.at
    CannedGateway(security=security).serve(outside, ("host", 1))
    assert b"a protected frame" in carrier.sent
    assert carrier.pieces == []


def test_a_checksum_is_enough_where_that_was_agreed() -> None:
    assert stream([frame(b"sclear")], is_confidential=False)[1].recv(9) == b"clear"


def test_no_frame_is_longer_than_the_client_takes() -> None:
    carrier, protected = stream([], most_sent=1024)
    protected.sendall(b"x" * 3000)
    sizes = []
    while carrier.sent:
        size = int.from_bytes(carrier.sent[:4], "big")
        sizes.append(size)
        carrier.sent = carrier.sent[4 + size :]
    assert (max(sizes), sum(sizes)) == (1024, 3003)


def test_a_server_without_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(InvalidConfiguration, match=r"pip install 'hbtable\[kerberos\]'"):
        KerberosService(AuthOptions(enabled=True, keytab="k", realm=REALM), GeventRuntime())


def test_a_keytab_that_others_may_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keytab = tmp_path / "keytab"
    keytab.write_bytes(b"")
    os.chmod(keytab, 0o644)
    pretended: Any = type(sys)("gssapi")
    errors: Any = type(sys)("gssapi.exceptions")
    errors.GSSError = BrokenSeal
    monkeypatch.setitem(sys.modules, "gssapi", pretended)
    monkeypatch.setitem(sys.modules, "gssapi.exceptions", errors)
    for path, words in ((keytab, "chmod 600"), (tmp_path / "none", "No such file")):
        with pytest.raises(InvalidConfiguration, match=words):
            KerberosService(AuthOptions(enabled=True, keytab=str(path), realm=REALM), GeventRuntime())


def test_without_a_keytab_or_without_authentication_there_is_none() -> None:
    assert kerberos_of(AuthOptions(enabled=True), GeventRuntime()) is None
    assert kerberos_of(AuthOptions(keytab="k", realm=REALM), GeventRuntime()) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keytab": "k"}, "need each other"),
        ({"realm": REALM}, "need each other"),
        ({"qop": "auth-none"}, "auth.qop = 'auth-none'"),
        ({"qop": ""}, "auth.qop"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        AuthOptions(**settings)

"""Which versions of roles work together, and that no byte changes between them without being noticed, over loopback."""

import logging
import random
from itertools import combinations, islice

import pytest
from gevent.socket import create_connection

from hbtable.crc32 import crc32
from hbtable.errors import Corruption, HbtableError, OutcomeUnknown, StaleLocation, UnsupportedFormat
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING
from hbtable.rpc import admission, connections, handshake
from hbtable.rpc.admission import Admission
from hbtable.rpc.codec import calls
from hbtable.rpc.codec.calls import METHODS
from hbtable.rpc.codec.errors import described
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.handshake import HELLO, OURS, PeerVersion, agreed, hello_request
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network import sockets
from hbtable.runtime.network.sockets import serve
from hbtable.thrift import wire
from hbtable.thrift.frames import Frames, with_checksum
from tests.harness.delegating_fake import DelegatingFake

HOST = "127.0.0.1"
LONG_TIMEOUTS = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60, watch_seconds=0.02)
SHORT = RpcOptions(connect_seconds=60, read_seconds=0.5, write_seconds=0.5, watch_seconds=0.02)
"""A length that grew on the way makes the other side wait for the rest."""
ROW, VALUE = b"row", b"value"
MUTATION = RowMutation(ROW, [(PUT, b"f", b"q", 5, VALUE)])


class Service:
    """Remembers what arrived."""

    def __init__(self):
        self.mutations = []
        self.rows = []

    def mutate(self, tablet_id, mutations):
        self.mutations += [(tablet_id, one.row, one.operations) for one in mutations]

    def read_rows(self, tablet_id, rows, spec):
        self.rows += rows
        return [(row, [(b"f:q", 1, VALUE)]) for row in rows]


@pytest.fixture
def runtime():
    made = GeventRuntime()
    yield made
    made.close()


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def address(runtime, service):
    roles = LocalTransport()
    roles.register_server("s1", service, service)
    server = RpcServer(runtime, roles, lambda handle: serve(HOST, 0, handle))
    yield f"{HOST}:{server.start()}"
    server.close()


@pytest.fixture
def calling(runtime):
    made = []

    def make(address, connect=sockets.connect, options=LONG_TIMEOUTS):
        transport = RpcTransport(runtime, lambda name: address, lambda: address, options, connect=connect)
        made.append(transport)
        return transport.tablet_service("s1")

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def server_before_hello(monkeypatch):
    """A call that it does not know is nothing special to it, whenever it comes."""
    answer = RpcServer._answer
    monkeypatch.setattr(Admission, "answer", lambda self, message: None)
    monkeypatch.setattr(RpcServer, "_answer", lambda self, message, peer, first: answer(self, message, peer, False))


def raw(address):
    host, _, port = address.rpartition(":")
    socket = create_connection((host, int(port)), 60)
    return socket, Frames(socket.recv, socket.recv, 1 << 20, lambda: None)


def hello(theirs):
    return hello_request(theirs)


def reading():
    return METHODS["read_rows"].request(4, ("s1", 7, [ROW], EVERYTHING), lambda: None)


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize("minor", [0, 1, 2, 70])
def test_the_same_major_version_works_together_at_the_lower_minor_one(minor):
    theirs = PeerVersion(OURS.major, minor, "9.9")
    assert agreed(theirs) == min(theirs, OURS)
    assert agreed(theirs).checks_frames == (minor >= 1)


@pytest.mark.parametrize("major", [0, 2, 3, 2**40])
def test_a_server_refuses_another_major_version_and_names_both(address, service, major):
    socket, frames = raw(address)
    socket.sendall(hello(PeerVersion(major, 4, "7.8.9")))
    refusal = HELLO.read_reply(frames.next(), 0, lambda: None).raised()
    assert isinstance(refusal, UnsupportedFormat)
    for part in (f"{major}.4", "7.8.9", f"{OURS.major}.{OURS.minor}", OURS.build, "upgrade the older one"):
        assert part in str(refusal)
    assert frames.next() is None
    socket.close()


def test_a_caller_refuses_another_major_version_and_names_both(runtime, calling, monkeypatch, address, service):
    monkeypatch.setattr(admission, "OURS", PeerVersion(2, 0, "7.8.9"))
    monkeypatch.setattr(admission, "agreed", lambda theirs: theirs)
    with pytest.raises(UnsupportedFormat, match=r"protocol 2\.0 \(hbtable 7\.8\.9\), and this one protocol 1\.2"):
        calling(address).mutate(7, [MUTATION])
    assert service.mutations == []


def test_a_caller_is_told_by_the_server_that_refuses_it(calling, monkeypatch, address, service):
    monkeypatch.setattr(connections, "OURS", PeerVersion(5, 0, "7.8.9"))
    with pytest.raises(UnsupportedFormat, match=r"protocol 5\.0 \(hbtable 7\.8\.9\)"):
        calling(address).mutate(7, [MUTATION])
    assert service.mutations == []


def test_a_caller_from_before_there_was_a_hello_is_served(address, service):
    socket, frames = raw(address)
    for _ in range(2):
        socket.sendall(reading())
        assert METHODS["read_rows"].read_reply(frames.next(), 4, lambda: None) == [(ROW, [(b"f:q", 1, VALUE)])]
    socket.close()


@pytest.mark.usefixtures("server_before_hello")
def test_a_server_from_before_there_was_a_hello_is_used(calling, address, service):
    tablets = calling(address)
    for number in (1, 2):
        tablets.mutate(7, [MUTATION])
        assert service.mutations == [(7, ROW, MUTATION.operations)] * number
    assert tablets.read_rows(7, [ROW], EVERYTHING) == [(ROW, [(b"f:q", 1, VALUE)])]


def test_a_later_hello_may_say_more(address):
    socket, frames = raw(address)
    frame = HELLO.request(0, PeerVersion(OURS.major, 9, "7.8.9"), lambda: None)
    more = frame[4:-1] + b"\x0b\0\x05\0\0\0\x03new"
    more += b"\x0a\0\x64" + crc32(more).to_bytes(8, "big") + b"\0"
    socket.sendall(len(more).to_bytes(4, "big") + more)
    assert HELLO.read_reply(frames.next(), 0, lambda: None) == OURS
    socket.close()


def test_a_server_that_fails_at_a_hello_is_no_peer():
    with pytest.raises(UnsupportedFormat, match="does not understand a hello: broken"):
        handshake.answered(calls.Failure(wire.PROTOCOL_ERROR, "broken"))
    with pytest.raises(HbtableError, match="its own error"):
        handshake.answered(described(HbtableError("its own error")))


# ---------------------------------------------------------------- checksums


def changed(message, *bits):
    data = bytearray(message)
    for bit in bits:
        data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


@pytest.mark.parametrize("challenge", [b"", b"c" * 32], ids=["without a key", "with a key"])
def test_no_two_bits_of_a_hello_turn_off_what_both_sides_can_do(challenge):
    """A hello is refused, or looks like another call, which ends the connection."""
    message = hello_request(OURS._replace(challenge=challenge))[4:]
    assert handshake.read_hello(message) == (0, OURS._replace(challenge=challenge))
    for pair in islice(combinations(range(8 * len(message)), 2), 0, None, 13):
        wrong = changed(message, *pair)
        if handshake.is_hello(wrong):
            with pytest.raises((Corruption, UnsupportedFormat)):
                handshake.read_hello(wrong)


def test_no_two_bits_of_the_answer_to_a_hello_make_it_another_version():
    message = handshake.hello_reply(0, OURS, None, OURS)[4:]
    assert handshake.read_hello_reply(message) == OURS
    for pair in islice(combinations(range(8 * len(message)), 2), 0, None, 13):
        try:
            found = handshake.read_hello_reply(changed(message, *pair))
        except (Corruption, UnsupportedFormat):
            continue
        assert not isinstance(found, PeerVersion)
        assert getattr(found, "number", None) != wire.UNKNOWN_METHOD


def test_only_a_hello_of_1_1_has_no_checksum():
    older = PeerVersion(1, 1, "0.1.0")
    plain = HELLO.request(5, older, lambda: None)[4:]
    assert handshake.read_hello(plain) == (5, older)
    for wrong in (
        HELLO.request(0, OURS, lambda: None)[4:],
        HELLO.request(0, older._replace(challenge=b"c" * 32), lambda: None)[4:],
        plain[:-1] + b"\x0b\0\x07\0\0\0\x03new\0",
        plain[:-1] + b"\x0a\0\x65" + bytes(8) + b"\0",
    ):
        with pytest.raises(Corruption, match="without the checksum"):
            handshake.read_hello(wrong)
    assert handshake.read_hello_reply(HELLO.reply(0, older, None, lambda: None)[4:]) == older
    with pytest.raises(Corruption, match="without the checksum"):
        handshake.read_hello_reply(HELLO.reply(0, OURS, None, lambda: None)[4:])


def test_an_older_caller_gets_the_answer_as_it_knows_it(address):
    socket, frames = raw(address)
    older = PeerVersion(1, 1, "0.1.0")
    socket.sendall(HELLO.request(0, older, lambda: None))
    assert frames.next() == HELLO.reply(0, OURS, None, lambda: None)[4:]
    socket.close()


def test_every_frame_after_the_hello_has_a_checksum(address, service, caplog):
    socket, frames = raw(address)
    socket.sendall(hello(OURS))
    assert HELLO.read_reply(frames.next(), 0, lambda: None) == OURS
    frames.checked = True
    socket.sendall(with_checksum(reading()))
    assert METHODS["read_rows"].read_reply(frames.next(), 4, lambda: None) == [(ROW, [(b"f:q", 1, VALUE)])]
    with caplog.at_level(logging.WARNING):
        socket.sendall(reading())  # without one
        assert frames.next() == b""  # goodbye: it was not begun
        assert frames.next() is None
    assert "checksum" in caplog.text
    assert service.rows == [ROW]
    socket.close()


class Corrupting(DelegatingFake):
    """A connection on which one bit changes: the `at`-th byte that is sent, or received; then, with `more`, one of each
    later piece."""

    def __init__(self, socket, sent, at, bit, more=False):
        super().__init__(socket)
        self.left = {"sent": at if sent else None, "received": None if sent else at}
        self.bit = bit
        self.more = more
        self.changed = False

    def _through(self, way, data):
        left = self.left[way]
        if left is None:
            return self._changed(data, len(data) // 2) if self.more and self.changed and data else data
        self.left[way] = left - len(data)
        if 0 <= left < len(data):
            self.left[way] = None
            self.changed = True
            return self._changed(data, left)
        return data

    def _changed(self, data, at):
        return data[:at] + bytes([data[at] ^ 1 << self.bit]) + data[at + 1 :]

    def sendall(self, data):
        self.inner.sendall(self._through("sent", data))

    def recv(self, most):
        return self._through("received", self.inner.recv(most))


@pytest.mark.slow  # waits for real seconds
@pytest.mark.parametrize("more", [False, True], ids=["once", "and-later"])
@pytest.mark.parametrize("sent", [True, False], ids=["call", "answer"])
def test_a_bit_that_changes_on_the_way_is_never_taken_for_what_was_sent(calling, address, service, sent, more):
    """At every byte, those of the hello too. What is read is right or an error; what arrives is what was sent, or does
    not arrive."""
    chance = random.Random(7)
    changed = 0
    for at in range(0, 260, 4 if more else 1):
        made = []

        def connect(host, port, seconds, at=at, made=made):
            bit = chance.randrange(8)
            # A peer that is asked again is reached over another wire.
            made.append(Corrupting(sockets.connect(host, port, seconds), sent, at if not made else 10**9, bit, more))
            return made[-1]

        tablets = calling(address, connect, SHORT)
        for call in (
            lambda tablets=tablets: tablets.mutate(7, [MUTATION]),
            lambda tablets=tablets: tablets.read_rows(7, [ROW], EVERYTHING),
        ):
            try:
                assert call() in (None, [(ROW, [(b"f:q", 1, VALUE)])])
            except (StaleLocation, OutcomeUnknown):
                continue
        changed += any(one.changed for one in made)
    assert changed > (40 if more else 100)
    assert set(service.rows) == {ROW}
    assert all(one == (7, ROW, MUTATION.operations) for one in service.mutations)


@pytest.mark.parametrize("at", range(4, 17))
def test_a_changed_hello_does_not_end_checksums(calling, address, service, caplog, at):
    """Each byte between the length and the sequence number of the hello, and the value of the call after it. The
    length makes the server wait: the test above."""
    made = []

    class TwoBits(DelegatingFake):
        pieces = 0

        def sendall(self, data):
            self.pieces += 1
            place = at if self.pieces == 1 else data.find(VALUE)
            self.inner.sendall(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])

    def connect(host, port, seconds):
        socket = sockets.connect(host, port, seconds)
        made.append(socket)
        return TwoBits(socket) if len(made) == 1 else socket

    tablets = calling(address, connect, LONG_TIMEOUTS if not 8 <= at < 12 else SHORT)
    with caplog.at_level(logging.WARNING), pytest.raises(StaleLocation):
        tablets.mutate(7, [MUTATION])
    assert service.mutations == []
    assert "is taken for" not in caplog.text
    tablets.mutate(7, [MUTATION])
    assert service.mutations == [(7, ROW, MUTATION.operations)]


def test_a_caller_that_is_taken_for_1_0_is_logged_once(address, caplog):
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            socket, frames = raw(address)
            socket.sendall(reading())
            assert frames.next()
            socket.close()
    assert caplog.text.count("began without a hello and is taken for an hbtable of protocol 1.0") == 1


@pytest.mark.usefixtures("server_before_hello")
def test_a_server_that_is_taken_for_1_0_is_logged_once(calling, address, caplog):
    with caplog.at_level(logging.WARNING):
        tablets = calling(address)
        tablets.mutate(7, [MUTATION])
        tablets.mutate(7, [MUTATION])
    assert caplog.text.count(f"the peer at {address} does not know the hello and is taken for") == 1


@pytest.mark.usefixtures("server_before_hello")
def test_a_server_of_1_0_that_got_a_changed_hello_is_asked_again(calling, address, service):
    """What it does not know is not what was asked: the wire changes bytes."""

    class Changed(DelegatingFake):
        def sendall(self, data):
            self.inner.sendall(data.replace(b"hello", b"hellm"))

    wires = [Changed, lambda socket: socket]
    tablets = calling(address, lambda *where: wires.pop(0)(sockets.connect(*where)))
    with pytest.raises(StaleLocation):
        tablets.mutate(7, [MUTATION])
    tablets.mutate(7, [MUTATION])
    assert service.mutations == [(7, ROW, MUTATION.operations)]


def test_a_first_call_that_is_not_known_ends_its_connection(address, caplog):
    """An hbtable that said hello in vain must not go on without checksums."""
    socket, frames = raw(address)
    with caplog.at_level(logging.WARNING):
        changed = hello(OURS).replace(b"hello", b"hellm")
        socket.sendall(changed + reading())
        assert b"hellm" in frames.next()
        assert frames.next() == b""  # goodbye: what follows was not begun
        assert frames.next() is None
    assert "its first message is no hello, and there is no call hellm" in caplog.text
    socket.close()


def test_another_version_is_believed_when_it_comes_twice(calling, address, monkeypatch, service):
    answers = [PeerVersion(OURS.major + 4, 0, "7.8.9"), OURS]
    greeting = Admission._hello

    def once(self, message):
        found = greeting(self, message)
        return found._replace(frame=handshake.hello_reply(0, answers.pop(0), None, OURS))

    monkeypatch.setattr(Admission, "_hello", once)
    calling(address).mutate(7, [MUTATION])
    assert service.mutations == [(7, ROW, MUTATION.operations)]
    assert answers == []

"""What a caller is told when the other side dies, freezes, stops, was replaced or talks nonsense, over loopback."""

import logging
import os
import socket as standard_socket
import time

import happybase
import pytest
from gevent.hub import get_hub
from gevent.socket import create_connection
from Hbase_thrift import IOError as HBaseError

from hbtable.access.log_limiter import LINES_OF_ONE
from hbtable.errors import (
    Corruption,
    HbtableError,
    InvalidRequest,
    LimitExceeded,
    LockLost,
    OutcomeUnknown,
    StaleLocation,
    Stalled,
    StorageFailed,
    Unavailable,
    UnknownCall,
    UnsupportedFormat,
)
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING
from hbtable.rpc.codec import calls
from hbtable.rpc.codec.calls import METHODS, read_head
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.handshake import HELLO, OURS, hello_request
from hbtable.rpc.hbase_clients import is_named_by_hbase
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.thrift_server import OTHER_PORT, RpcServer, RpcServerOptions
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network import sockets
from hbtable.runtime.network.sockets import serve
from hbtable.thrift import wire
from hbtable.thrift.frames import GOODBYE, Frames, with_checksum
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.waiting import SOON_SECONDS

HOST = "127.0.0.1"
LONG_TIMEOUTS = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60, watch_seconds=0.02)
QUICK = RpcOptions(read_seconds=0.1, write_seconds=0.1, census_seconds=0.05, watch_seconds=0.02)
"""For calls that are given up, under a runtime that starts their time when they have arrived."""
MUTATION = RowMutation(b"r", [(PUT, b"f", b"q", -1, b"v")])


@pytest.fixture
def runtime():
    made = GeventRuntime()
    yield made
    made.close()


class Halted(DelegatingFake):
    """A runtime whose clock stands still until `arrived` holds, as often as it is told: a machine that does nothing for
    a while takes no call's time before the peer has got it."""

    OWN = ("until",)

    def __init__(self, runtime):
        super().__init__(runtime)
        self._past = 0.0
        self._since = None
        self._arrived = lambda: False

    def until(self, arrived):
        self._past = self.clock_seconds()
        self._since, self._arrived = None, arrived

    def clock_seconds(self):
        if self._since is None and self._arrived():
            self._since = self.inner.clock_seconds()
        return self._past + (0.0 if self._since is None else self.inner.clock_seconds() - self._since)


class Service:
    """Counts calls; `act` may do anything."""

    def __init__(self, act=lambda: None):
        self.called = 0
        self.act = act

    def mutate(self, tablet_id, mutations):
        self.called += 1
        self.act()

    def read_rows(self, tablet_id, rows, spec):
        self.called += 1
        self.act()
        return [(row, [(b"f:q", 1, b"v")]) for row in rows]

    def tablets(self, table_id=-1):
        self.act()
        return []


class Peer:
    """A peer by script: `answers[n]` makes the bytes for the n-th call of all its connections, None hangs up, and
    "freeze" says nothing."""

    def __init__(self, runtime, answers):
        self.runtime = runtime
        self.answers = list(answers)
        self.seen = []
        self.connections = 0
        self.release = runtime.event()
        self.listener = serve(HOST, 0, self._serve)
        self.address = f"{HOST}:{self.listener.port}"

    def _serve(self, socket, address):
        self.connections += 1
        frames = Frames(socket.recv, socket.recv, 1 << 20, lambda: None)
        while (message := frames.next()) is not None:
            _, name, sequence, _ = read_head(message)
            if name == b"hello":  # of which it knows nothing: an hbtable from before there was one
                socket.sendall(calls.failure(name, sequence, wire.UNKNOWN_METHOD, "what?"))
                continue
            self.seen.append(name.decode())
            answer = self.answers.pop(0)
            if answer is None:
                return
            if answer == "freeze":
                self.release.wait()
                return
            if isinstance(answer, bytes):
                socket.sendall(answer)
                return
            socket.sendall(answer(METHODS[name.decode()], sequence))

    def close(self):
        self.release.set()
        self.listener.close(1)


def fine(method, sequence):
    return method.reply(sequence, [] if method.returns else None, None, lambda: None)


@pytest.fixture
def against(runtime):
    """against(*answers, options=...) -> (transport, peer)."""
    made = []

    def make(*answers, options=LONG_TIMEOUTS, address_of=None, runtime_of_caller=runtime):
        peer = Peer(runtime, answers)
        reach = address_of or (lambda name: peer.address)
        transport = RpcTransport(runtime_of_caller, reach, lambda: peer.address, options)
        made.extend((transport, peer))
        return transport, peer

    yield make
    for one in made:
        one.close()


@pytest.fixture
def serving(runtime):
    """serving(service, incarnation) -> (server, roles, address)."""
    made = []

    def make(service, incarnation="s1", port=0, options=None):
        roles = LocalTransport()
        roles.register_server(incarnation, service, service)
        server = RpcServer(runtime, roles, lambda handle: serve(HOST, port, handle), options)
        made.append(server)
        return server, roles, f"{HOST}:{server.start()}"

    yield make
    for one in made:
        one.close()


@pytest.fixture
def calling(runtime):
    """calling(address_of, master_address, options, local) -> a RpcTransport, closed afterwards."""
    made = []

    def make(*arguments, runtime_of_caller=runtime):
        made.append(RpcTransport(runtime_of_caller, *arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


def read(transport, name="s1"):
    return transport.tablet_service(name).read_rows(1, [b"r"], EVERYTHING)


def write(transport, name="s1"):
    transport.tablet_service(name).mutate(1, [MUTATION])


# ---------------------------------------------------------------- death


def test_nobody_at_the_address_means_that_nothing_was_begun(calling, runtime):
    free = serve(HOST, 0, lambda socket, address: None)
    free.close()
    asked = []
    transport = calling(
        lambda name: asked.append(name) or f"{HOST}:{free.port}", lambda: f"{HOST}:{free.port}", LONG_TIMEOUTS
    )
    with pytest.raises(StaleLocation, match="did not begin mutate"):
        write(transport)
    with pytest.raises(Unavailable, match="did not begin delete_table"):
        transport.master().delete_table(b"t")
    write_again = pytest.raises(StaleLocation)
    with write_again:
        write(transport)
    assert asked == ["s1", "s1"], "the address is asked for again after a failure"


def test_a_peer_that_dies_after_the_call_arrived_leaves_a_write_unknown_and_a_read_to_be_repeated(against):
    transport, peer = against(None, None)
    with pytest.raises(OutcomeUnknown, match="may have been carried out"):
        write(transport)
    with pytest.raises(StaleLocation, match="gave no answer to read_rows"):
        read(transport)
    assert peer.seen == ["mutate", "read_rows"], "neither was sent twice: the connections were fresh"


def test_a_connection_that_served_and_broke_is_replaced_once_for_reads_only(against):
    transport, peer = against(fine, None, fine, None, fine)
    read(transport)
    read(transport)  # the old connection takes it and breaks, a fresh one answers
    assert peer.seen == ["read_rows"] * 3
    with pytest.raises(OutcomeUnknown):
        write(transport)
    assert peer.seen == ["read_rows"] * 3 + ["mutate"], "a write is not sent twice"


def test_a_connection_that_the_peer_closed_between_calls_is_not_used(calling, runtime, serving):
    service = Service()
    server, _, address = serving(service)
    transport = calling(lambda name: address, lambda: None, LONG_TIMEOUTS)
    write(transport)
    server.close()  # it says goodbye to idle connections
    serving(service, port=int(address.split(":")[1]))
    write(transport)
    assert service.called == 2


def test_a_goodbye_instead_of_an_answer_means_that_the_call_was_not_begun(against):
    transport, peer = against(GOODBYE, fine, GOODBYE)
    with pytest.raises(StaleLocation, match="is stopping"):
        write(transport)
    write(transport)
    transport, peer = against(fine, GOODBYE, fine)
    write(transport)
    write(transport)  # told goodbye on the connection it kept: sent again on another
    assert peer.seen == ["mutate"] * 3
    assert peer.connections == 2


def test_a_connection_on_which_goodbye_came_with_an_answer_is_not_used_again(against):
    transport, peer = against(lambda method, sequence: fine(method, sequence) + GOODBYE, fine)
    write(transport)
    write(transport)
    assert (peer.connections, peer.seen) == (2, ["mutate"] * 2)


# ---------------------------------------------------------------- freezing


def test_a_frozen_peer_holds_nobody_beyond_the_deadline(against, runtime):
    halted = Halted(runtime)
    transport, peer = against("freeze", "freeze", "freeze", options=QUICK, runtime_of_caller=halted)
    began = time.monotonic()
    halted.until(lambda: peer.seen == ["mutate"])
    with pytest.raises(OutcomeUnknown, match="deadline"):
        write(transport)
    halted.until(lambda: peer.seen == ["mutate", "read_rows"])
    with pytest.raises(StaleLocation, match="deadline"):
        read(transport)
    halted.until(lambda: peer.seen == ["mutate", "read_rows", "tablets"])
    with pytest.raises(StaleLocation, match="deadline"):
        transport.tablet_admin("s1").tablets()
    assert time.monotonic() - began < 30, "far less than the deadlines that hold when none are given"
    assert peer.connections == 3, "a connection with an answer under way is not used again"


def test_a_long_call_ends_when_its_server_counts_as_dead(against):
    addresses = []
    transport, peer = against("freeze", address_of=lambda name: addresses.pop() if addresses else None)
    addresses.extend([peer.address] * 3)
    with pytest.raises(OutcomeUnknown, match="counts as dead"):
        transport.tablet_admin("s1").unload_tablet(1, 17)
    with pytest.raises(StaleLocation, match="is gone"):
        transport.tablet_admin("s1")


def test_a_lock_service_that_is_away_declares_nobody_dead(against, runtime):
    asked = []

    def address_of(name):
        asked.append(name)
        if len(asked) > 3:
            peer.release.set()  # it has been asked twice, and the call went on
        if len(asked) > 1:
            raise Unavailable("the lock service is away")
        return peer.address

    transport, peer = against("freeze", address_of=address_of)
    with pytest.raises(OutcomeUnknown, match="closed the connection") as told:
        transport.tablet_admin("s1").unload_tablet(1, 17)
    assert told.value.no_answer


def test_callers_wait_for_their_turn_and_not_beyond_the_deadline(calling, runtime, serving):
    gate = runtime.event()
    service = Service(gate.wait)
    _, _, address = serving(service)
    options = RpcOptions(connections=2, write_seconds=60)
    transport = calling(lambda name: address, lambda: None, options)
    tasks = [runtime.spawn(write, transport) for _ in range(6)]
    while service.called < 2:
        runtime.sleep(0.001)
    halted = Halted(runtime)
    halted.until(lambda: service.called == 3)
    quick = RpcOptions(connections=1, write_seconds=0.05, watch_seconds=0.02)
    short = calling(lambda name: address, lambda: None, quick, runtime_of_caller=halted)
    with pytest.raises(OutcomeUnknown):
        write(short)
    killed = runtime.spawn(write, transport)
    runtime.sleep(0)
    killed.kill()
    assert service.called == 3
    gate.set()
    assert [task.join(60) and task.error for task in tasks] == [None] * 6
    assert service.called == 9 - 2, "six, and the one that gave up"


# ---------------------------------------------------------------- another incarnation, stopping, locks


def test_another_incarnation_at_the_address_refuses_and_the_address_is_asked_for_again(calling, runtime, serving):
    service = Service()
    _, _, address = serving(service, "s2")
    asked = []
    transport = calling(lambda name: asked.append(name) or address, lambda: None, LONG_TIMEOUTS)
    for _ in range(2):
        with pytest.raises(StaleLocation, match="tablet server s1 is gone"):
            write(transport)
    assert service.called == 0
    assert asked == ["s1", "s1"]
    write(transport, "s2")
    write(transport, "s2")
    assert asked == ["s1", "s1", "s2"]


@pytest.mark.parametrize("error", [LockLost("lost"), StorageFailed("broken"), Stalled("slow")])
def test_a_peers_lost_lock_or_broken_log_is_a_lost_connection_for_its_callers(calling, runtime, serving, error):
    def fail():
        raise error

    _, _, address = serving(Service(fail))
    transport = calling(lambda name: address, lambda: None)
    with pytest.raises(OutcomeUnknown, match=str(error)):
        write(transport)
    with pytest.raises(StaleLocation, match=str(error)):
        read(transport)


def test_calls_to_this_process_take_no_detour(calling, runtime):
    service, roles = Service(), LocalTransport()

    def no_address(name=""):
        raise AssertionError("not to be asked")

    transport = calling(no_address, no_address, LONG_TIMEOUTS, roles)
    roles.register_server("s1", service, service)
    roles.register_master(service)
    assert transport.tablet_service("s1") is service
    assert transport.tablet_admin("s1") is service
    assert transport.master() is service


def test_the_master_moves(calling, runtime, serving):
    (_, first, old), (_, second, new) = serving(Service(), "a"), serving(Service(), "b")
    called = []

    class Master:
        def delete_table(self, name):
            called.append(name)

    first.register_master(Master())
    where = [old]
    transport = calling(lambda name: None, lambda: where[0], LONG_TIMEOUTS)
    transport.master().delete_table(b"1")
    first.register_master(None)
    with pytest.raises(Unavailable, match="no master"):
        transport.master().delete_table(b"2")
    second.register_master(Master())
    where[0] = new
    transport.master().delete_table(b"3")
    assert called == [b"1", b"3"]
    where[0] = None
    with pytest.raises(Unavailable, match="no master"):
        transport.master()


def test_a_stop_answers_what_is_under_way(calling, runtime, serving):
    gate = runtime.event()
    service = Service(gate.wait)
    server, _, address = serving(service)
    transport = calling(lambda name: address, lambda: None)
    task = runtime.spawn(write, transport)
    while not service.called:
        runtime.sleep(0.001)
    stop = runtime.spawn(server.close)
    runtime.sleep(0)
    gate.set()
    assert task.join(60)
    assert stop.join(60)
    assert task.error is None


# ---------------------------------------------------------------- nonsense and size


@pytest.mark.parametrize(
    "garbage",
    [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 40, b"\0\0\0\4abcd", b"\0\0\0\0", b"\0\0\0\x14" + b"\x80\1\0\1" * 5],
)
def test_a_peer_that_talks_nonsense_is_cut_off_and_logged(serving, caplog, garbage):
    service = Service()
    _, _, address = serving(service)
    host, _, port = address.rpartition(":")
    with caplog.at_level(logging.WARNING):
        client = create_connection((host, int(port)), SOON_SECONDS)
        client.sendall(garbage)
        assert client.recv(10) == b""
        client.close()
    assert "was cut off" in caplog.text
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("garbage", [b"\0\0\0\4abcd", b"\x80\1\0\1\0\0\0\3get\0\0\0\0\0"])
def test_a_flood_of_them_is_a_few_lines(serving, caplog, garbage):
    _, _, address = serving(Service())
    host, _, port = address.rpartition(":")
    with caplog.at_level(logging.WARNING):
        for _ in range(5 * LINES_OF_ONE):
            client = create_connection((host, int(port)), SOON_SECONDS)
            client.sendall(garbage)
            while client.recv(1000):
                pass
            client.close()
    assert len(caplog.records) == LINES_OF_ONE


@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("transport", ["buffered", "framed"])
def test_a_client_of_hbase_is_told_where_to_go(serving, transport, protocol):
    """happybase itself, in a thread of its own."""
    _, _, address = serving(Service())
    port = int(address.rpartition(":")[2])

    def ask():
        client = happybase.Connection(HOST, port, transport=transport, protocol=protocol, timeout=60_000)
        with pytest.raises(HBaseError) as refused:
            client.tables()
        client.close()
        return str(refused.value)

    message = get_hub().threadpool.apply(ask)
    assert OTHER_PORT in message
    assert "the Thrift port of any tablet server, 9090" in message


@pytest.mark.parametrize("framed", [False, True])
def test_a_call_of_hbase_that_declares_no_error_gets_an_undeclared_one(serving, framed):
    """An answer without the result that it must have would say nothing at all to that client."""
    _, _, address = serving(Service())
    client = create_connection((HOST, int(address.rpartition(":")[2])), 60)
    call = b"\x80\1\0\1\0\0\0\x13getThriftServerType\0\0\0\7\0"
    client.sendall(len(call).to_bytes(4, "big") + call if framed else call)
    found = b""
    while OTHER_PORT.encode() not in found:
        piece = client.recv(65536)
        assert piece, found
        found += piece
    assert found[4 * framed :].startswith(b"\x80\1\0\3\0\0\0\x13getThriftServerType\0\0\0\7")
    client.close()


@pytest.mark.parametrize("framed", [False, True])
def test_a_call_in_the_compact_protocol_that_declares_no_error_gets_an_undeclared_one(serving, framed):
    _, _, address = serving(Service())
    client = create_connection((HOST, int(address.rpartition(":")[2])), 60)
    call = b"\x82\x21\x07\x13getThriftServerType\0"
    client.sendall(len(call).to_bytes(4, "big") + call if framed else call)
    text = OTHER_PORT.encode()
    expected = b"\x82\x61\x07\x13getThriftServerType\x18" + bytes((len(text) & 0x7F | 0x80, len(text) >> 7)) + text
    expected += b"\x15\x02\0"
    found = b""
    while len(found) < 4 * framed + len(expected):
        piece = client.recv(65536)
        assert piece, found
        found += piece
    assert found[4 * framed :] == expected
    client.close()


def test_half_a_call_in_the_compact_protocol_is_told_so_too(serving):
    _, _, address = serving(Service())
    client = create_connection((HOST, int(address.rpartition(":")[2])), 60)
    client.sendall(b"\x82\x21\xff\xff\x07\x13getThr")
    found = b""
    while piece := client.recv(65536):
        found += piece
    assert OTHER_PORT.encode() in found
    client.close()


def test_calls_between_roles_are_told_from_those_of_hbase_by_their_names():
    """Else a newer role that asks an older one for what it does not know would read nonsense."""
    assert not [name for name in METHODS if is_named_by_hbase(name.encode())]


def test_a_client_of_hbase_that_sends_on_gets_the_message(serving):
    _, _, address = serving(Service())
    client = create_connection((HOST, int(address.rpartition(":")[2])), 60)
    client.sendall(b"\x80\1\0\1\0\0\0\7mutateRows\0\0\0\7" + bytes(1 << 20))
    found = b""
    while piece := client.recv(65536):
        found += piece
    assert OTHER_PORT.encode() in found
    client.close()


def test_a_call_that_cannot_be_decoded_is_answered_and_cut_off(serving):
    _, _, address = serving(Service())
    host, _, port = address.rpartition(":")
    client = create_connection((host, int(port)), SOON_SECONDS)
    frames = Frames(client.recv, client.recv, 1 << 20, lambda: None)
    client.sendall(hello_request(OURS))
    assert HELLO.read_reply(frames.next(), 0, lambda: None) == OURS
    frames.checked = True
    body = b"\x80\1\0\1\0\0\0\5scanx\0\0\0\7\0"
    client.sendall(with_checksum(len(body).to_bytes(4, "big") + body))
    unknown = frames.next()
    assert calls.read_head(unknown)[:3] == (wire.EXCEPTION, b"scanx", 7)
    with pytest.raises(Corruption, match="is not that to scan"):
        METHODS["scan"].read_reply(unknown, 7, lambda: None)
    body = b"\x80\1\0\1\0\0\0\4scan\0\0\0\7\x0b\0\1\x7f\0\0\0x\0"
    client.sendall(with_checksum(len(body).to_bytes(4, "big") + body))
    assert METHODS["scan"].read_reply(frames.next(), 7, lambda: None).number == wire.PROTOCOL_ERROR
    assert frames.next() is None
    client.close()


@pytest.mark.parametrize("piece_bytes", [1000, 60_000, 1 << 20])
def test_others_have_their_turn_while_a_large_frame_arrives(piece_bytes):
    """A peer that sends faster than it is received never makes the receiver wait by itself."""
    message = b"m" * (8 << 20)
    data = with_checksum(len(message).to_bytes(4, "big") + message)
    place, between, longest = 0, 0, 0

    def receive(most):
        nonlocal place, between, longest
        piece = data[place : place + min(most, piece_bytes)]
        place += len(piece)
        between += len(piece)
        longest = max(longest, between)
        return piece

    def pause():
        nonlocal between
        between = 0

    frames = Frames(receive, receive, 10 << 20, pause)
    frames.checked = True
    assert frames.next() == message
    assert longest <= 2 << 20


def test_an_announced_length_takes_no_memory(serving, caplog):
    received = []

    def receive(most):
        received.append(most)
        return b"\x7f\xff\xff\xff" if len(received) == 1 else b""

    with pytest.raises(HbtableError, match="announces 2147483647 bytes"):
        Frames(receive, receive, 1 << 20, lambda: None).next()
    assert received == [65536]
    assert Frames(receive, receive, 1 << 20, lambda: None).next() is None


@pytest.mark.parametrize("answer", [b"\xff" * 30, b"\0\0\0\3abc", b"\x7f\xff\xff\xffx"])
def test_a_damaged_answer_is_no_answer(against, answer):
    transport, _ = against(answer, answer)
    with pytest.raises(OutcomeUnknown):
        write(transport)
    with pytest.raises(StaleLocation):
        read(transport)


def test_messages_over_the_limit_are_refused_on_either_side(calling, runtime, serving):
    service = Service()
    _, _, address = serving(service, options=RpcServerOptions(frame_bytes=2000))
    transport = calling(lambda name: address, lambda: None, RpcOptions(frame_bytes=1000))
    with pytest.raises(LimitExceeded, match="over the limit of 1000"):
        transport.tablet_service("s1").read_rows(1, [b"r" * 1000], EVERYTHING)
    assert service.called == 0
    larger = calling(lambda name: address, lambda: None, RpcOptions(frame_bytes=3000))
    with pytest.raises(LimitExceeded, match="more than the 2000"):
        larger.tablet_service("s1").read_rows(1, [b"r"] * 100, EVERYTHING)
    with pytest.raises(StaleLocation):  # the server cut it off
        larger.tablet_service("s1").read_rows(1, [b"r" * 2500], EVERYTHING)
    assert len(read(larger)) == 1


def test_a_value_that_no_field_holds_is_the_callers_mistake(calling, runtime, serving):
    service = Service()
    _, _, address = serving(service)
    transport = calling(lambda name: address, lambda: None)
    with pytest.raises(InvalidRequest, match="increment was given a value"):
        transport.tablet_service("s1").increment(1, b"r", b"f", b"q", 2**63)
    write(transport)


def test_a_mistake_in_a_service_is_told_and_the_connection_lives_on(calling, runtime, serving, caplog):
    def fail():
        raise ZeroDivisionError("a bug")

    service = Service(fail)
    _, _, address = serving(service)
    transport = calling(lambda name: address, lambda: None)
    with pytest.raises(OutcomeUnknown, match="ZeroDivisionError: a bug") as told:
        write(transport)
    assert not told.value.no_answer
    with pytest.raises(HbtableError, match="its log says why"):
        read(transport)
    assert "mutate failed: ZeroDivisionError" in caplog.text


def test_a_call_that_an_older_peer_does_not_know_is_not_tried_again(against):
    transport, _ = against(lambda method, sequence: calls.failure(method.name.encode(), sequence, 1, "unknown"))
    both = r"s1 at .* speaks protocol 1\.0 \(hbtable .*\) and does not know mutate, which this one, protocol 1\.2"
    with pytest.raises(UnknownCall, match=both):
        write(transport)


def test_that_a_server_met_an_older_role_in_turn_does_not_say_that_nothing_was_done(calling, runtime, serving):
    def fail():
        raise UnknownCall("METADATA's server does not know replace_tablet")

    _, _, address = serving(Service(fail))
    transport = calling(lambda name: address, lambda: None)
    with pytest.raises(UnsupportedFormat, match="METADATA's server does not know") as told:
        write(transport)
    assert type(told.value) is UnsupportedFormat


def test_small_messages_are_sent_at_once():
    listener = serve(HOST, 0, lambda socket, address: socket.recv(1))
    made = sockets.connect(HOST, listener.port, 1.0)
    with standard_socket.socket(fileno=os.dup(made.fileno())) as same:
        assert same.getsockopt(standard_socket.IPPROTO_TCP, standard_socket.TCP_NODELAY) == 1
    assert not sockets.arrivals(made)(0)
    made.close()
    listener.close()

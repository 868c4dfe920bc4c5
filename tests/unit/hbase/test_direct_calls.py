"""A client's calls go to the process that has their rows, which answers; when that ends, each call is accounted for."""

import gc
import os
import socket as standard_socket
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import OutcomeUnknown, Unavailable
from hbtable.hbase.relays.direct_answers import DirectStream, accept_link
from hbtable.hbase.relays.direct_calls import DirectCalls
from hbtable.hbase.relays.links import DIRECT, DONE, SENDING, STRAY, TAKEN, Greeting
from hbtable.hbase.relays.relay import RELAYED, Relay
from hbtable.metrics.registry import Registry
from hbtable.model.ranges import RowRange
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.handed_sockets import connected, stream_pair
from hbtable.runtime.network.shared_descriptors import receive_shared, send_shared
from hbtable.runtime.network.sockets import ServedSocket
from hbtable.thrift.wire import Malformed
from tests.harness.waiting import SOON_SECONDS, eventually

CLIENT = "127.0.0.1:5555"


class Table:
    def __init__(self) -> None:
        self.forgotten: list[bytes] = []
        self.owner = "other"

    def cached_tablet(self, row: bytes) -> Any:
        return SimpleNamespace(owner=self.owner, range=RowRange(b"", b""))

    def forget_tablet(self, row: bytes) -> None:
        self.forgotten.append(row)


class Asking:
    """The process that has the client: a socket pair in its place, and the links that it makes."""

    def __init__(self) -> None:
        self.runtime = GeventRuntime()
        self.table = Table()
        self.links: list[ServedSocket] = []
        self.others: list[DirectStream] = []
        self.answered_here: list[Any] = []
        self.pings: list[int] = []
        """For each, how many calls had been carried out here."""
        self.is_closed = False
        self.reachable = True
        self.messages: list[bytes | Exception] = []
        self.framed = False
        self.client_end, ours = (connected(one) for one in stream_pair())
        self.stream = ServedSocket(ours)
        self.client = CLIENT
        self.relay = Relay("me", lambda name: self.table, self._connect, self._ping, Registry(), lambda: None, b"".join)
        source: Any = SimpleNamespace(begin=self._begin, whole=lambda: b"call", framed=False)
        self.source = source
        self.calls = DirectCalls(self.runtime, self.relay, self, self.stream, source)

    def _ping(self, owner: str) -> None:
        self.pings.append(len(self.answered_here))
        raise Unavailable("its process has ended")

    def _begin(self) -> bool:
        message = self.messages.pop(0) if self.messages else b""
        if isinstance(message, Exception):
            raise message
        return bool(message)

    def _connect(self, owner: str) -> ServedSocket:
        if not self.reachable:
            raise Unavailable("nobody")
        ours, theirs = stream_pair()
        self.links.append(ServedSocket(connected(theirs)))
        return ServedSocket(connected(ours))

    def answer_here(self, method: Any, sequence: int, values: list[object], error: Any) -> None:
        self.answered_here.append((method.name, sequence, values, error))

    def close(self) -> None:
        self.is_closed = True

    def pass_on(self, name: str = "getRow") -> bool:
        method: Any = SimpleNamespace(name=name)
        return self.calls.pass_on(method, 7, [b"t", b"row"])

    def linked(self) -> DirectStream:
        """The other side of a link over which a call went."""
        while not self.links:
            passed = self.pass_on()
        assert passed
        accepted = accept_link(self.links[0], (RELAYED, 2))
        assert accepted is not None
        stream, client = accepted
        assert client == CLIENT
        assert isinstance(stream, DirectStream)
        self.others.append(stream)
        return stream

    def end_of(self, other: DirectStream) -> None:
        """The other process is gone, and this one has noticed."""
        other.close()
        eventually(self._looked, SOON_SECONDS, "the end of the link to be seen")

    def _looked(self) -> bool:
        self.runtime.sleep(0)
        return not self.relay.direct_links


@pytest.fixture
def asking() -> Iterator[Asking]:
    asking = Asking()
    yield asking
    for other in [*asking.links, *asking.others]:
        other.close()
    asking.calls.close()
    asking.stream.close()
    asking.client_end.close()


def numbers(stream: DirectStream) -> memoryview:
    return stream._numbers.values


def test_the_call_arrives_as_it_was_sent_and_the_client_gets_the_answer(asking: Asking) -> None:
    other = asking.linked()
    assert other.recv(100) == b"call"
    relay: Any = SimpleNamespace(refuse=lambda method, values, source: None)
    other.take(relay, SimpleNamespace(name="getRow"), [], asking.source)  # type: ignore[arg-type]
    assert asking.calls.awaits
    other.sendall(b"the ")
    other.sendall(b"answer")
    assert asking.client_end.recv(100) == b"the answer"
    assert asking.calls.awaits  # until the other side says that this was all of it
    other.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        other.recv(100)
    assert not asking.calls.awaits
    assert list(numbers(other)[:4]) == [1, 1, 1, 0]
    asking.messages = [b"more"]
    assert asking.calls.begin()
    assert asking.pass_on()
    assert other.recv(100) == b"call"
    assert not asking.table.forgotten


def test_framed_messages_go_on_in_frames(asking: Asking) -> None:
    asking.source.framed = True
    assert asking.linked().recv(100) == b"\0\0\0\4call"


def test_a_link_is_made_for_clients_that_stay_and_where_it_can_be(asking: Asking) -> None:
    assert [asking.pass_on() for _ in range(8)] == [False] * 8
    asking.reachable = False
    assert [asking.pass_on() for _ in range(9)] == [False] * 9  # and not tried for some calls again
    asking.reachable = True
    assert asking.pass_on()
    assert len(asking.links) == asking.relay.direct_links == 1
    asking.table.owner = "me"
    assert not asking.pass_on()
    asking.table.owner = "a third"
    asking.relay.direct_links = 1 << 20
    assert [asking.pass_on() for _ in range(20)] == [False] * 20
    asking.relay.direct_links = 1
    closing = asking.runtime.spawn(asking.calls.close)
    asking.runtime.sleep(0)
    assert asking.relay.direct_links == 1, "the client's connection is open there"
    asking.links[0].close()
    assert closing.join(SOON_SECONDS)
    assert asking.relay.direct_links == 0


def test_what_did_not_go_out_is_done_here(asking: Asking) -> None:
    asking.linked().close()
    assert not asking.pass_on()
    assert asking.relay.direct_links == 0


@pytest.mark.parametrize("name", ["getRow", "mutateRow"])
def test_a_call_that_was_not_begun_is_done_here(asking: Asking, name: str) -> None:
    other = asking.linked()
    numbers(other)[TAKEN] = numbers(other)[SENDING] = numbers(other)[DONE] = 1
    assert asking.pass_on(name)
    asking.end_of(other)
    assert asking.answered_here == [(name, 7, [b"t", b"row"], None)]
    assert asking.table.forgotten == [b"row"]
    assert asking.pings == [0], "its other connections may still be open, and a write must not go over one"
    assert not asking.is_closed


def test_without_an_answer_a_read_is_done_again_and_a_write_is_not(asking: Asking) -> None:
    other = asking.linked()
    numbers(other)[TAKEN] = 1
    asking.end_of(other)
    assert asking.answered_here == [("getRow", 7, [b"t", b"row"], None)]
    asking.links.clear()
    other = asking.linked()
    numbers(other)[TAKEN] = numbers(other)[SENDING] = numbers(other)[DONE] = 1
    assert asking.pass_on("atomicIncrement")
    numbers(other)[TAKEN] = 2
    asking.end_of(other)
    name, _, _, error = asking.answered_here[1]
    assert name == "atomicIncrement"
    assert isinstance(error, OutcomeUnknown)
    assert "gave no answer to atomicIncrement, which may have been done" in str(error)
    assert not asking.is_closed


def test_a_client_that_may_have_half_an_answer_is_cut_off(asking: Asking) -> None:
    other = asking.linked()
    numbers(other)[TAKEN] = numbers(other)[SENDING] = 1
    asking.end_of(other)
    assert asking.is_closed
    assert asking.answered_here == []


def test_after_an_answer_the_other_side_may_end_and_nothing_is_done_again(asking: Asking) -> None:
    other = asking.linked()
    numbers(other)[TAKEN] = numbers(other)[SENDING] = numbers(other)[DONE] = 1
    asking.end_of(other)
    assert (asking.answered_here, asking.is_closed) == ([], False)


@pytest.mark.parametrize(
    "message", [b"the next, sent without waiting", Malformed("no call"), TimeoutError("half of the next, then silence")]
)
def test_the_next_call_and_a_refusal_wait_for_the_answer_of_the_last(
    asking: Asking, message: bytes | Exception
) -> None:
    other = asking.linked()
    asking.messages = [message]
    seen: list[object] = []

    def begin() -> None:
        try:
            seen.append(asking.calls.begin())
        except (Malformed, TimeoutError) as error:
            seen.append(error)

    task = asking.runtime.spawn(begin)
    for _ in range(100):
        asking.runtime.sleep(0)
    assert not seen
    numbers(other)[DONE] = 1
    assert task.join(SOON_SECONDS)
    assert len(seen) == 1


def test_a_row_that_was_not_there_is_looked_for_before_the_next_call(asking: Asking) -> None:
    other = asking.linked()
    other.take(
        Relay("me", lambda name: asking.table, asking._connect, asking._ping, Registry(), lambda: None, b"".join),
        SimpleNamespace(name="getRow"),
        [b"t", b"row"],
        asking.source,
    )  # type: ignore[arg-type]
    assert numbers(other)[STRAY] == 1
    numbers(other)[DONE] = 1
    asking.messages = [b"more"]
    assert asking.calls.begin()
    assert asking.table.forgotten == [b"row"]


def test_an_idle_client_keeps_nothing_of_its_last_call(asking: Asking) -> None:
    other = asking.linked()
    asking.calls.forget_answered()
    assert asking.calls.awaits
    numbers(other)[DONE] = 1
    asking.calls.forget_answered()
    assert asking.calls._passed is None


def test_a_greeting_without_its_connection_ends_the_link(asking: Asking) -> None:
    ours, theirs = stream_pair()
    link = ServedSocket(connected(theirs))
    os.write(ours, b"d" + b"\0" * 63)
    assert accept_link(link, (RELAYED, 1)) is None
    standard_socket.socket(fileno=ours).close()
    link.close()


def _descriptors(name: str) -> int:
    """Of this process, whose target has this in its name."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found += name in os.readlink(f"/proc/self/fd/{number}")
    return found


def test_programs_that_the_process_starts_get_nobodys_connection(asking: Asking) -> None:
    ours, theirs = (ServedSocket(connected(one)) for one in stream_pair())
    send_shared(ours, b"two", [asking.stream.fileno()] * 2)
    message, descriptors = receive_shared(theirs, 3, 2)
    assert (message, [os.get_inheritable(one) for one in descriptors]) == (b"two", [False] * 2)
    for one in descriptors:
        os.close(one)
    ours.close()
    theirs.close()


def test_of_links_that_have_ended_no_page_is_left(asking: Asking) -> None:
    before = _descriptors("memfd:hbtable")
    gc.disable()  # what refers to itself, as connections do, may stay for long
    try:
        other = asking.linked()
        assert _descriptors("memfd:hbtable") > before
        other.close()
        asking.calls.close()
        eventually(lambda: _descriptors("memfd:hbtable") == before, SOON_SECONDS, "the page to be given back")
    finally:
        gc.enable()
    other.close()


def test_a_client_whose_page_cannot_be_had_stays_with_the_process_that_has_it(asking: Asking) -> None:
    ours, theirs = (ServedSocket(connected(one)) for one in stream_pair())
    nothing = os.open(os.devnull, os.O_RDWR)
    send_shared(ours, Greeting(DIRECT, CLIENT).packed(), [asking.stream.fileno(), nothing])
    os.close(nothing)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError):
        accept_link(theirs, (RELAYED, 2))
    assert len(os.listdir("/proc/self/fd")) == before
    for one in (ours, theirs):
        one.close()


def test_links_leave_descriptors_to_clients_and_files(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hbtable.hbase.relays.relay.raise_descriptors", lambda: 1024)
    relay = Relay("me", lambda name: asking.table, asking._connect, asking._ping, Registry(), lambda: None, b"".join)
    assert relay.most_links == 24
    asking.relay.most_links = 0
    assert not any(asking.pass_on() for _ in range(100))
    assert not asking.links

"""Tasks of one client that wait for the rest of what it sends: counted by rounds of the event loop, not timed."""

import errno
import socket as standard_socket
from collections import Counter
from collections.abc import Callable, Iterator

import gevent
import pytest
from gevent import socket as hub_socket

from hbtable.runtime import watched_sockets
from hbtable.runtime.fair_scheduler import HubShare
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import ServedSocket
from hbtable.runtime.watched_sockets import MOST_AT_ONCE

MANY = 5 * MOST_AT_ONCE


class Waiters:
    """Connections of one client, each with a task that reads what comes, byte by byte."""

    def __init__(self, count: int, seconds: float = 60.0) -> None:
        self.runtime = GeventRuntime()
        self.arrivals = Counter[int]()
        """By the round of the loop in which they were told."""
        self.read = 0
        self.ends: list[str] = []
        self._goes_on = self.runtime.fair_scheduler.goes_on
        self.runtime.fair_scheduler.goes_on = self._counted  # type: ignore[method-assign]
        pairs = [hub_socket.socketpair() for _ in range(count)]
        self.peers = [peer for _, peer in pairs]
        self.streams = [ServedSocket(mine) for mine, _ in pairs]
        self.tasks = [gevent.spawn(self._read, stream, seconds) for stream in self.streams]
        gevent.sleep(0)  # all wait for their first byte

    def _counted(self, share: HubShare, now: float) -> bool:
        self.arrivals[gevent.get_hub().loop.iteration] += 1
        return self._goes_on(share, now)

    def _read(self, stream: ServedSocket, seconds: float) -> None:
        self.runtime.read_in_turns("a client", stream)
        stream.settimeout(seconds)
        try:
            while stream.recv(1):
                self.read += 1
            self.ends.append("end")
        except TimeoutError:
            self.ends.append("silent")
        except OSError as error:
            self.ends.append(errno.errorcode[error.errno or 0])

    def send(self, peers: list[standard_socket.socket]) -> None:
        """A byte on each, which all are read on return."""
        wanted = self.read + len(peers)
        for peer in peers:
            peer.send(b"x")
        until(lambda: self.read == wanted)

    def finish(self) -> None:
        for peer in self.peers:
            peer.close()
        gevent.joinall(self.tasks, timeout=60)
        assert all(task.ready() for task in self.tasks)
        for stream in self.streams:
            stream.close()
        self.runtime.close()


@pytest.fixture
def waiters() -> Iterator[Callable[..., Waiters]]:
    made: list[Waiters] = []

    def make(count: int, seconds: float = 60.0) -> Waiters:
        made.append(Waiters(count, seconds))
        return made[-1]

    yield make
    for one in made:
        one.finish()


def until(is_done: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if is_done():
            return
        gevent.sleep(0.001)
    raise AssertionError("it did not come to that")


def test_a_round_of_the_loop_has_a_bounded_number_of_arrivals_of_one_client(waiters: Callable[..., Waiters]) -> None:
    """Whatever its clients send at the same moment: everybody waits until the hub was told of all in a round."""
    one = waiters(MANY)
    for _ in range(3):
        one.send(one.peers)
    assert one.arrivals.total() == 3 * MANY
    assert max(one.arrivals.values()) <= 2 * MOST_AT_ONCE


def test_those_of_few_connections_are_told_at_once(waiters: Callable[..., Waiters]) -> None:
    one = waiters(MOST_AT_ONCE)
    one.send(one.peers)
    assert len(one.arrivals) == 1


@pytest.mark.parametrize("way", ["closed", "killed", "ended"])
def test_who_waits_among_many_hears_of_the_end(
    waiters: Callable[..., Waiters], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(watched_sockets, "MOST_AT_ONCE", 2)
    one = waiters(10)
    leaving = range(0, 10, 2)
    for number in leaving:
        if way == "closed":
            one.streams[number].close()
        elif way == "killed":
            one.tasks[number].kill()
        else:
            one.peers[number].close()
    until(lambda: all(one.tasks[number].ready() for number in leaving))
    assert set(one.ends) == {"closed": {"EBADF"}, "killed": set(), "ended": {"end"}}[way]
    one.send([peer for number, peer in enumerate(one.peers) if number not in leaving])


def test_who_waits_among_many_waits_no_longer_than_its_time(
    waiters: Callable[..., Waiters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_sockets, "MOST_AT_ONCE", 2)
    one = waiters(6, 0.05)
    until(lambda: len(one.ends) == 6)
    assert one.ends == ["silent"] * 6


def test_a_number_that_a_later_connection_has_got_wakes_nobody_else(
    waiters: Callable[..., Waiters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_sockets, "MOST_AT_ONCE", 1)
    first = waiters(8)
    numbers = {stream.fileno() for stream in first.streams}
    first.finish()
    second = waiters(8)
    assert numbers & {stream.fileno() for stream in second.streams}
    for _ in range(2):
        for peer in second.peers:
            second.send([peer])


def test_without_a_descriptor_for_it_the_loop_watches_all(
    waiters: Callable[..., Waiters], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(watched_sockets, "_new_epoll", none_left)
    one = waiters(MANY)
    for _ in range(2):
        one.send(one.peers)
    assert one.arrivals.total() == 2 * MANY


def test_a_loop_has_nothing_to_wait_for_once_nobody_waits_for_a_socket() -> None:
    """It may end then, and tells whoever waits for the others."""
    sockets = watched_sockets.WatchedSockets()
    sockets.alone = MOST_AT_ONCE
    mine, peer = standard_socket.socketpair()
    came: list[str] = []

    def come() -> None:
        came.append("came")

    assert sockets.watch(mine.fileno(), come)
    assert sockets._watcher.active
    peer.send(b"x")
    until(lambda: bool(came))
    assert not sockets._watcher.active
    assert sockets.watch(mine.fileno(), come)
    assert sockets._watcher.active
    sockets.forget(mine.fileno(), come)
    assert not sockets._watcher.active
    mine.close()
    peer.close()

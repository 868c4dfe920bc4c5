"""Sessions in other processes than their service: a broken connection ends none, and who has lost the service knows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hbtable.errors import Conflict, Corruption, HbtableError, LockLost
from hbtable.fs.local import LocalFileSystem
from hbtable.lockservice.files import stored_path
from hbtable.lockservice.interface import Session
from hbtable.lockservice.local import LocalLockService
from hbtable.lockservice.over_sockets.service import ServedSession
from hbtable.lockservice.over_sockets.session import SocketLockService
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Task
from hbtable.runtime.network.handed_sockets import connected, stream_pair
from tests.harness.waiting import SOON_SECONDS


class Pair:
    """One session, its service's end, and the task that serves it."""

    def __init__(self, runtime: GeventRuntime, service: LocalLockService) -> None:
        ours, theirs = stream_pair()
        self.socket = connected(theirs)
        self.service_socket = connected(ours)
        self.served = ServedSession(runtime, service, self.service_socket)
        self.task: Task = runtime.spawn(self.served.serve)
        self.session: Session = SocketLockService(runtime, lambda: self.socket).open_session("one")

    def close(self) -> None:
        self.socket.close()
        self.task.join()


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close()


@pytest.fixture
def service(runtime: GeventRuntime, tmp_path: Path) -> LocalLockService:
    return LocalLockService(LocalFileSystem(str(tmp_path), runtime), runtime)


def test_locks_of_a_process_whose_connection_broke_are_held_until_it_is_gone(
    runtime: GeventRuntime, service: LocalLockService
) -> None:
    pair, other = Pair(runtime, service), service.open_session("other")
    pair.session.lock("/servers/a.lock")
    pair.close()
    with pytest.raises(Conflict):
        other.lock("/servers/a.lock")
    pair.served.end()
    pair.served.end()
    other.lock("/servers/a.lock")


def test_a_session_whose_service_is_gone_is_over_and_its_calls_end(
    runtime: GeventRuntime, service: LocalLockService
) -> None:
    pair = Pair(runtime, service)
    changes: list[str] = []
    pair.session.watch("/servers", lambda: changes.append("changed"))
    waiting = runtime.spawn(pair.session.list, "/servers")
    pair.service_socket.shutdown(2)
    waiting.join()
    assert pair.session.over()
    assert not pair.session.valid()
    with pytest.raises(LockLost, match=pair.session.session_id):
        pair.session.read("/a")
    pair.session.close()
    pair.close()


def test_damage_is_told_with_its_place(runtime: GeventRuntime, service: LocalLockService, tmp_path: Path) -> None:
    pair = Pair(runtime, service)
    pair.session.create("/root-tablet", b"\x00\xffall bytes" + bytes(range(256)))
    assert pair.session.read("/root-tablet").data == b"\x00\xffall bytes" + bytes(range(256))
    pair.session.close()
    pair.close()
    path = tmp_path / stored_path("/root-tablet")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    again = Pair(runtime, LocalLockService(LocalFileSystem(str(tmp_path), runtime), runtime))
    with pytest.raises(Corruption, match="checksum") as damage:
        again.session.read("/root-tablet")
    assert (damage.value.path, damage.value.offset) == (stored_path("/root-tablet"), 0)
    again.session.close()
    again.close()


class SlowService:
    """Opens its session when it may."""

    def __init__(self, runtime: GeventRuntime, service: LocalLockService) -> None:
        self.asked, self.may = runtime.event(), runtime.event()
        self._service = service

    def open_session(self, name: str) -> Session:
        self.asked.set()
        self.may.wait(SOON_SECONDS)
        return self._service.open_session(name)


@pytest.mark.parametrize("asked_before", [True, False])
def test_a_process_that_was_gone_before_its_session_was_opened_has_none(
    runtime: GeventRuntime, service: LocalLockService, asked_before: bool
) -> None:
    slow: Any = SlowService(runtime, service)
    ours, theirs = stream_pair()
    served, socket = ServedSession(runtime, slow, connected(ours)), connected(theirs)
    if not asked_before:
        served.end()
    serving = runtime.spawn(served.serve)
    opening = runtime.spawn(SocketLockService(runtime, lambda: socket).open_session, "one")
    if asked_before:
        slow.asked.wait(SOON_SECONDS)
        served.end()
    slow.may.set()
    opening.join()
    assert isinstance(opening.error, HbtableError)
    assert served._session is None
    socket.close()
    serving.join()

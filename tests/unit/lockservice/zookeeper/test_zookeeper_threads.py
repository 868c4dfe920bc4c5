"""The threads of a session: a bug in one of them is told, and what the thread is there for goes on."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from hbtable.lockservice.lease import Lease
from hbtable.lockservice.zookeeper import watches
from hbtable.lockservice.zookeeper.keeper import HeldLocks, LeaseKeeper
from hbtable.lockservice.zookeeper.watches import Watches
from tests.harness.waiting import eventually


class Connection:
    """Of a service that answers; `bugs` of the next answers end in an IndexError."""

    connected = True

    def __init__(self) -> None:
        self.bugs = 0
        self.answered = 0
        self.stopped = False

    def call(self, by: float, send: Any) -> Any:
        if self.bugs:
            self.bugs -= 1
            raise IndexError("list index out of range")
        self.answered += 1
        return []

    def stop(self, by: float) -> None:
        self.stopped = True


@pytest.fixture
def lease() -> Iterator[Lease]:
    lease = Lease(time.monotonic, 1000.0)
    lease.renew(time.monotonic())
    yield lease
    lease.end()


def test_a_bug_while_the_lease_is_confirmed_ends_nothing(lease: Lease) -> None:
    connection, died = Connection(), list[tuple[str, str]]()
    connection.bugs = 3
    keeper = LeaseKeeper(
        connection,  # type: ignore[arg-type]
        lease,
        HeldLocks(),
        "/",
        0.06,
        time.monotonic,
        lambda name, error: died.append((name, type(error).__name__)),
    )
    keeper.start()
    eventually(lambda: connection.answered, 60, "a round after the bugs")
    assert died == [("lease", "IndexError")] * 3
    lease.end()
    keeper.wake()
    eventually(lambda: connection.stopped, 60, "its end")


def test_a_bug_while_a_folder_is_watched_again_is_followed_by_another_try(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "_AFTER_BUG_SECONDS", 0.01)
    connection, died, heard = Connection(), list[str](), list[bool]()
    watching = Watches(
        connection,  # type: ignore[arg-type]
        lease,
        time.monotonic,
        1.0,
        lambda name, error: died.append(name),
    )
    watching.add("/folder", lambda: heard.append(True), time.monotonic() + 1.0)
    connection.bugs = 2
    watching._watched[0].fire(None)
    eventually(lambda: heard, 60, "that the change is told")
    assert died == ["watches"] * 2
    lease.end()
    watching.wake()
    thread = watching._thread
    assert thread is not None
    eventually(lambda: not thread.is_alive(), 60, "its end")

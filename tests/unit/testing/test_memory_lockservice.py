"""Expiry and restarts, as tests of the roles need them."""

import pytest

from hbtable.errors import Conflict, LockLost
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_an_expired_session_is_told_at_once_and_loses_its_locks() -> None:
    runtime = SimulatedRuntime(1)
    service = MemoryLockService(runtime)

    def body() -> None:
        dead, other = service.open_session("dead"), service.open_session("other")
        dead.lock("/servers/a")
        dead.create("/file", b"stays")
        service.expire(dead)
        assert not dead.valid()
        with pytest.raises(LockLost):
            dead.read("/file")
        assert other.holder("/servers/a") is None
        assert other.read("/file").data == b"stays"

    runtime.run(body)


def test_locks_may_outlive_the_session_s_own_trust_in_them_but_not_the_reverse() -> None:
    runtime = SimulatedRuntime(1)
    service = MemoryLockService(runtime)
    noticed: list[float] = []

    def body() -> None:
        dead, other = service.open_session("dead"), service.open_session("other")
        dead.lock("/servers/a")
        other.watch("/servers", lambda: noticed.append(runtime.clock_seconds()))
        before = runtime.clock_seconds()
        service.expire(dead, lock_delay_seconds=10.0)
        assert not dead.valid()
        with pytest.raises(Conflict):
            other.lock("/servers/a")
        runtime.sleep(11.0)
        other.lock("/servers/a")
        assert 10.0 <= noticed[0] - before < 10.1

    runtime.run(body)


def test_a_restart_ends_every_session_and_keeps_the_files() -> None:
    runtime = SimulatedRuntime(1)
    service = MemoryLockService(runtime)

    def body() -> None:
        old = service.open_session("old")
        epoch = old.lock("/master")
        old.create("/a", b"1")
        after = service.restarted()
        assert not old.valid()
        new = after.open_session("new")
        assert new.lock("/master") > epoch
        assert new.read("/a") == (b"1", 1)

    runtime.run(body)


def test_watches_run_in_the_process_that_owns_the_session() -> None:
    runtime = SimulatedRuntime(1)
    server = runtime.another_process("server")
    service = MemoryLockService(runtime)
    seen: list[str] = []

    def body() -> None:
        session = service.open_session("server", server)
        session.watch("/", lambda: seen.append("changed"))
        other = service.open_session("other")
        other.create("/a", b"")
        runtime.sleep(0.01)
        assert seen == ["changed"]
        server.crash()
        other.create("/b", b"")
        runtime.sleep(0.01)
        assert seen == ["changed"], "a crashed process is not called, and nobody else is disturbed"

    runtime.run(body)

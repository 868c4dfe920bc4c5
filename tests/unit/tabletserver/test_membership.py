"""The server-file protocol between a tablet server and the master that watches it."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import pytest

from hbtable.errors import LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile, server_file
from hbtable.master.servers.liveness import expire_server, list_servers
from hbtable.tabletserver.membership import Membership, new_incarnation
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

FILE = ServerFile("localhost:1", 5)


def simulated(test: Callable[[SimulatedRuntime, MemoryLockService], None]) -> None:
    runtime = SimulatedRuntime(seed=7)
    service = MemoryLockService(runtime)
    runtime.run(lambda: test(runtime, service))


def joined(session: Session) -> None:
    member = Membership(session, "00000001-a")
    member.claim()
    member.join(FILE)


def test_names_are_unique_and_sort_by_age() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        first, second = (new_incarnation(service.open_session("s"), runtime) for _ in range(2))
        assert first < second
        assert [name.partition("-")[0] for name in (first, second)] == ["00000001", "00000002"]

    simulated(test)


def test_a_server_lives_from_join_to_leave() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        master = service.open_session("master")
        member = Membership(service.open_session("s"), "00000001-a")
        assert list_servers(master).living == {}
        member.claim()
        assert list_servers(master) == ({}, [], {"00000001-a"}), (
            "its log may begin: nobody takes it for a dead server's"
        )
        member.join(FILE)
        assert list_servers(master).living == {"00000001-a": FILE}
        member.drain()
        assert list_servers(master).living["00000001-a"].draining
        member.leave()
        assert list_servers(master) == ({}, [], set())

    simulated(test)


def test_a_server_that_is_marked_while_it_begins_to_drain_is_both() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        session, master = service.open_session("s"), service.open_session("master")
        joined(session)
        path = server_file("00000001-a")

        class MarkedInBetween:
            """The session, with a mark by the master between the first read and the write."""

            marks: ClassVar = [replace(FILE, decommissioned=True, leaving=True)]

            def __getattr__(self, name: str) -> object:
                return getattr(session, name)

            def write(self, path: str, data: bytes, version: int) -> int:
                while self.marks:
                    master.write(path, self.marks.pop().encode(), version)
                return session.write(path, data, version)

        Membership(MarkedInBetween(), "00000001-a").drain()  # type: ignore[arg-type]
        found = ServerFile.decode(path, session.read(path).data)
        assert (found.draining, found.decommissioned, found.leaving) == (True, True, True)

    simulated(test)


def test_a_server_whose_session_ended_is_expired_once() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        master, session = service.open_session("master"), service.open_session("s")
        joined(session)
        service.expire(session)
        assert list_servers(master)[:2] == ({}, ["00000001-a"])
        assert list_servers(master) == ({}, [], set())

    simulated(test)


def test_a_living_server_cannot_be_expired() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        master = service.open_session("master")
        joined(service.open_session("s"))
        assert not expire_server(master, "00000001-a")
        assert list_servers(master).living == {"00000001-a": FILE}

    simulated(test)


def test_a_name_is_never_used_twice() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        one = service.open_session("one")
        joined(one)
        with pytest.raises(LockLost, match="the name 00000001-a is taken"):
            joined(service.open_session("two"))
        service.expire(one)
        with pytest.raises(LockLost, match="the name 00000001-a is taken"):
            joined(service.open_session("two"))

    simulated(test)

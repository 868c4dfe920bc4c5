"""The server-file protocol between a tablet server and the master that watches it."""

from collections.abc import Callable

import pytest

from hbtable.errors import LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.memory import MemoryLockService
from hbtable.lockservice.places import ServerFile
from hbtable.master.liveness import bury, look
from hbtable.runtime.simulated import SimulatedRuntime
from hbtable.tabletserver.membership import Membership, new_incarnation

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
        assert look(master).living == {}
        member.claim()
        assert look(master) == ({}, [], {"00000001-a"}), "its log may begin: nobody takes it for a dead server's"
        member.join(FILE)
        assert look(master).living == {"00000001-a": FILE}
        member.drain()
        assert look(master).living["00000001-a"].draining
        member.leave()
        assert look(master) == ({}, [], set())

    simulated(test)


def test_a_server_whose_session_ended_is_buried_once() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        master, session = service.open_session("master"), service.open_session("s")
        joined(session)
        service.expire(session)
        assert look(master)[:2] == ({}, ["00000001-a"])
        assert look(master) == ({}, [], set())

    simulated(test)


def test_a_living_server_cannot_be_buried() -> None:
    def test(runtime: SimulatedRuntime, service: MemoryLockService) -> None:
        master = service.open_session("master")
        joined(service.open_session("s"))
        assert not bury(master, "00000001-a")
        assert look(master).living == {"00000001-a": FILE}

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

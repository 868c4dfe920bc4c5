"""Sessions of the simulated service over a connection that is cut: leases, expiry, lost answers."""

import pytest

from hbtable.errors import LockLost, OutcomeUnknown, Unavailable
from hbtable.testing.memory_lockservice import MemoryLockOptions, MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

TEN = MemoryLockOptions(session_seconds=10.0)


def test_a_process_that_is_cut_off_for_less_than_the_timeout_goes_on() -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        service = MemoryLockService(runtime, options=TEN)
        session = service.open_session("s")
        epoch = session.lock("/a")
        runtime.sleep(60)
        assert session.valid()
        service.cut(session, requests=False)  # it is heard, but hears nothing: the service does not end it
        runtime.sleep(12)
        assert not session.valid()
        assert not session.over()
        with pytest.raises(Unavailable):
            session.read("/x")
        service.heal(session)
        runtime.sleep(2)
        assert session.valid()
        assert session.lock("/a") == epoch

    runtime.run(body)


def test_the_service_alone_ends_a_session_and_never_before_its_lease() -> None:
    runtime = SimulatedRuntime(2)

    def body() -> None:
        service = MemoryLockService(runtime, options=TEN)
        session, other = service.open_session("s"), service.open_session("other")
        session.lock("/a")
        runtime.sleep(5)
        service.cut(session)
        while other.holder("/a") is not None:
            assert runtime.clock_seconds() < 17
            runtime.sleep(0.01)
        assert not session.valid()
        assert not session.over(), "it cannot know"
        runtime.sleep(60)
        assert not session.over()
        service.heal(session)
        runtime.sleep(2)
        assert session.over()
        with pytest.raises(LockLost):
            session.lock("/a")

    runtime.run(body)


def test_a_change_whose_answer_was_lost_was_made() -> None:
    runtime = SimulatedRuntime(3)
    lose = [False]

    def body() -> None:
        service = MemoryLockService(runtime, options=MemoryLockOptions(reply_is_lost=lambda: lose[0]))
        session, other = service.open_session("s"), service.open_session("other")
        lose[0] = True
        with pytest.raises(OutcomeUnknown):
            session.lock("/a")
        with pytest.raises(OutcomeUnknown):
            session.create("/f", b"1")
        with pytest.raises(Unavailable):
            session.read("/f")
        lose[0] = False
        assert other.holder("/a") is not None
        assert other.read("/f").data == b"1"

    runtime.run(body)


def test_a_session_ended_by_the_service_is_learned_of_at_the_next_call() -> None:
    runtime = SimulatedRuntime(4)

    def body() -> None:
        service = MemoryLockService(runtime)
        session = service.open_session("s")
        service.end(session)
        assert session.valid(), "a zombie"
        with pytest.raises(LockLost):
            session.read("/x")
        assert session.over()

    runtime.run(body)

"""A tablet server whose lease ran out answers nothing until it is known whether it still holds its lock."""

from collections.abc import Callable

import pytest

from hbtable.errors import LockLost, OutcomeUnknown, Unavailable
from hbtable.metrics.registry import Registry
from hbtable.tabletserver.server import TabletServer
from hbtable.tabletserver.suspension import Suspension
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Session:
    def __init__(self):
        self.state = "valid"

    def valid(self):
        return self.state == "valid"

    def over(self):
        return self.state == "over"


class Tablet:
    """Answers everything; its session is suspended meanwhile."""

    def __init__(self, session):
        self._session = session
        self.changes = 0

    def read_rows(self, rows, spec):
        self._session.state = "suspended"
        return ["answer"]

    def mutate(self, mutations):
        self._session.state = "suspended"
        self.changes += 1


def check(body: Callable[..., None], wait_seconds: float = 3.0) -> None:
    runtime = SimulatedRuntime(5)
    session, lost = Session(), []
    suspension = Suspension(runtime, session, wait_seconds)
    server = TabletServer("s", {7: Tablet(session)}, session.valid, suspension.wait, lambda: lost.append(1), Registry())
    runtime.run(body, runtime, session, server, suspension, lost)


def becomes(runtime, session, state, seconds):
    def later():
        runtime.sleep(seconds)
        session.state = state

    runtime.spawn(later)


@pytest.mark.parametrize("call", ["read", "write"])
def test_an_answer_waits_until_the_session_is_confirmed(call: str) -> None:
    def body(runtime, session, server, suspension, lost):
        becomes(runtime, session, "valid", 2.0)
        begin = runtime.clock_seconds()
        if call == "read":
            assert server.read_rows(7, [b"a"], None) == ["answer"]
        else:
            server.mutate(7, [])
        assert 2.0 <= runtime.clock_seconds() - begin < 2.1
        assert not lost

    check(body)


def test_nothing_is_answered_when_it_takes_too_long() -> None:
    def body(runtime, session, server, suspension, lost):
        with pytest.raises(Unavailable):
            server.read_rows(7, [b"a"], None)
        with pytest.raises(OutcomeUnknown):
            server.mutate(7, [])
        assert not lost, "it may come back yet"

    check(body)


def test_the_end_of_the_session_ends_the_server_once() -> None:
    def body(runtime, session, server, suspension, lost):
        becomes(runtime, session, "over", 1.0)
        with pytest.raises(LockLost):
            server.read_rows(7, [b"a"], None)
        becomes(runtime, session, "over", 1.0)
        with pytest.raises(LockLost):
            server.mutate(7, [])
        assert lost == [1]
        for call in (suspension.refuse, suspension.outwait):
            with pytest.raises(LockLost):
                call()

    check(body)


def test_commits_wait_and_calls_of_a_master_are_refused() -> None:
    def body(runtime, session, server, suspension, lost):
        suspension.outwait()
        suspension.refuse()
        session.state = "suspended"
        with pytest.raises(Unavailable):
            suspension.refuse()
        becomes(runtime, session, "valid", 2.0)
        suspension.outwait()
        session.state = "suspended"
        with pytest.raises(Unavailable):
            suspension.outwait()

    check(body)

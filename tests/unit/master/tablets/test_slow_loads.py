"""Loads that take long: they are left, and how they end is not lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.errors import Conflict, LockLost, Unavailable
from hbtable.master.tablets.slow_loads import WAIT_SECONDS, SlowLoads
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from hbtable.testing.simulated.runtime import SimulatedRuntime


def record(number: int) -> TabletRecord:
    return TabletRecord(7, number, RowRange(b"", b""), 0, owner="server")


def in_simulation(body: Callable[[SimulatedRuntime, SlowLoads], None]) -> None:
    runtime = SimulatedRuntime(1)
    runtime.run(lambda: body(runtime, SlowLoads(runtime)))


@pytest.mark.parametrize("error", [Unavailable("no"), Conflict("no"), LockLost("no"), ValueError("a bug")])
def test_the_error_of_a_load_that_ends_soon_is_its_callers(error: Exception) -> None:
    def body(_: SimulatedRuntime, loads: SlowLoads) -> None:
        def fail() -> None:
            raise error

        with pytest.raises(type(error), match=str(error)):
            loads.run(record(1), fail)
        assert not loads.any()
        loads.check()

    in_simulation(body)


def test_one_that_takes_long_is_left_until_it_ends_and_its_table_is_looked_at_then() -> None:
    def body(runtime: SimulatedRuntime, loads: SlowLoads) -> None:
        released, ended = runtime.event(), list[bool]()
        loads.on_end = lambda: ended.append(loads.any())
        with pytest.raises(Unavailable, match=r"server has been at it for 5 s"):
            loads.run(record(1), released.wait)
        loads.run(record(2), lambda: None)
        assert loads.is_left(1, ["other", "server"])
        assert not loads.is_left(1, ["other"]), "a dead server is not waited for"
        assert not loads.is_left(2, ["server"])
        assert ended == []
        released.set()
        loads.finish()
        assert ended == [False, False], "and behind what was to follow"
        assert not loads.is_left(1, ["server"])

    in_simulation(body)


def test_a_lost_lock_reaches_the_master_from_one_that_was_left() -> None:
    def body(runtime: SimulatedRuntime, loads: SlowLoads) -> None:
        def late() -> None:
            runtime.sleep(WAIT_SECONDS + 1)
            raise LockLost("deposed")

        with pytest.raises(Unavailable):
            loads.run(record(1), late)
        loads.check()
        loads.finish()
        with pytest.raises(LockLost, match="deposed"):
            loads.check()
        loads.check()

    in_simulation(body)


def test_a_server_of_which_many_are_left_is_asked_for_nothing_more_and_others_are() -> None:
    def body(runtime: SimulatedRuntime, loads: SlowLoads) -> None:
        released, most = runtime.event(), 16
        for number in range(most):
            assert loads.are_many("server") == (number >= most / 2)
            with pytest.raises(Unavailable, match="has been at it for 5 s"):
                loads.run(record(number), released.wait)
        began = runtime.clock_seconds()
        with pytest.raises(Unavailable, match="server has not answered 16 calls"):
            loads.run(record(most), released.wait)
        assert runtime.clock_seconds() == began
        loads.run(replace(record(most), owner="other"), lambda: None)
        assert loads.hanging() == {"server"}
        released.set()
        loads.finish()
        assert not loads.hanging()
        loads.run(record(most), lambda: None)

    in_simulation(body)


def test_one_that_is_left_is_not_begun_once_more() -> None:
    def body(runtime: SimulatedRuntime, loads: SlowLoads) -> None:
        released = runtime.event()
        with pytest.raises(Unavailable, match="has been at it for 1 s"):
            loads.run(record(1), released.wait, 1.0)
        with pytest.raises(Unavailable, match="is at it, since it was asked before"):
            loads.run(record(1), lambda: pytest.fail("it was begun"))
        released.set()
        loads.finish()
        loads.run(record(1), lambda: None)

    in_simulation(body)


def test_who_must_wait_waits_to_the_end() -> None:
    def body(runtime: SimulatedRuntime, loads: SlowLoads) -> None:
        loads.run(record(1), lambda: runtime.sleep(100), None)
        assert runtime.clock_seconds() >= 100
        assert not loads.any()

    in_simulation(body)

"""The tables that the master is at work on: beside each other, and without holding up what else happens."""

import pytest

from hbtable.errors import LockLost, Unavailable
from hbtable.master.tables.tending import Decision, Tending
from hbtable.testing.simulated.runtime import SimulatedRuntime


def never() -> bool:
    return False


def always() -> bool:
    return True


def names(decisions: list[Decision]) -> list[str]:
    return sorted(decision.message for decision in decisions)


def test_tables_are_worked_on_beside_each_other_and_one_in_trouble_keeps_none_waiting() -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        tending = Tending(runtime)
        began = runtime.clock_seconds()

        def work(number: int) -> Decision:
            runtime.sleep(1)
            if number == 3:
                raise Unavailable("no way")
            return Decision(f"did {number}")

        for number in range(10):
            tending.begin(b"t%d" % number, lambda number=number: work(number))
            tending.begin(b"t%d" % number, lambda: Decision("twice"))
        tending.wait(never)
        assert runtime.clock_seconds() - began < 2
        assert names(tending.outcomes()) == sorted([*(f"did {n}" for n in range(10) if n != 3), "waiting: no way"])
        assert tending.outcomes() == []
        assert not tending.under_way()

    runtime.run(body)


def test_those_that_hang_hold_up_no_others_and_are_asked_about_when_they_end() -> None:
    runtime = SimulatedRuntime(2)

    def body() -> None:
        tending, released, left = Tending(runtime), runtime.event(), list[bool]()
        tending.left_over = lambda: left.append(True)

        def hang() -> Decision:
            released.wait()
            return Decision("at last")

        for number in range(40):
            tending.begin(b"hangs%d" % number, hang)
        tending.begin(b"other", lambda: Decision("done"))
        for _ in range(60):
            tending.wait(always)
            if names(tending.outcomes()) == ["done"]:
                break
        else:
            raise AssertionError("it waited for those that hang")
        assert "and 39 more" in tending.under_way()
        assert not left
        released.set()
        while tending.under_way():
            runtime.sleep(0.1)
        assert left
        assert names(tending.outcomes()) == ["at last"] * 40

    runtime.run(body)


def test_a_lost_lock_and_a_bug_reach_the_master() -> None:
    runtime = SimulatedRuntime(3)

    def body() -> None:
        for error in (LockLost("deposed"), ValueError("a bug")):
            tending = Tending(runtime)

            def fail(error: Exception = error) -> Decision:
                raise error

            tending.begin(b"t", fail)
            tending.wait(never)
            with pytest.raises(type(error), match=str(error)):
                tending.outcomes()
            assert tending.outcomes() == []

    runtime.run(body)


def test_what_was_not_begun_is_dropped() -> None:
    runtime = SimulatedRuntime(4)

    def body() -> None:
        tending = Tending(runtime)
        tending.begin(b"t", lambda: Decision("never"))
        tending.drop_waiting()
        tending.wait(never)
        assert tending.outcomes() == []

    runtime.run(body)

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
            tending.begin(f"t{number}", lambda number=number: work(number))
            tending.begin(f"t{number}", lambda: Decision("twice"))
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
            tending.begin(f"hangs{number}", hang)
        tending.begin("other", lambda: Decision("done"))
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

            tending.begin("t", fail)
            tending.wait(never)
            with pytest.raises(type(error), match=str(error)):
                tending.outcomes()
            assert tending.outcomes() == []

    runtime.run(body)


def test_what_was_not_begun_is_dropped() -> None:
    runtime = SimulatedRuntime(4)

    def body() -> None:
        tending = Tending(runtime)
        tending.begin("t", lambda: Decision("never"))
        tending.drop_waiting()
        tending.wait(never)
        assert tending.outcomes() == []

    runtime.run(body)


def test_a_log_goes_before_the_tables_that_wait_and_one_of_metadata_beside_all() -> None:
    runtime = SimulatedRuntime(5)

    def body() -> None:
        tending, began, released = Tending(runtime), list[str](), runtime.event()

        def work(name: str) -> Decision:
            began.append(name)
            released.wait()
            return Decision(name)

        for number in range(17):
            tending.begin(f"t{number}", lambda number=number: work(f"t{number}"))
        tending.wait(always)
        tending.begin("a log", lambda: work("a log"), first=True)
        tending.begin("metadata's log", lambda: work("metadata's log"), first=True, at_once=True)
        runtime.sleep(0.1)
        assert sorted(began[:16]) == sorted(f"t{number}" for number in range(16))
        assert began[16:] == ["metadata's log"]
        before = runtime.clock_seconds()
        tending.await_ended(["a log"], 1.5)
        assert 1.5 <= runtime.clock_seconds() - before < 2.5
        released.set()
        tending.await_ended(["a log"], 60)
        tending.wait(never)
        assert sorted(began[17:]) == ["a log", "t16"]
        assert len(tending.outcomes()) == 19

    runtime.run(body)

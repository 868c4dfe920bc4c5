"""When Python's garbage is looked for."""

import gc
import sys
import weakref
from collections.abc import Callable, Iterator

import pytest

from hbtable.launch import cycle_collector
from hbtable.launch.cycle_collector import _CALM_LOOKS, _DUE, _GARBAGE_BLOCKS, _OVERDUE, CycleCollector
from hbtable.testing.simulated.runtime import SimulatedRuntime

USUAL = 20_000


class Node:
    """Refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def runtime() -> Iterator[SimulatedRuntime]:
    before = gc.get_threshold()
    gc.set_threshold(1_000_000, 10, 10)  # the test's own objects start nothing
    yield SimulatedRuntime(1)
    gc.set_threshold(*before)


def _old_garbage() -> "weakref.ref[Node]":
    """Which lived longer than one look at the new objects."""
    node = Node()
    gc.collect(0)
    return weakref.ref(node)


def _at_work(runtime: SimulatedRuntime) -> "tuple[CycleCollector, weakref.ref[Node]]":
    """A collector that was started, and garbage that is none of the new objects."""
    collector = CycleCollector(runtime)
    gc.collect()
    collector.start()
    return collector, _old_garbage()


def _grow(looks: int) -> None:
    """As many looks at new objects as a large request causes."""
    for _ in range(looks):
        gc.collect(0)


def test_nothing_old_is_looked_at_while_objects_come(runtime: SimulatedRuntime) -> None:
    def body() -> None:
        collector, garbage = _at_work(runtime)
        runtime.sleep(0.5)  # between two looks
        for _ in range(10):
            _grow(_DUE)
            runtime.sleep(1.0)
            assert garbage() is not None
        runtime.sleep(_CALM_LOOKS - 1)
        assert garbage() is not None
        runtime.sleep(1.0)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


def test_a_request_that_ended_is_calm_enough_though_others_go_on(
    runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def body() -> None:
        collector, garbage = _at_work(runtime)
        runtime.sleep(0.5)  # between two looks
        for blocks in (10_000_000, 12_000_000, 5_500_000):
            _grow(_DUE)
            monkeypatch.setattr(sys, "getallocatedblocks", lambda: blocks)  # noqa: B023
            runtime.sleep(1.0)
            assert garbage() is not None
        _grow(1)
        monkeypatch.setattr(sys, "getallocatedblocks", lambda: 4_500_000)
        runtime.sleep(1.0)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


@pytest.mark.parametrize(
    "make_many", [lambda: [[] for _ in range(60_000)], lambda: [[b""] * 300_000]], ids=["objects", "one long list"]
)
def test_what_is_left_of_a_request_that_ended_must_be_little(
    runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch, make_many: Callable[[], list[object]]
) -> None:
    """Open scanners, say: 1.5 million old objects were looked at in 310 ms, beside others' requests; the list of a
    memtable with two million keys in 50."""
    kept: list[object] = []

    def body() -> None:
        collector, garbage = _at_work(runtime)
        runtime.sleep(0.5)  # between two looks
        kept.extend(make_many())
        for blocks in (10_000_000, 3_000_000, 2_000_000):
            _grow(_DUE)
            monkeypatch.setattr(sys, "getallocatedblocks", lambda: blocks)  # noqa: B023
            runtime.sleep(1.0)
            assert garbage() is not None
        kept.clear()
        _grow(1)
        monkeypatch.setattr(sys, "getallocatedblocks", lambda: 1_000_000)
        runtime.sleep(1.0)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


def test_what_is_much_too_much_waits_for_no_calm_where_it_may_be_garbage(
    runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory has not grown none of it is: all objects of 80,000 open scanners were looked at, in 435 ms, because
    many calls had come and gone."""
    blocks = 10_000_000
    monkeypatch.setattr(sys, "getallocatedblocks", lambda: blocks)

    def body() -> None:
        nonlocal blocks
        collector, garbage = _at_work(runtime)
        runtime.sleep(1.5)
        for more in (_GARBAGE_BLOCKS - 1, _GARBAGE_BLOCKS):
            for _ in range(_CALM_LOOKS):
                assert garbage() is not None
                _grow(_OVERDUE)  # never calm
                blocks = 10_000_000 + more
                runtime.sleep(1.0)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


def test_python_collects_by_itself_again_afterwards(runtime: SimulatedRuntime) -> None:
    def body() -> None:
        collector = CycleCollector(runtime)
        before = gc.get_threshold()
        collector.start()
        first, second, third = gc.get_threshold()
        assert first == before[0]
        assert min(second, third) > 1_000_000
        collector.stop()
        assert gc.get_threshold() == before
        collector.stop()

    runtime.run(body)


def test_of_two_in_one_process_one_collects(runtime: SimulatedRuntime) -> None:
    def body() -> None:
        before = gc.get_threshold()
        first, second = CycleCollector(runtime), CycleCollector(runtime)
        first.start()
        second.start()
        first.stop()
        second.stop()
        assert gc.get_threshold() == before

    runtime.run(body)


def test_a_look_that_takes_long_is_followed_by_shorter_ones(runtime: SimulatedRuntime) -> None:
    now = 0.0
    costs = iter([0.001, 0.018, 0.010, 0.005, 0.004, 0.004, 0.002, 0.0005, 0.0005, 0.0005, 0.0005])

    def processor_seconds() -> float:
        """Each look asks twice."""
        nonlocal now, begins
        begins = not begins
        now += 0.0 if begins else next(costs)
        return now

    begins = False

    def body() -> None:
        gc.set_threshold(USUAL, 10, 10)
        collector = CycleCollector(runtime, processor_seconds)
        collector.start()
        gc.disable()  # the test's own looks alone
        objects = []
        for _ in range(11):
            gc.collect(0)
            objects.append(gc.get_threshold()[0])
        gc.enable()
        # Half as many after each one that is long, down to a number; kept where it is well; twice as many when short.
        assert objects == [20_000, 10_000, 5000, 2500, 2500, 2500, 2500, 5000, 10_000, 20_000, 20_000]
        collector.stop()
        assert gc.get_threshold() == (USUAL, 10, 10)
        assert collector._looks not in gc.callbacks

    runtime.run(body)


def test_looks_at_fewer_objects_are_not_due_sooner(runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or all objects of a large request would be looked at in its middle, after a sixteenth as many."""
    now, blocks = 0.0, iter([10_000_000])
    monkeypatch.setattr(sys, "getallocatedblocks", lambda: next(blocks, 10_000_000 + _GARBAGE_BLOCKS))
    monkeypatch.setattr(cycle_collector.CycleCollector, "_have_stayed", lambda _: _GARBAGE_BLOCKS)

    def processor_seconds() -> float:
        nonlocal now
        now += 0.004
        return now

    def body() -> None:
        gc.set_threshold(USUAL, 10, 10)
        collector = CycleCollector(runtime, processor_seconds)
        gc.collect()
        collector.start()
        garbage = _old_garbage()
        runtime.sleep(1.5)  # between two looks
        _grow(_OVERDUE + 3)  # of which all but the first few are at an eighth as many objects
        assert gc.get_threshold()[0] == USUAL // 8
        runtime.sleep(1.0)
        assert garbage() is not None
        _grow(7 * _OVERDUE)
        runtime.sleep(1.0)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


def test_new_objects_are_looked_at_though_python_counts_few(runtime: SimulatedRuntime) -> None:
    """It takes those that are freed from their number: there were 48,000 to look at when it thought of 2,500."""

    def body() -> None:
        collector = CycleCollector(runtime)
        collector.start()
        garbage = weakref.ref(Node())
        runtime.sleep(0.2)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


def test_new_objects_are_looked_at_the_sooner_the_longer_it_takes(runtime: SimulatedRuntime) -> None:
    now = cost = 0.0
    looks: list[float] = []

    def processor_seconds() -> float:
        """Each look asks twice."""
        nonlocal now
        looks.append(runtime.clock_seconds())
        now += cost * (1 - len(looks) % 2)
        return now

    def looks_within(seconds: float) -> int:
        looks.clear()
        runtime.sleep(seconds)
        return len(looks) // 2

    def body() -> None:
        nonlocal cost
        collector = CycleCollector(runtime, processor_seconds)
        collector.start()
        assert 9 <= looks_within(1.0) <= 11
        cost = 0.002
        looks_within(1.0)
        assert 470 <= looks_within(1.0) <= 501
        cost = 0.0005  # as it is to be
        assert 470 <= looks_within(1.0) <= 501
        cost = 0.00001
        looks_within(1.0)
        assert 9 <= looks_within(1.0) <= 11
        collector.stop()

    runtime.run(body)


def test_requests_that_come_and_go_are_calm_and_what_they_leave_is_counted(
    runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether Python or the time was the reason of the looks at what they left."""
    blocks = 1_000_000
    monkeypatch.setattr(sys, "getallocatedblocks", lambda: blocks)

    def body() -> None:
        nonlocal blocks
        gc.set_threshold(USUAL, 10, 10)
        collector, garbage = _at_work(runtime)
        runtime.sleep(1.5)
        for _ in range(2 * _CALM_LOOKS):
            blocks += 2 * USUAL
            runtime.sleep(1.0)
            assert garbage() is not None
        for number in range(_CALM_LOOKS + 1):
            blocks += 100_000 * (-1) ** number
            runtime.sleep(1.0)
        assert garbage() is None
        collector.stop()

    runtime.run(body)


def test_the_thresholds_of_a_program_stay(runtime: SimulatedRuntime) -> None:
    def body() -> None:
        collector = CycleCollector(runtime, lambda: 0.0)
        collector.start()
        gc.set_threshold(0)  # the program wants none
        gc.collect(0)
        assert gc.get_threshold()[0] == 0
        collector.stop()

    runtime.run(body)


class _Incremental:
    """Thresholds as Python 3.14.0 to 3.14.4 document them: the third is not kept."""

    def __init__(self) -> None:
        self.thresholds = (USUAL, 20, 0)
        self.callbacks: list[object] = []

    def get_threshold(self) -> tuple[int, int, int]:
        return self.thresholds

    def set_threshold(self, first: int, second: int, third: int = 0) -> None:
        self.thresholds = (first, second, 0)


def test_a_python_that_looks_at_old_objects_a_few_at_a_time_is_left_alone(
    runtime: SimulatedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its looks come as another generation, so that nothing would be counted; and the second threshold, which keeps
    others from looking at old objects by themselves, would keep it from looking at them at all."""
    python = _Incremental()
    monkeypatch.setattr(cycle_collector, "gc", python)

    def body() -> None:
        collector = CycleCollector(runtime)
        collector.start()
        assert (python.thresholds, python.callbacks) == ((USUAL, 20, 0), [])
        runtime.sleep(2 * _CALM_LOOKS)
        collector.stop()
        assert python.thresholds == (USUAL, 20, 0)

    runtime.run(body)

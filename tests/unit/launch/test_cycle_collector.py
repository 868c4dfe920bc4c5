"""When Python's garbage is looked for."""

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from hbtable.launch.cycle_collector import _CALM_LOOKS, _DUE, _OVERDUE, CycleCollector
from hbtable.testing.simulated.runtime import SimulatedRuntime


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


def test_what_is_much_too_much_waits_for_no_calm(runtime: SimulatedRuntime) -> None:
    def body() -> None:
        collector, garbage = _at_work(runtime)
        _grow(_OVERDUE)
        runtime.sleep(1.5)
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

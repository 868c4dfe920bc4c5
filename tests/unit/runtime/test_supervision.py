"""Background tasks that die of a bug are started again, and seen; killed ones are not."""

import logging
from itertools import pairwise

import pytest

from hbtable.errors import Unavailable
from hbtable.runtime.supervision import SHOWN_SECONDS, spawn_counted, supervise
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.planted_bugs import is_found


def restarting_runtime() -> SimulatedRuntime:
    runtime = SimulatedRuntime(1)
    runtime.deaths.restarts = True  # as in a real process; a simulation reports the bug instead
    return runtime


@pytest.fixture
def runtime() -> SimulatedRuntime:
    return restarting_runtime()


def test_a_task_that_dies_goes_on_and_is_shown_for_a_while(
    runtime: SimulatedRuntime, caplog: pytest.LogCaptureFixture
) -> None:
    begun: list[float] = []

    def work() -> None:
        begun.append(runtime.clock_seconds())
        runtime.sleep(1.0)
        if len(begun) < 4:
            raise IndexError(f"number {len(begun)}")
        runtime.sleep(1000.0)

    def watch() -> list[list[str]]:
        task = supervise(runtime, work, name="upkeep")
        runtime.sleep(10.0)
        shown = runtime.deaths.recent()
        runtime.sleep(SHOWN_SECONDS)
        later = runtime.deaths.recent()
        task.kill()
        return [shown, later]

    with caplog.at_level(logging.CRITICAL):
        shown, later = runtime.run(watch)
    assert [round(after - before, 1) for before, after in pairwise(begun)] == [1.1, 1.2, 1.4]
    assert shown == ["background task 'upkeep' died of IndexError: number 3; it is started again, the log says more"]
    assert later == []
    assert runtime.deaths.total == 3
    (ever,) = runtime.deaths.ever()
    assert ever.startswith("background task 'upkeep' died of IndexError: number 3 (3 times, 6")
    assert ever.endswith(" s ago the last time); it was started again, the log says more")
    assert caplog.messages[0] == "task upkeep died, and is started again in 0.1 s"


def test_one_that_dies_at_once_each_time_is_always_shown_and_does_not_spin(runtime: SimulatedRuntime) -> None:
    begun = 0

    def work() -> None:
        nonlocal begun
        begun += 1
        raise KeyError("again")

    def watch() -> None:
        task = supervise(runtime, work, name="hopeless")
        for _ in range(600):
            runtime.sleep(1.0)
            assert len(runtime.deaths.recent()) == 1
        task.kill()

    runtime.run(watch)
    assert begun < 80


def test_one_that_ends_or_is_killed_stays_so(runtime: SimulatedRuntime) -> None:
    def watch() -> int:
        begun: list[str] = []
        assert supervise(runtime, lambda: begun.append("ends"), name="ends").join(5.0)
        killed = supervise(runtime, lambda: (begun.append("killed"), runtime.sleep(100.0)), name="killed")
        runtime.sleep(1.0)
        killed.kill()
        runtime.sleep(100.0)
        return len(begun)

    assert runtime.run(watch) == 2
    assert not runtime.deaths.total
    assert runtime.deaths.ever() == []


def test_one_piece_of_work_that_dies_is_counted_and_what_it_foresaw_is_not(
    runtime: SimulatedRuntime, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(error: Exception) -> None:
        raise error

    def watch() -> None:
        for number in range(2):
            task = spawn_counted(runtime, fail, IndexError(f"number {number}"), name="flush")
            assert task.join(5.0)
            assert isinstance(task.error, IndexError)
        assert spawn_counted(runtime, fail, Unavailable("not now"), name="roll").join(5.0)

    with caplog.at_level(logging.CRITICAL):
        runtime.run(watch)
    assert runtime.deaths.total == 2
    assert runtime.deaths.recent() == ["background task 'flush' died of IndexError: number 1; the log says more"]
    (ever,) = runtime.deaths.ever()
    assert ever.endswith("(2 times, 0 s ago the last time); the log says more")


def test_the_planted_bug_is_found() -> None:
    def check() -> None:
        test_one_that_dies_at_once_each_time_is_always_shown_and_does_not_spin(restarting_runtime())

    is_found("unseen", check)

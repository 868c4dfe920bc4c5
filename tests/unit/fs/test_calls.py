"""Calls that are given up: they cost a thread while they last, and nothing after that."""

import threading
from collections.abc import Callable, Iterator

import pytest

from hbtable.errors import Stalled, Unavailable
from hbtable.fs.blocking_calls import MOST_HANGING, ThreadCalls
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.delegating_fake import DelegatingFake


class Deadline(DelegatingFake):
    """An event; how long somebody waits for it counts from `begun`. On a busy machine a thread may begin late."""

    def __init__(self, runtime: GeventRuntime, begun: Callable[[], bool]) -> None:
        super().__init__(runtime.event())
        self._runtime = runtime
        self._begun = begun

    def wait(self, timeout_seconds: float | None = None) -> bool:
        while not self.inner.is_set() and not self._begun():
            self._runtime.sleep(0.001)
        return bool(self.inner.wait(timeout_seconds))


class Runtime(DelegatingFake):
    """Deadlines count from the moment at which so many calls as `rig` says hang."""

    def __init__(self, rig: "Rig") -> None:
        super().__init__(rig.runtime)
        self._rig = rig

    def event(self) -> Deadline:
        return Deadline(self._rig.runtime, lambda: len(self._rig.ran) >= self._rig.wanted)


class Rig:
    """Calls that hang until they are let go."""

    def __init__(self) -> None:
        self.runtime = GeventRuntime()
        self.calls = ThreadCalls(Runtime(self))
        self.go = threading.Event()
        self.ran: list[int] = []
        self.wanted = 0
        self._others = set(threading.enumerate())

    def hang(self, number: int = 0) -> None:
        self.ran.append(number)
        self.go.wait()

    def stall(self) -> None:
        """One more call hangs."""
        self.wanted = len(self.ran) + 1
        with pytest.raises(Stalled, match="no answer"):
            self.calls.call("read", 0.01, self.hang)
        assert len(self.ran) == self.wanted

    def threads(self) -> int:
        """Of these calls."""
        return sum(thread.name.startswith("hbtable read") for thread in set(threading.enumerate()) - self._others)

    def settle(self) -> None:
        """What hung has ended, also for the hub."""
        self.go.set()
        while any(lane.hanging for lanes in self.calls._lanes.values() for lane in lanes):
            self.runtime.sleep(0.01)


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.go.set()
    made.runtime.close()


def test_calls_go_on_beside_any_that_hang(rig: Rig) -> None:
    for _ in range(10):
        rig.stall()
    assert rig.calls.call("read", 60.0, lambda: 7) == 7


def test_threads_of_calls_that_ended_late_are_used_again(rig: Rig) -> None:
    for _ in range(10):
        rig.go.clear()
        for _ in range(8):
            rig.stall()
        rig.settle()
    assert rig.threads() <= 12


def test_a_call_that_waited_for_a_thread_until_it_was_given_up_is_not_made(rig: Rig) -> None:
    rig.wanted = 4
    tasks = [rig.runtime.spawn(rig.calls.call, "read", 0.2, rig.hang, number) for number in range(6)]
    for task in tasks:
        task.join()
        assert isinstance(task.error, Stalled)
    rig.settle()
    assert len(rig.ran) == 4, "as many as there are threads of a kind"


@pytest.mark.slow  # waits for real seconds
def test_so_many_may_hang_and_no_more(rig: Rig) -> None:
    for _ in range(MOST_HANGING):
        rig.stall()
    threads = rig.threads()
    for _ in range(20):
        with pytest.raises(Unavailable, match=f"{MOST_HANGING} calls"):
            rig.calls.call("read", 60.0, rig.hang)
    assert rig.threads() == threads
    assert rig.calls.call("other", 60.0, lambda: 7) == 7
    rig.settle()
    assert rig.calls.call("read", 60.0, lambda: 7) == 7


def test_a_task_that_is_killed_leaves_its_call_hanging_and_counted(rig: Rig) -> None:
    tasks = [rig.runtime.spawn(rig.calls.call, "read", 60.0, rig.hang) for _ in range(4)]
    rig.runtime.sleep(0.05)
    for task in tasks:
        task.kill()
    assert rig.calls.call("read", 60.0, lambda: 7) == 7


def test_an_error_named_stalled_of_the_call_itself_is_none_that_hangs(rig: Rig) -> None:
    def fail() -> None:
        raise Stalled("itself")

    for _ in range(20):
        with pytest.raises(Stalled, match="itself"):
            rig.calls.call("read", 60.0, fail)
    assert rig.threads() <= 4

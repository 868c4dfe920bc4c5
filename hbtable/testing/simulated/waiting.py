"""Tasks, events and locks of the simulated runtime: the port's promises over the seeded scheduler."""

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import final

from greenlet import GreenletExit

from hbtable.testing.simulated.scheduler import Scheduler, SimulatedGreenlet


def micros(seconds: float) -> int:
    return round(seconds * 1_000_000)


@final
class SimulatedTask:
    """Implements runtime.interface.Task."""

    __slots__ = ("_scheduler", "_task")

    def __init__(self, scheduler: Scheduler, task: SimulatedGreenlet) -> None:
        self._scheduler = scheduler
        self._task = task

    def join(self, timeout_seconds: float | None = None) -> bool:
        task = self._task
        if task.ended:
            return True
        me = self._scheduler.running()
        task.joiners.append(me)
        if timeout_seconds is not None:
            self._scheduler.wake_at(micros(timeout_seconds), me)
        try:
            self._scheduler.pause(f"waits for the end of {task.name}")
        finally:
            if me in task.joiners:
                task.joiners.remove(me)
        return self._task.ended

    def kill(self) -> None:
        if self._task is self._scheduler.current:
            raise GreenletExit
        if not self._task.ended:
            self._scheduler.throw(self._task, GreenletExit())
        self.join()

    @property
    def error(self) -> BaseException | None:
        return self._task.error


@final
class SimulatedEvent:
    """Implements runtime.interface.Event."""

    __slots__ = ("_is_set", "_scheduler", "_waiting")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_set = False
        self._waiting: list[SimulatedGreenlet] = []

    def set(self) -> None:
        self._is_set = True
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            self._scheduler.wake(task, True)

    def clear(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout_seconds: float | None = None) -> bool:
        if self._is_set:
            return True
        me = self._scheduler.running()
        self._waiting.append(me)
        if timeout_seconds is not None:
            self._scheduler.wake_at(micros(timeout_seconds), me)
        try:
            return self._scheduler.pause("waits for an event")
        finally:
            if me in self._waiting:
                self._waiting.remove(me)

    def wait_awake(self, timeout_seconds: float) -> bool:
        return self.wait(timeout_seconds)


@final
class SimulatedLock:
    """Implements runtime.interface.Lock. Handed over in the order of asking."""

    __slots__ = ("_held", "_holder_name", "_scheduler", "_waiting")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._held = False
        self._holder_name = ""
        self._waiting: deque[SimulatedGreenlet] = deque()

    def __enter__(self) -> object:
        if not self._held:
            self._held = True
            current = self._scheduler.current
            self._holder_name = current.name if current is not None else "no task"
            return self
        me = self._scheduler.running()
        self._waiting.append(me)
        try:
            self._scheduler.pause(f"waits for a lock held by {self._holder_name}")
        except BaseException:
            if me in self._waiting:
                self._waiting.remove(me)
            else:  # handed over, and killed before it could run
                self._hand_over()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._hand_over()

    def _hand_over(self) -> None:
        if not self._waiting:
            self._held = False
            return
        task = self._waiting.popleft()
        self._holder_name = task.name
        self._scheduler.wake(task)

    def locked(self) -> bool:
        return self._held


@final
class SimulatedThreadWaker:
    """Implements runtime.interface.ThreadWaker: there are no foreign threads here, so whoever calls is a task."""

    __slots__ = ("_answer", "_closed", "_due", "_spawn")

    def __init__(self, spawn: Callable[[Callable[[], None]], object], answer: Callable[[], object]) -> None:
        self._spawn = spawn
        self._answer = answer
        self._due = False
        self._closed = False

    def wake(self) -> None:
        if not self._due and not self._closed:
            self._due = True
            self._spawn(self._run)

    def close(self) -> None:
        self._closed = True

    def _run(self) -> None:
        self._due = False
        if not self._closed:
            self._answer()

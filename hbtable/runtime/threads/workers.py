"""Threads for one kind of blocking work, and the way back into the hub.

gevent's own ThreadPool costs about 60 us a call, since it sets up a watcher for each, and every commit to the log waits
for one. Here one watcher serves all calls of a kind: about 20 us, most of it the two switches between threads.

Invariants: `_under_way` belongs to the hub's thread; the watcher runs only while it is not 0, so that a hub whose tasks
all wait for each other still ends with gevent's LoopExit. A thread touches its job, `_jobs` and `_done`, nothing else.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar, final

from gevent.event import Event as HubEvent
from gevent.hub import Waiter, get_hub

from hbtable.runtime.threads.native_threads import NativeThread, SimpleQueue
from hbtable.switches import switches

T = TypeVar("T")


@final
class _Job(Generic[T]):
    """One call. The thread fills in the outcome, then the hub wakes the task."""

    __slots__ = ("arguments", "error", "function", "result", "waiter")

    def __init__(self, function: Callable[..., T], arguments: tuple[object, ...]) -> None:
        self.function = function
        self.arguments = arguments
        self.waiter = Waiter()
        self.result: T | None = None
        self.error: BaseException | None = None

    def work(self) -> None:
        try:
            self.result = self.function(*self.arguments)
        except BaseException as error:  # noqa: BLE001  raised again in the task
            self.error = error


@final
class ThreadPool:
    """Owns up to `size` daemon threads; they are started when there is work for them."""

    def __init__(self, kind: str, size: int) -> None:
        self._kind = kind
        self._size = size
        self._threads: list[NativeThread] = []
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._done: deque[_Job[object]] = deque()
        self._under_way = 0
        self._idle = HubEvent()
        self._idle.set()
        self._wake = get_hub().loop.async_()

    @switches
    def run(self, function: Callable[..., T], arguments: tuple[object, ...]) -> T:
        """*Switches.* Jobs are begun in the order of the calls."""
        job = _Job(function, arguments)
        if not self._under_way:
            self._wake.start(self._deliver)
            self._idle.clear()
        self._under_way += 1
        if len(self._threads) < min(self._size, self._under_way):
            self._start_thread()
        self._jobs.put(job)  # type: ignore[arg-type]  # the queue does not look at results
        job.waiter.get()
        if job.error is not None:
            try:
                raise job.error
            finally:
                job.error = None  # or the error, its traceback, this frame and the job would hold each other
        return job.result  # type: ignore[return-value]  # None only if T is, when there is no error

    def _start_thread(self) -> None:
        thread = NativeThread(self._live, f"hbtable {self._kind}")
        self._threads.append(thread)
        thread.start()

    def _live(self) -> None:
        """In a thread."""
        while (job := self._jobs.get()) is not None:
            job.work()
            self._done.append(job)
            del job  # an idle thread must not keep the last job's result alive
            try:
                self._wake.send()
            except ValueError:
                return  # the hub was destroyed: nobody waits any more

    @switches
    def _deliver(self) -> None:
        """In the hub. Switches to each task whose job is done; a killed task's outcome is dropped."""
        done = self._done
        while done:
            job = done.popleft()
            self._under_way -= 1
            job.waiter.switch(None)
        if not self._under_way:
            self._wake.stop()
            self._idle.set()

    @switches
    def close(self, grace_seconds: float) -> None:
        """*Switches.* Ends the threads when their work is done, or leaves them to the end of the process after the
        grace: a write that the disk or network never answers must not hold up a stop."""
        for _ in self._threads:
            self._jobs.put(None)
        if self._idle.wait(grace_seconds):
            for thread in self._threads:
                thread.join()  # microseconds: it has nothing left to do
            self._wake.close()
        else:
            self._wake.stop()  # not closed: a thread that is given up may still send

"""The port to time, tasks and threads, for all packages below `launch`.

Concurrency promise: tasks are cooperative. A stretch of code that calls none of the methods marked *switches* is
atomic with respect to every other task. Code relies on that, and says so where state depends on it.
"""

import math
import random
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, TypeVar

from hbtable.switches import switches

T = TypeVar("T")

Job = Callable[[Sequence[bytes]], Sequence[bytes]]
"""A function of a module, so that another process finds it by its name."""

Ask = Callable[[Sequence[bytes]], Sequence[bytes]]
AskingJob = Callable[[Sequence[bytes], Ask], Sequence[bytes]]
"""A job that may ask for more, or hand over what is done so far, as often as it wants to."""


class WorkerDied(Exception):
    """A worker process could not be started, was killed because its time was over, or died. Only this call is lost.
    The text goes on after "the worker process"."""


class JobFailed(Exception):
    """A job raised an error, which this one shows as text; its process lives."""


class Task(Protocol):
    """A running greenlet."""

    @switches
    def join(self, timeout_seconds: float | None = None) -> bool:
        """*Switches.* True when the task has ended. Does not raise the task's error."""

    @switches
    def kill(self) -> None:
        """Ends the task at its next switch, by raising inside it; waits for that."""

    @property
    def error(self) -> BaseException | None:
        """The exception that ended the task, or None."""


class Event(Protocol):
    """Level-triggered flag; many may wait. set() and clear() do not switch."""

    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...
    @switches
    def wait(self, timeout_seconds: float | None = None) -> bool:
        """*Switches* unless set. True when set, False on timeout."""

    @switches
    def wait_awake(self, timeout_seconds: float) -> bool:
        """*Switches* unless set. As wait(), but exact: it takes a processor, where there are several. An idle process
        sleeps for whole milliseconds, so for less than a few of them."""


class Lock(Protocol):
    """Mutual exclusion among tasks; fair, not reentrant. Acquiring *switches* when it is held."""

    @switches
    def __enter__(self) -> object: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def locked(self) -> bool: ...


class ThreadWaker(Protocol):
    """Lets a thread that is not the hub's make a task run. The one object here that any thread may touch."""

    def wake(self) -> None:
        """The answer runs as a task soon. Several calls before it begins count once. Nothing after close()."""

    def close(self) -> None:
        """To be called once, from the hub's thread."""


class Deaths(Protocol):
    """Counts and names of background tasks that died of bugs (supervision.py)."""

    restarts: bool
    total: int

    def died(self, name: str, error: BaseException, again: bool = True) -> None: ...
    def recent(self) -> list[str]: ...
    def ever(self) -> list[str]: ...


class Runtime(Protocol):
    """Clock, tasks, waiting, offloading, randomness."""

    random: random.Random
    """Seeded under simulation; the only source of randomness."""
    deaths: Deaths
    """Of the background tasks of this process."""

    def wall_millis(self) -> int:
        """Wall clock, milliseconds since 1970. May jump."""

    def clock_seconds(self) -> float:
        """Never goes back and counts the time a machine was suspended (CLOCK_BOOTTIME): for leases and durations.
        Any thread may ask."""

    def processor_seconds(self) -> float:
        """The processor's time of this process, in all its threads, but for what it looked in vain for the next request
        (thrift.busy_poll_seconds)."""

    def spawn(self, function: Callable[..., object], *arguments: object, name: str = "") -> Task:
        """Runs `function` as a task, later. An error in it is kept in Task.error and logged."""

    @switches
    def sleep(self, seconds: float) -> None:
        """*Switches.* 0 lets other tasks run."""

    def slice_end(self, seconds: float) -> float:
        """The time up to which a task that has begun a slice of long work may go on before it lets others run:
        `seconds` from now, or sooner while several clients ask."""

    def is_shared(self) -> bool:
        """Whether more than one client asked lately: what takes long in one stretch keeps another one waiting."""

    @switches
    def pause_when_due(self) -> None:
        """*Switches* once the calling task has worked for a slice of time. For loops that keep no time themselves: they
        may ask behind every few steps."""

    @switches
    def request_gate(self, client: str, most: int, stream: object = None) -> Callable[[float], float]:
        """A function that the calling task calls, with the time, before each request of `client`: it returns when the
        request may be worked on, among those of other clients; *switches* unless that is at once. Overloaded when
        `most` wait already. It returns the time since when the request waits: of a `stream` that comes from a socket
        here, the next request is not even read before its turn."""

    def read_in_turns(self, client: str, stream: object) -> None:
        """The calling task works for `client` from now on, and the rest of a request that has begun on `stream`, where
        that is of a socket here, is read in turns with other clients. A byte on each of thousands of connections at
        once would keep them waiting. Does not switch; the reading does."""

    def event(self) -> Event: ...
    def lock(self) -> Lock: ...

    def waker(self, answer: Callable[[], object]) -> ThreadWaker:
        """`answer` runs as a task after each wake(); it must handle its own errors."""

    @switches
    def offload(self, kind: str, function: Callable[..., T], *arguments: object) -> T:
        """*Switches.* Runs a blocking function off the hub and returns its result or raises its error.

        Each `kind` ("log-sync", "file-write", "compress", ...) has threads of its own, so that one kind stuck cannot
        starve another. `function` must not touch anything of the runtime.
        """

    @switches
    def run_in_process(
        self,
        kind: str,
        job: Job,
        parts: Sequence[bytes],
        seconds: float,
        client: str = "",
        wait_seconds: float = math.inf,
        worked: Callable[[float], object] | None = None,
    ) -> Sequence[bytes]:
        """*Switches.* What `job` makes of `parts`, in another process of this machine: for what may hold the
        interpreter's lock for long, take any time, or crash. The process gives way to all others.

        `seconds` of the processor's time; WorkerDied when it takes more, or too much memory. Each `kind` has processes
        of its own, which are started when there is work and end when there is none. A call costs about 0.1 ms and the
        copying of `parts`, so hand over many small things at once.

        While all are busy clients take turns, each with the same share of their time: `client` is whose question this
        is, "" that of the request that the task works on. Overloaded, and nothing was begun, when its turn has not come
        after `wait_seconds`, or after as long as the runtime lets anybody wait. `worked` hears for how many seconds a
        process was busy with it.
        """

    @switches
    def converse_in_process(
        self, kind: str, job: AskingJob, parts: Sequence[bytes], answer: Ask, seconds: float
    ) -> Sequence[bytes]:
        """*Switches.* As run_in_process(), for long work on much data, which goes back and forth in pieces: what the
        job asks is answered by `answer`, in the calling task; it may switch, and its errors end the work and are
        raised here.

        `seconds` of the clock from one question to the next: WorkerDied when there is none for longer. JobFailed for
        the job's own errors. Each piece costs about 0.2 ms.
        """

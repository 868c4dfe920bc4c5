"""The real runtime: gevent in an unpatched process.

Nothing is monkey patched. The hub belongs to the thread that makes the tasks: the main thread of a server, or a
background thread of an ordinary threaded program (portal.py). Objects made here may be used in that one thread only.

Invariants: an error of a task is kept in Task.error and logged exactly once; a killed task has error None. The lock is
handed straight to the task that waited longest, so that no newcomer overtakes it. Each kind of blocking work has
threads of its own.
"""

import logging
import math
import random
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TypeVar, final
from weakref import WeakValueDictionary

import gevent
from gevent.event import Event as HubEvent
from gevent.greenlet import Greenlet
from gevent.hub import Waiter
from gevent.lock import Semaphore

from hbtable.runtime.busy_poll import awake, worked_seconds
from hbtable.runtime.fair_scheduler import FairScheduler
from hbtable.runtime.interface import Ask, AskingJob, Deaths, Event, Job, Lock, Task, ThreadWaker
from hbtable.runtime.network.sockets import ServedSocket
from hbtable.runtime.processes.conversation import Conversation
from hbtable.runtime.processes.worker_process import WorkerProcesses
from hbtable.runtime.processes.worker_turns import WorkerTurns
from hbtable.runtime.request_gate import RequestGate, RestGate
from hbtable.runtime.slices import SLICE_SECONDS
from hbtable.runtime.supervision import TaskDeaths, spawn_counted
from hbtable.runtime.threads.thread_waker import GeventThreadWaker
from hbtable.runtime.threads.workers import ThreadPool
from hbtable.runtime.watched_sockets import WatchedSockets
from hbtable.switches import switches

T = TypeVar("T")

_log = logging.getLogger(__name__)

# Counts the time a machine was suspended; macOS lacks it and has no other clock that does.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True)
class GeventOptions:
    """Options: how many threads each kind of blocking work may use."""

    threads_of_kind: Mapping[str, int] = field(default_factory=lambda: {"log-sync": 2, "password": 1})
    """Threads for the named kinds. More: more calls at once on slow storage, and more memory (about 100 KiB each)."""

    threads: int = 4
    """Threads for every other kind."""

    processes: int = 2
    """Worker processes of each kind. More: more calls at once, about 30 MB and a processor each."""

    process_wait_seconds: float = 10.0
    """The longest that a question waits for its turn at a worker process. Longer: clients with many long questions are
    told later that these are too many."""

    process_bytes: int = 1 << 30
    """The most memory that a worker process may take. Less: large cells cannot be worked on."""


@final
class GeventTask:
    """A greenlet that remembers what it died of."""

    __slots__ = ("_error", "_greenlet")

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...], name: str) -> None:
        self._error: BaseException | None = None
        self._greenlet = Greenlet(self._run, function, arguments)
        if name:
            self._greenlet.name = name

    def start(self) -> None:
        self._greenlet.start()

    @switches
    def _run(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        try:
            function(*arguments)
        except gevent.GreenletExit:
            pass  # killed: what kill() asked for is not an error
        except Exception as error:  # noqa: BLE001  whatever it is, Task.error keeps it
            self._error = error
            _log.error("task %s died of %s: %s", self._greenlet.name, type(error).__name__, error, exc_info=error)
        except BaseException as error:
            self._error = error
            raise  # KeyboardInterrupt and SystemExit are for the hub, which hands them to the main greenlet

    @switches
    def join(self, timeout_seconds: float | None = None) -> bool:
        self._greenlet.join(timeout_seconds)
        return self._greenlet.ready()

    @switches
    def kill(self) -> None:
        self._greenlet.kill()

    @property
    def error(self) -> BaseException | None:
        return self._error


@final
class GeventEvent:
    """gevent's Event under the port's names."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = HubEvent()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    def is_set(self) -> bool:
        return self._event.is_set()

    @switches
    def wait(self, timeout_seconds: float | None = None) -> bool:
        return self._event.wait(timeout_seconds)

    @switches
    def wait_awake(self, timeout_seconds: float) -> bool:
        if self._event.is_set():
            return True
        with awake():
            return self._event.wait(timeout_seconds)


@final
class GeventLock:
    """A fair lock. gevent's own semaphore lets a newcomer overtake the tasks that wait."""

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[_Turn] = deque()

    @switches
    def __enter__(self) -> object:
        if not self._held:
            self._held = True
            return self
        turn = _Turn()
        self._waiting.append(turn)
        try:
            turn.waiter.get()
        except BaseException:
            # Killed or timed out. If the lock had been handed over already, nobody else would ever release it.
            if turn.granted:
                self._release()
            else:
                self._waiting.remove(turn)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._waiting:
            self._release()
        else:
            self._held = False

    def _release(self) -> None:
        if not self._waiting:
            self._held = False
            return
        turn = self._waiting.popleft()
        turn.granted = True  # the lock stays held, by the other task
        turn.waiter.hub.loop.run_callback(turn.waiter.switch, None)

    def locked(self) -> bool:
        return self._held


@final
class _Turn:
    """One task's place in a lock's queue."""

    __slots__ = ("granted", "waiter")

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.granted = False


@final
class GeventRuntime:
    """Implements runtime.interface.Runtime over gevent."""

    def __init__(self, options: GeventOptions | None = None) -> None:
        self.random = random.Random()
        # Four of these are in every request, and a method around it would double what one takes.
        self.clock_seconds: Callable[[], float] = partial(time.clock_gettime, _BOOT_CLOCK)
        self.processor_seconds: Callable[[], float] = worked_seconds
        self.deaths: Deaths = TaskDeaths(self.clock_seconds)
        self._options = options or GeventOptions()
        self._workers: dict[str, ThreadPool] = {}
        self._processes: dict[str, WorkerProcesses] = {}
        self._turns: dict[str, Semaphore] = {}
        self._worker_turns: dict[str, WorkerTurns] = {}
        self.fair_scheduler = FairScheduler(self.clock_seconds)
        self._sockets = WeakValueDictionary[str, WatchedSockets]()
        """By client; the gates of its connections hold it."""

    def slice_end(self, seconds: float) -> float:
        return self.fair_scheduler.slice_end(seconds)

    def is_shared(self) -> bool:
        return self.fair_scheduler.is_shared(self.clock_seconds())

    def wall_millis(self) -> int:
        return time.time_ns() // 1_000_000

    def spawn(self, function: Callable[..., object], *arguments: object, name: str = "") -> Task:
        task = GeventTask(function, arguments, name)
        task.start()
        return task

    @switches
    def sleep(self, seconds: float) -> None:
        """0 goes once round the event loop: timers and sockets that are due come first.

        gevent.sleep(0) would not do: it only goes to the end of a list that the loop works off fifty entries at a
        time, so a task that computed 4 ms between two of them kept clients waiting for 280 ms.
        """
        if seconds > 0:
            gevent.sleep(seconds)
        else:
            self.fair_scheduler.pause()

    @switches
    def pause_when_due(self) -> None:
        self.fair_scheduler.pause_when_due(SLICE_SECONDS)

    def request_gate(self, client: str, most: int, stream: object = None) -> Callable[[float], float]:
        share = self.fair_scheduler.share(client)
        self.fair_scheduler.adopt(share)
        gate = RequestGate(self.fair_scheduler, share, most)
        if isinstance(stream, ServedSocket):
            stream.turns = gate
        return gate

    def read_in_turns(self, client: str, stream: object) -> None:
        share = self.fair_scheduler.share(client)
        self.fair_scheduler.adopt(share)
        if isinstance(stream, ServedSocket):
            sockets = self._sockets.get(client)
            if sockets is None:
                sockets = self._sockets[client] = WatchedSockets()
            stream.rest = RestGate(self.fair_scheduler, share, sockets)

    def event(self) -> Event:
        return GeventEvent()

    def lock(self) -> Lock:
        return GeventLock()

    def waker(self, answer: Callable[[], object]) -> ThreadWaker:
        return GeventThreadWaker(partial(spawn_counted, self, answer, name="woken by a thread"))

    @switches
    def offload(self, kind: str, function: Callable[..., T], *arguments: object) -> T:
        """A task killed while it waits leaves `function` running to its end in the pool's thread: what `function` uses
        (a file descriptor) must not be closed by the task's clean-up."""
        workers = self._workers.get(kind)
        if workers is None:
            workers = ThreadPool(kind, self._options.threads_of_kind.get(kind, self._options.threads))
            self._workers[kind] = workers
        return workers.run(function, arguments)

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
        processes, threads = self._processes_of(kind)
        turns = self._worker_turns[kind]
        turn = turns.begin(
            client or self.fair_scheduler.client(), min(wait_seconds, self._options.process_wait_seconds)
        )
        began = self.clock_seconds()
        try:
            return threads.run(processes.call, (job, parts, seconds))
        finally:
            took = self.clock_seconds() - began
            turns.end(turn, took)
            if worked is not None:
                worked(took)

    @switches
    def converse_in_process(
        self, kind: str, job: AskingJob, parts: Sequence[bytes], answer: Ask, seconds: float
    ) -> Sequence[bytes]:
        processes, threads = self._processes_of(kind)
        turns = self._turns.setdefault(kind, Semaphore(self._options.processes))
        with turns:
            conversation = Conversation(processes, job, seconds)
            try:
                asks, said = threads.run(conversation.begin, (parts,))
                while asks:
                    asks, said = threads.run(conversation.go_on, (answer(said),))
            except BaseException:
                conversation.give_up()
                raise
            return said

    def _processes_of(self, kind: str) -> tuple[WorkerProcesses, ThreadPool]:
        title = f"{kind} process"
        processes = self._processes.get(kind)
        if processes is None:
            processes = self._processes[kind] = WorkerProcesses(self._options.process_bytes)
            self._workers[title] = ThreadPool(title, self._options.processes)  # each waits for one process
            self._worker_turns[kind] = WorkerTurns(self.clock_seconds, kind, self._options.processes)
        return processes, self._workers[title]

    @switches
    def close(self, grace_seconds: float = 5.0) -> None:
        """*Switches.* Ends the worker processes; ends the threads once their work is done, or gives them up after the
        grace."""
        processes, self._processes = self._processes, {}
        for one in processes.values():
            one.stop()
        everyone, self._workers = self._workers, {}
        for workers in everyone.values():
            workers.close(grace_seconds)
        for one in processes.values():
            one.close()

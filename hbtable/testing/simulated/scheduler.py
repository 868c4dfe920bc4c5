"""The seeded scheduler under runtime.py: which task runs next, and what time it is.

Tasks are plain greenlets. Whoever calls `advance` is the hub: it picks a runnable task at random, switches to it, and
gets control back when the task waits or ends. Time is virtual: every step takes one microsecond (so that code which
polls with sleep(0) makes time pass), and when nothing is runnable time jumps to the next timer.

Invariants: a task is in `runnable` once or waits; what happens depends on the seed and the program alone, never on the
wall clock, hashes or addresses. `fingerprint` sums up every choice: two runs of one seed that differ in it are not
deterministic.
"""

import heapq
import random
from collections.abc import Callable
from typing import Final, final
from zlib import crc32

from greenlet import GreenletExit, getcurrent, greenlet

from hbtable.switches import switches
from hbtable.testing.simulated.stack_check import UnmarkedFunction, unmarked_functions

STEP_MICROS: Final = 1


class SimulatedCrash(BaseException):
    """Raised at the switch point of every task of a crashed process. Not an Exception: programs must not handle it."""


class SimulatedDeadlock(AssertionError):
    """Nothing can ever run again, or the virtual time limit of a run was passed. Says what waits where."""


@final
class ProcessState:
    """State that the tasks of one simulated process share."""

    __slots__ = ("crashed", "held", "name", "paused")

    def __init__(self, name: str) -> None:
        self.name = name
        self.crashed = False
        self.paused = False
        self.held: list[SimulatedGreenlet] = []
        """Tasks that would run if the process were not paused."""


@final
class SimulatedGreenlet:
    """One task: where it is, what it waits for, what wakes it."""

    __slots__ = (
        "answer", "ended", "error", "function", "greenlet", "joiners", "name", "number", "pending", "process",
        "started", "waiting_for", "wakes",
    )  # fmt: skip

    def __init__(self, process: ProcessState, number: int, name: str, function: Callable[[], object]) -> None:
        self.process = process
        self.number = number
        self.name = name
        self.function = function
        self.greenlet: greenlet | None = None
        self.started = False
        self.ended = False
        self.error: BaseException | None = None
        self.waiting_for = ""  # "" while runnable or running
        self.wakes = 0  # grows with each wake-up, so that a timer set for an earlier wait is ignored
        self.answer = False  # what pause() returns
        self.pending: BaseException | None = None  # what pause() raises instead
        self.joiners: list[SimulatedGreenlet] = []


@final
class Scheduler:
    """Chooses the next task of any number of simulated processes, and moves virtual time on."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"schedule {seed}")
        self.now_micros = 0
        self.steps = 0
        self.fingerprint = 0
        self.current: SimulatedGreenlet | None = None
        self.errors: list[tuple[str, BaseException]] = []  # name of the task, and what it died of, in that order
        self._hub: greenlet | None = None
        self._unmarked: list[str] = []
        self._runnable: list[SimulatedGreenlet] = []
        self._alive: dict[SimulatedGreenlet, None] = {}  # in order of birth: a set would be in order of addresses
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = 0

    # ------------------------------------------------------------ for the runtime's objects

    def add(self, process: ProcessState, name: str, function: Callable[[], object]) -> SimulatedGreenlet:
        """A new runnable task. Does not switch."""
        self._numbers += 1
        task = SimulatedGreenlet(process, self._numbers, name or getattr(function, "__qualname__", "task"), function)
        self._alive[task] = None
        self._runnable.append(task)
        return task

    @switches
    def pause(self, waiting_for: str) -> bool:
        """*Switches.* The running task waits until wake(); returns its answer, or raises what was thrown in."""
        task = self.running()
        self._unmarked += unmarked_functions(self.steps)
        task.waiting_for = waiting_for
        assert self._hub is not None
        self._hub.switch()
        if task.pending is not None:
            pending, task.pending = task.pending, None
            raise pending
        return task.answer

    def running(self) -> SimulatedGreenlet:
        """The task that asks. Raises when whoever asks may not wait."""
        task = self.current
        here = getcurrent()
        if task is None or task.greenlet is not here:
            if here is self._hub or self._hub is None:
                raise RuntimeError("only a task may wait: start it with SimulatedRuntime.run() or spawn()")
            raise SimulatedCrash("the simulation is over")  # a forgotten task is being collected as garbage
        if task.process.crashed:
            raise SimulatedCrash(f"process {task.process.name} crashed")
        return task

    def wake(self, task: SimulatedGreenlet, answer: bool = True) -> None:
        """Makes a waiting task runnable; nothing happens when it does not wait."""
        if task.waiting_for and not task.ended:
            task.waiting_for = ""
            task.wakes += 1
            task.answer = answer
            self._runnable.append(task)

    def throw(self, task: SimulatedGreenlet, error: BaseException) -> None:
        """Raises `error` in the task where it waits. A task that has not begun never will."""
        if not task.started:
            self._end(task, None)
            self._unqueue(task)
            return
        task.pending = error
        self.wake(task)

    def at(self, delay_micros: int, call: Callable[[], None]) -> None:
        """Calls `call` in the hub, between tasks, `delay_micros` of virtual time from now."""
        self._numbers += 1  # equal times keep the order in which they were asked for
        heapq.heappush(self._timers, (self.now_micros + max(0, delay_micros), self._numbers, call))

    def wake_at(self, delay_micros: int, task: SimulatedGreenlet) -> None:
        """wake(task, False) unless its next wait has been ended by something else by then."""
        expected = task.wakes

        def ring() -> None:
            if task.wakes == expected:
                self.wake(task, False)

        self.at(delay_micros, ring)

    # ------------------------------------------------------------ for whoever runs the simulation

    def advance(self) -> bool:
        """Runs one task up to its next wait. False when nothing is runnable and no timer is set."""
        if self.current is not None:
            raise RuntimeError("a task cannot run the simulation that it is part of")
        self._hub = getcurrent()
        self.now_micros += STEP_MICROS
        timers = self._timers
        if timers and timers[0][0] <= self.now_micros:
            self._ring_timers()
        runnable = self._runnable
        if not runnable:
            if not timers:
                return False
            self.now_micros = max(self.now_micros, timers[0][0])
            self._ring_timers()
            return True
        at = int(self.random.random() * len(runnable))
        runnable[at], runnable[-1] = runnable[-1], runnable[at]
        task = runnable.pop()
        if task.process.paused:
            task.process.held.append(task)
        else:
            self._resume(task)
        if self._unmarked:  # raised here, in the hub: in the task, the program's own handlers could swallow it
            raise UnmarkedFunction(f"these switch, and are not marked @switches: {', '.join(self._unmarked)}")
        return True

    def _ring_timers(self) -> None:
        timers = self._timers
        while timers and timers[0][0] <= self.now_micros:
            heapq.heappop(timers)[2]()

    def _resume(self, task: SimulatedGreenlet) -> None:
        self.steps += 1
        self.fingerprint = crc32(b"%d %d" % (task.number, self.now_micros), self.fingerprint)
        hub = getcurrent()
        if task.greenlet is None:
            task.greenlet = greenlet(lambda: self._run(task), hub)
            task.started = True
        elif task.greenlet.parent is not hub:
            task.greenlet.parent = hub
        self.current = task
        try:
            task.greenlet.switch()
        finally:
            self.current = None

    def _run(self, task: SimulatedGreenlet) -> None:
        try:
            task.function()
        except (GreenletExit, SimulatedCrash):
            self._end(task, None)
        except (KeyboardInterrupt, SystemExit):
            self._end(task, None)
            raise  # in the hub, that is: in the test
        except BaseException as error:  # noqa: BLE001  kept for Task.error, which run() and tests look at
            self._end(task, error)
        else:
            self._end(task, None)

    def _end(self, task: SimulatedGreenlet, error: BaseException | None) -> None:
        task.ended = True
        task.error = error
        if error is not None and not task.process.crashed:
            self.errors.append((task.name, error))
        self._alive.pop(task, None)
        for joiner in task.joiners:
            self.wake(joiner)
        task.joiners.clear()

    def resume(self, process: ProcessState) -> None:
        """Lets the tasks run, in any order, that could have run since the process was paused."""
        process.paused = False
        self._runnable += process.held
        process.held.clear()

    def _unqueue(self, task: SimulatedGreenlet) -> None:
        for queue in (self._runnable, task.process.held):
            if task in queue:
                queue.remove(task)

    def crash(self, process: ProcessState) -> None:
        """Ends all tasks of `process` where they wait. The caller's own task, if it is one of them, by an exception."""
        process.crashed = True
        caller = self.current
        for task in [task for task in self._alive if task.process is process and task is not caller]:
            if task.ended:  # by the end of another one, which crashed the process once more on its way
                continue
            self._unqueue(task)
            if task.greenlet is None:
                self._end(task, None)
                continue
            # It must come back here, not to the hub, when it has ended. It cannot wait on its way: pause() raises.
            task.greenlet.parent = getcurrent()
            self.current = task
            try:
                task.greenlet.throw(SimulatedCrash(f"process {process.name} crashed"))
            finally:
                self.current = caller
        if caller is not None and caller.process is process:
            raise SimulatedCrash(f"process {process.name} crashed")

    def describe(self) -> str:
        """Says what every living task does, and where."""
        if not self._alive:
            return "there are no tasks"
        return "; ".join(f"{task.name} {task.waiting_for or 'is runnable'}{_place(task)}" for task in self._alive)


def _place(task: SimulatedGreenlet) -> str:
    """The innermost line of the program, outside of this package's simulation."""
    frame = task.greenlet.gr_frame if task.greenlet is not None else None
    while frame is not None and "/testing/simulated/" in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is None:
        return ""
    return f" at {frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno} in {frame.f_code.co_name}"

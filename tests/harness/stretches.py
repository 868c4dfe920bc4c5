"""How much is done between two switches of a simulation, counted in calls of functions, not measured in time.

A stretch of code that does not switch keeps every client waiting. Time says little about it on a busy machine, so work
is counted: calls of Python's and of built-in functions, of which every cell that is looked at costs at least one. While
work is counted, the clock that the program sees goes on by UNIT_SECONDS with each, so that what paces itself by the
clock does it here as in life, and the same way in every run.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.simulated.scheduler import ProcessState, SimulatedGreenlet

UNIT_SECONDS = 1e-7
"""About what one call costs on the machines that this was written on."""
LONGEST = round(0.010 / UNIT_SECONDS)
"""A hundredth of a second."""


class Stretches:
    """`longest`: the most calls between two switches. `where`: the functions that the switch after it was in; for the
    last stretch of a task, how it was started."""

    def __init__(self) -> None:
        self.calls = 0
        self.longest = 0
        self.where = ""
        self._since = 0

    def begin(self) -> None:
        """What was before does not count."""
        self.longest = 0
        self._since = self.calls

    def resumed(self) -> None:
        self._since = self.calls

    def paused(self) -> None:
        done = self.calls - self._since
        self._since = self.calls
        if done > self.longest:
            self.longest = done
            frame, names = sys._getframe(1), []
            while frame is not None and len(names) < 12:
                names.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
                frame = frame.f_back
            self.where = " < ".join(names)

    def check(self, most: int = LONGEST) -> None:
        assert self.longest <= most, f"{self.longest} calls without a switch, before {self.where}"
        assert self.calls > 0


@contextmanager
def counted_stretches(runtime: SimulatedRuntime) -> Iterator[Stretches]:
    """In a task of the simulation."""
    stretches = Stretches()

    def count(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            stretches.calls += 1

    scheduler = runtime.scheduler
    clock, pause, add = runtime.clock_seconds, scheduler.pause, scheduler.add
    offload = runtime.offload

    def offloaded(kind: str, function: Callable[..., object], *arguments: object) -> object:
        def apart() -> object:
            sys.setprofile(None)  # a thread's work is nobody's stretch
            return function(*arguments)

        return offload(kind, apart)

    def counted_pause(why: str) -> object:
        stretches.paused()
        try:
            return pause(why)
        finally:
            sys.setprofile(count)
            stretches.resumed()

    def counted_add(process: ProcessState, name: str, function: Callable[[], object]) -> SimulatedGreenlet:
        def run() -> object:
            sys.setprofile(count)  # each greenlet has its own
            stretches.resumed()
            try:
                return function()
            finally:
                stretches.paused()

        return add(process, name or function.__qualname__, run)

    scheduler.add = counted_add  # type: ignore[method-assign]
    runtime.clock_seconds = lambda: clock() + stretches.calls * UNIT_SECONDS  # type: ignore[method-assign]
    scheduler.pause = counted_pause  # type: ignore[method-assign]
    runtime.offload = offloaded  # type: ignore[assignment, method-assign]
    sys.setprofile(count)
    try:
        yield stretches
    finally:
        sys.setprofile(None)
        stretches.paused()
        runtime.clock_seconds = clock  # type: ignore[method-assign]
        scheduler.pause = pause  # type: ignore[method-assign]
        runtime.offload = offload  # type: ignore[method-assign]
        scheduler.add = add  # type: ignore[method-assign]

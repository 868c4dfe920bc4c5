"""The runtime under simulation: same interface, seeded choices, virtual time; a failure is replayed from its seed.

A SimulatedRuntime is one simulated process. another_process() makes a second one on the same clock and scheduler (a
cluster in one Python process); crash() ends one of them and leaves the rest running, pause() stops one for a while.

    runtime = SimulatedRuntime(seed)
    answer = runtime.run(main, argument)       # virtual time passes only in here
    survivor = memory_fs.crash_clone(runtime.random); runtime.crash()       # in this order: see memory.py

Nothing here reads the wall clock. The program's randomness (`random`) and the scheduler's are separate streams.
"""

import logging
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, final

from hbtable.runtime.interface import (
    Ask,
    AskingJob,
    Deaths,
    Event,
    Job,
    JobFailed,
    Lock,
    Task,
    ThreadWaker,
    WorkerDied,
)
from hbtable.runtime.supervision import TaskDeaths
from hbtable.testing.simulated.scheduler import ProcessState, Scheduler, SimulatedCrash, SimulatedDeadlock
from hbtable.testing.simulated.waiting import SimulatedEvent, SimulatedLock, SimulatedTask, SimulatedThreadWaker, micros

T = TypeVar("T")

_log = logging.getLogger(__name__)

_FIRST_WALL_MILLIS: Final = 1_700_000_000_000


@dataclass(frozen=True)
class SimulationOptions:
    """Options: how rough the simulation is."""

    offload_seconds: float = 0.005
    """A call of offload() takes up to twice this, at random. More: other tasks get further meanwhile."""

    worker_deaths: float = 0.02
    """The chance that a worker process that converses is killed between two questions."""

    limit_seconds: float = 3600.0
    """Virtual time after which a run counts as hanging. More: slower to notice that main waits for ever while periodic
    tasks go on."""


@final
class SimulatedRuntime:
    """Implements runtime.interface.Runtime in virtual time."""

    def __init__(
        self,
        seed: int,
        options: SimulationOptions | None = None,
        name: str = "main",
        scheduler: Scheduler | None = None,
    ) -> None:
        self.random = random.Random(f"program {name} {seed}")
        self.scheduler = scheduler or Scheduler(seed)
        self.deaths: Deaths = TaskDeaths(self.clock_seconds, restarts=False)
        self.wall_offset_millis = 0
        """Added to the wall clock: set it to make the wall clock jump."""
        self.processor_seconds: Callable[[], float] = float
        """As of the port: no time at all, unless a test says how much."""
        self._seed = seed
        self._options = options or SimulationOptions()
        self._process = ProcessState(name)

    # ------------------------------------------------------------ the port

    def wall_millis(self) -> int:
        return _FIRST_WALL_MILLIS + self.wall_offset_millis + self.scheduler.now_micros // 1000

    def clock_seconds(self) -> float:
        return self.scheduler.now_micros / 1_000_000

    def spawn(self, function: Callable[..., object], *arguments: object, name: str = "") -> Task:
        """In a crashed process the task never begins; a task of that process which tries is ended."""
        current = self.scheduler.current
        if self._process.crashed and current is not None and current.process is self._process:
            raise SimulatedCrash(f"process {self._process.name} crashed")
        title = name or getattr(function, "__qualname__", "task")

        def run() -> None:
            try:
                function(*arguments)
            except Exception as error:
                _log.error("task %s died of %s: %s", title, type(error).__name__, error, exc_info=error)
                raise

        task = self.scheduler.add(self._process, title, run)
        if self._process.crashed:  # asked for by another process, whose own task must go on
            self.scheduler.throw(task, SimulatedCrash())
        return SimulatedTask(self.scheduler, task)

    def sleep(self, seconds: float) -> None:
        task = self.scheduler.running()
        self.scheduler.wake_at(micros(seconds), task)
        self.scheduler.pause(f"sleeps for {seconds} s")

    def slice_end(self, seconds: float) -> float:
        """Clients are not told apart."""
        return self.clock_seconds() + seconds

    def is_shared(self) -> bool:
        return False

    def pause_when_due(self) -> None:
        """Always: more schedules are tried so."""
        self.sleep(0)

    def request_gate(self, client: str, most: int, stream: object = None) -> Callable[[float], float]:
        """Everybody's turn is at once: what computes takes no virtual time."""
        return lambda now: now

    def read_in_turns(self, client: str, stream: object) -> None:
        """As a request's turn: at once."""

    def event(self) -> Event:
        return SimulatedEvent(self.scheduler)

    def lock(self) -> Lock:
        return SimulatedLock(self.scheduler)

    def waker(self, answer: Callable[[], object]) -> ThreadWaker:
        return SimulatedThreadWaker(lambda run: self.spawn(run, name="waker"), answer)

    def offload(self, kind: str, function: Callable[..., T], *arguments: object) -> T:
        """Calls `function` at a random later time, in the hub, and lets the caller know at a random time after that.
        It is called even if the caller is killed meanwhile (a thread cannot be stopped), but not after a crash."""
        task = self.scheduler.running()
        outcome: list[tuple[T | None, BaseException | None]] = []
        span = self._options.offload_seconds
        expected = task.wakes

        def answer() -> None:
            if task.wakes == expected:
                self.scheduler.wake(task)

        def call() -> None:
            if self._process.crashed:
                return
            try:
                outcome.append((function(*arguments), None))
            except Exception as error:  # noqa: BLE001  raised again in the task
                outcome.append((None, error))
            self.scheduler.at(micros(self.scheduler.random.uniform(0, span)), answer)

        self.scheduler.at(micros(self.scheduler.random.uniform(0, span)), call)
        self.scheduler.pause(f"waits for {kind}")
        result, error = outcome[0]
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # None only if T is, when there is no error

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
        """As offload(): in this process, and without a limit."""
        return self.offload(kind, job, parts)

    def converse_in_process(
        self, kind: str, job: AskingJob, parts: Sequence[bytes], answer: Ask, seconds: float
    ) -> Sequence[bytes]:
        """In this process and in the caller's task. Time passes before each question, and what happens to processes
        happens: they are killed."""
        errors: list[BaseException] = []

        def ask(question: Sequence[bytes]) -> Sequence[bytes]:
            try:
                self.offload(kind, _nothing)
                if self.scheduler.random.random() < self._options.worker_deaths:
                    raise WorkerDied("was killed by the simulation")
                return answer(question)
            except BaseException as error:
                errors.append(error)
                raise

        try:
            return job(parts, ask)
        except Exception as error:
            if error in errors:
                raise
            raise JobFailed(f"{job.__qualname__} failed in a simulated process: {error}") from error

    # ------------------------------------------------------------ for whoever simulates

    def run(self, main: Callable[..., T], *arguments: object) -> T:
        """Runs `main` as a task, and everything else meanwhile, until it ends: its result, or its error raised.
        SimulatedDeadlock when it can never end; SimulatedCrash when the process crashed first."""
        result: list[T] = []

        def run() -> None:
            result.append(main(*arguments))

        task = self.scheduler.add(self._process, getattr(main, "__qualname__", "main"), run)
        self.run_until(lambda: task.ended)
        if task.error is not None:
            raise task.error
        if not result:
            raise SimulatedCrash(f"process {self._process.name} crashed before its main task ended")
        return result[0]

    def run_until(self, reached: Callable[[], bool]) -> None:
        """Runs all tasks of all processes until `reached()`, which is asked before every step and must not wait."""
        scheduler = self.scheduler
        end_micros = scheduler.now_micros + micros(self._options.limit_seconds)
        while not reached():
            if not scheduler.advance():
                raise SimulatedDeadlock(self._message("nothing can run any more"))
            if scheduler.now_micros > end_micros:
                raise SimulatedDeadlock(self._message(f"no end within {self._options.limit_seconds} s of virtual time"))

    def run_for(self, seconds: float) -> None:
        """Lets this much virtual time pass, whether or not there is anything to do."""
        rung: list[bool] = []
        self.scheduler.at(micros(seconds), lambda: rung.append(True))
        while not rung:
            self.scheduler.advance()

    def another_process(self, name: str) -> "SimulatedRuntime":
        """A process of its own on the same clock: to start a second server, or the next life of a crashed one."""
        return SimulatedRuntime(self._seed, self._options, name, self.scheduler)

    @property
    def crashed(self) -> bool:
        return self._process.crashed

    def crash(self) -> None:
        """Ends every task of this process where it waits. Their clean-up code runs, but anything that would wait
        raises again; take its file systems away first, or what clean-up code writes becomes durable."""
        self.scheduler.crash(self._process)

    def pause(self) -> None:
        """Pauses the process. From now on no task of this process runs, as after SIGSTOP; its clock goes on, and what
        it asked of others before (offloaded calls, timers) comes to its end meanwhile. The caller's own task goes on to
        its next wait."""
        self._process.paused = True

    def resume(self) -> None:
        """The tasks go on where they were; timers that rang meanwhile have rung."""
        self.scheduler.resume(self._process)

    @property
    def paused(self) -> bool:
        return self._process.paused

    def _message(self, what: str) -> str:
        clock = self.scheduler.now_micros / 1_000_000
        return f"seed {self._seed}, {clock:.6f} s: {what}: {self.scheduler.describe()}"


def _nothing() -> None:
    """Takes no virtual time: computing costs none."""

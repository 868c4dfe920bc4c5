"""Blocking calls to a remote file system, each with a deadline of our own, because some never return.

hdfs-native hangs for ever when a DataNode of its pipeline dies (docs/faults.md: Hadoop's client library), and an
HTTP request can be kept alive a byte at a time. A call that is past its deadline is given up: its caller gets Stalled,
and what it does later is nobody's any more. ThreadCalls runs calls in threads of the runtime. Tests run them as tasks
(testing/task_calls.py).

A call that hangs keeps its thread; others of its kind get fresh ones, and use them again once it ends, if ever. At
MOST_HANGING of a kind no further call of it is made: a process that cannot write or read is replaced, one that has run
out of threads takes everything with it.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeVar, final

from hbtable.errors import Stalled, Unavailable
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

T = TypeVar("T")

MOST_HANGING: Final = 256
_HANGING_PER_LANE: Final = 4
"""Then the next call gets another lane: a stuck thread must not keep later calls waiting."""


class BlockingCalls(Protocol):
    """Makes the blocking calls of an adapter."""

    @switches
    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """The function's result, or its error. Stalled when it took longer; it may still take effect. Unavailable when
        too many calls of this kind hang: the function is not called. `kind`: calls of one kind share threads."""


@final
class _Lane:
    """Threads of a kind, and how many of its calls were given up and have not ended."""

    __slots__ = ("hanging", "threads")

    def __init__(self, threads: str) -> None:
        self.threads = threads
        self.hanging = 0


@final
class ThreadCalls:
    """Runs the functions in the runtime's threads (Runtime.offload)."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lanes: dict[str, list[_Lane]] = {}

    @switches
    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        lane = self._lane(kind)
        given_up = ended = False

        def begin() -> T:
            """Makes the call, in its thread."""
            if given_up:  # while it waited for that thread
                raise Stalled(f"{kind}: not begun in time")
            return function(*arguments)

        def run() -> T:
            nonlocal ended
            try:
                return self._runtime.offload(lane.threads, begin)
            finally:
                ended = True
                if given_up:
                    lane.hanging -= 1

        try:
            return within_deadline(self._runtime, kind, deadline_seconds, run)
        finally:
            if not ended:  # too late, or the caller is killed
                given_up = True
                lane.hanging += 1

    def _lane(self, kind: str) -> _Lane:
        lanes = self._lanes.setdefault(kind, [])
        for lane in lanes:
            if lane.hanging < _HANGING_PER_LANE:
                return lane
        hanging = sum(lane.hanging for lane in lanes)
        if hanging >= MOST_HANGING:
            raise Unavailable(
                f"{kind}: {hanging} calls hang, no further one is made; if it stays so, restart this process"
            )
        lanes.append(_Lane(f"{kind}/{len(lanes)}"))
        return lanes[-1]


@switches
def within_deadline(runtime: Runtime, kind: str, deadline_seconds: float, run: Callable[[], T]) -> T:
    """The result of `run`, which becomes a task, or its error. Stalled when it took longer; the task goes on."""
    done = runtime.event()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(run())
        except Exception as error:  # noqa: BLE001  raised again in the caller
            errors.append(error)
        done.set()

    runtime.spawn(work, name=kind)
    if not done.wait(deadline_seconds):
        raise Stalled(f"{kind}: no answer within {deadline_seconds:g} s; whether it took effect is unknown")
    if errors:
        raise errors[0]
    return results[0]

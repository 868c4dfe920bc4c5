"""Blocking calls to a remote file system, each with a deadline of our own, because some never return.

hdfs-native hangs for ever when a DataNode of its pipeline dies (storage-and-faults 0), and an HTTP request can be kept
alive a byte at a time. A call that is past its deadline is given up: its caller gets Stalled, and what it does later is
nobody's any more. ThreadCalls runs calls in threads of the runtime; TaskCalls, for simulation, as tasks, so that a test
twin may wait in virtual time.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeVar, final

from hbtable.errors import Stalled
from hbtable.runtime.interface import Runtime

T = TypeVar("T")

_STUCK_PER_KIND: Final = 4
"""Calls that were given up before a kind gets fresh threads: a stuck thread must not keep later calls waiting."""


class Calls(Protocol):
    """How an adapter makes its blocking calls."""

    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        """The function's result, or its error. Stalled when it took longer; it may still take effect. *Switches.*
        `kind`: calls of one kind share threads."""


@final
class TaskCalls:
    """Runs the functions as tasks of the runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        return _within(self._runtime, kind, deadline_seconds, lambda: function(*arguments))[0]


@final
class ThreadCalls:
    """Runs the functions in the runtime's threads (Runtime.offload)."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._stuck: dict[str, int] = {}

    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        stuck = self._stuck.get(kind, 0)
        threads = f"{kind}/{stuck // _STUCK_PER_KIND}"
        try:
            return _within(
                self._runtime, kind, deadline_seconds, lambda: self._runtime.offload(threads, function, *arguments)
            )[0]
        except Stalled:
            self._stuck[kind] = self._stuck.get(kind, 0) + 1
            raise


def _within(runtime: Runtime, kind: str, deadline_seconds: float, run: Callable[[], T]) -> tuple[T]:
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
    return (results[0],)

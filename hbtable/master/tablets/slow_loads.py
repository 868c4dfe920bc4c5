"""Loads, and unloads of tablets that move, for which nobody waits any more: the server has not answered for a while,
and may yet.

While one of them is under way, and its server lives, the master asks nobody else to load that tablet, and goes on with
all others. For a dead server nothing waits: a frozen one answers nothing, and closes no connection. Each ends as every
call ends: with an answer, with the death of the server, or after `rpc.load_seconds` or `rpc.order_seconds`.

The lock of the table is free meanwhile. That is as after a call that timed out: the server may carry a load out late,
and whoever takes the tablet from it ends that load first (tabletserver.online_tablets).
"""

from collections.abc import Callable, Collection
from contextvars import copy_context
from typing import Final, final

from hbtable.errors import HbtableError, LockLost, Unavailable
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

WAIT_SECONDS: Final = 5.0
"""The time for which a table's other tablets wait. Longer: a tablet whose server died waits longer for one that hangs;
shorter: the master goes over the table more often while large tablets are recovered."""
_MOST: Final = 64
"""At once. More: more memory, where servers are not dead but slow; fewer: as many that hang hold up all others."""


@final
class SlowLoads:
    """Runs loads, and remembers those that were left to end by themselves."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.on_end: Callable[[], None] = lambda: None
        """Called when one ends that was left, as its table is to be looked at; must not switch."""
        self._left: dict[tuple[int, str], Task] = {}
        """By tablet and server."""
        self._failure: BaseException | None = None

    @switches
    def run(self, record: TabletRecord, load: Callable[[], None]) -> None:
        """Returns when it is done. Its errors; Unavailable when it takes so long that it is left."""
        failed: list[BaseException] = []
        key = record.tablet_id, record.owner

        def work() -> None:
            try:
                load()
            except HbtableError as error:
                failed.append(error)
            finally:
                if key in self._left and self._left[key] is task:
                    del self._left[key]
                    self._note(failed)
                    self.on_end()

        task = spawn_counted(self._runtime, copy_context().run, work, name="load")
        if not task.join(WAIT_SECONDS if len(self._left) < _MOST else None):
            self._left[key] = task
            raise Unavailable(f"{record.owner} has been at it for {WAIT_SECONDS:g} s, and goes on")
        if error := failed[0] if failed else task.error:
            raise error

    def _note(self, failed: list[BaseException]) -> None:
        """Another error than LockLost is known to those who count failed loads."""
        if failed and isinstance(failed[0], LockLost):
            self._failure = failed[0]

    def check(self) -> None:
        """Raises the LockLost that one met after it was left. Does not switch."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def is_left(self, tablet_id: int, living: Collection[str]) -> bool:
        """Whether one of these servers may be at it."""
        return any(left == tablet_id and server in living for left, server in self._left)

    def are_many(self) -> bool:
        """Half of those that may be left, are: the rest is for tablets without a server."""
        return 2 * len(self._left) >= _MOST

    def any(self) -> bool:
        return bool(self._left)

    @switches
    def finish(self) -> None:
        """None is under way on return."""
        for task in list(self._left.values()):
            task.join()

"""Loads and unloads of tablets for which nobody waits any more: the server has not answered for a while, and may yet.

While one of them is under way, and its server lives and owns the tablet, the master asks nobody else to load that
tablet, and goes on with all others. Once METADATA has no owner, it was given up all the same, and what comes late finds
another generation. For a dead server nothing waits: a frozen one answers nothing, and closes no connection. Each ends
as every call ends: with an answer, with the death of the server, or after `rpc.load_seconds` or `rpc.order_seconds`.

A server of which several are under way is asked for nothing more. So one that hangs costs whoever works through many
tablets the wait for a few of them, once, and no other server's tablets wait for it. Nor do those without a server: they
go to others.

A tablet that its server gives up late is without a server, and nobody waits for it: what is to be done then is given
with the call, and done when it ends (late_unloads.py).

The lock of the table is free meanwhile. That is as after a call that timed out: the server may carry a load out late,
and whoever takes the tablet from it ends that load first (tabletserver.online_tablets).
"""

import logging
from collections.abc import Callable, Collection, Sequence
from contextvars import copy_context
from typing import Final, final

from hbtable.errors import HbtableError, LockLost, Unavailable
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 5.0
"""The time for which a table's other tablets wait. Longer: a tablet whose server died waits longer for one that hangs;
shorter: the master goes over the table more often while large tablets are recovered."""
ASKED_SECONDS: Final = 20.0
"""The time for which a table waits for what a client asked for. Longer: a tablet of the table whose server died waits
longer for one that hangs; shorter: more of a client's calls end before what they began."""
_MOST: Final = 16
"""Of one server. More: more memory, where servers are not dead but slow; fewer: a server that recovers large tablets
gets fewer of them at once."""


@final
class SlowLoads:
    """Runs loads, and remembers those that were left to end by themselves."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.on_end: Callable[[], None] = lambda: None
        """Called when one ends that was left, as its table is to be looked at; must not switch."""
        self._left: dict[tuple[int, str], Task] = {}
        """By tablet and server."""
        self._following: set[Task] = set()
        """Those that came late, and do what was to be done then."""
        self._failure: BaseException | None = None

    @switches
    def run(
        self,
        record: TabletRecord,
        load: Callable[[], None],
        patience_seconds: float | None = WAIT_SECONDS,
        if_late: Callable[[], None] = lambda: None,
    ) -> None:
        """Returns when it is done. Its errors; Unavailable when it takes so long that it is left, or was not begun
        because the owner of `record` is at this tablet, or at too many, already. None: however long it takes.
        `if_late` is called when one that was left ends well; it may switch."""
        if patience_seconds is None:
            load()
            return
        self.check_free(record)
        failed: list[BaseException] = []
        key = record.tablet_id, record.owner

        def work() -> None:
            try:
                load()
            except HbtableError as error:
                failed.append(error)
            finally:
                late = self._left.get(key) is task
                if late:
                    del self._left[key]
                    self._note(failed)
                    self.on_end()
            if late and not failed:
                self._follow(task, if_late)

        task = spawn_counted(self._runtime, copy_context().run, work, name="load")
        if not task.join(patience_seconds):
            self._left[key] = task
            raise Unavailable(f"{record.owner} has been at it for {patience_seconds:g} s, and goes on")
        if error := failed[0] if failed else task.error:
            raise error

    def follow(self, work: Callable[[], None]) -> None:
        """Does what is to follow a call of which nobody knows, in a task of its own. Does not switch."""
        task = spawn_counted(self._runtime, lambda: self._follow(task, work), name="follow")

    @switches
    def _follow(self, task: Task, if_late: Callable[[], None]) -> None:
        self._following.add(task)
        try:
            if_late()
        except HbtableError as error:
            self._note([error])
            log.info("master: what was to follow a call that ended late failed: %s", error)
        finally:
            self._following.discard(task)
            self.on_end()  # the look that its own end asked for passed over the table while this was at it

    def _note(self, failed: Sequence[BaseException]) -> None:
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

    def servers_at(self, tablet_id: int) -> frozenset[str]:
        """Those that may be at it: they are not asked for this tablet now. Does not switch."""
        return frozenset(server for left, server in self._left if left == tablet_id)

    def check_free(self, record: TabletRecord) -> None:
        """Unavailable where run() would not begin. Does not switch."""
        if (record.tablet_id, record.owner) in self._left:
            raise Unavailable(f"{record.owner} is at it, since it was asked before")
        if (number := self._number_of(record.owner)) >= _MOST:
            raise Unavailable(f"{record.owner} has not answered {number} calls to load or to give up a tablet yet")

    def are_many(self, server: str) -> bool:
        """Half of those of this server that may be left, are: the rest is for tablets without a server."""
        return 2 * self._number_of(server) >= _MOST

    def hanging(self) -> frozenset[str]:
        """The servers of which are_many(). They serve little, so each tablet would be for them. Does not switch."""
        return frozenset(server for server in {server for _, server in self._left} if self.are_many(server))

    def _number_of(self, server: str) -> int:
        return sum(server == one for _, one in self._left)

    def any(self) -> bool:
        return bool(self._left or self._following)

    @switches
    def finish(self) -> None:
        """None is under way on return."""
        while tasks := [*self._left.values(), *self._following]:
            for task in tasks:
                task.join()

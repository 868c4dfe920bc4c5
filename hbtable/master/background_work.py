"""Work that the master's cycle begins when it is due, and that goes on beside the cycle."""

import logging
from collections.abc import Callable

from hbtable.errors import HbtableError, LockLost
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

log = logging.getLogger(__name__)


class BackgroundWork:
    """One piece of work at a time, in a task of its own, until stop(). A base class: what it does, and when that is
    due, is up to others."""

    def __init__(self, runtime: Runtime, name: str, failure: str) -> None:
        """`name`: of the task. `failure`: says in the log what an HbtableError prevented."""
        self._runtime = runtime
        self._name = name
        self._failure = failure
        self._working = False
        self._task: Task | None = None
        self._stopping = False

    def _may_begin(self) -> bool:
        """Whether none is under way, and stop() was not called."""
        return not self._working and not self._stopping

    def _begin(self, work: Callable[[], None]) -> None:
        """While _may_begin(). Does not switch; `work` may. Its HbtableErrors are logged, other than LockLost,
        after which another master works."""
        self._working = True
        self._task = spawn_counted(self._runtime, self._work, work, name=self._name)

    @switches
    def stop(self) -> None:
        """The work under way has ended on return. Idempotent."""
        self._stopping = True
        if self._task is not None:
            self._task.join()
            self._task = None

    @switches
    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        except LockLost:
            return
        except HbtableError as error:
            log.info("%s: %s", self._failure, error)
        finally:
            self._working = False

"""Counts the cluster's state number up while this master acts (lockservice.state_number), in a task of its own: the
master's cycle never waits for it."""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import HbtableError, LockLost
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.lockservice.interface import Session
from hbtable.lockservice.state_number import count_up
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PERIOD_SECONDS: Final = 60.0
"""So much of what was written last may be missing unnoticed when the files are put back. Shorter: more writes to the
file system and the lock service for nothing."""


@final
class StateCounter:
    """Counts the state number up. One machine's cluster has none: its lock service lies among the files."""

    def __init__(self, runtime: Runtime, session: Session, fs: FileSystem, check_acting: Callable[[], None]) -> None:
        """`check_acting` raises while this is not the master."""
        self._runtime = runtime
        self._session = session
        self._fs = fs
        self._check_acting = check_acting
        self._wake = runtime.event()
        self._stopping = False
        self._task: Task | None = None
        self._said = ""

    def start(self) -> None:
        """Idempotent."""
        if self._task is None and self._fs.log_kind != LOCAL:
            self._task = supervise(self._runtime, self._run, name="state number")

    def soon(self) -> None:
        """Does not switch."""
        self._wake.set()

    @switches
    def stop(self) -> None:
        """Idempotent."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            self._task.join()
            self._task = None

    @switches
    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            said = ""
            try:
                self._check_acting()
                count_up(self._runtime, self._session, self._fs)
            except LockLost:
                return
            except HbtableError as error:
                said = str(error)
            if said and said != self._said:
                log.warning("the cluster's state number could not be counted up, and will be later: %s", said)
            self._said = said
            self._wake.wait(_PERIOD_SECONDS)

"""The right to act as the master: the epoch of its lock says who has it, and the session whether it holds now."""

from collections.abc import Callable
from typing import Final, final

from hbtable.errors import LockLost, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.identity import check_same
from hbtable.lockservice.interface import Session
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

_LOOK_SECONDS: Final = 0.1


@final
class Mastership:
    """The checks before whatever a master does, and a watch over its session from start() to stop(): an idle master, or
    one whose step hangs, notices as well that it may not go on."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        fs: FileSystem,
        suspended_seconds: float,
        epoch: Callable[[], int],
        lose: Callable[[str], None],
    ) -> None:
        """`epoch`: that of the lock, 0 without it. `lose` is told why this process can be master no longer; neither
        switches. `suspended_seconds`: how long a master may be without the lock service."""
        self._runtime = runtime
        self._session = session
        self._fs = fs
        self._suspended_seconds = suspended_seconds
        self._epoch = epoch
        self._lose = lose
        self._over = False
        self._task: Task | None = None

    def check(self) -> None:
        """Raises Unavailable while this is not the master, or may not act; LockLost when it never may again."""
        if not self._epoch():
            raise Unavailable("this is not the master at the moment; try again")
        if self._session.over():
            raise LockLost("the master lost its lock and stops; another one takes over")
        if not self._session.valid():
            raise Unavailable("the master cannot reach the lock service, and may not act until it does; try again")

    @switches
    def check_own(self) -> None:
        """Raises InvalidConfiguration when the files may be another cluster's. To be called before any is deleted."""
        self.check()
        check_same(self._session, self._fs)

    def admit(self) -> None:
        """Refuses a call of MasterService unless this process is the master. Unavailable: nothing was begun, so its
        caller may ask the master that there is now."""
        try:
            self.check()
        except LockLost as error:
            # Over the wire a LockLost counts as no answer: the caller would be told that the outcome is unknown.
            raise Unavailable(f"{error}; nothing was begun, ask that one") from error

    def start(self) -> None:
        self._task = supervise(self._runtime, self._watch_session, name="master's session")

    def end(self) -> None:
        """Nothing is told any more. Does not switch."""
        self._over = True

    @switches
    def stop(self) -> None:
        """Idempotent."""
        if self._task is not None:
            self._task.kill()
            self._task = None

    @switches
    def _watch_session(self) -> None:
        session, clock = self._session, self._runtime.clock_seconds
        confirmed = clock()
        while not self._over:
            if session.over():
                self._lose("the session ended")
                return
            if session.valid():
                confirmed = clock()
            elif self._epoch() and clock() - confirmed > self._suspended_seconds:
                self._lose("the lock service cannot be reached")
                return
            self._runtime.sleep(_LOOK_SECONDS)

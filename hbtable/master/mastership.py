"""The right to act as the master: its lock says who has it, and the session whether it holds now."""

from collections.abc import Callable
from typing import Final, final

from hbtable.errors import LockLost, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.identity import check_same
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import MASTER
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
        lose: Callable[[str], None],
    ) -> None:
        """`lose` is told why this process can be master no longer, and must not switch. `suspended_seconds`: how long a
        master may be without the lock service."""
        self.acting = False
        """Whether this process has the lock, as far as it knows, and has not given it up."""
        self._runtime = runtime
        self._session = session
        self._fs = fs
        self._suspended_seconds = suspended_seconds
        self._lose = lose
        self._over = self._resigned = False
        self._task: Task | None = None

    @switches
    def take(self, address: str) -> int:
        """The epoch of the lock, which this process has on return. Conflict: another one has it."""
        epoch = self._session.lock(MASTER, address.encode())
        self.acting = True
        return epoch

    @switches
    def resign(self) -> None:
        """Gives the lock up, if this process has it. What is still under way changes nothing from now on."""
        self._resigned = True
        if self.acting:
            self.acting = False
            self._session.unlock(MASTER)

    def check(self) -> None:
        """Raises Unavailable while this is not the master, or may not act; LockLost when it never may again."""
        if not self.acting:
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

    def check_change(self) -> None:
        """The same, for something that is under way already: who resigned never may again."""
        if self._resigned:
            raise LockLost("this master has stopped, and the next one is at work")
        self.check()

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
            elif self.acting and clock() - confirmed > self._suspended_seconds:
                self._lose("the lock service cannot be reached")
                return
            self._runtime.sleep(_LOOK_SECONDS)

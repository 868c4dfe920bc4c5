"""A tablet server whose lease has run out, but whose session may live on (paper, section 5.2; lockservice.interface).

The lock service cannot be reached. Until it can be reached again nobody knows whether this server still holds its lock.
So nothing is answered and nothing is committed: both wait. When the service confirms that the session never ended, the
answers computed meanwhile are right, because nobody else can have had the tablets.
"""

from typing import Final, final

from hbtable.errors import LockLost, Unavailable
from hbtable.lockservice.interface import Session
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_LOOK_SECONDS: Final = 0.02


@final
class Suspension:
    """Keeps answers and commits waiting while the lease has run out. `wait_seconds`: the longest wait."""

    def __init__(self, runtime: Runtime, session: Session, wait_seconds: float) -> None:
        self._runtime = runtime
        self._session = session
        self._wait_seconds = wait_seconds

    @switches
    def wait(self) -> bool:
        """True as soon as the session is valid, without a switch since it was; False when the time is up. LockLost when
        it is over. *Switches* unless it is valid."""
        session, runtime = self._session, self._runtime
        until = runtime.clock_seconds() + self._wait_seconds
        while not session.valid():
            if session.over():
                raise lock_lost()
            left = until - runtime.clock_seconds()
            if left <= 0:
                return False
            runtime.sleep(min(_LOOK_SECONDS, left))
        return True

    @switches
    def outwait(self) -> None:
        """As wait(), but Unavailable when the time is up: for what must not be begun meanwhile."""
        if not self.wait():
            raise _suspended()

    def refuse(self) -> None:
        """Unavailable while suspended, LockLost when over. Does not switch."""
        if not self._session.valid():
            raise lock_lost() if self._session.over() else _suspended()


def lock_lost() -> LockLost:
    return LockLost("this tablet server lost its lock and stops; its tablets move to other servers")


def _suspended() -> Unavailable:
    return Unavailable("this tablet server cannot reach the lock service, and may not act until it does; try again")

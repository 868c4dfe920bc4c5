"""A session of memory_lockservice.py as its process sees it, over a connection that may be cut.

The fake of ZooKeeper's sessions: it trusts its lease, not the service; a process that is cut off is suspended when the
lease has run out, and valid again if the service had not ended the session meanwhile; that it did is learned only where
the service can be reached. A change whose answer was lost was made all the same: OutcomeUnknown.
"""

from collections.abc import Callable
from typing import Final, TypeVar, final

from hbtable.errors import HbtableError, LockLost, OutcomeUnknown, Unavailable
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.lease import Lease
from hbtable.lockservice.sessions import LocalSession
from hbtable.runtime.interface import Runtime

T = TypeVar("T")

_ROUNDS_PER_SESSION: Final = 6
_MARGIN_SHARE: Final = 0.15
_LOOK_SECONDS: Final = 0.05


@final
class MemorySession:
    """Implements lockservice.interface.Session. Without a timeout the service never ends it by itself."""

    def __init__(
        self,
        inner: LocalSession,
        runtime: Runtime,
        timeout_seconds: float | None,
        call_seconds: float,
        reply_is_lost: Callable[[], bool],
    ) -> None:
        """`inner`: the service's side of it. `runtime`: of the process that owns it."""
        self.session_id = inner.session_id
        self.inner = inner
        self.requests_pass = True
        """Whether what the process sends arrives."""
        self.replies_pass = True
        self.heard_seconds = runtime.clock_seconds()
        """The time at which the service heard of the process last."""
        self._runtime = runtime
        self._timeout_seconds = timeout_seconds
        self._call_seconds = call_seconds
        self._reply_is_lost = reply_is_lost
        lease_seconds = float("inf") if timeout_seconds is None else timeout_seconds * (1 - _MARGIN_SHARE)
        self.lease = Lease(runtime.clock_seconds, lease_seconds)
        self.lease.renew(runtime.clock_seconds())
        self.valid = self.lease.valid
        self.over = self.lease.over
        if timeout_seconds is not None:
            runtime.spawn(self._keep, timeout_seconds / _ROUNDS_PER_SESSION, name=f"lease of {self.session_id}")

    # ------------------------------------------------------------ the port

    def lock(self, path: str, data: bytes = b"") -> int:
        return self._call(True, lambda: self.inner.lock(path, data))

    def unlock(self, path: str) -> None:
        self._call(True, lambda: self.inner.unlock(path))

    def holder(self, path: str) -> VersionedFile | None:
        return self._call(False, lambda: self.inner.holder(path))

    def create(self, path: str, data: bytes) -> None:
        self._call(True, lambda: self.inner.create(path, data))

    def read(self, path: str, latest: bool = False) -> VersionedFile:
        return self._call(False, lambda: self.inner.read(path))

    def write(self, path: str, data: bytes, expected_version: int) -> int:
        return self._call(True, lambda: self.inner.write(path, data, expected_version))

    def delete(self, path: str, expected_version: int = -1) -> None:
        self._call(True, lambda: self.inner.delete(path, expected_version))

    def list(self, folder: str) -> list[str]:
        return self._call(False, lambda: self.inner.list(folder))

    def watch(self, folder: str, changed: Callable[[], None]) -> None:
        self._call(False, lambda: self.inner.watch(folder, changed))

    def close(self) -> None:
        self.lease.end()
        if self.requests_pass:
            self.inner.close()

    # ------------------------------------------------------------ inside

    def _call(self, changes: bool, act: Callable[[], T]) -> T:
        if self.lease.over():
            raise LockLost(f"the lock service session {self.session_id} is over")
        until = self._runtime.clock_seconds() + self._call_seconds
        if not self._passes(until, lambda: self.requests_pass):
            raise Unavailable("the lock service does not answer; nothing was changed")
        self.heard_seconds = max(self.heard_seconds, self._runtime.clock_seconds())
        lost = self._reply_is_lost()
        try:
            answer = act()
        except LockLost:
            self._answered(changes, lost, until)
            self.lease.end()
            raise
        except HbtableError:
            self._answered(changes, lost, until)
            raise
        self._answered(changes, lost, until)
        return answer

    def _answered(self, changes: bool, lost: bool, until: float) -> None:
        """A lost answer leaves a doubt; so does a cut, unless it ends in time to look what happened."""
        if lost or not self._passes(until, lambda: self.replies_pass):
            raise (OutcomeUnknown if changes else Unavailable)("the lock service's answer was lost")

    def _passes(self, until: float, passes: Callable[[], bool]) -> bool:
        while not passes():
            left = until - self._runtime.clock_seconds()
            if left <= 0:
                return False
            self._runtime.sleep(min(_LOOK_SECONDS, left))
        return True

    def _keep(self, pause_seconds: float) -> None:
        while not self.lease.over():
            sent = self._runtime.clock_seconds()
            if self.requests_pass:
                alive = self.inner.valid()
                if alive:
                    self.heard_seconds = sent
                if self.replies_pass:
                    if not alive:
                        self.lease.end()
                        return
                    self.lease.renew(sent)
            self._runtime.sleep(pause_seconds)

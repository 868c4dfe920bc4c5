"""The lock service for tests and simulation: sessions can be cut off and expire, files survive simulated restarts.

Every call switches at least once, as a remote service's would, so that code which wrongly relies on its atomicity fails
under simulation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from hbtable.errors import InvalidRequest
from hbtable.lockservice.files import MemoryFiles
from hbtable.lockservice.interface import Session
from hbtable.lockservice.sessions import SessionTable
from hbtable.runtime.interface import Runtime
from hbtable.testing.memory_session import MemorySession


@dataclass(frozen=True, slots=True)
class MemoryLockOptions:
    """Options: how the simulated service treats its sessions."""

    session_seconds: float | None = None
    """Of the runtime's time without a sign of life after which a session ends. None: never by itself."""
    call_seconds: float = 2.0
    """After so long without an answer a call fails."""
    reply_is_lost: Callable[[], bool] = lambda: False
    """Asked at each call that arrived: whether its answer gets lost. Seeded by whoever simulates."""


@final
class MemoryLockService:
    """Implements lockservice.interface.LockService."""

    def __init__(
        self, runtime: Runtime, files: MemoryFiles | None = None, options: MemoryLockOptions | None = None
    ) -> None:
        self._runtime = runtime
        self._files = files or MemoryFiles()
        self._options = options or MemoryLockOptions()
        self._table = SessionTable(runtime, self._files, pause=lambda: runtime.sleep(0))
        self._sessions: list[MemorySession] = []

    def open_session(self, name: str, runtime: Runtime | None = None) -> Session:
        """`runtime`: of the simulated process that owns the session; its watches run there."""
        options, owner = self._options, runtime or self._runtime
        inner = self._table.open_session(name, owner)
        session = MemorySession(inner, owner, options.session_seconds, options.call_seconds, options.reply_is_lost)
        self._sessions.append(session)
        if options.session_seconds is not None:
            self._runtime.spawn(
                self._expire_when_silent, session, options.session_seconds, name=f"expiry of {session.session_id}"
            )
        return session

    def cut(self, session: Session, requests: bool = True, replies: bool = True) -> None:
        """Cuts a session off: what its process asks does not arrive from now on, or its answers do not."""
        own = self._own(session)
        own.requests_pass, own.replies_pass = not requests, not replies

    def heal(self, session: Session) -> None:
        """Everything passes again; the process learns soon whether its session lives."""
        self.cut(session, False, False)

    def end(self, session: Session) -> None:
        """The service ends the session now; its process learns of it where it can reach the service."""
        inner = self._own(session).inner
        inner.invalidate()
        self._table.end(inner)

    def expire(self, session: Session, lock_delay_seconds: float = 0.0) -> None:
        """As end(), but the process knows at once: valid() is False, over() True. The locks vanish `lock_delay_seconds`
        later (the service waits longer than the holder trusts its lease)."""
        own = self._own(session)
        own.lease.end()
        own.inner.invalidate()
        if lock_delay_seconds > 0:
            self._runtime.spawn(self._end_later, own, lock_delay_seconds, name=f"expiry of {own.session_id}")
        else:
            self._table.end(own.inner)

    def restarted(self, runtime: Runtime | None = None) -> "MemoryLockService":
        """The service for the next life: files and the counter stay, every session of this one is over."""
        for session in self._sessions:
            self.expire(session)
        return MemoryLockService(runtime or self._runtime, self._files, self._options)

    def _own(self, session: Session) -> MemorySession:
        if not isinstance(session, MemorySession):
            raise InvalidRequest("only sessions of this lock service can end here")
        return session

    def _end_later(self, session: MemorySession, delay_seconds: float) -> None:
        self._runtime.sleep(delay_seconds)
        self._table.end(session.inner)

    def _expire_when_silent(self, session: MemorySession, timeout_seconds: float) -> None:
        while session.inner.valid():
            left = session.heard_seconds + timeout_seconds - self._runtime.clock_seconds()
            if left <= 0:
                self.end(session)
                return
            self._runtime.sleep(left)

"""The lock service for tests and simulation: sessions can expire, files survive simulated restarts.

Every call switches at least once, as a remote service's would, so that code which wrongly relies on its atomicity fails
under simulation.
"""

from typing import final

from hbtable.errors import InvalidRequest
from hbtable.lockservice.files import MemoryFiles
from hbtable.lockservice.interface import Session
from hbtable.lockservice.sessions import LocalSession, SessionTable
from hbtable.runtime.interface import Runtime


@final
class MemoryLockService:
    """Implements lockservice.interface.LockService."""

    def __init__(self, runtime: Runtime, files: MemoryFiles | None = None) -> None:
        self._runtime = runtime
        self._files = files or MemoryFiles()
        self._table = SessionTable(runtime, self._files, pause=lambda: runtime.sleep(0))
        self._sessions: list[LocalSession] = []

    def open_session(self, name: str, runtime: Runtime | None = None) -> Session:
        """`runtime`: of the simulated process that owns the session; its watches run there."""
        session = self._table.open_session(name, runtime or self._runtime)
        self._sessions.append(session)
        return session

    def expire(self, session: Session, lock_delay_seconds: float = 0.0) -> None:
        """What happens to a process that lost its network: valid() is False at once, its locks vanish
        `lock_delay_seconds` later (the service waits longer than the holder trusts its lease)."""
        if not isinstance(session, LocalSession):
            raise InvalidRequest("only sessions of this lock service can expire here")
        session.invalidate()
        if lock_delay_seconds > 0:
            self._runtime.spawn(self._end_later, session, lock_delay_seconds, name=f"expiry of {session.session_id}")
        else:
            self._table.end(session)

    def _end_later(self, session: LocalSession, delay_seconds: float) -> None:
        self._runtime.sleep(delay_seconds)
        self._table.end(session)

    def restarted(self, runtime: Runtime | None = None) -> "MemoryLockService":
        """The service for the next life: files and the counter stay, every session of this one is over."""
        for session in self._sessions:
            session.invalidate()
            self._table.end(session)
        return MemoryLockService(runtime or self._runtime, self._files)

"""The lock service of a single machine: durable files below lockservice/ in the file system, locks in this process.

Other processes are kept out by the data folder's flock (fs/data_folder.py), so the sessions of this process are all
there are: none ends but by close() or with the process, and then no lock is left. Lock epochs and session ids grow
across restarts (files.py).
"""

from typing import final

from hbtable.fs.interface import FileSystem
from hbtable.lockservice.damaged import set_aside_damaged
from hbtable.lockservice.files import DurableFiles
from hbtable.lockservice.interface import Session
from hbtable.lockservice.sessions import LocalSession, SessionTable
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@final
class LocalLockService:
    """Implements lockservice.interface.LockService. A damaged file is Corruption when it is read, but for those that
    are set aside before the first session (damaged.py)."""

    def __init__(self, fs: FileSystem, runtime: Runtime) -> None:
        self._runtime = runtime
        self._sessions: list[LocalSession] = []
        self._files = DurableFiles(fs, runtime.wall_millis)
        self._table = SessionTable(runtime, self._files)
        self._looked = False

    @switches
    def open_session(self, name: str) -> Session:
        if not self._looked:
            self._looked = True
            set_aside_damaged(self._files)
        session = self._table.open_session(name, self._runtime)
        self._sessions.append(session)
        return session

    def end(self) -> None:
        """Every session is over: the data folder is not this process's any more. Does not switch."""
        for session in self._sessions:
            session.invalidate()

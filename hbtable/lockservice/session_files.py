"""A lock service's files through one of its sessions, for `hbtable check` and `hbtable repair`, which look at all."""

from typing import final

from hbtable.errors import Corruption, FileNotFound
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.switches import switches


@final
class SessionFiles:
    """Implements files.StoredFiles. Every call *switches*; Unavailable, OutcomeUnknown, LockLost."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @switches
    def load(self, path: str) -> VersionedFile | None:
        """None for a lock and for a folder, too. Corruption when something else wrote it."""
        try:
            return self._session.read(path)
        except FileNotFound:
            return None

    @switches
    def put(self, path: str, file: VersionedFile) -> None:
        """The version becomes what the service makes it."""
        try:
            before = self.load(path)
        except Corruption:
            self._session.delete(path)
            before = None
        if before is None:
            self._session.create(path, file.data)
        else:
            self._session.write(path, file.data, before.version)

    @switches
    def remove(self, path: str) -> None:
        self._session.delete(path)

    @switches
    def paths(self) -> list[str]:
        """Locks are left out."""
        return sorted(self._below("/"))

    @switches
    def _below(self, folder: str) -> list[str]:
        found = []
        for name in self._session.list(folder):
            path = f"{folder.rstrip('/')}/{name}"
            try:
                is_file = self.load(path) is not None
            except Corruption:
                is_file = True
            if is_file:
                found.append(path)
            found += self._below(path)
        return found

"""The lock service's small files as check and repair see them: in one machine's folder, or a cluster's lock service."""

from typing import Final, Protocol, final

from hbtable.errors import Corruption, FileNotFound, HbtableError, LockLost, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.files import EPOCHS, DurableFiles, StoredFiles, stored_path
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.lockservice.session_files import SessionFiles
from hbtable.switches import switches

IN_BACKUP: Final = "zookeeper"
"""The folder of a backup that has what stood in a cluster's lock service."""


class LockStore(StoredFiles, Protocol):
    """One caller at a time may change it."""

    kept_numbers: bool
    """Numbers of locks are kept in a file (EPOCHS), which may be damaged."""

    def place(self, path: str) -> str:
        """The name of this file for people."""

    def kept_as(self, path: str) -> str:
        """The file's name in a backup."""

    def held(self) -> None:
        """LockLost when somebody else may change the files by now. Before each change."""

    @switches
    def stored(self, path: str) -> bytes | None:
        """The file's bytes, sound or not, for the backup before it is changed; None: there is no such file. May
        switch."""

    @switches
    def numbers_damage(self) -> str:
        """The damage of EPOCHS, for people; "" when there is none. May switch. UnsupportedFormat."""


class _OverFiles:
    """Passes calls of both stores on to the files of the lock service."""

    _files: DurableFiles | SessionFiles

    @switches
    def load(self, path: str) -> VersionedFile | None:
        return self._files.load(path)

    @switches
    def put(self, path: str, file: VersionedFile) -> None:
        self._files.put(path, file)

    @switches
    def remove(self, path: str) -> None:
        self._files.remove(path)

    @switches
    def paths(self) -> list[str]:
        return self._files.paths()


@final
class FolderLockStore(_OverFiles):
    """Implements LockStore on one machine's folder, whose flock its owner holds."""

    kept_numbers = True

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs
        self._files: DurableFiles = DurableFiles(fs)

    def place(self, path: str) -> str:
        return stored_path(path)

    def kept_as(self, path: str) -> str:
        return stored_path(path)

    def held(self) -> None:
        return

    @switches
    def stored(self, path: str) -> bytes | None:
        try:
            return self._fs.read_file(stored_path(path))
        except FileNotFound:
            return None

    @switches
    def numbers_damage(self) -> str:
        try:
            if self._files.next_number() is None:
                return f"{EPOCHS} is not there: numbers that locks had would be given out again"
        except UnsupportedFormat:
            raise
        except HbtableError as error:
            return str(error)
        return ""


@final
class ClusterLockStore(_OverFiles):
    """Implements LockStore over a session. To change anything the session must hold the master's lock. The service
    itself sees to the numbers of locks."""

    kept_numbers = False

    def __init__(self, session: Session) -> None:
        self._session = session
        self._files = SessionFiles(session)

    def place(self, path: str) -> str:
        return f"{path} in the lock service"

    def kept_as(self, path: str) -> str:
        return f"{IN_BACKUP}/{stored_path(path).rsplit('/', 1)[1]}"

    def held(self) -> None:
        if not self._session.valid():
            raise LockLost("the lock service may have ended this session: another process may own the cluster by now")

    @switches
    def stored(self, path: str) -> bytes | None:
        try:
            file = self.load(path)
        except Corruption:
            return b""  # what something else wrote there
        return file.data if file is not None else None

    @switches
    def numbers_damage(self) -> str:
        return ""


@final
class LockStoreCopy:
    """Implements LockStore over another one, of which it takes what is read; changes stay in memory."""

    def __init__(self, base: LockStore) -> None:
        self.kept_numbers = base.kept_numbers
        self._base = base
        self._changed: dict[str, VersionedFile | None] = {}
        self.place = base.place
        self.kept_as = base.kept_as

    @switches
    def load(self, path: str) -> VersionedFile | None:
        return self._changed[path] if path in self._changed else self._base.load(path)

    def put(self, path: str, file: VersionedFile) -> None:
        self._changed[path] = file

    def remove(self, path: str) -> None:
        self._changed[path] = None

    @switches
    def paths(self) -> list[str]:
        changed = {path for path, file in self._changed.items() if file is not None}
        return sorted(changed | (set(self._base.paths()) - self._changed.keys()))

    def held(self) -> None:
        return

    @switches
    def stored(self, path: str) -> bytes | None:
        file = self._changed.get(path)
        return file.data if file is not None else self._base.stored(path)

    @switches
    def numbers_damage(self) -> str:
        return self._base.numbers_damage()

"""The lock service and the file system as a master has them: each change is behind the question whether it is still the
master (Mastership.check_change). METADATA's changes ask it in the catalog.

Asked in the same step as the change, so no switch before it can be the one at which the lock was lost, and whatever a
task of the master was at when that happened, it changes nothing more. Reads are not asked: they do no harm, and the
change that follows from them is.
"""

from collections.abc import Callable
from typing import final

from hbtable.fs.interface import NO_HINTS, AppendFile, FileSystem, PutHints
from hbtable.lockservice.interface import Session
from hbtable.switches import switches


@final
class OwnSession:
    """Implements lockservice.interface.Session. `check` raises when this is not the master."""

    def __init__(self, inner: Session, check: Callable[[], None]) -> None:
        self.session_id = inner.session_id
        self._inner, self._check = inner, check
        self.valid, self.over, self.holder, self.read = inner.valid, inner.over, inner.holder, inner.read
        self.list, self.watch, self.close = inner.list, inner.watch, inner.close
        self.unlock = inner.unlock
        """Gives up what this session has: nobody is harmed, and who could not would keep it."""

    @switches
    def lock(self, path: str, data: bytes = b"") -> int:
        self._check()
        return self._inner.lock(path, data)

    @switches
    def create(self, path: str, data: bytes) -> None:
        self._check()
        self._inner.create(path, data)

    @switches
    def write(self, path: str, data: bytes, expected_version: int) -> int:
        self._check()
        return self._inner.write(path, data, expected_version)

    @switches
    def delete(self, path: str, expected_version: int = -1) -> None:
        self._check()
        self._inner.delete(path, expected_version)


@final
class OwnFiles:
    """Implements fs.interface.FileSystem. `check` raises when this is not the master."""

    def __init__(self, inner: FileSystem, check: Callable[[], None]) -> None:
        self.log_kind = inner.log_kind
        self._inner, self._check = inner, check
        self.open, self.read_file, self.exists = inner.open, inner.read_file, inner.exists
        self.status, self.list_files = inner.status, inner.list_files

    @switches
    def create(self, path: str) -> AppendFile:
        self._check()
        return self._inner.create(path)

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        self._check()
        self._inner.write_file(path, data)

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        self._check()
        self._inner.put_new(path, data, hints)

    @switches
    def seal(self, path: str) -> int:
        self._check()
        return self._inner.seal(path)

    @switches
    def rename(self, source: str, target: str) -> None:
        self._check()
        self._inner.rename(source, target)

    @switches
    def delete(self, path: str) -> None:
        self._check()
        self._inner.delete(path)

    @switches
    def delete_folder(self, folder: str) -> None:
        self._check()
        self._inner.delete_folder(folder)

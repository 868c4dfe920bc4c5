"""A file system whose writes stay in memory: reads fall through to a base that is never changed.

For looking at a data folder with the ordinary recovery code (`hbtable check`), which sorts logs and loads tablets: it
must find everything and alter nothing.
"""

from typing import final

from hbtable.errors import AlreadyExists, FileNotFound
from hbtable.fs.interface import NO_HINTS, AppendFile, FileStatus, FileSystem, PutHints, RandomReadFile
from hbtable.switches import switches


@final
class OverlayFileSystem:
    """Implements fs.interface.FileSystem over `base` (read only) and `scratch` (everything written)."""

    def __init__(self, base: FileSystem, scratch: FileSystem) -> None:
        self.log_kind = base.log_kind
        self._base = base
        self._scratch = scratch
        self._deleted: set[str] = set()

    @switches
    def _in_base(self, path: str) -> bool:
        return path not in self._deleted and self._base.exists(path)

    @switches
    def _holder(self, path: str) -> FileSystem:
        if self._scratch.exists(path):
            return self._scratch
        if path in self._deleted:
            raise FileNotFound(f"{path} does not exist")
        return self._base

    @switches
    def create(self, path: str) -> AppendFile:
        if self._in_base(path):
            raise AlreadyExists(f"{path} already exists")
        return self._scratch.create(path)

    @switches
    def open(self, path: str) -> RandomReadFile:
        return self._holder(path).open(path)

    @switches
    def read_file(self, path: str) -> bytes:
        return self._holder(path).read_file(path)

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        self._scratch.write_file(path, data)

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        if self._in_base(path):
            raise AlreadyExists(f"{path} already exists")
        self._scratch.put_new(path, data)

    @switches
    def seal(self, path: str) -> int:
        """Nobody is kept from anything: the base is only looked at."""
        return self.status(path).length_bytes

    @switches
    def exists(self, path: str) -> bool:
        return self._scratch.exists(path) or self._in_base(path)

    @switches
    def status(self, path: str) -> FileStatus:
        return self._holder(path).status(path)

    @switches
    def list_files(self, folder: str) -> list[FileStatus]:
        found = {status.path: status for status in self._base.list_files(folder) if status.path not in self._deleted}
        found.update((status.path, status) for status in self._scratch.list_files(folder))
        return [found[path] for path in sorted(found)]

    @switches
    def rename(self, source: str, target: str) -> None:
        if self.exists(target):
            raise AlreadyExists(f"{target} already exists")
        self._scratch.write_file(target, self.read_file(source))
        self.delete(source)

    @switches
    def delete(self, path: str) -> None:
        if not self.exists(path):
            raise FileNotFound(f"{path} does not exist")
        if self._scratch.exists(path):
            self._scratch.delete(path)
        self._deleted.add(path)

    @switches
    def delete_folder(self, folder: str) -> None:
        for status in self.list_files(folder):
            self.delete(status.path)

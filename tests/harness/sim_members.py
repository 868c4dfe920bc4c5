"""A member of the lock service that is behind: what the processes that are connected to it read is old.

ZooKeeper's members answer reads by themselves. One that hears nothing of the leader goes on with what it had, for some
seconds; a slow one has seen at least what its clients changed, or asked it to sync. Changes, and the syncs by which
a session knows that it lives, are the leader's: whoever is cut off from that hears no more of them.
"""

from hbtable.errors import FileNotFound
from hbtable.lockservice.files import MemoryFiles
from hbtable.lockservice.interface import VersionedFile
from hbtable.testing.memory_lockservice import MemoryLockService

ANSWERS = frozenset(("holder", "read", "list"))


class BehindMember:
    """Answers as the service would have at the last catch_up()."""

    def __init__(self, service: MemoryLockService) -> None:
        self._table = service._table
        self.catch_up()

    def catch_up(self) -> None:
        files = self._table.files
        assert isinstance(files, MemoryFiles)
        self._files = dict(files._files)
        self._locks = {path: VersionedFile(held.data, held.epoch) for path, held in self._table.locks.items()}

    def holder(self, path: str) -> VersionedFile | None:
        return self._locks.get(path)

    def read(self, path: str, latest: bool = False) -> VersionedFile:
        assert not latest
        file = self._files.get(path)
        if file is None:
            raise FileNotFound(f"there is no file {path} in the lock service")
        return file

    def list(self, folder: str) -> list[str]:
        prefix = folder if folder.endswith("/") else f"{folder}/"
        paths = [*self._files, *self._locks]
        return sorted({path[len(prefix) :].split("/", 1)[0] for path in paths if path.startswith(prefix)})

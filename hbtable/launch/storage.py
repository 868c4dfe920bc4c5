"""The storage of a database of hbtable.open(): a data folder, one that is only read, or the memory of this process."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

from hbtable.errors import InvalidRequest
from hbtable.fs.data_folder import OPENED, UNSHARED, DataFolder, FolderForReading
from hbtable.fs.folder_socket import bind_in
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.fs.under_way import MarksFile
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.unix_sockets import let_go

MEMORY: Final = ":memory:"
"""The path of a database that ends with its handle."""

_REFUSAL: Final = (
    "the database {} was opened with read_only=True, and nothing in it can be changed: open it without that to write"
)


class Storage(ABC):
    """Belongs to one database from its opening to close()."""

    root: str
    folder_id: tuple[int, int] | None
    """fs.data_folder.folder_at() of the folder, wherever it is moved."""
    outlives: bool
    """Whether it is worth writing memtables out before the end."""

    @abstractmethod
    def check_held(self) -> None:
        """LockLost when another process may use it by now."""

    @abstractmethod
    def check_files(self) -> None:
        """LockLost when somebody else wrote over its files. As DataFolder.check_files."""

    def share(self) -> socket.socket:
        """A socket to listen at for other processes, until close(). InvalidRequest: it cannot be shared so."""
        raise InvalidRequest(
            "a database in memory, or opened with read_only=True, cannot be shared by its folder: serve() opens a port"
        )

    @abstractmethod
    def reached_by(self, ways_in: Sequence[str]) -> None:
        """Whoever wants the folder, too, is told how to connect to it."""

    @abstractmethod
    def cluster(self, runtime: Runtime, options: EmbeddedOptions) -> tuple[EmbeddedCluster, LocalLockService]:
        """In the hub. A cluster on this storage, which is not started yet, and the lock service below it."""

    def leave_to_parent(self) -> None:
        """In a forked child, which would keep other processes out for as long as it lives: it lets go of the lock."""
        return

    @abstractmethod
    def close(self) -> None:
        """After everything on it is closed."""


def storage_at(path: str, read_only: bool) -> Storage:
    """AlreadyExists: a process has it."""
    if path != MEMORY:
        return _Reading(path) if read_only else _Folder(path)
    if read_only:
        raise InvalidRequest(f"{MEMORY} is a new and empty database, and with read_only=True it would stay one")
    return _Memory()


class _OnDisk(Storage):
    """In a folder that this process holds."""

    def __init__(self, folder: DataFolder | FolderForReading) -> None:
        self.root, self.folder_id = folder.root, folder.id
        self._folder = folder

    def check_held(self) -> None:
        self._folder.check_held()

    def leave_to_parent(self) -> None:
        let_go([descriptor for descriptor in self._folder.descriptors if descriptor >= 0])

    def close(self) -> None:
        self._folder.close()


@final
class _Folder(_OnDisk):
    outlives = True

    def __init__(self, path: str) -> None:
        folder = DataFolder.open(path, UNSHARED)
        try:
            self._marks = MarksFile(path)
            self._held = folder
        except BaseException:
            folder.close()
            raise
        super().__init__(folder)

    def check_files(self) -> None:
        self._held.check_files()

    def share(self) -> socket.socket:
        _, descriptor = self._held.descriptors
        return bind_in(self.root, descriptor)

    def reached_by(self, ways_in: Sequence[str]) -> None:
        self._held.set_address(f"{OPENED}, {', '.join(ways_in)}")

    def cluster(self, runtime: Runtime, options: EmbeddedOptions) -> tuple[EmbeddedCluster, LocalLockService]:
        local = LocalFileSystem(self.root, runtime)
        local.belongs_to(self._held)
        lock_service = LocalLockService(local, runtime)
        return EmbeddedCluster(runtime, local, lock_service, options, room=local, marks=self._marks), lock_service

    def close(self) -> None:
        self._marks.close()
        super().close()


@final
class _Reading(_OnDisk):
    """Its database begins as any other, over an overlay: what the start would write stays in memory, and what would
    change the database afterwards is refused (rpc.read_only)."""

    outlives = False

    def __init__(self, path: str) -> None:
        folder = FolderForReading(path)
        try:
            folder.check_format()
        except BaseException:
            folder.close()
            raise
        super().__init__(folder)

    def check_files(self) -> None:
        """Nothing is written there."""

    def reached_by(self, ways_in: Sequence[str]) -> None:
        """The same."""

    def cluster(self, runtime: Runtime, options: EmbeddedOptions) -> tuple[EmbeddedCluster, LocalLockService]:
        local = LocalFileSystem(self.root, runtime)
        local.check_held = self.check_held
        overlay = OverlayFileSystem(local, MemoryFileSystem(runtime))
        lock_service = LocalLockService(overlay, runtime)
        return EmbeddedCluster(
            runtime, overlay, lock_service, options, refusal=_REFUSAL.format(self.root)
        ), lock_service


@final
class _Memory(Storage):
    """Nothing of it is on a disk, and no other process can have it."""

    outlives = False
    root = MEMORY
    folder_id = None

    def check_held(self) -> None:
        """It is."""

    def check_files(self) -> None:
        """Nobody else can reach them."""

    def reached_by(self, ways_in: Sequence[str]) -> None:
        """Nobody can want it."""

    def cluster(self, runtime: Runtime, options: EmbeddedOptions) -> tuple[EmbeddedCluster, LocalLockService]:
        memory = MemoryFileSystem(runtime)
        lock_service = LocalLockService(memory, runtime)
        collector = replace(options.collector, trash_bytes=1)  # no file fits: nobody could take one back
        return EmbeddedCluster(runtime, memory, lock_service, replace(options, collector=collector)), lock_service

    def close(self) -> None:
        """It goes with the objects."""

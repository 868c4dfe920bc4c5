"""The file system port over a folder of this machine (GFS's place in the paper, section 4).

Durability: a new file, a rename and a delete are followed by an fsync of the folder(s) before the call returns.
write_file writes and syncs `unfinished/<random>`, then renames it into place: a crash leaves the old content or the new
one, and at worst a file under unfinished/, which data_folder.py removes at the next start.

Where the time goes: appends and small reads run inline in the hub, because the page cache answers in about 10 us and a
hop to a thread costs 34 us; a read the page cache cannot answer holds the hub for one disk access. Everything that
waits for the disk by design (syncs, renames, deletes, listings), reads above 1 MiB and large appends, which take 2 ms a
MiB, run in threads: logs have kinds of their own, so that a big SSTable's sync cannot delay a commit.

Changes of names are atomic among the tasks of this process; data_folder.py's flock keeps other processes out.
"""

import contextlib
import os
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import (
    AlreadyExists,
    Corruption,
    FileNotFound,
    HbtableError,
    LockLost,
    OutOfSpace,
    StorageFailed,
)
from hbtable.fs import disk
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.descriptor_syncs import DescriptorSyncs
from hbtable.fs.interface import LOCAL, NO_HINTS, AppendFile, FileStatus, PutHints, RandomReadFile
from hbtable.fs.known_files import KnownFiles
from hbtable.fs.open_files import put_in_pieces
from hbtable.fs.paths import UNFINISHED, check_path, read_error, write_error
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_INLINE_READ_BYTES: Final = 1 << 20
INLINE_APPEND_BYTES: Final = 2 << 20
_INLINE_FILE_BYTES: Final = 64 << 10
"""Of files that are no log: nobody waits for them but a task of the server's own."""


@final
class LocalAppendFile:
    """An open file; its descriptor is closed only when no sync uses it any more."""

    __slots__ = (
        "_append_kind", "_closed", "_descriptor", "_descriptor_syncs", "_in_threads", "_inode", "_is_log", "_most",
        "_runtime", "_size", "_sync_kind", "_system", "_writes", "path",
    )  # fmt: skip

    def __init__(self, system: "LocalFileSystem", runtime: Runtime, path: str, descriptor: int) -> None:
        self.path = path
        self._system = system
        self._runtime = runtime
        self._descriptor = descriptor
        self._descriptor_syncs = DescriptorSyncs(descriptor)
        self._inode = os.fstat(descriptor).st_ino
        self._is_log = path.startswith("logs/")
        use = "log" if self._is_log else "file"
        self._sync_kind, self._append_kind = f"{use}-sync", f"{use}-append"
        self._in_threads = 0
        """Calls that use the descriptor in a thread."""
        self._writes = False
        """A thread appends, or the task was killed that waited for it: the file's end is not known."""
        self._size = self._most = 0
        """The bytes that are surely in the file, and those together with what is just being written."""
        self._closed = False
        system.known.growing.add(self)

    @switches
    def append(self, data: bytes) -> None:
        """Switches only when `data` are above 2 MiB, or above 64 KiB where this is no log. After an error a part of
        them may be in the file."""
        self._check_usable()
        if self._writes:
            raise StorageFailed(f"{self.path} has an end that is not known: nothing more can be appended to it")
        self._most = self._size + len(data)
        try:
            if len(data) > (INLINE_APPEND_BYTES if self._is_log else _INLINE_FILE_BYTES):
                self._append_in_thread(data)
            else:
                disk.append(self._descriptor, data)
            self._size = self._most
        except OSError as error:
            with contextlib.suppress(OSError):
                self._size = self._most = os.fstat(self._descriptor).st_size
            raise self._system.write_failed(error, self.path, "appending to") from error

    @switches
    def _append_in_thread(self, data: bytes) -> None:
        self._writes = True
        self._in_threads += 1
        try:
            self._runtime.offload(self._append_kind, disk.append, self._descriptor, data)
        except OSError:
            self._append_ended()
            raise
        # Not in a finally, as in sync().
        self._append_ended()

    def _append_ended(self) -> None:
        self._writes = False
        self._thread_ended()

    @switches
    def sync(self) -> None:
        self._check_usable()
        self._in_threads += 1
        try:
            self._runtime.offload(self._sync_kind, self._descriptor_syncs.sync_descriptor)
        except OSError as error:
            self._descriptor_syncs.failed = True
            self._thread_ended()
            raise StorageFailed(f"syncing {self.path} failed: {error.strerror or error}; restart to recover") from error
        # Not in a finally: when this task is killed the thread still uses the descriptor, which then stays open until
        # the process ends. Closing it could let the sync run on another file that got the same number.
        self._thread_ended()
        self._system.check_ours()  # what is in a folder that was moved away is not to be acknowledged

    def _thread_ended(self) -> None:
        self._in_threads -= 1
        if self._closed and not self._in_threads:
            os.close(self._descriptor)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._system.known.closed(self, self._size if self._size == self._most else None)
        if not self._in_threads:
            os.close(self._descriptor)

    def is_other(self) -> bool:
        """Whether it is longer or shorter than what was appended, or, of a log, its path leads to another file by now:
        somebody else wrote there. Other threads ask, too, while this one appends or closes."""
        least, growing = self._size, self._system.known.growing
        if self not in growing:
            return False
        try:
            # What is acknowledged rests on the log alone; other files may go while they are written, with their table.
            status = os.stat(f"{self._system.root}/{self.path}") if self._is_log else os.fstat(self._descriptor)
            other = status.st_ino != self._inode or not least <= status.st_size <= self._most
        except FileNotFoundError:
            other = True
        # If it was closed meanwhile, the descriptor may have been another file's.
        return other and self in growing

    def _check_usable(self) -> None:
        if self._closed or self._descriptor_syncs.failed:
            state = "is closed" if self._closed else "failed to sync earlier"
            raise StorageFailed(f"{self.path} {state}: nothing more can be written to it")


@final
class LocalReadFile:
    """An open immutable file. Readable until closed, also after its name is gone."""

    __slots__ = ("_descriptor", "_runtime", "length_bytes", "path")

    def __init__(self, runtime: Runtime, path: str, descriptor: int, length_bytes: int) -> None:
        self.path = path
        self.length_bytes = length_bytes
        self._runtime = runtime
        self._descriptor = descriptor

    @switches
    def read_at(self, offset: int, size: int) -> bytes:
        """Switches only when `size` is above 1 MiB."""
        try:
            if size > _INLINE_READ_BYTES:
                data = self._runtime.offload("file-read", disk.read_all, self._descriptor, offset, size)
            else:
                data = os.pread(self._descriptor, size, offset)
                if len(data) != size:
                    data = disk.read_all(self._descriptor, offset, size)
        except OSError as error:
            raise read_error(error, self.path) from error
        if len(data) != size:
            reason = f"{size} bytes are wanted from byte {offset} on, and only {len(data)} are there"
            raise Corruption(self.path, offset + len(data), reason)
        return data

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@final
class LocalFileSystem:
    """Implements fs.interface.FileSystem and Room below `root`, an existing folder."""

    log_kind = LOCAL

    def __init__(self, root: str, runtime: Runtime, private: bool = False) -> None:
        """`private`: nobody but the owner may read what is made here; else it is as the umask has it."""
        self.root = os.path.abspath(root)
        self._runtime = runtime
        self._private = private
        self.when_full: Callable[[], None] = _nobody
        self.check_held: Callable[[], None] = _nobody
        """DataFolder.check_held, for a folder that is locked."""
        self.known = KnownFiles(self.root)

    def belongs_to(self, folder: DataFolder) -> None:
        """Whatever is done here is done while the folder is held, and who looks after the folder hears of files that
        somebody else changed."""
        self.check_held, self.known.alone = folder.check_held, True
        folder.overwritten, folder.replaced = self.known.look_at_growing, self.known.look

    def check_ours(self) -> None:
        """StorageFailed when another folder lies at the path by now: nothing may be changed there."""
        try:
            self.check_held()
        except LockLost as error:
            raise StorageFailed(str(error)) from error

    def write_failed(self, error: OSError, path: str, doing: str) -> HbtableError:
        """Translates an error of a write. On a full disk it also tells whoever keeps room back."""
        meaning = write_error(error, path, doing)
        if isinstance(meaning, OutOfSpace):
            self.when_full()
        return meaning

    def _read_failed(self, error: OSError, path: str) -> HbtableError:
        """Of a failure that is the machine's, and of no damage, it says where the data folder is."""
        meaning = read_error(error, path)
        return meaning if isinstance(meaning, FileNotFound) else read_error(error, f"{self.root}/{path}".rstrip("/"))

    def free_bytes(self) -> int:
        numbers = os.statvfs(self.root)
        return numbers.f_bavail * numbers.f_frsize

    def total_bytes(self) -> int:
        numbers = os.statvfs(self.root)
        return numbers.f_blocks * numbers.f_frsize

    @switches
    def reserve(self, path: str, length_bytes: int) -> None:
        try:
            with self.known.change(path):
                self._runtime.offload("file-write", disk.reserve, self.root, self._absolute(path), length_bytes)
        except OSError as error:
            raise write_error(error, path, "reserving") from error

    @switches
    def shrink(self, path: str, length_bytes: int) -> None:
        try:
            with self.known.change(path):
                self._runtime.offload("file-write", disk.shrink, self._absolute(path), length_bytes)
        except OSError as error:
            raise write_error(error, path, "shrinking") from error

    def _absolute(self, path: str) -> str:
        check_path(path)
        self.check_ours()
        return f"{self.root}/{path}"

    @switches
    def create(self, path: str) -> AppendFile:
        absolute = self._absolute(path)
        try:
            descriptor = disk.create(self.root, absolute, self._private)
        except FileExistsError as error:
            raise AlreadyExists(f"{path} exists already") from error
        except OSError as error:
            raise self.write_failed(error, path, "creating") from error
        try:
            # Without this a crash could drop the name, and with it everything synced to the file later.
            with self.known.change(path):
                self._runtime.offload("file-write", disk.sync_folder_of, absolute)
        except OSError as error:
            os.close(descriptor)
            raise self.write_failed(error, path, "creating") from error
        return LocalAppendFile(self, self._runtime, path, descriptor)

    def open(self, path: str) -> RandomReadFile:
        """Never switches. Holds one file descriptor until closed."""
        absolute = self._absolute(path)
        try:
            descriptor = os.open(absolute, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._read_failed(error, path) from error
        length_bytes = os.fstat(descriptor).st_size
        self.known.opened(path, length_bytes)
        return LocalReadFile(self._runtime, path, descriptor, length_bytes)

    @switches
    def read_file(self, path: str) -> bytes:
        with contextlib.closing(self.open(path)) as file:
            data = file.read_at(0, file.length_bytes)
        self.known.whole(path, data)
        return data

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        absolute = self._absolute(path)
        temporary = f"{self.root}/{UNFINISHED}/{self._runtime.random.getrandbits(64):016x}"
        try:
            with self.known.change(path, data=data):
                self._runtime.offload("file-write", disk.replace, self.root, temporary, absolute, data, self._private)
        except OSError as error:
            raise self.write_failed(error, path, "writing") from error

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        """*Switches.*"""
        put_in_pieces(self, path, data)

    def seal(self, path: str) -> int:
        """Other processes are kept out by the data folder's flock, and no task of this one writes a dead log."""
        return self.status(path).length_bytes

    def exists(self, path: str) -> bool:
        try:
            self.status(path)
        except FileNotFound:
            return False
        return True

    def status(self, path: str) -> FileStatus:
        absolute = self._absolute(path)
        try:
            return disk.status(absolute, path)
        except OSError as error:
            raise self._read_failed(error, path) from error

    @switches
    def list_files(self, folder: str) -> list[FileStatus]:
        """An empty `folder` lists everything."""
        absolute = self._absolute(folder) if folder else self.root
        try:
            return self._runtime.offload("file-read", disk.list_files, self.root, absolute)
        except OSError as error:
            raise self._read_failed(error, folder) from error

    @switches
    def rename(self, source: str, target: str) -> None:
        absolute_source, absolute_target = self._absolute(source), self._absolute(target)
        try:
            # Inline and without a switch: looking for the target and renaming are one step for every other task.
            disk.rename(self.root, absolute_source, absolute_target)
        except FileNotFoundError as error:
            raise FileNotFound(f"there is no file {source} to rename to {target}") from error
        except FileExistsError as error:
            raise AlreadyExists(f"{target} exists already, so {source} keeps its name") from error
        except OSError as error:
            raise self.write_failed(error, source, "renaming") from error
        try:
            # The target's folder first: a crash in between must leave two names rather than none.
            with self.known.change(source, target):
                self._runtime.offload("file-write", disk.sync_folder_of, absolute_target, absolute_source)
        except OSError as error:
            raise self.write_failed(error, target, "renaming to") from error

    @switches
    def delete(self, path: str) -> None:
        absolute = self._absolute(path)
        try:
            with self.known.change(path):
                self._runtime.offload("file-write", disk.delete, absolute)
        except FileNotFoundError as error:
            raise FileNotFound(f"there is no file {path} to delete") from error
        except OSError as error:
            raise self.write_failed(error, path, "deleting") from error

    @switches
    def delete_folder(self, folder: str) -> None:
        absolute = self._absolute(folder)
        try:
            with self.known.change(folder=folder):
                self._runtime.offload("file-write", disk.delete_folder, absolute)
        except OSError as error:
            raise self.write_failed(error, folder, "deleting") from error


def _nobody() -> None:
    """Nobody keeps room back, or holds the folder."""

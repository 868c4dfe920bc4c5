"""The file system port in memory: for tests and simulation, with the crashes the port allows (memory_disk.py).

A MemoryFileSystem is one process's view of a MemoryDisk; several may share a disk, as servers share HDFS. `crash_clone`
is a loss of power: the disk as the next start finds it. `restarted` is the death of one process: everything it had
appended stays. After either, the old view and its open files raise StorageFailed, so nothing that dying tasks still do
becomes durable.

Waiting for the medium is runtime.offload: under simulation the effect happens at a random later time, and the caller
hears of it later still.
"""

import random
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import AlreadyExists, Corruption, FileNotFound, OutOfSpace, StorageFailed
from hbtable.fs.interface import LOCAL, NO_HINTS, AppendFile, FileStatus, PutHints, RandomReadFile
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.fs.open_files import put_in_pieces
from hbtable.fs.paths import check_path
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_ENDLESS: Final = 1 << 60
"""Bytes of a disk without a limit."""


@final
class MemoryAppendFile:
    """One open file, one writer."""

    __slots__ = ("_closed", "_content", "_system", "path")

    def __init__(self, system: "MemoryFileSystem", path: str, content: MemoryContent) -> None:
        self.path = path
        self._system = system
        self._content = content
        self._closed = False

    @switches
    def append(self, data: bytes) -> None:
        """Never switches. OutOfSpace leaves what still fitted, as a real disk does."""
        system, content = self._check_usable(), self._content
        content.check_unsealed(self.path)
        fitting = system.disk.room_for(len(data))
        content.content += data if fitting == len(data) else data[:fitting]
        content.append_ends.append(len(content.content))
        content.modified_millis = system.wall_millis()
        if fitting < len(data):
            system.disk.when_full()
            raise OutOfSpace(f"no room left while appending to {self.path}; make room, then try again")

    @switches
    def sync(self) -> None:
        system = self._check_usable()
        content = self._content
        # After a loss of power this reaches the old disk only: the next start works on a copy.
        content.check_unsealed(self.path)
        system.runtime.offload("log-sync", content.synced_up_to, len(content.content))
        system.check_alive()
        content.check_unsealed(self.path)

    def close(self) -> None:
        self._closed = True

    def _check_usable(self) -> "MemoryFileSystem":
        if self._closed:
            raise StorageFailed(f"{self.path} is closed: nothing more can be written to it")
        self._system.check_alive()
        return self._system


@final
class MemoryReadFile:
    """An open immutable file; readable until closed, also after its name is gone."""

    __slots__ = ("_content", "_system", "length_bytes", "path")

    def __init__(self, system: "MemoryFileSystem", path: str, content: MemoryContent) -> None:
        self.path = path
        self.length_bytes = len(content.content)
        self._system = system
        self._content = content

    def read_at(self, offset: int, size: int) -> bytes:
        """Never switches."""
        self._system.check_alive()
        data = bytes(memoryview(self._content.content)[offset : offset + size])
        if len(data) != size:
            reason = f"{size} bytes are wanted from byte {offset} on, and only {len(data)} are there"
            raise Corruption(self.path, offset + len(data), reason)
        return data

    def close(self) -> None:
        """Nothing is held."""


@final
class MemoryFileSystem:
    """Implements fs.interface.FileSystem over a MemoryDisk, its own unless one is handed in."""

    log_kind = LOCAL

    def __init__(
        self,
        runtime: Runtime,
        disk: MemoryDisk | None = None,
        capacity_bytes: int | None = None,
        wall_millis: Callable[[], int] | None = None,
    ) -> None:
        """`wall_millis`: of the machine that has the files, if that is another one."""
        self.runtime = runtime
        self._wall_millis = wall_millis
        self.disk = disk or MemoryDisk(capacity_bytes)
        self._detached = False

    @switches
    def wall_millis(self) -> int:
        """The time that files are stamped with."""
        return (self._wall_millis or self.runtime.wall_millis)()

    # ------------------------------------------------------------ crashes

    def check_alive(self) -> None:
        """StorageFailed after a crash."""
        if self._detached or self.disk.crashed:
            raise StorageFailed("the process that used this file system crashed")

    def crash_clone(
        self, chance: random.Random, tear: bool = True, runtime: Runtime | None = None
    ) -> "MemoryFileSystem":
        """The file system after a loss of power. Without `tear` unsynced appends survive or vanish whole."""
        return MemoryFileSystem(runtime or self.runtime, self.disk.after_power_loss(chance, tear))

    def restarted(self, runtime: Runtime | None = None) -> "MemoryFileSystem":
        """The file system for the next process after this one died: what was appended is there."""
        self._detached = True
        return MemoryFileSystem(runtime or self.runtime, self.disk)

    # ------------------------------------------------------------ the port

    @switches
    def create(self, path: str) -> AppendFile:
        """*Switches.*"""
        self._check(path)
        if path in self.disk.files:
            raise AlreadyExists(f"{path} exists already")
        self.disk.check_room(path, 1)
        content = MemoryContent(b"", 0, self.wall_millis())
        self._change_names({path: content})
        return MemoryAppendFile(self, path, content)

    def open(self, path: str) -> RandomReadFile:
        return MemoryReadFile(self, path, self._content(path))

    def read_file(self, path: str) -> bytes:
        return bytes(self._content(path).content)

    @switches
    def write_file(self, path: str, data: bytes) -> None:
        self._check(path)
        self.runtime.sleep(0)  # a real disk takes its time: others run before the new content is in place
        self._check(path)
        self.disk.check_room(path, len(data))
        self._change_names({path: MemoryContent(data, len(data), self.wall_millis())})

    @switches
    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        """*Switches.*"""
        put_in_pieces(self, path, data)

    @switches
    def seal(self, path: str) -> int:
        """*Switches.*"""
        content = self._content(path)
        self.runtime.offload("file-write", content.seal)
        self.check_alive()
        return len(content.content)

    def exists(self, path: str) -> bool:
        self._check(path)
        return path in self.disk.files

    def status(self, path: str) -> FileStatus:
        content = self._content(path)
        return FileStatus(path, len(content.content), content.modified_millis)

    def list_files(self, folder: str) -> list[FileStatus]:
        """An empty `folder` lists everything."""
        return [self.status(path) for path in sorted(self._below(folder))]

    @switches
    def rename(self, source: str, target: str) -> None:
        """*Switches.*"""
        content = self._content(source)
        self._check(target)
        if target in self.disk.files:
            raise AlreadyExists(f"{target} exists already, so {source} keeps its name")
        self._change_names({source: None, target: content})

    @switches
    def delete(self, path: str) -> None:
        """*Switches.*"""
        self._content(path)
        self._change_names({path: None})

    @switches
    def delete_folder(self, folder: str) -> None:
        """*Switches.*"""
        self._check(folder)
        self._change_names(dict.fromkeys(self._below(folder)))

    # ------------------------------------------------------------ its space

    @property
    def when_full(self) -> Callable[[], None]:
        return self.disk.when_full

    @when_full.setter
    def when_full(self, told: Callable[[], None]) -> None:
        self.disk.when_full = told

    def free_bytes(self) -> int:
        return self.disk.room_for(_ENDLESS)

    def total_bytes(self) -> int:
        return _ENDLESS if self.disk.capacity_bytes is None else self.disk.capacity_bytes

    @switches
    def reserve(self, path: str, length_bytes: int) -> None:
        """*Switches.*"""
        self._check(path)
        there = len(self.disk.files[path].content) if path in self.disk.files else 0
        self.disk.check_room(path, length_bytes - there)
        self._change_names({path: MemoryContent(bytes(length_bytes), length_bytes, self.wall_millis())})

    @switches
    def shrink(self, path: str, length_bytes: int) -> None:
        """*Switches.*"""
        self._content(path)
        self._change_names({path: MemoryContent(bytes(length_bytes), length_bytes, self.wall_millis())})

    # ------------------------------------------------------------ inside

    def _check(self, path: str) -> None:
        check_path(path)
        self.check_alive()

    def _content(self, path: str) -> MemoryContent:
        self._check(path)
        content = self.disk.files.get(path)
        if content is None:
            raise FileNotFound(f"there is no file {path}")
        return content

    def _below(self, folder: str) -> list[str]:
        self.check_alive()
        if not folder:
            return list(self.disk.files)
        check_path(folder)
        return [path for path in self.disk.files if path.startswith(f"{folder}/")]

    @switches
    def _change_names(self, after: dict[str, MemoryContent | None]) -> None:
        change = self.disk.change_names(after)
        self.runtime.offload("file-write", self.disk.names_settled, change)
        self.check_alive()

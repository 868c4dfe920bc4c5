"""The shared file system of a simulated cluster as one process sees it: slow, at times out of reach, full, or stuck.

What is in files goes between a process and the DataNodes, everything else to the NameNode; each may be out of reach
alone. A call that does not get through ends after a deadline: reads with Unavailable; writes with Stalled, after which
they may have happened, or still happen. What a process appended and never synced may be gone after its death, as on
HDFS.
"""

from collections.abc import Callable
from typing import Any

from hbtable.errors import HbtableError, Stalled, Unavailable
from hbtable.fs.interface import NO_HINTS, AppendFile, FileStatus, PutHints, RandomReadFile
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryContent
from tests.harness.sim_network import DATANODES, NAMENODE, STORAGE, Network
from tests.harness.sim_sessions import Owner

_DEADLINE = 1.0
_BOTH = (NAMENODE, DATANODES)


class SimStorage:
    """Implements fs.interface.FileSystem over a view of the shared disk."""

    def __init__(self, inner: MemoryFileSystem, network: Network, owner: Owner, log_kind: str) -> None:
        self.log_kind = log_kind
        self.inner = inner
        self.slow_log_seconds = 0.0
        """What a sync of a log file takes at most, on top."""
        self._network = network
        self._owner = owner
        self._writing: list[MemoryContent] = []

    def died(self) -> None:
        """The process is gone: nothing more arrives, and unsynced ends may be lost."""
        self.inner.restarted()
        for content in self._writing:
            keep = self._network.chance.randint(content.synced_bytes, len(content.content))
            if not content.sealed and keep < len(content.content):
                del content.content[keep:]

    # ------------------------------------------------------------ the port

    def create(self, path: str) -> AppendFile:
        file = self._write(self.inner.create, path)
        content = self.inner.disk.files.get(path)
        if content is not None:  # others may have declared this process dead meanwhile, and deleted its log
            self._writing.append(content)
        return SimAppendFile(self, file)

    def open(self, path: str) -> RandomReadFile:
        return SimReadFile(self, self._read(self.inner.open, path))

    def read_file(self, path: str) -> bytes:
        return self._read(self.inner.read_file, path, ends=_BOTH)

    def write_file(self, path: str, data: bytes) -> None:
        self._write(self.inner.write_file, path, data, ends=_BOTH)

    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        self.log_delay(path)
        self._write(self.inner.put_new, path, data, ends=_BOTH)

    def seal(self, path: str) -> int:
        return self._read(self.inner.seal, path)

    def exists(self, path: str) -> bool:
        return self._read(self.inner.exists, path)

    def status(self, path: str) -> FileStatus:
        return self._read(self.inner.status, path)

    def list_files(self, folder: str) -> list[FileStatus]:
        return self._read(self.inner.list_files, folder)

    def rename(self, source: str, target: str) -> None:
        self._write(self.inner.rename, source, target)

    def delete(self, path: str) -> None:
        self._write(self.inner.delete, path)

    def delete_folder(self, folder: str) -> None:
        self._write(self.inner.delete_folder, folder)

    # ------------------------------------------------------------ ways

    def log_delay(self, path: str) -> None:
        if self.slow_log_seconds and path.startswith("logs/"):
            self._owner.runtime.sleep(self._network.chance.uniform(0, self.slow_log_seconds))

    def read_delay(self) -> None:
        self._owner.runtime.sleep(self._network.chance.uniform(0, 0.008))

    def _read(self, method: Callable[..., Any], *arguments: Any, ends: tuple[str, ...] = (NAMENODE,)) -> Any:
        runtime, network, name = self._owner.runtime, self._network, self._owner.name
        runtime.sleep(network.delay() / 4)
        if all(network.passes(name, end) for end in ends):
            answer = method(*arguments)
            if network.answers(STORAGE, name) and all(network.passes(end, name) for end in ends):
                return answer
        runtime.sleep(_DEADLINE)
        raise Unavailable(f"the file system did not answer {arguments[:1]}")

    def _write(self, method: Callable[..., Any], *arguments: Any, ends: tuple[str, ...] = (NAMENODE,)) -> Any:
        runtime, network, name = self._owner.runtime, self._network, self._owner.name
        runtime.sleep(network.delay() / 4)
        if all(network.passes(name, end) for end in ends):
            answer = method(*arguments)
            if network.answers(STORAGE, name) and all(network.passes(end, name) for end in ends):
                return answer
        elif network.chance.random() < 0.2:  # queued somewhere on the way, it arrives long after it was given up
            runtime.spawn(self._late, method, arguments, name="late write")
        runtime.sleep(_DEADLINE)
        raise Stalled(f"the file system did not answer {arguments[:1]}")

    def _late(self, method: Callable[..., Any], arguments: Any) -> None:
        self._owner.runtime.sleep(self._network.chance.uniform(0, 3 * _DEADLINE))
        try:
            method(*arguments)
        except HbtableError:
            pass  # nobody listens

    def reach(self, method: Callable[..., Any], *arguments: Any, writes: bool = False) -> Any:
        """The DataNodes."""
        reach = self._write if writes else self._read
        return reach(method, *arguments, ends=(DATANODES,))


class SimAppendFile:
    """Appends stay in the client's buffers; the way to the storage is that of sync."""

    def __init__(self, storage: SimStorage, inner: AppendFile) -> None:
        self.path = inner.path
        self._storage = storage
        self._inner = inner

    def append(self, data: bytes) -> None:
        self._inner.append(data)

    def sync(self) -> None:
        self._storage.log_delay(self.path)
        self._storage.reach(self._inner.sync, writes=True)

    def close(self) -> None:
        self._inner.close()


class SimReadFile:
    """Each read is a request of its own."""

    def __init__(self, storage: SimStorage, inner: RandomReadFile) -> None:
        self.path = inner.path
        self.length_bytes = inner.length_bytes
        self._storage = storage
        self._inner = inner

    def read_at(self, offset: int, size: int) -> bytes:
        self._storage.read_delay()
        return self._storage.reach(self._inner.read_at, offset, size)

    def close(self) -> None:
        self._inner.close()

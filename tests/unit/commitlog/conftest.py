"""A log on a simulated machine: seeded scheduler, virtual time, a file system in memory that fails on request."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import LogRecord, encode_record
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.errors import HbtableError
from hbtable.fs.interface import LOCAL, AppendFile, FileStatus, RandomReadFile
from hbtable.fs.memory import MemoryFileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Task
from hbtable.testing.simulated.runtime import SimulatedRuntime

T = TypeVar("T")
FOLDER = "logs/server-1"


class TrickyFile:
    """An open file whose appends and syncs fail when its file system is told so."""

    def __init__(self, system: "TrickyFileSystem", file: AppendFile) -> None:
        self.path = file.path
        self._system = system
        self._file = file
        self._syncs = 0

    def append(self, data: bytes) -> None:
        self._system.before_append()
        if self._system.bugs:
            raise self._system.bugs.pop()
        if self._system.append_errors:
            error, kept_bytes = self._system.append_errors.pop(0)
            self._file.append(data[:kept_bytes])
            raise error
        self._file.append(data)

    def sync(self) -> None:
        self._system.syncs += 1
        self._system.before_sync()
        if self._system.sync_errors:
            raise self._system.sync_errors.pop(0)
        self._syncs += 1
        self._file.sync()
        self._syncs -= 1

    def close(self) -> None:
        if self._syncs:
            self._system.closed_while_syncing += 1
        self._file.close()


class TrickyFileSystem:
    """A MemoryFileSystem with errors to come. append_errors: (error, how many bytes reach the file before it)."""

    log_kind = LOCAL

    def __init__(self, inner: MemoryFileSystem) -> None:
        self.inner = inner
        self.append_errors: list[tuple[HbtableError, int]] = []
        self.sync_errors: list[HbtableError] = []
        self.create_errors: list[HbtableError] = []
        self.delete_errors: list[HbtableError] = []
        self.bugs: list[Exception] = []
        self.before_append: Callable[[], object] = lambda: None
        self.before_sync: Callable[[], object] = lambda: None
        self.closed_while_syncing = 0
        self.syncs = 0
        self.reads: list[tuple[str, int, int]] = []
        self.listing_error: HbtableError | None = None

    def create(self, path: str) -> AppendFile:
        if self.create_errors:
            raise self.create_errors.pop(0)
        return TrickyFile(self, self.inner.create(path))

    def open(self, path: str) -> RandomReadFile:
        return CountedReads(self, self.inner.open(path))

    def read_file(self, path: str) -> bytes:
        return self.inner.read_file(path)

    def write_file(self, path: str, data: bytes) -> None:
        self.inner.write_file(path, data)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def status(self, path: str) -> FileStatus:
        return self.inner.status(path)

    def list_files(self, folder: str) -> list[FileStatus]:
        if self.listing_error is not None:
            raise self.listing_error
        return self.inner.list_files(folder)

    def rename(self, source: str, target: str) -> None:
        self.inner.rename(source, target)

    def delete(self, path: str) -> None:
        if self.delete_errors:
            raise self.delete_errors.pop(0)
        self.inner.delete(path)

    def delete_folder(self, folder: str) -> None:
        self.inner.delete_folder(folder)


class CountedReads:
    def __init__(self, system: TrickyFileSystem, file: RandomReadFile) -> None:
        self.path = file.path
        self.length_bytes = file.length_bytes
        self._system = system
        self._file = file

    def read_at(self, offset: int, size: int) -> bytes:
        self._system.reads.append((self.path, offset, size))
        return self._file.read_at(offset, size)

    def close(self) -> None:
        self._file.close()


class LogBench:
    """One machine with one log. What is committed is noted in `applied` or `refused` by its callbacks."""

    def __init__(self, seed: int = 1) -> None:
        self.folder = FOLDER
        self.runtime = SimulatedRuntime(seed)
        self.memory = MemoryFileSystem(self.runtime)
        self.fs = TrickyFileSystem(self.memory)
        self.registry = Registry()
        self.applied: list[tuple[int, int]] = []
        self.refused: list[tuple[int, int]] = []

    def run(self, main: Callable[..., T], *arguments: object) -> T:
        return self.runtime.run(main, *arguments)

    def writer(self, **options: object) -> LogWriter:
        """Inside run()."""
        return LogWriter(self.runtime, self.fs, FOLDER, LogOptions(**options), self.registry)  # type: ignore[arg-type]

    def commit(
        self, log: LogWriter, tablet_id: int, sequence: int, value: bytes = b"value", follows: bool = False
    ) -> None:
        record, change = make_record(tablet_id, sequence, value), (tablet_id, sequence)
        log.commit(
            tablet_id,
            sequence,
            record,
            lambda: self.applied.append(change),
            refused=lambda: self.refused.append(change),
            follows=follows,
        )

    def begin(
        self, log: LogWriter, tablet_id: int, sequence: int, value: bytes = b"value", follows: bool = False
    ) -> Task:
        """A task that is inside commit() on return."""
        inside: list[bool] = []

        def client() -> None:
            inside.append(True)
            self.commit(log, tablet_id, sequence, value, follows)

        task = self.runtime.spawn(client)
        while not inside:
            self.runtime.sleep(0)
        return task

    def written(self) -> list[tuple[int, int]]:
        """Inside run(): (tablet, sequence) of what recovery reads."""
        return [(record.tablet_id, record.sequence) for record in self.records()]

    def records(self) -> Iterator[LogRecord]:
        return read_log(self.fs, FOLDER)

    def segments(self) -> list[str]:
        """Whatever holds groups; not the high-water mark."""
        paths = sorted(path for path in self.memory.disk.files if path.startswith(FOLDER))
        return [path[len(FOLDER) + 1 :] for path in paths if not path.endswith("/synced")]

    def content(self, number: int) -> bytearray:
        """The very bytes of a segment, to damage them in place."""
        return self.memory.disk.files[f"{FOLDER}/{number:010d}.log"].content


def make_record(tablet_id: int, sequence: int, value: bytes = b"value", row: bytes = b"row") -> bytes:
    return encode_record(tablet_id, 1, sequence, 0, [(row + b"\x00\x01f\x00q\x00\x01" + bytes(18), value)])


@pytest.fixture
def bench() -> LogBench:
    return LogBench()


@pytest.fixture
def bench_of() -> type[LogBench]:
    """For tests that go through many seeds."""
    return LogBench


@pytest.fixture
def record_of() -> Callable[..., bytes]:
    return make_record

"""A client is killed while its sync runs in a thread, on the real file system and a disk that fails when told to."""

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.errors import StorageFailed
from hbtable.fs import disk
from hbtable.fs.local import LocalFileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Task

RECORD = encode_record(1, 1, 1, 0, [(b"row\x00\x01f\x00q\x00\x01" + bytes(18), b"value")])


class SlowDisk:
    """Its next sync begins and stays until it is told how to end; all others succeed."""

    def __init__(self) -> None:
        self.is_next = False
        self.began = threading.Event()
        self.may_end = threading.Event()
        self.error: OSError | None = None
        self.beside = 0
        """Syncs that came while the slow one had not ended."""

    def sync_descriptor(self, _: int) -> None:
        if not self.is_next:
            self.beside += self.began.is_set() and not self.may_end.is_set()
            return
        self.is_next = False
        self.began.set()
        assert self.may_end.wait(60)
        if self.error is not None:
            raise self.error


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close()


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    slow = SlowDisk()
    monkeypatch.setattr(disk, "sync_descriptor", slow.sync_descriptor)
    return slow


def killed_in_its_sync(runtime: GeventRuntime, log: LogWriter, slow: SlowDisk, applied: list[int]) -> Task:
    """A commit of a task that is killed on return, while its sync runs on."""
    slow.is_next = True
    client = runtime.spawn(log.commit, 1, 1, RECORD, lambda: applied.append(1))
    while not slow.began.is_set():
        runtime.sleep(0.001)
    client.kill()
    return client


def test_a_sync_that_fails_after_its_task_was_killed_is_the_end_of_the_log(
    runtime: GeventRuntime, slow_disk: SlowDisk, tmp_path: Path
) -> None:
    applied: list[int] = []
    log = LogWriter(runtime, LocalFileSystem(str(tmp_path), runtime), "logs/a", LogOptions(mark_seconds=0), Registry())
    slow_disk.error = OSError(errno.EIO, "Input/output error")
    killed_in_its_sync(runtime, log, slow_disk, applied)
    other = runtime.spawn(log.commit, 1, 2, RECORD, lambda: applied.append(2))
    runtime.sleep(0.01)
    assert slow_disk.beside == 0
    slow_disk.may_end.set()
    assert other.join(60)
    assert isinstance(other.error, StorageFailed)
    with pytest.raises(StorageFailed, match="restart this tablet server"):
        log.commit(1, 3, RECORD, lambda: applied.append(3))
    assert applied == []
    with pytest.raises(StorageFailed):
        log.close()


def test_a_sync_that_ends_well_after_its_task_was_killed_acknowledges_nothing_before(
    runtime: GeventRuntime, slow_disk: SlowDisk, tmp_path: Path
) -> None:
    applied: list[int] = []
    log = LogWriter(runtime, LocalFileSystem(str(tmp_path), runtime), "logs/a", LogOptions(mark_seconds=0), Registry())
    killed_in_its_sync(runtime, log, slow_disk, applied)
    other = runtime.spawn(log.commit, 1, 2, RECORD, lambda: applied.append(2))
    runtime.sleep(0.01)
    assert (applied, slow_disk.beside) == ([], 0)
    slow_disk.may_end.set()
    assert other.join(60)
    assert other.error is None
    assert applied == [1, 2]
    log.close()


def test_a_sync_beside_the_commits_may_come_while_a_large_one_is_appended(
    runtime: GeventRuntime, tmp_path: Path
) -> None:
    fs = LocalFileSystem(str(tmp_path), runtime)
    log = LogWriter(runtime, fs, "logs/a", LogOptions(durability="os", sync_every_bytes=1, mark_seconds=0), Registry())
    applied: list[int] = []
    records = [
        encode_record(1, 1, number, 0, [(b"row\x00\x01f\x00q\x00\x01" + bytes(18), bytes(3 << 20))])
        for number in range(1, 5)
    ]

    def commit(number: int, record: bytes) -> None:
        log.commit(1, number, record, lambda: applied.append(number))

    tasks = [runtime.spawn(commit, number, record) for number, record in enumerate(records, 1)]
    for task in tasks:
        task.join()
        assert task.error is None
    assert applied == [1, 2, 3, 4]
    log.close()
    assert [record.sequence for record in read_log(fs, "logs/a")] == applied

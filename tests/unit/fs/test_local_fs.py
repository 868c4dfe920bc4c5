"""What only the local adapter has: real descriptors, leftovers, threads of their own for logs."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from hbtable.errors import FileNotFound, OutOfSpace, StorageFailed, Unavailable
from hbtable.fs import disk
from hbtable.fs.local import INLINE_APPEND_BYTES, LocalFileSystem
from hbtable.fs.paths import read_error, write_error
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.simulated.runtime import SimulatedRuntime

T = TypeVar("T")


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close()


class Recorder:
    """A runtime whose offloaded work is written down, and made to fail where a test says so."""

    def __init__(self, inner: SimulatedRuntime) -> None:
        self.random = inner.random
        self.wall_millis, self.clock_seconds = inner.wall_millis, inner.clock_seconds
        self.spawn, self.sleep, self.event, self.lock = inner.spawn, inner.sleep, inner.event, inner.lock
        self.kinds: list[tuple[str, str]] = []
        self.errors: dict[str, OSError] = {}

    def offload(self, kind: str, function: Callable[..., T], *arguments: object) -> T:
        self.kinds.append((kind, function.__name__))
        if function.__name__ in self.errors:
            raise self.errors.pop(function.__name__)
        return function(*arguments)


def test_logs_sync_in_threads_of_their_own(tmp_path: Path) -> None:
    recorder = Recorder(SimulatedRuntime(1))
    fs = LocalFileSystem(str(tmp_path), recorder)
    for path in ("logs/a/1", "tables/1/2.sst"):
        file = fs.create(path)
        file.sync()
        file.close()
    assert [kind for kind, name in recorder.kinds if name == "sync_descriptor"] == ["log-sync", "file-sync"]
    assert ("file-write", "sync_folder_of") in recorder.kinds


def test_large_appends_run_in_threads_and_keep_the_order(tmp_path: Path) -> None:
    recorder = Recorder(SimulatedRuntime(1))
    fs = LocalFileSystem(str(tmp_path), recorder)
    large = bytes(INLINE_APPEND_BYTES) + b"end"
    for path in ("logs/a/1", "tables/1/2.sst"):
        file = fs.create(path)
        for data in (b"first", large, b"last"):
            file.append(data)
        assert not file.is_other()
        file.close()
        assert fs.read_file(path) == b"first" + large + b"last"
    assert [kind for kind, name in recorder.kinds if name == "append"] == ["log-append", "file-append"]


def test_a_large_append_that_finds_the_disk_full_says_so_and_the_file_lives(tmp_path: Path) -> None:
    recorder = Recorder(SimulatedRuntime(1))
    fs = LocalFileSystem(str(tmp_path), recorder)
    file = fs.create("logs/a")
    recorder.errors["append"] = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OutOfSpace, match="no room left while appending to logs/a"):
        file.append(bytes(INLINE_APPEND_BYTES + 1))
    file.append(b"x")
    file.close()
    assert fs.read_file("logs/a") == b"x"


def test_a_file_whose_large_append_was_killed_takes_nothing_more_and_its_descriptor_stays(
    runtime: GeventRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    append = disk.append

    def slow(descriptor: int, data: bytes) -> None:
        assert may_end.wait(60)
        append(descriptor, data)

    monkeypatch.setattr(disk, "append", slow)
    fs = LocalFileSystem(str(tmp_path), runtime)
    file = fs.create("logs/a")
    task = runtime.spawn(file.append, bytes(INLINE_APPEND_BYTES + 1))
    runtime.sleep(0)
    assert not file.is_other()
    task.kill()
    assert not file.is_other()
    with pytest.raises(StorageFailed, match="has an end that is not known"):
        file.append(b"x")
    file.sync()
    file.close()
    opened = [number for number in os.listdir("/proc/self/fd") if _leads_to(number, tmp_path / "logs/a")]
    may_end.set()
    assert len(opened) == 1
    while os.fstat(int(opened[0])).st_size <= INLINE_APPEND_BYTES:
        runtime.sleep(0.001)  # the thread must not write to another file of that number
    assert not file.is_other()
    os.close(int(opened[0]))


def test_after_a_failed_sync_the_file_is_never_used_again(tmp_path: Path) -> None:
    recorder = Recorder(SimulatedRuntime(1))
    fs = LocalFileSystem(str(tmp_path), recorder)
    file = fs.create("logs/a")
    file.append(b"lost")
    recorder.errors["sync_descriptor"] = OSError(errno.EIO, "Input/output error")
    with pytest.raises(StorageFailed, match="Input/output error"):
        file.sync()
    with pytest.raises(StorageFailed, match="failed to sync earlier"):
        file.sync()
    with pytest.raises(StorageFailed, match="failed to sync earlier"):
        file.append(b"x")
    file.close()


def test_a_full_disk_during_write_file_leaves_the_old_content(tmp_path: Path) -> None:
    recorder = Recorder(SimulatedRuntime(1))
    fs = LocalFileSystem(str(tmp_path), recorder)
    fs.write_file("a", b"old")
    recorder.errors["replace"] = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OutOfSpace, match="no room left while writing a"):
        fs.write_file("a", b"new")
    assert fs.read_file("a") == b"old"


def test_a_real_full_device_is_out_of_space(runtime: GeventRuntime, tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    fs = LocalFileSystem(str(tmp_path), runtime)
    file = fs.create("a")
    full = os.open("/dev/full", os.O_WRONLY)
    # The file's own descriptor now leads to a device that is always full.
    opened = [number for number in os.listdir("/proc/self/fd") if _leads_to(number, tmp_path / "a")]
    os.dup2(full, int(opened[0]))
    with pytest.raises(OutOfSpace):
        file.append(b"x")
    file.close()
    os.close(full)


def _leads_to(number: str, path: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{number}") == str(path)
    except OSError:
        return False


def test_closing_during_a_sync_waits_for_it(runtime: GeventRuntime, tmp_path: Path) -> None:
    fs = LocalFileSystem(str(tmp_path), runtime)
    before = len(os.listdir("/proc/self/fd"))
    file = fs.create("logs/a")
    file.append(b"x" * 1000)
    task = runtime.spawn(file.sync)
    runtime.sleep(0)
    file.close()
    task.join()
    assert task.error is None
    assert len([number for number in os.listdir("/proc/self/fd") if _leads_to(number, tmp_path / "logs/a")]) == 0
    assert len(os.listdir("/proc/self/fd")) >= before


def test_what_an_interrupted_write_left_is_not_listed(runtime: GeventRuntime, tmp_path: Path) -> None:
    fs = LocalFileSystem(str(tmp_path), runtime)
    fs.write_file("a", b"x")
    (tmp_path / "unfinished" / "0123").write_bytes(b"half")
    fs.write_file("b/unfinished/c", b"y")
    assert [status.path for status in fs.list_files("")] == ["a", "b/unfinished/c"]


def test_operating_system_errors_become_ours() -> None:
    assert isinstance(write_error(OSError(errno.EDQUOT, "quota"), "a", "writing"), OutOfSpace)
    assert isinstance(write_error(OSError(errno.EIO, "io"), "a", "writing"), StorageFailed)
    assert isinstance(read_error(OSError(errno.ENOENT, "no"), "a"), FileNotFound)
    assert isinstance(read_error(OSError(errno.EIO, "io"), "a"), Unavailable)


def test_a_listing_that_fails_raises_instead_of_being_partial(tmp_path: Path) -> None:
    recorder = Recorder(SimulatedRuntime(1))
    fs = LocalFileSystem(str(tmp_path), recorder)
    fs.write_file("a/b", b"")
    recorder.errors["list_files"] = OSError(errno.EIO, "Input/output error")
    with pytest.raises(Unavailable, match="Input/output error"):
        fs.list_files("a")


def test_what_may_not_be_read_is_named_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fs = LocalFileSystem(str(tmp_path), SimulatedRuntime(1))

    def refused(path: str, flags: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(Unavailable, match=f"reading {tmp_path}/cluster failed: Permission denied; let this user do it"):
        fs.open("cluster")

"""The native adapter over a real HDFS whose DataNodes are killed and frozen: nothing hangs, nothing synced is lost."""

import statistics
import time
from collections.abc import Iterator

import pytest

from hbtable.errors import FileNotFound, Stalled, StorageFailed, Unavailable
from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.interface import AppendFile
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.real_servers import HdfsServers
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually, in_time

pytestmark = pytest.mark.alone


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close(grace_seconds=0.1)  # stuck threads are given up


@pytest.fixture
def fs(hdfs_servers: HdfsServers, own_folder: str, runtime: GeventRuntime) -> HdfsNativeFileSystem:
    return _connect(hdfs_servers, own_folder, runtime)


def _connect(
    servers: HdfsServers, folder: str, runtime: GeventRuntime, before: str = "", log_sync_seconds: float = 1.0
) -> HdfsNativeFileSystem:
    options = HdfsNativeOptions(replication=2, log_sync_seconds=log_sync_seconds)
    return HdfsNativeFileSystem(runtime, f"{before}{servers.host}:{servers.port}", folder, options)


def _lasts(call: object) -> float:
    assert callable(call)
    started = time.monotonic()
    call()
    return time.monotonic() - started


@pytest.mark.parametrize("fault", taking_turns(["kill", "freeze"], 2))
def test_a_lost_datanode_stalls_a_log_for_its_deadline_and_loses_nothing(
    fs: HdfsNativeFileSystem, hdfs_servers: HdfsServers, own_folder: str, runtime: GeventRuntime, fault: str
) -> None:
    # Two copies on three DataNodes: with two of these frozen every log stalls, with one killed some may.
    eventually(lambda: _writes(fs, hdfs_servers.datanodes), 2 * SOON_SECONDS, "DataNodes that all answer")
    logs = [_synced(fs, f"logs/a/{number}", b"acknowledged") for number in range(8)]
    if fault == "kill":
        hdfs_servers.kill_datanode(1)
    else:
        hdfs_servers.freeze_datanode(1)
        hdfs_servers.freeze_datanode(2)
    stalled = 0
    syncs: list[float] = []
    closes: list[float] = []
    try:
        for log in logs:
            log.append(b" more")
            started = time.monotonic()
            try:
                log.sync()
            except Stalled:
                stalled += 1
            syncs.append(time.monotonic() - started)
            closes.append(_lasts(log.close))
        # This process or its machine may stand still in one of them.
        assert statistics.median(syncs) < in_time(1.5)
        assert statistics.median(closes) < in_time(0.2), "it waits for nothing"
        assert max(syncs + closes) < SOON_SECONDS
        if fault == "freeze":
            assert stalled == len(logs)
            hdfs_servers.thaw_datanode(2)
        # Files put whole get past it under other names.
        assert _lasts(lambda: fs.write_file("b", b"content")) < in_time(33)
        assert fs.read_file("b") == b"content"
        fencer = _connect(hdfs_servers, own_folder, runtime)
        for log in logs:
            length = fencer.seal(log.path)
            assert fencer.read_file(log.path) in (b"acknowledged", b"acknowledged more")
            assert length in (12, 17)
    finally:
        if fault == "kill":
            hdfs_servers.restart_datanode(1)
        else:
            hdfs_servers.thaw_datanode(1)
            hdfs_servers.thaw_datanode(2)


def test_reads_go_on_with_a_datanode_frozen(fs: HdfsNativeFileSystem, hdfs_servers: HdfsServers) -> None:
    eventually(lambda: _writes(fs, hdfs_servers.datanodes), 2 * SOON_SECONDS, "DataNodes that all answer")
    content = bytes(range(256)) * 1024
    for number in range(6):
        fs.write_file(f"f{number}", content)
        path = fs.absolute(f"f{number}")
        eventually(lambda path=path: hdfs_servers.copies(path) >= 2, SOON_SECONDS, f"two copies of {path}")
    files = [fs.open(f"f{number}") for number in range(6)]
    reads: list[float] = []
    hdfs_servers.freeze_datanode(2)
    try:
        for file in files:
            started = time.monotonic()
            assert file.read_at(1000, 65536) == content[1000:66536]
            reads.append(time.monotonic() - started)
    finally:
        hdfs_servers.thaw_datanode(2)
    assert statistics.median(reads) < in_time(6)
    assert max(reads) < SOON_SECONDS


def test_a_zombie_cannot_write_to_a_sealed_log(
    hdfs_servers: HdfsServers, own_folder: str, runtime: GeventRuntime
) -> None:
    # What ends the log is the seal, and not a machine that stood still for a second.
    log = _connect(hdfs_servers, own_folder, runtime, log_sync_seconds=20.0).create("logs/a/1")
    acknowledged = 0

    def write() -> None:
        nonlocal acknowledged
        while True:
            log.append(b"%08d" % acknowledged)
            log.sync()
            acknowledged += 1

    writer = runtime.spawn(write)
    while acknowledged <= 5:
        runtime.sleep(0.05)
        assert writer.error is None
    fencers = [_connect(hdfs_servers, own_folder, runtime) for _ in range(2)]
    lengths: list[int] = []
    for task in [runtime.spawn(lambda fencer=fencer: lengths.append(fencer.seal("logs/a/1"))) for fencer in fencers]:
        task.join()
    assert writer.join(SOON_SECONDS)
    assert isinstance(writer.error, Stalled)
    content = fencers[0].read_file("logs/a/1")
    assert lengths == [len(content)] * 2
    assert content.startswith(b"".join(b"%08d" % number for number in range(acknowledged)))
    with pytest.raises(StorageFailed):
        log.append(b"more")


def test_the_second_of_two_namenodes_is_found(
    hdfs_servers: HdfsServers, own_folder: str, runtime: GeventRuntime
) -> None:
    fs = _connect(hdfs_servers, own_folder, runtime, before="localhost:1,")
    fs.write_file("a", b"content")
    assert fs.read_file("a") == b"content"


def test_a_namenode_that_is_away_is_unavailable_and_comes_back(
    fs: HdfsNativeFileSystem, hdfs_servers: HdfsServers
) -> None:
    fs.write_file("a", b"content")
    hdfs_servers.kill_namenode()
    try:
        started = time.monotonic()
        with pytest.raises(Unavailable):
            fs.status("a")
        with pytest.raises((Unavailable, StorageFailed)):
            fs.create("b")
        assert time.monotonic() - started < in_time(25)
    finally:
        hdfs_servers.restart_namenode()

    def back() -> bool:
        try:
            return fs.read_file("a") == b"content"
        except (Unavailable, FileNotFound):
            return False

    eventually(back, 2 * SOON_SECONDS, "the NameNode's answers")
    eventually(lambda: _writes(fs, 1), 2 * SOON_SECONDS, "the end of safe mode")


def _synced(fs: HdfsNativeFileSystem, path: str, content: bytes) -> AppendFile:
    """A file with this content; under other names when a DataNode that just came back is slow."""
    for attempt in range(20):
        log = fs.create(f"{path}-{attempt}")
        log.append(content)
        try:
            log.sync()
        except Stalled:
            continue
        return log
    raise AssertionError("no file could be synced")


def _writes(fs: HdfsNativeFileSystem, times: int) -> bool:
    """Some files can be written in a row."""
    try:
        for _ in range(times * 3):
            fs.put_new(f"try/{fs.runtime.random.getrandbits(64):016x}", b"x")
    except (Unavailable, StorageFailed):
        return False
    return True

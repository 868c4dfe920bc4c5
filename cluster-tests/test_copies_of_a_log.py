"""A DataNode of a real HDFS dies under a log to which nothing is written: what was acknowledged gets its second copy
back, while its server lives and without a write."""

from collections.abc import Iterator

import pytest

from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import fence, is_fenced
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding.cell_key import cell_key
from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.opened import FileSystemOptions, close_file_system, open_file_system
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.real_servers import HdfsServers
from tests.harness.tiers import long_test, taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

INCARNATION = "server-1"
KEY = cell_key(b"row", b"cf", b"column", 1_700_000_000_000, 8, 77)


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close(grace_seconds=0.1)


@pytest.mark.parametrize("place", taking_turns([0, -1], 2), ids=["first", "last"])
def test_a_log_at_rest_gets_its_second_copy_back(
    hdfs_servers: HdfsServers, own_folder: str, runtime: GeventRuntime, place: int
) -> None:
    fs = HdfsNativeFileSystem(runtime, f"{hdfs_servers.host}:{hdfs_servers.port}", own_folder)
    lost: list[bool] = []
    log = open_log(
        runtime,
        fs,
        INCARNATION,
        LogOptions(),
        Registry(),
        lambda: is_fenced(fs, INCARNATION),
        lambda: lost.append(True),
    )
    log.commit(20, 1, encode_record(20, 1, 1, 0, [(KEY, b"v")]), lambda: None)
    folder = log_folder(INCARNATION)

    def files() -> list[str]:
        return [f"{own_folder}/{file.path}" for file in fs.list_files(folder) if file.path.endswith(".log")]

    before = next(nodes for path in reversed(files()) if (nodes := hdfs_servers.pipeline(path)))
    victim = before[place]
    hdfs_servers.kill_datanode(victim)
    try:

        def safe() -> bool:
            # The log's own tasks run meanwhile, also while the NameNode takes its time to answer.
            return all(runtime.offload("look", _safe, hdfs_servers, path, victim) for path in files())

        eventually(safe, 3 * SOON_SECONDS, "two copies of the log")
        log.commit(20, 2, encode_record(20, 1, 2, 0, [(KEY, b"v")]), lambda: None)
        log.close()
    finally:
        hdfs_servers.restart_datanode(victim)
    assert not lost
    manifest = fence(runtime, fs, INCARNATION)
    assert [record.sequence for record in read_log(fs, folder, manifest)] == [1, 2]


def _safe(servers: HdfsServers, path: str, dead: int) -> bool:
    """Written through two DataNodes that live, or closed, so that HDFS makes a copy again by itself."""
    nodes = servers.pipeline(path)
    return not nodes or (dead not in nodes and len(nodes) == 2)


@long_test("a pipeline that shrank")
def test_a_pipeline_that_shrank_to_one_copy_is_left_when_there_is_a_datanode_again(
    hdfs_servers: HdfsServers, own_folder: str, runtime: GeventRuntime
) -> None:
    web = f"{hdfs_servers.host}:{hdfs_servers.http_port}"
    options = FileSystemOptions(hdfs=HdfsNativeOptions(web_addresses=web))
    fs = open_file_system(hdfs_servers.hdfs(own_folder), runtime, options)
    registry, folder = Registry(), log_folder(INCARNATION)
    often = LogOptions(copies_check_seconds=0.5)
    log = open_log(runtime, fs, INCARNATION, often, registry, lambda: False, lambda: None)
    log.commit(20, 1, encode_record(20, 1, 1, 0, [(KEY, b"v")]), lambda: None)

    def copies() -> float:
        runtime.sleep(0.05)
        return next(value for name, _, value in registry.gauges() if name == "hbtable_log_copies")

    def pipelines() -> list[list[int]]:
        files = [f"{own_folder}/{file.path}" for file in fs.list_files(folder) if file.path.endswith(".log")]
        return [nodes for path in files if (nodes := hdfs_servers.pipeline(path))]

    eventually(lambda: copies() == 2, SOON_SECONDS, "two copies")
    log.commit(20, 2, encode_record(20, 1, 2, 0, [(KEY, b"v")]), lambda: None)  # it may be between two segments
    left = pipelines()[-1][0]
    dead = [number for number in range(1, hdfs_servers.datanodes + 1) if number != left]
    for number in dead:
        hdfs_servers.kill_datanode(number)
    try:
        eventually(lambda: copies() == 1, SOON_SECONDS, "one copy is counted")
        log.commit(20, 3, encode_record(20, 1, 3, 0, [(KEY, b"v")]), lambda: None)
    finally:
        for number in dead:
            hdfs_servers.restart_datanode(number)
    eventually(lambda: copies() == 2, SOON_SECONDS, "two copies again, though nobody wrote")
    log.close()
    manifest = fence(runtime, fs, INCARNATION)
    assert [record.sequence for record in read_log(fs, folder, manifest)] == [1, 2, 3]
    close_file_system(fs)

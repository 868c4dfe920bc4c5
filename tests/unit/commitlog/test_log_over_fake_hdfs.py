"""A commit log through the native adapter over its fake while a DataNode is killed or frozen: stalls are short, nothing
is lost, also when another process fences the log meanwhile."""

import pytest

from hbtable.commitlog.interface import CommitLog
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import fence, is_fenced
from hbtable.commitlog.recovery.manifest import Manifest
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding.cell_key import cell_key
from hbtable.errors import HbtableError, Unavailable
from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.metrics.registry import Registry
from hbtable.testing.fake_hdfs.native_client import FakeHdfsClient
from hbtable.testing.fake_hdfs.native_cluster import FakeHdfs, FakeHdfsQuirks
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls
from tests.harness.tiers import quick_first

INCARNATION = "server-1"
KEY = cell_key(b"row", b"cf", b"column", 1_700_000_000_000, 8, 77)


def connect(cluster: FakeHdfs, runtime: SimulatedRuntime, name: str) -> HdfsNativeFileSystem:
    client = FakeHdfsClient(cluster, runtime, name)
    return HdfsNativeFileSystem(runtime, "fake:8020", "/hbtable", client=client, calls=TaskCalls(runtime))


def unfenced_log(runtime: SimulatedRuntime, fs: HdfsNativeFileSystem) -> CommitLog:
    return open_log(runtime, fs, INCARNATION, LogOptions(), Registry(), lambda: False, lambda: None)


def fenced_at_last(runtime: SimulatedRuntime, fs: HdfsNativeFileSystem) -> Manifest:
    """Beside a DataNode that is lost it may take a master several tries."""
    while True:
        try:
            return fence(runtime, fs, INCARNATION)
        except Unavailable:
            runtime.sleep(1)


@pytest.mark.parametrize("fenced", [False, True], ids=["", "fenced"])
@pytest.mark.parametrize("seed", quick_first(range(12), 4, 6))
def test_commits_go_on_when_a_node_is_lost_and_none_is(seed: int, fenced: bool) -> None:
    runtime = SimulatedRuntime(seed)
    cluster = FakeHdfs(runtime, FakeHdfsQuirks(repeated=0.02))
    acknowledged: set[tuple[int, int]] = set()
    longest = [0.0]
    lost: list[bool] = []

    def body() -> None:
        fs = connect(cluster, runtime, "server")

        def see() -> bool:
            return is_fenced(fs, INCARNATION)

        log = open_log(runtime, fs, INCARNATION, LogOptions(), Registry(), see, lambda: lost.append(True))
        end = runtime.clock_seconds() + 6

        def client(tablet: int) -> None:
            for sequence in range(1, 100_000):
                if runtime.clock_seconds() > end:
                    return
                started = runtime.clock_seconds()
                try:
                    log.commit(tablet, sequence, encode_record(tablet, 1, sequence, 0, [(KEY, b"v")]), lambda: None)
                except HbtableError:
                    assert fenced
                    return
                longest[0] = max(longest[0], runtime.clock_seconds() - started)
                acknowledged.add((tablet, sequence))
                runtime.sleep(0.01)

        clients = [runtime.spawn(client, 20 + number) for number in range(3)]
        runtime.sleep(runtime.random.uniform(0.5, 1))
        (cluster.kill if seed % 2 else cluster.freeze)(seed % 3)
        master = connect(cluster, runtime, "master")
        if fenced:
            runtime.sleep(runtime.random.uniform(0, 1))
            manifest = fenced_at_last(runtime, master)
        for task in clients:
            task.join()
            assert task.error is None
        if not fenced:
            log.close()
            manifest = fenced_at_last(runtime, master)
        found = {(record.tablet_id, record.sequence) for record in read_log(master, log_folder(INCARNATION), manifest)}
        assert acknowledged <= found
        assert len(acknowledged) > 50

    runtime.run(body)
    assert bool(lost) == fenced
    if not fenced:
        assert longest[0] < 4


@pytest.mark.parametrize("seed", quick_first(range(12), 4, 4))
def test_a_log_at_rest_leaves_nothing_on_a_datanode_that_died(seed: int) -> None:
    runtime = SimulatedRuntime(seed)
    cluster = FakeHdfs(runtime)

    def body() -> None:
        fs = connect(cluster, runtime, "server")
        log = unfenced_log(runtime, fs)
        log.commit(20, 1, encode_record(20, 1, 1, 0, [(KEY, b"v")]), lambda: None)
        (written,) = cluster.names.files().values()
        died = runtime.random.choice(list(cluster.block(written).replicas))
        cluster.kill(cluster.nodes.index(died))
        runtime.sleep(5)
        assert written.holder != "server"  # taken from its writer: HDFS makes a copy again of what nobody writes
        runtime.sleep(20)
        assert written.holder == ""
        log.commit(20, 2, encode_record(20, 1, 2, 0, [(KEY, b"v")]), lambda: None)
        log.close()
        manifest = fence(runtime, connect(cluster, runtime, "master"), INCARNATION)
        found = [record.sequence for record in read_log(fs, log_folder(INCARNATION), manifest)]
        assert found == [1, 2]

    runtime.run(body)


@pytest.mark.parametrize("seed", quick_first(range(12), 4, 4))
def test_what_the_log_leaves_is_sealed_while_its_server_lives(seed: int) -> None:
    runtime = SimulatedRuntime(seed)
    cluster = FakeHdfs(runtime)

    def body() -> None:
        fs = connect(cluster, runtime, "server")
        log = unfenced_log(runtime, fs)
        for sequence in range(1, 400):
            log.commit(20, sequence, encode_record(20, 1, sequence, 0, [(KEY, b"v")]), lambda: None)
            runtime.sleep(0.1)
            if sequence == 20:
                (cluster.kill if seed % 2 else cluster.freeze)(seed % 3)
        files = cluster.names.files()
        still_open = [path for path, file in files.items() if "/logs/" in path and file.holder]
        assert len(still_open) == 1, still_open
        log.close()

    runtime.run(body)

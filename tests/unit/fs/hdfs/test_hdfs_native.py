"""The native HDFS adapter over its fake: deadlines, given up writers, and what the real client gets wrong."""

import sys
from collections.abc import Callable

import pytest

from hbtable.errors import (
    AlreadyExists,
    FileNotFound,
    InvalidConfiguration,
    OutOfSpace,
    Stalled,
    StorageFailed,
    Unavailable,
)
from hbtable.fs.blocking_calls import MOST_HANGING
from hbtable.fs.hdfs import client as hdfs_native_client
from hbtable.fs.hdfs.client import NativePanic, guarded
from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.hdfs.files import NativeReadFile
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.hdfs.threads import WriterThreads
from hbtable.fs.interface import AppendFile
from hbtable.testing.fake_hdfs.native_client import FakeHdfsClient, PanicException
from hbtable.testing.fake_hdfs.native_cluster import FakeDataNode, FakeHdfs, FakeHdfsQuirks
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls
from tests.harness.tiers import quick_first


class World:
    """A pretended cluster and one process that uses it."""

    def __init__(
        self, seed: int = 1, quirks: FakeHdfsQuirks | None = None, nodes: int = 3, replication: int = 2
    ) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.cluster = FakeHdfs(self.runtime, quirks or FakeHdfsQuirks(), nodes)
        self.options = HdfsNativeOptions(replication=replication, log_replication=replication)
        self.fs = self.another("first")

    def another(self, name: str) -> HdfsNativeFileSystem:
        """The file system of another process on the same cluster."""
        client = FakeHdfsClient(self.cluster, self.runtime, name)
        return HdfsNativeFileSystem(
            self.runtime, "fake:8020", "/hbtable", self.options, client, TaskCalls(self.runtime)
        )

    def run(self, body: Callable[[], None]) -> None:
        self.runtime.run(body)

    def lasts(self, call: Callable[[], object]) -> float:
        started = self.runtime.clock_seconds()
        call()
        return self.runtime.clock_seconds() - started

    def replicas(self, path: str) -> list[FakeDataNode]:
        return list(self.cluster.block(self.cluster.names.file(f"/hbtable/{path}")).replicas)

    def log_on(self, number: int) -> AppendFile:
        """An open log whose pipeline has this DataNode, and which synced "good"."""
        while True:
            file = self.fs.create(f"logs/a/{self.runtime.random.getrandbits(32):08x}")
            file.append(b"good")
            file.sync()
            node = self.cluster.nodes[number]
            if node in self.replicas(file.path):
                return file
            file.close()


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_a_sync_that_hangs_is_given_up_after_its_deadline(fault: str) -> None:
    world = World()

    def body() -> None:
        file = world.log_on(0)
        getattr(world.cluster, fault)(0)
        file.append(b"lost?")

        def sync() -> None:
            with pytest.raises(Stalled, match=file.path.rpartition("/")[2] + "|no answer within 1"):
                file.sync()

        assert 0.9 < world.lasts(sync) < 1.1
        with pytest.raises(StorageFailed, match="failed earlier"):
            file.append(b"more")
        with pytest.raises(StorageFailed, match="failed earlier"):
            file.sync()
        assert world.lasts(file.close) == 0, "closing must not wait for the thread that hangs"

    world.run(body)


def test_one_hanging_writer_does_not_block_the_others() -> None:
    world = World()

    def body() -> None:
        hanging = world.log_on(0)
        world.cluster.freeze(0)
        hanging.append(b"x")
        task = world.runtime.spawn(hanging.sync)
        while True:
            other = world.fs.create(f"logs/a/{world.runtime.random.getrandbits(32):08x}")
            other.append(b"y")
            try:
                other.sync()
                break
            except Stalled:
                continue
        assert world.lasts(other.sync) < 0.1
        task.join()
        assert isinstance(task.error, Stalled)

    world.run(body)


def test_syncs_that_waited_behind_one_that_hangs_fail_with_it() -> None:
    world = World()

    def body() -> None:
        file = world.log_on(0)
        world.cluster.kill(0)
        tasks = []
        for data in (b"one", b"two"):
            file.append(data)
            tasks.append(world.runtime.spawn(file.sync))
        assert world.lasts(lambda: [task.join() for task in tasks]) < 1.2
        assert [type(task.error) for task in tasks] == [Stalled, Stalled]

    world.run(body)


def test_a_killed_task_leaves_no_second_call_beside_its_own() -> None:
    world = World()

    def body() -> None:
        file = world.log_on(0)
        world.cluster.freeze(0)
        file.append(b"one")
        task = world.runtime.spawn(file.sync)
        world.runtime.sleep(0.1)
        task.kill()
        with pytest.raises(StorageFailed, match="failed earlier"):
            file.sync()

    world.run(body)


def test_a_sealed_file_takes_nothing_more_from_its_writer() -> None:
    world = World()

    def body() -> None:
        file = world.fs.create("logs/a/1")
        file.append(b"acknowledged")
        file.sync()
        file.append(b"not")
        fencer = world.another("fencer")
        assert fencer.seal("logs/a/1") == 12
        with pytest.raises(Stalled):
            file.sync()
        assert fencer.read_file("logs/a/1") == b"acknowledged"
        assert fencer.seal("logs/a/1") == 12, "any number may seal it"
        with pytest.raises(FileNotFound):
            fencer.seal("logs/a/2")

    world.run(body)


def test_even_an_empty_sync_of_a_sealed_file_fails() -> None:
    world = World()

    def body() -> None:
        file = world.fs.create("logs/a/1")
        world.another("fencer").seal("logs/a/1")
        with pytest.raises(Stalled):
            file.sync()

    world.run(body)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_acknowledged_that_a_seal_leaves_out(seed: int) -> None:
    world = World(seed)

    def body() -> None:
        file = world.log_on(0)
        acknowledged = [b"good"]

        def write() -> None:
            for number in range(100_000):
                file.append(b"%05d" % number)
                file.sync()
                acknowledged.append(b"%05d" % number)

        writer = world.runtime.spawn(write)
        world.runtime.sleep(world.runtime.random.uniform(0, 0.05))
        fencers = [world.another(f"fencer {number}") for number in range(2)]
        lengths: list[int] = []
        tasks = [world.runtime.spawn(lambda fs=fs: lengths.append(fs.seal(file.path))) for fs in fencers]
        for task in (*tasks, writer):
            task.join()
        content = fencers[0].read_file(file.path)
        assert lengths == [len(content)] * 2
        assert content.startswith(b"".join(acknowledged))
        assert isinstance(writer.error, Stalled)

    world.run(body)


@pytest.mark.parametrize("seed", quick_first(range(20), 6, 6))
def test_sealing_keeps_all_that_was_acknowledged_with_a_node_gone(seed: int) -> None:
    world = World(seed)

    def body() -> None:
        file = world.log_on(0)
        acknowledged = b"good"

        def write() -> None:
            nonlocal acknowledged
            for number in range(1000):
                file.append(b"%04d" % number)
                file.sync()
                acknowledged += b"%04d" % number

        writer = world.runtime.spawn(write)
        world.runtime.sleep(world.runtime.random.uniform(0, 0.05))
        (world.cluster.kill if seed % 2 else world.cluster.freeze)(0)
        fencer = world.another("fencer")
        length = fencer.seal(file.path)
        content = fencer.read_file(file.path)
        assert len(content) == length
        assert content.startswith(acknowledged)
        assert len(content) - len(acknowledged) in (0, 4)
        writer.join()
        assert isinstance(writer.error, Stalled)

    world.run(body)


def test_a_seal_has_an_end() -> None:
    world = World()

    def body() -> None:
        file = world.log_on(0)
        for number in range(3):
            world.cluster.kill(number)

        def seal() -> None:
            with pytest.raises(Unavailable, match="could not be sealed within 60 s"):
                world.another("fencer").seal(file.path)

        assert 60 <= world.lasts(seal) < 75

    world.run(body)


def test_a_file_being_written_reads_as_unavailable_and_never_as_short() -> None:
    world = World()

    def body() -> None:
        file = world.fs.create("a")
        assert world.fs.read_file("a") == b""
        file.append(b"abc")
        assert world.fs.read_file("a") == b"", "only sync() brings anything to HDFS"
        file.sync()
        assert world.fs.status("a").length_bytes == 3
        with pytest.raises(Unavailable, match="close or seal"):
            world.another("other").read_file("a")
        file.close()
        assert world.fs.read_file("a") == b"abc", "our own reads wait for the close"

    world.run(body)


def test_closing_does_not_wait_for_the_last_block_and_reading_does() -> None:
    world = World(quirks=FakeHdfsQuirks(slow_completion=1.0))

    def body() -> None:
        file = world.fs.create("a")
        file.append(b"abc")
        assert world.lasts(file.close) == 0
        assert world.lasts(lambda: world.fs.open("a")) > 0.5
        assert world.lasts(lambda: world.fs.open("a")) < 0.1

    world.run(body)


def test_a_file_that_cannot_be_completed_is_sealed() -> None:
    world = World()

    def body() -> None:
        file = world.log_on(0)
        world.cluster.kill(0)
        file.close()
        with pytest.raises(Unavailable):
            world.fs.open(file.path)  # the deadline of the close is not over yet
        world.runtime.sleep(30)
        assert world.fs.read_file(file.path) == b"good"

    world.run(body)


@pytest.mark.parametrize("seed", range(10))
def test_reads_get_past_a_frozen_or_dead_node(seed: int) -> None:
    world = World(seed, quirks=FakeHdfsQuirks(socket_timeout_seconds=1e9))

    def body() -> None:
        world.fs.write_file("a", b"content")
        file = world.fs.open("a")
        node = world.replicas("a")[seed % 2]
        number = world.cluster.nodes.index(node)
        (world.cluster.kill if seed % 3 == 0 else world.cluster.freeze)(number)
        assert world.lasts(lambda: file.read_at(0, 7)) <= 6.1
        assert file.read_at(0, 7) == b"content"
        slow = [world.lasts(lambda: file.read_at(0, 7)) > 0.5 for _ in range(5)]
        assert slow == [False] * 5, "once past it, the reader does not come back to it"

    world.run(body)


def test_write_file_gets_past_a_frozen_node() -> None:
    world = World(replication=1)

    def body() -> None:
        world.cluster.freeze(0)
        for number in range(6):
            assert world.lasts(lambda: world.fs.write_file("a", b"content")) < 33, number
        assert world.fs.read_file("a") == b"content"

    world.run(body)


def test_answers_that_were_lost_are_not_taken_for_refusals() -> None:
    world = World(quirks=FakeHdfsQuirks(repeated=1.0))

    def body() -> None:
        with pytest.raises(Stalled, match="its answer lost"):
            world.fs.create("logs/a/1")
        world.cluster.quirks = FakeHdfsQuirks()
        world.fs.write_file("b", b"content")
        world.fs.write_file("x/y", b"")
        world.cluster.quirks = FakeHdfsQuirks(repeated=1.0)
        world.fs.rename("b", "x/c")
        assert world.fs.read_file("x/c") == b"content"
        with pytest.raises(FileNotFound):
            world.fs.rename("b", "x/c")

    world.run(body)


class Forbidding:
    """A client whose user may not write."""

    def __init__(self, client: object) -> None:
        self.client = client
        self.tries = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.client, name)

    def create(self, path: str, replication: int) -> None:
        self.tries += 1
        raise RuntimeError(
            'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=me")'
        )


def test_what_is_not_allowed_is_not_tried_again() -> None:
    world = World(1)
    client = Forbidding(FakeHdfsClient(world.cluster, world.runtime, "second"))
    fs = HdfsNativeFileSystem(world.runtime, "fake:8020", "/hbtable", world.options, client, TaskCalls(world.runtime))

    def body() -> None:
        with pytest.raises(StorageFailed, match=r"writing a is not allowed: .*Permission denied: user=me; give"):
            fs.write_file("a", b"content")

    world.run(body)
    assert client.tries == 1


class CheckingPermissions(Forbidding):
    """A client whose NameNode checks permissions: it says so of a path that leads through a file."""

    def read(self, path: str) -> None:
        raise RuntimeError(
            'RPCError("org.apache.hadoop.security.AccessControlException", "/hbtable/a (is not a directory)")'
        )


def test_a_path_through_a_file_is_not_found_where_permissions_are_checked() -> None:
    world = World(1)
    client = CheckingPermissions(FakeHdfsClient(world.cluster, world.runtime, "second"))
    fs = HdfsNativeFileSystem(world.runtime, "fake:8020", "/hbtable", world.options, client, TaskCalls(world.runtime))

    def body() -> None:
        with pytest.raises(FileNotFound):
            fs.open("a/deeper")

    world.run(body)


def test_what_a_write_left_behind_is_listed_by_the_name_of_its_folder_only() -> None:
    world = World(1)

    def body() -> None:
        world.fs.put_new("unfinished/0123", b"half")
        world.fs.put_new("a", b"whole")
        assert [status.path for status in world.fs.list_files("")] == ["a"]
        assert [status.path for status in world.fs.list_files("unfinished")] == ["unfinished/0123"]

    world.run(body)


def test_a_reader_that_looks_for_another_copy_never_finds_another_file() -> None:
    world = World(replication=3)

    def body() -> None:
        world.fs.write_file("a", b"one")
        file = world.fs.open("a")
        assert isinstance(file, NativeReadFile)
        world.runtime.sleep(1)
        world.fs.write_file("a", b"two")  # as long as the other
        assert file.read_at(0, 3) == b"one"
        world.runtime.sleep(100)  # its blocks are gone
        with pytest.raises(FileNotFound):
            file.read_at(0, 3)

    world.run(body)


@pytest.mark.parametrize("seed", quick_first(range(30), 8, 8))
def test_a_write_file_that_was_given_up_never_comes_back_over_a_later_one(seed: int) -> None:
    world = World(seed, quirks=FakeHdfsQuirks(vanished=0.2, repeated=0.2))

    def body() -> None:
        last = None
        for number in range(6):
            content = b"%d" % number
            try:
                world.fs.write_file("a", content)
            except (StorageFailed, Unavailable):
                last = None
                continue
            last = content
        world.cluster.quirks = FakeHdfsQuirks()
        world.runtime.sleep(100)
        if last is not None:
            assert world.fs.read_file("a") == last
        everything = {status.path for status in world.fs.list_files("")}
        assert everything <= {"a"}, "what it could not tidy up is listed by the name of its folder only"

    world.run(body)


def test_a_namenode_that_is_away() -> None:
    world = World()

    def body() -> None:
        world.fs.write_file("a", b"content")
        world.cluster.namenode_up = False
        for call in (lambda: world.fs.status("a"), lambda: world.fs.exists("a"), lambda: world.fs.list_files("")):
            with pytest.raises(Unavailable):
                call()
        with pytest.raises(StorageFailed):
            world.fs.create("b")
        world.cluster.namenode_up = True
        assert world.fs.read_file("a") == b"content"

    world.run(body)


def test_safe_mode_is_unavailable_and_a_quota_is_no_room() -> None:
    world = World()

    def body() -> None:
        file = world.fs.create("logs/a/1")
        world.cluster.safe_mode = True
        for call in (lambda: world.fs.create("b"), lambda: world.fs.write_file("b", b""), lambda: world.fs.delete("b")):
            with pytest.raises(Unavailable, match="SafeModeException"):
                call()
        world.cluster.safe_mode = False
        world.cluster.names.capacity_bytes = 10
        with pytest.raises(OutOfSpace, match="quota"):
            world.fs.put_new("c", b"x" * 100)
        file.append(b"x" * 100)
        with pytest.raises(OutOfSpace, match="quota"):
            file.sync()
        with pytest.raises(StorageFailed):
            file.sync()

    world.run(body)


def test_put_new_is_complete_and_never_replaces() -> None:
    world = World()

    def body() -> None:
        world.fs.put_new("fenced/a", b"content")
        assert world.another("other").read_file("fenced/a") == b"content"
        with pytest.raises(AlreadyExists):
            world.another("other").put_new("fenced/a", b"other")
        open_one = world.fs.create("fenced/b")
        for fs in (world.fs, world.another("other")):
            with pytest.raises(AlreadyExists):
                fs.put_new("fenced/b", b"")
            with pytest.raises(AlreadyExists):
                fs.create("fenced/b")
        open_one.close()

    world.run(body)


def test_big_appends_are_sent_before_the_sync() -> None:
    world = World()

    def body() -> None:
        file = world.fs.create("a")
        for _ in range(5):
            file.append(b"x" * (2 << 20))
        assert len(world.cluster.names.file("/hbtable/a").received) == 8 << 20
        file.close()
        assert world.fs.status("a").length_bytes == 10 << 20

    world.run(body)


def test_threads_are_used_again_unless_they_are_stuck() -> None:
    runtime = SimulatedRuntime(1)
    threads = WriterThreads(TaskCalls(runtime))

    def body() -> None:
        stuck, fine = threads.take(), threads.take()
        assert stuck.kind != fine.kind
        thawed = runtime.event()
        with pytest.raises(Stalled):
            threads.call(stuck, 1.0, thawed.wait)
        assert threads.call(fine, 1.0, int, "7") == 7
        threads.give_back(stuck)
        threads.give_back(fine)
        assert threads.take() is fine
        third = threads.take()
        assert third is not stuck
        thawed.set()
        runtime.sleep(0.1)
        assert threads.take() is stuck

    runtime.run(body)


def test_so_many_writes_may_hang_and_logs_still_find_a_thread() -> None:
    runtime = SimulatedRuntime(1)
    threads = WriterThreads(TaskCalls(runtime))
    thawed = runtime.event()

    def hang() -> None:
        thread = threads.take(for_log=True)
        with pytest.raises(Stalled):
            threads.call(thread, 1.0, thawed.wait)
        threads.give_back(thread)

    def body() -> None:
        for _ in range(MOST_HANGING):
            hang()
        with pytest.raises(Unavailable, match=f"{MOST_HANGING} writes"):
            threads.take()
        for _ in range(64):
            hang()
        with pytest.raises(Unavailable, match="restart"):
            threads.take(for_log=True)
        thawed.set()
        runtime.sleep(0.1)
        threads.take()

    runtime.run(body)


def test_a_write_that_was_never_begun_leaves_its_thread_to_others() -> None:
    class Refusing:
        def call(self, *arguments: object) -> None:
            raise Stalled("given up while it waited")

    threads = WriterThreads(Refusing())
    thread = threads.take()
    with pytest.raises(Stalled):
        threads.call(thread, 1.0, int)
    threads.give_back(thread)
    assert threads.take() is thread


def test_a_panic_of_the_library_is_an_error_like_others() -> None:
    def panic() -> None:
        raise PanicException("Cannot read past end of the file")

    with pytest.raises(NativePanic, match="past end"):
        guarded(panic)
    with pytest.raises(KeyboardInterrupt):
        guarded(lambda: (_ for _ in ()).throw(KeyboardInterrupt()))


def test_without_the_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(InvalidConfiguration, match=r"pip install 'hbtable\[native\]'"):
        hdfs_native_client.connect("nowhere:8020", {})


def test_with_kerberos_the_client_is_told_of_tickets_and_of_sasl_for_datanodes() -> None:
    assert "hadoop.security.authentication" not in HdfsNativeOptions().settings()
    told = HdfsNativeOptions(sign_in="kerberos", client_settings={"a": "b"}).settings()
    assert (told["a"], told["hadoop.security.authentication"]) == ("b", "kerberos")
    assert "dfs.data.transfer.protection" in told
    with pytest.raises(InvalidConfiguration, match=r"hdfs\.sign_in is 'ldap'; it must be simple or kerberos"):
        HdfsNativeOptions(sign_in="ldap")

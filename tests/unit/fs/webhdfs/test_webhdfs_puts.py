"""Whole files through WebHDFS: what a 201 may stand for, nodes that hang, quotas."""

import logging

import pytest

from hbtable.errors import AlreadyExists, OutOfSpace, Stalled, StorageFailed, Unavailable
from hbtable.fs.interface import PutHints
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.testing.fake_hdfs.namespace import FakeHadoopError
from tests.unit.fs.webhdfs.rig import ROOT, Rig


@pytest.mark.parametrize("seed", range(6))
def test_a_created_that_lies_is_not_believed(seed: int) -> None:
    rig = Rig(seed, hadoop_2=True)
    rig.quirks.lying_created = 1.0

    def body() -> None:
        with pytest.raises(Stalled, match=r"is not there|bytes instead of 100"):
            rig.fs.put_new("a", b"x" * 100)

    rig.run(body)


def test_an_upload_cut_on_its_way_looks_complete_and_is_not_acknowledged() -> None:
    rig = Rig()
    rig.quirks.cut_upload = 1.0

    def body() -> None:
        with pytest.raises(Stalled):
            rig.fs.put_new("a", b"x" * 1000)
        file = rig.namespace.file(f"{ROOT}/a")
        assert not file.holder
        assert file.length_bytes < 1000
        assert rig.fs.seal("a") == file.length_bytes
        with pytest.raises(AlreadyExists):
            rig.fs.put_new("a", b"x" * 1000)

    rig.run(body)


@pytest.mark.parametrize("hadoop_2", [False, True])
def test_a_file_deleted_while_it_is_put_is_not_acknowledged(hadoop_2: bool) -> None:
    rig = Rig(hadoop_2=hadoop_2)
    rig.fake.between = lambda path: rig.namespace.delete(path) and None

    def body() -> None:
        with pytest.raises(Stalled):
            rig.fs.put_new("a", b"x")
        assert rig.content("a") is None

    rig.run(body)


def test_a_put_follows_its_folder_when_that_is_renamed_and_is_not_acknowledged() -> None:
    rig = Rig()
    rig.fake.between = lambda path: rig.namespace.rename(f"{ROOT}/logs", f"{ROOT}/gone")

    def body() -> None:
        with pytest.raises(Stalled, match="is not there"):
            rig.fs.put_new("logs/a", b"x")
        assert rig.content("gone/a") == b"x"

    rig.run(body)


def test_a_put_into_a_folder_that_is_gone_makes_it_again() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("logs/a", b"1")
        rig.namespace.rename(f"{ROOT}/logs", f"{ROOT}/gone")
        rig.fs.put_new("logs/b", b"2")
        assert [status.path for status in rig.fs.list_files("logs")] == ["logs/b"], "a renamed folder fences nobody"

    rig.run(body)


def test_a_frozen_node_stalls_a_put_no_longer_than_told_and_can_be_avoided() -> None:
    rig = Rig(options=WebHdfsOptions(put_seconds=3.0, replication=1))
    took: list[str] = []

    def body() -> None:
        rig.fake.frozen.add(rig.fake.nodes[0])
        others = rig.fake.nodes[1:]
        before = rig.runtime.clock_seconds()
        with pytest.raises(Stalled):
            rig.fs.put_new("a", b"x", PutHints(others, took.append))
        assert rig.runtime.clock_seconds() - before < 3.5
        assert took == [rig.fake.nodes[0]]
        rig.fs.put_new("b", b"x", PutHints(took, took.append))
        assert took[1] in others

    rig.run(body)


def test_a_stalled_put_may_still_arrive_and_never_as_something_else() -> None:
    rig = Rig()

    def body() -> None:
        with pytest.raises(Stalled):
            rig.fs.put_new("a", b"content", PutHints((), lambda node: setattr(rig.quirks, "late", 1.0)))
        rig.quirks.late = 0.0
        assert rig.content("a") is None
        rig.runtime.sleep(130)
        assert rig.content("a") == b"content"

    rig.run(body)


def test_a_dead_node_is_left_out_without_asking_it_twice() -> None:
    rig = Rig()
    rig.fake.dead.update(rig.fake.nodes[:2])
    took: list[str] = []

    def body() -> None:
        for number in range(5):
            rig.fs.put_new(f"a{number}", b"x", PutHints((), took.append))
            assert took[-1] == rig.fake.nodes[2]
        rig.fake.dead.add(rig.fake.nodes[2])
        with pytest.raises(Unavailable):
            rig.fs.put_new("b", b"x")
        assert rig.content("b") is None

    rig.run(body)


def test_who_avoids_every_node_gets_one_all_the_same() -> None:
    rig = Rig()

    def body() -> None:
        rig.fs.put_new("a", b"x", PutHints(rig.fake.nodes))
        assert rig.content("a") == b"x"

    rig.run(body)


def test_without_any_datanode_nothing_is_written() -> None:
    rig = Rig(nodes=0)

    def body() -> None:
        with pytest.raises(Unavailable, match="no DataNode"):
            rig.fs.put_new("a", b"x")

    rig.run(body)


def test_a_full_quota_is_out_of_space() -> None:
    rig = Rig(capacity_bytes=1000)

    def body() -> None:
        with pytest.raises(OutOfSpace, match="make room"):
            rig.fs.put_new("a", b"x" * 500)
        rig.namespace.capacity_bytes = None
        rig.fs.put_new("b", b"x" * 500)

    rig.run(body)


def test_a_server_with_larger_least_blocks_gets_its_own() -> None:
    rig = Rig()
    rig.quirks.least_block_bytes = 64 << 20

    def body() -> None:
        for number in range(3):
            rig.fs.put_new(f"a{number}", b"x")
        asked = [request.target for request in rig.fake.log if "op=CREATE" in request.target]
        assert sum("blocksize=1048576" in target for target in asked) == 2  # of the NameNode, and of the DataNode

    rig.run(body)


def test_a_block_is_as_large_as_the_file_and_that_of_a_large_one_as_hdfs_has_it() -> None:
    rig = Rig()

    def body() -> None:
        for size, block in ((0, 1), (1 << 20, 1), ((1 << 20) + 1, 2), (32 << 20, 32), ((32 << 20) + 1, None)):
            rig.fs.put_new(f"a{size}", bytes(size))
            asked = rig.fake.log[-2].target
            assert (f"blocksize={block << 20}" if block else "replication=3") in asked
            assert bool(block) == ("blocksize" in asked)

    rig.run(body)


def test_a_file_that_an_earlier_try_of_the_same_put_made_is_nobody_elses() -> None:
    """The DataNode had its content, and the NameNode went into safe mode before it could complete the file."""
    rig = Rig()
    left = [1]

    def enter(path: str) -> None:
        if left:
            left.pop()
            message = "Cannot complete file. Name node is in safe mode."
            raise FakeHadoopError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", message)

    rig.fake.between = enter

    def body() -> None:
        with pytest.raises(Stalled, match="earlier"):
            rig.fs.put_new("a", b"x")

    rig.run(body)


def test_safe_mode_is_waited_for_and_then_unavailable() -> None:
    rig = Rig()
    rig.fake.safe_mode = True

    def body() -> None:
        with pytest.raises(Unavailable, match="SafeMode"):
            rig.fs.put_new("a", b"x")
        rig.runtime.spawn(lambda: (rig.runtime.sleep(5), setattr(rig.fake, "safe_mode", False)))
        rig.fs.put_new("a", b"x")

    rig.run(body)


def test_eight_puts_take_little_longer_than_one() -> None:
    rig = Rig()
    rig.quirks.slow_close = 1.0

    def body() -> None:
        before = rig.runtime.clock_seconds()
        for task in [rig.runtime.spawn(rig.fs.put_new, f"logs/{number}", b"x") for number in range(8)]:
            task.join()
            assert task.error is None
        assert rig.runtime.clock_seconds() - before < 0.6

    rig.run(body)


@pytest.mark.parametrize(("nodes", "copies"), [(3, 2), (5, 3)])
def test_logs_have_fewer_copies_than_a_small_cluster_has_nodes(nodes: int, copies: int) -> None:
    rig = Rig(nodes=nodes)

    def body() -> None:
        rig.fs.put_new("logs/a", b"x")
        rig.fs.put_new("tables/a", b"x")
        assert rig.namespace.file(f"{ROOT}/logs/a").replication == copies
        assert rig.namespace.file(f"{ROOT}/tables/a").replication == 3

    rig.run(body)


@pytest.mark.parametrize(("hadoop_2", "warnings"), [(False, 0), (True, 1)])
def test_a_server_without_synced_blocks_is_warned_of_once(
    hadoop_2: bool, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(hadoop_2=hadoop_2)

    def body() -> None:
        rig.fs.put_new("a", b"x")
        rig.fs.put_new("b", b"x")

    with caplog.at_level(logging.WARNING):
        rig.run(body)
    assert len([record for record in caplog.records if "synced blocks" in record.message]) == warnings
    asked = [request.target for request in rig.fake.log if "op=CREATE" in request.target]
    assert all("createflag=CREATE,SYNC_BLOCK" in target for target in asked[:1]), "SYNC_BLOCK alone is refused"


def test_a_collected_file_goes_by_disk_when_it_is_big_and_is_put_once() -> None:
    rig = Rig(options=WebHdfsOptions(buffer_bytes=10))

    def body() -> None:
        file = rig.fs.create("a")
        for _ in range(100):
            file.append(b"0123456789")
        file.sync()
        file.close()
        assert rig.content("a") == b"0123456789" * 100

    rig.run(body)


def test_a_sync_that_failed_leaves_a_file_that_takes_no_more() -> None:
    rig = Rig()

    def body() -> None:
        file, other = rig.fs.create("a"), rig.fs.create("a")
        other.sync()
        file.append(b"x")
        with pytest.raises(StorageFailed, match="somebody else"):
            file.sync()
        for call in (file.sync, lambda: file.append(b"x")):
            with pytest.raises(StorageFailed):
                call()

    rig.run(body)

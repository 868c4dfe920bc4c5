"""A commit log through the WebHDFS adapter over its fake while a DataNode is frozen for good: commits go on, by files
that are padded and led past it, and all of them are found again."""

import random

import pytest

from hbtable.commitlog.group_files.group_file import (
    GroupFile,
    GroupName,
    decode_group_file,
    encode_group_file,
    padded_group_file,
)
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import fence, is_fenced
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding.cell_key import cell_key
from hbtable.fs.blocking_calls import TaskCalls
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.fs.webhdfs.watched import WATCHED_BYTES
from hbtable.metrics.registry import Registry
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.webhdfs import FakeWebHdfs
from hbtable.testing.simulated.runtime import SimulatedRuntime

INCARNATION = "server-1"
KEY = cell_key(b"row", b"cf", b"column", 1_700_000_000_000, 8, 77)


@pytest.mark.parametrize("scattered", [False, True], ids=["", "scattered"])
@pytest.mark.parametrize("seed", range(3))
def test_commits_go_on_beside_a_frozen_node_for_longer_than_the_log_would_wait(seed: int, scattered: bool) -> None:
    runtime = SimulatedRuntime(seed)
    fake = FakeWebHdfs(runtime, FakeNamespace(runtime.wall_millis), random.Random(seed))
    fake.quirks.scattered = scattered
    acknowledged: set[tuple[int, int]] = set()
    longest = [0.0]

    def connect() -> WebHdfsFileSystem:
        http, hold = fake.http(runtime), fake.hold(runtime)
        return WebHdfsFileSystem(runtime, fake.hosts, "/hbtable", http, calls=TaskCalls(runtime), hold=hold)

    def body() -> None:
        fs = connect()
        log = open_log(
            runtime, fs, INCARNATION, LogOptions(give_up_seconds=20), Registry(),
            lambda: is_fenced(fs, INCARNATION), lambda: None,
        )  # fmt: skip
        end = runtime.clock_seconds() + 40

        def client(tablet: int) -> None:
            sequence = 0
            while runtime.clock_seconds() < end:
                sequence += 1
                started = runtime.clock_seconds()
                log.commit(tablet, sequence, encode_record(tablet, 1, sequence, 0, [(KEY, b"v")]), lambda: None)
                longest[0] = max(longest[0], runtime.clock_seconds() - started)
                acknowledged.add((tablet, sequence))
                runtime.sleep(0.02)

        clients = [runtime.spawn(client, 20 + number) for number in range(4)]
        runtime.sleep(2)
        fake.frozen.add(fake.nodes[seed % 3])
        for task in clients:
            task.join()
            assert task.error is None
        log.close()
        fake.frozen.clear()
        reader = connect()
        manifest = fence(runtime, reader, INCARNATION)
        found = {(record.tablet_id, record.sequence) for record in read_log(reader, log_folder(INCARNATION), manifest)}
        assert acknowledged == found

    runtime.run(body)
    assert longest[0] < (8 if scattered else 4)
    assert len(acknowledged) > 200


@pytest.mark.parametrize("seed", range(8))
def test_a_commit_looks_for_the_frozen_node_until_its_heartbeats_give_it_away(seed: int) -> None:
    """The threads of a sound node all wait for something else, so for some seconds there are two silent ones of three;
    meanwhile the tries of the only group must not all wait for what they have met."""
    runtime = SimulatedRuntime(seed)
    fake = FakeWebHdfs(runtime, FakeNamespace(runtime.wall_millis), random.Random(seed))
    fake.quirks.scattered = True

    def body() -> None:
        http, hold = fake.http(runtime), fake.hold(runtime)
        fs = WebHdfsFileSystem(runtime, fake.hosts, "/hbtable", http, calls=TaskCalls(runtime), hold=hold)
        log = open_log(runtime, fs, INCARNATION, LogOptions(), Registry(), lambda: False, lambda: None)
        fake.frozen.add(fake.nodes[2])
        fake.quirks.unheard_seconds = 0
        frozen = runtime.clock_seconds()
        for node in (*4 * fake.nodes[:1], fake.nodes[1]):
            fake.datanodes.thread(node).occupy(frozen + 75)
        runtime.spawn(lambda: (runtime.sleep(7), setattr(fake.quirks, "unheard_seconds", 7)))
        log.commit(20, 1, encode_record(20, 1, 1, 0, [(KEY, b"v")]), lambda: None)
        assert runtime.clock_seconds() - frozen < 15

    runtime.run(body)


def test_a_padded_group_file_holds_the_same_group_and_is_guarded_to_its_last_byte() -> None:
    group = GroupFile("s1", 7, 2, 5, 6, 3, 0, 1_700_000_000_000)
    content = encode_group_file(group, b"records" * 10)
    padded = padded_group_file(content, WATCHED_BYTES)
    name = GroupName(7, 2, 4)
    assert len(padded) == WATCHED_BYTES
    assert decode_group_file(padded, "path", "s1", name) == decode_group_file(content, "path", "s1", name) == group
    assert padded_group_file(content, 10) == content
    for place in (80, len(content), WATCHED_BYTES // 2, WATCHED_BYTES - 5, WATCHED_BYTES - 1):
        damaged = bytearray(padded)
        damaged[place] ^= 1
        assert decode_group_file(bytes(damaged), "path", "s1", name) is None
    assert decode_group_file(padded[:-1], "path", "s1", name) is None

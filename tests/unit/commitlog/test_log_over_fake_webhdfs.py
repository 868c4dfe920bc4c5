"""A commit log through the WebHDFS adapter over its fake while a DataNode is frozen: commits wait until HDFS leaves the
node out and the pipelines through it fail, and all that was acknowledged is found again."""

import random
from zlib import crc32

import pytest

from hbtable.commitlog.group_files.group_file import GroupFile, GroupName, decode_group_file, encode_group_file
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.commitlog.recovery.fencing import fence, is_fenced
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding.cell_key import cell_key
from hbtable.errors import HbtableError
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.metrics.registry import Registry
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.webhdfs import FakeWebHdfs
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls
from tests.harness.tiers import quick_first

INCARNATION = "server-1"
KEY = cell_key(b"row", b"cf", b"column", 1_700_000_000_000, 8, 77)
NOTICED_SECONDS = 5.0
"""As dfs.namenode.stale.datanode.interval=5000 has it."""


class FrozenNode:
    """Four clients of one log; a DataNode freezes after two seconds, and HDFS leaves it out a while later."""

    def __init__(self, seed: int, pipeline_seconds: float, noticed_seconds: float, give_up_seconds: float) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.fake = FakeWebHdfs(self.runtime, FakeNamespace(self.runtime.wall_millis), random.Random(seed))
        self.fake.quirks.scattered = bool(seed % 2)
        self.fake.quirks.pipeline_seconds = pipeline_seconds
        self.acknowledged: set[tuple[int, int]] = set()
        self.longest = 0.0
        self.broken = False
        self._frozen = self.fake.nodes[seed % 3]
        self._noticed_seconds = noticed_seconds
        self._options = LogOptions(give_up_seconds=give_up_seconds)
        self.runtime.run(self._live)

    def _connect(self) -> WebHdfsFileSystem:
        runtime, fake = self.runtime, self.fake
        return WebHdfsFileSystem(runtime, fake.hosts, "/hbtable", fake.http(runtime), calls=TaskCalls(runtime))

    def _live(self) -> None:
        runtime, fs = self.runtime, self._connect()
        self._log = open_log(
            runtime, fs, INCARNATION, self._options, Registry(),
            lambda: is_fenced(fs, INCARNATION), self._breaks,
        )  # fmt: skip
        clients = [runtime.spawn(self._client, 20 + number) for number in range(4)]
        runtime.sleep(2)
        self.fake.frozen.add(self._frozen)
        runtime.sleep(self._noticed_seconds)
        self.fake.gone.add(self._frozen)
        for task in clients:
            task.join()
        if not self.broken:
            self._log.close()
        self._read_again()

    def _breaks(self) -> None:
        self.broken = True

    def _client(self, tablet: int) -> None:
        runtime = self.runtime
        end = runtime.clock_seconds() + self._noticed_seconds + 15
        sequence = 0
        while runtime.clock_seconds() < end and not self.broken:
            sequence += 1
            started = runtime.clock_seconds()
            try:
                self._log.commit(tablet, sequence, encode_record(tablet, 1, sequence, 0, [(KEY, b"v")]), lambda: None)
                self.acknowledged.add((tablet, sequence))
            except HbtableError:
                assert self.broken
            self.longest = max(self.longest, runtime.clock_seconds() - started)
            runtime.sleep(0.02)

    def _read_again(self) -> None:
        """As the server that takes over does, once the DataNode answers again."""
        self.fake.frozen.clear()
        self.fake.gone.clear()
        self.runtime.sleep(200)  # threads that wait for a pipeline
        reader = self._connect()
        manifest = fence(self.runtime, reader, INCARNATION)
        records = read_log(reader, log_folder(INCARNATION), manifest)
        self.found = {(record.tablet_id, record.sequence) for record in records}


@pytest.mark.parametrize("seed", quick_first(range(6), 1, 3))
def test_commits_wait_until_hdfs_leaves_the_frozen_node_out(seed: int) -> None:
    """With the settings of docs/hdfs.md."""
    story = FrozenNode(seed, pipeline_seconds=NOTICED_SECONDS, noticed_seconds=NOTICED_SECONDS, give_up_seconds=100)
    assert not story.broken
    assert story.longest < 2 * NOTICED_SECONDS + 5
    assert story.acknowledged == story.found
    assert len(story.acknowledged) > 200


@pytest.mark.parametrize("seed", quick_first(range(6), 2, 2))
def test_a_log_that_nothing_is_confirmed_of_ends_in_its_time_and_loses_nothing(seed: int) -> None:
    """With HDFS's own defaults, and a shorter deadline than its pipelines have: another server takes over."""
    story = FrozenNode(seed, pipeline_seconds=75, noticed_seconds=630, give_up_seconds=20)
    assert story.broken
    assert story.longest < 25
    assert story.acknowledged <= story.found


def test_zeros_behind_the_payload_change_nothing_and_are_guarded_to_the_last_byte() -> None:
    """Versions up to 2026-11-22 wrote them."""
    group = GroupFile("s1", 7, 2, 5, 6, 3, 0, 1_700_000_000_000)
    content = encode_group_file(group, b"records" * 10)
    padded = with_zeros(content, 66 << 10)
    name = GroupName(7, 2, 4)
    assert decode_group_file(padded, "path", "s1", name) == decode_group_file(content, "path", "s1", name) == group
    for place in (80, len(content), len(padded) // 2, len(padded) - 5, len(padded) - 1):
        damaged = bytearray(padded)
        damaged[place] ^= 1
        assert decode_group_file(bytes(damaged), "path", "s1", name) is None
    assert decode_group_file(padded[:-1], "path", "s1", name) is None


def with_zeros(content: bytes, length: int) -> bytes:
    """As those versions made it."""
    body = content[:-4] + bytes(length - len(content))
    return body + crc32(body).to_bytes(4, "big")

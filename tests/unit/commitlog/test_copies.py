"""A log whose newest part is on too few DataNodes: it is said, counted, and over HDFS ended by a new segment."""

import logging
from collections.abc import Callable
from math import isnan

import pytest

from hbtable.commitlog.copies import CopyWatch
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.records import encode_record
from hbtable.encoding.cell_key import cell_key
from hbtable.errors import FileNotFound, Unavailable
from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.interface import Copies
from hbtable.metrics.registry import Registry
from hbtable.testing.fake_hdfs.native_client import FakeHdfsClient
from hbtable.testing.fake_hdfs.native_cluster import FakeHdfs
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls

KEY = cell_key(b"row", b"cf", b"column", 1_700_000_000_000, 8, 77)


class Log:
    """A log that only counts its segments."""

    def __init__(self) -> None:
        self.segments = 1
        self.over = False
        self.refuses = False

    def newest_file(self) -> str:
        return f"logs/s/{self.segments}.log"

    def ended(self) -> bool:
        return self.over

    def roll(self) -> None:
        if self.refuses:
            raise Unavailable("being closed")
        self.segments += 1


class Files:
    """Asks `answer` how many copies a path has."""

    def __init__(self, answer: Callable[[str], Copies | None]) -> None:
        self.copies = answer


def watched(body: Callable[[SimulatedRuntime, Log, CopyWatch], None], answer: Callable[[str], Copies | None]) -> None:
    runtime, log = SimulatedRuntime(1), Log()
    watch = CopyWatch(runtime, Files(answer), log, 5.0, Registry())

    def run() -> None:
        watch.start()
        body(runtime, log, watch)
        log.over = True

    runtime.run(run)


def test_a_pipeline_that_shrank_is_left_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def body(runtime: SimulatedRuntime, log: Log, watch: CopyWatch) -> None:
        runtime.sleep(60)
        assert log.segments == 2
        assert watch.found == 2

    with caplog.at_level(logging.INFO):
        watched(body, lambda path: Copies(1 if path.endswith("/1.log") else 2, 2))
    said = [record.message for record in caplog.records]
    assert said[0].startswith("the newest part of the commit log, logs/s/1.log, has 1 copies instead of 2")
    assert said[1:] == ["the commit log has 2 copies again"]


def test_without_enough_datanodes_new_segments_become_rare() -> None:
    def body(runtime: SimulatedRuntime, log: Log, watch: CopyWatch) -> None:
        runtime.sleep(1800)
        assert 6 < log.segments < 20
        assert watch.found == 1

    watched(body, lambda path: Copies(1, 2))


def test_a_block_that_is_not_reported_yet_is_looked_at_again() -> None:
    answers = [Copies(1, 2)]

    def body(runtime: SimulatedRuntime, log: Log, watch: CopyWatch) -> None:
        runtime.sleep(10)
        assert log.segments == 1
        assert watch.found == 2

    watched(body, lambda path: answers.pop() if answers else Copies(2, 2))


def test_what_is_not_known_is_not_a_number() -> None:
    def gone(path: str) -> Copies | None:
        raise FileNotFound(path)

    def body(runtime: SimulatedRuntime, log: Log, watch: CopyWatch) -> None:
        runtime.sleep(30)
        assert isnan(watch.found)
        assert log.segments == 1

    watched(body, lambda path: None)
    watched(body, gone)


def test_a_log_that_takes_no_new_segment_is_asked_again() -> None:
    def body(runtime: SimulatedRuntime, log: Log, watch: CopyWatch) -> None:
        log.refuses = True
        runtime.sleep(30)
        log.refuses = False
        runtime.sleep(60)
        assert log.segments == 2

    watched(body, lambda path: Copies(1 if path.endswith("/1.log") else 2, 2))


def test_a_log_on_hdfs_leaves_the_segment_with_one_copy() -> None:
    runtime, registry, short = SimulatedRuntime(1), Registry(), set[str]()

    def body() -> None:
        fs = HdfsNativeFileSystem(
            runtime,
            "fake:8020",
            "/hbtable",
            client=FakeHdfsClient(FakeHdfs(runtime), runtime),
            calls=TaskCalls(runtime),
            count_copies=lambda path: 1 if path in short else 2,
        )
        log = open_log(runtime, fs, "server-1", LogOptions(), registry, lambda: False, lambda: None)
        log.commit(20, 1, encode_record(20, 1, 1, 0, [(KEY, b"v")]), lambda: None)
        runtime.sleep(10)
        files = [file.path for file in fs.list_files("logs") if file.path.endswith(".log")]
        assert len(files) == 1
        short.add(f"/hbtable/{files[0]}")
        runtime.sleep(20)
        assert len([file for file in fs.list_files("logs") if file.path.endswith(".log")]) == 2
        assert {name: value for name, _, value in registry.gauges()}["hbtable_log_copies"] == 2
        log.close()

    runtime.run(body)

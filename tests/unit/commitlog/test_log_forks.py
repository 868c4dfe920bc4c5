"""Segments that were begun beside each other (failover_appender.py): which one the log goes on in
(segments/chain.py)."""

import pytest

from hbtable.errors import Corruption, Stalled
from hbtable.fs.interface import HDFS
from tests.harness.cluster_log import ClusterLog

STALLED = Stalled("no answer")


def forked(bench: ClusterLog) -> None:
    """Segment 2 was confirmed after segment 3 had been begun, and goes on; segment 3 appears late."""
    log = bench.open(hedge_seconds=0.3)
    bench.commit(log, 1, 1)
    bench.plan.fail("sync", STALLED, path="logs/server-1/0000000001")
    bench.plan.delay("sync", 0.5, path="logs/server-1/0000000002", times=1)
    bench.plan.delay("sync", 5, path="logs/server-1/0000000003")
    for sequence in range(2, 9):
        bench.commit(log, 1, sequence)
    bench.runtime.sleep(20)
    assert len(bench.files()) == 3


def test_the_segment_that_went_on_is_read_though_a_newer_one_lies_beside_it() -> None:
    bench = ClusterLog(HDFS)

    def main() -> None:
        forked(bench)
        assert bench.written() == bench.applied == bench.called

    bench.run(main)


def test_the_lost_end_of_the_one_is_not_covered_up_by_the_other() -> None:
    bench = ClusterLog(HDFS)

    def main() -> None:
        forked(bench)
        content = bench.memory.disk.files["logs/server-1/0000000002.log"].content
        content[len(content) // 2] ^= 1
        with pytest.raises(Corruption):
            bench.written()
        content[len(content) // 2] ^= 1
        content[70] ^= 1  # its header: whether anything was acknowledged behind it cannot be known
        content[40] ^= 1
        with pytest.raises(Corruption):
            bench.written()

    bench.run(main)


def test_an_answer_of_a_segment_that_was_left_does_not_count() -> None:
    """The sync that was late succeeds while segment 2 is being begun: segment 2 must hold the group all the same."""
    bench = ClusterLog(HDFS)

    def main() -> None:
        log = bench.open(hedge_seconds=0.3)
        bench.commit(log, 1, 1)
        bench.plan.delay("sync", 0.4, path="logs/server-1/0000000001", times=1)
        bench.plan.delay("sync", 0.2, path="logs/server-1/0000000002", times=1)
        task = bench.begin(log, 1, 2)
        bench.runtime.sleep(0.45)
        assert bench.applied == [(1, 1)]
        task.join()
        assert bench.applied == bench.written() == bench.called

    bench.run(main)


def test_a_file_that_was_given_up_goes_with_those_around_it() -> None:
    bench = ClusterLog(HDFS)

    def main() -> None:
        log = bench.open(hedge_seconds=0.3, segment_bytes=300)
        bench.commit(log, 1, 1)
        bench.plan.fail("sync", STALLED, path="logs/server-1/0000000001")
        bench.plan.fail("sync", STALLED, path="logs/server-1/0000000002")
        bench.plan.fail("create", STALLED, path="logs/server-1/0000000003", applied=True)
        for sequence in range(2, 20):
            bench.commit(log, 1, sequence)
        assert bench.files()[:3] == ["0000000001.log", "0000000002.log", "0000000003.log"]
        log.forget(1)
        bench.runtime.sleep(10)
        assert len(bench.files()) <= 2
        bench.commit(log, 2, 1)
        assert bench.written()[-1] == (2, 1)

    bench.run(main)

"""How often a log is left for another segment: at once where one pipeline is slow, seldom where the file system is."""

import pytest

from hbtable.commitlog.segments.sync_timeout import SyncTimeout
from hbtable.fs.interface import HDFS
from tests.harness.cluster_log import ClusterLog


def commits(bench: ClusterLog, log, seconds: float) -> None:
    """One after the other for so long."""
    end = bench.runtime.clock_seconds() + seconds
    while bench.runtime.clock_seconds() < end:
        bench.commit(log, 1, len(bench.called) + 1)
        bench.runtime.sleep(0.1)


@pytest.mark.parametrize("seconds", [0.35, 0.5, 0.9, 2.0])
def test_a_file_system_that_is_slow_for_all_is_not_asked_for_one_file_after_the_other(seconds: float) -> None:
    """On a busy HDFS 666 segments were left within 15 minutes, each with a warning: here a new one for each group."""
    bench = ClusterLog(HDFS)

    def main() -> None:
        log = bench.open(hedge_seconds=0.3)
        commits(bench, log, 5)
        bench.plan.delay("sync", seconds, path="logs/")
        commits(bench, log, 900)
        assert len(bench.called) > 250
        assert bench.calls("create") <= 40, "a few segments, for each of which several are tried"
        assert bench.applied == bench.called
        log.close()
        assert bench.written() == bench.called

    bench.run(main)


def test_neither_is_one_that_takes_long_now_and_then() -> None:
    bench = ClusterLog(HDFS)

    def main() -> None:
        log = bench.open(hedge_seconds=0.3)
        end = bench.runtime.clock_seconds() + 900
        while bench.runtime.clock_seconds() < end:
            bench.plan.clear()
            bench.plan.delay("sync", 1.0, path="logs/", times=1)
            commits(bench, log, 1.5)
        assert bench.calls("create") <= 90
        log.close()
        assert bench.written() == bench.called

    bench.run(main)


def test_a_pipeline_that_is_slow_alone_is_left_at_once_each_time() -> None:
    bench = ClusterLog(HDFS)

    def main() -> None:
        log = bench.open(hedge_seconds=0.3)
        for _ in range(10):
            commits(bench, log, 30)
            newest = max(bench.files())
            bench.plan.delay("sync", 1000, path=f"logs/server-1/{newest}")
            before = bench.runtime.clock_seconds()
            bench.commit(log, 1, len(bench.called) + 1)
            assert bench.runtime.clock_seconds() - before < 0.5
        assert bench.applied == bench.called

    bench.run(main)


def test_after_a_while_of_quick_syncs_a_node_that_dies_costs_the_shortest_stall_again() -> None:
    timeout = SyncTimeout(0.3)
    for now in range(10):
        timeout.left(now, 0.7)
    assert timeout.seconds(10) == 3.0, "and never more"
    assert [round(timeout.seconds(69.5 + 61 * n), 3) for n in range(5)] == [1.5, 0.75, 0.375, 0.3, 0.3]
    timeout.left(1000, 0.1)
    assert timeout.seconds(1001) == 0.3
    for now in range(1001, 1004):
        timeout.left(now, 0.1)
    assert timeout.seconds(1005) == 0.6, "four within a minute are no single node"

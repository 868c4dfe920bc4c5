"""A commit is applied or refused, and one of its two callbacks says which, also when nobody waits for it any more."""

import random

import pytest

from hbtable.commitlog.queue import CommitBatch
from hbtable.errors import HbtableError, OutOfSpace, StorageFailed
from hbtable.fs.interface import HDFS, WEBHDFS
from tests.harness.cluster_log import ClusterLog
from tests.harness.tiers import quick_first

NO_ROOM = OutOfSpace("no room left")
WRITES = {HDFS: ("append", "sync"), WEBHDFS: ("put_new",)}
BOTH = pytest.mark.parametrize("durability", ["sync", "os"])


@BOTH
@pytest.mark.parametrize("error", [NO_ROOM, StorageFailed("EIO")])
def test_a_refusal_reaches_a_commit_whose_task_was_killed_while_it_waited(bench, durability, error) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        bench.fs.before_append = lambda: bench.runtime.sleep(1)
        first = bench.begin(log, 1, 2)
        waiter = bench.begin(log, 1, 3)
        first.join()
        bench.fs.append_errors.append((error, 0))
        waiter.kill()
        bench.runtime.sleep(10)
        assert bench.applied == [(1, 1), (1, 2)]
        assert bench.refused == [(1, 3)]

    bench.run(main)


@BOTH
@pytest.mark.parametrize("value", [b"", bytes(3 << 20)])
def test_a_kill_inside_an_append_is_a_refusal_or_none_at_all(bench, durability, value) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.fs.before_append = lambda: bench.runtime.sleep(1)
        waiter = bench.begin(log, 1, 1, value)
        bench.runtime.sleep(0.5)
        waiter.kill()
        bench.runtime.sleep(10)
        assert (bench.applied, bench.refused) == (([(1, 1)], []) if value else ([], [(1, 1)]))

    bench.run(main)


def test_a_commit_that_finds_the_queue_full_or_the_log_closing_is_refused(bench) -> None:
    def main() -> None:
        log = bench.writer(queue_bytes=100, group_bytes=1)
        tasks = [bench.begin(log, 1, n, bytes(80)) for n in (1, 2)]
        full = bench.begin(log, 1, 3, bytes(80))
        closing = bench.runtime.spawn(log.close)
        bench.runtime.sleep(0)
        late = bench.begin(log, 1, 4)
        for task in (*tasks, full, closing, late):
            task.join()
        assert bench.applied == [(1, 1), (1, 2)]
        assert bench.refused == [(1, 3), (1, 4)]

    bench.run(main)


def _kills_and_refusals_at_any_moment(bench, seed: int, durability: str) -> None:
    chance = random.Random(f"kills and refusals {seed}")
    called = []

    def main() -> None:
        log = bench.writer(durability=durability, segment_bytes=2000, group_bytes=300, queue_bytes=800)

        def client(number: int) -> None:
            for n in range(15):
                bench.runtime.sleep(chance.choice((0.0, 0.0, chance.random() * 0.02)))
                called.append((number, n))
                try:
                    bench.commit(log, number, n, bytes(chance.choice((10, 100, 400))))
                except HbtableError:
                    assert (number, n) in bench.refused

        def trouble() -> None:
            if chance.random() < 0.2:
                bench.fs.append_errors.append((NO_ROOM, chance.choice((0, 1, 50, 10_000))))
            if chance.random() < 0.01:
                bench.fs.sync_errors.append(StorageFailed("EIO"))

        bench.fs.before_append = trouble
        tasks = [bench.runtime.spawn(client, number) for number in range(6)]
        for task in tasks:
            bench.runtime.sleep(chance.random() * 0.05)
            task.kill()
        bench.runtime.sleep(10)
        assert not set(bench.applied) & set(bench.refused)
        assert sorted(bench.applied + bench.refused) == sorted(called)

    bench.run(main)


@BOTH
@pytest.mark.parametrize("seed", quick_first(range(40), 10, 10))
def test_every_commit_is_either_applied_or_refused_once(bench_of, seed: int, durability: str) -> None:
    _kills_and_refusals_at_any_moment(bench_of(seed), seed, durability)


def test_a_batch_that_tells_only_those_that_wait_is_found(bench_of, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self, kind, reason) -> None:
        self.error = (kind, reason)
        self.done.set()

    monkeypatch.setattr(CommitBatch, "fail", fail)

    def search() -> None:
        for seed in range(40):
            _kills_and_refusals_at_any_moment(bench_of(seed), seed, "sync")

    with pytest.raises(AssertionError):
        search()


@pytest.mark.parametrize(("kind", "operation"), [(kind, name) for kind, names in WRITES.items() for name in names])
@pytest.mark.parametrize("error", [NO_ROOM, StorageFailed("?")])
@pytest.mark.parametrize("seed", range(10))
def test_so_it_is_in_a_cluster(kind: str, operation: str, error: HbtableError, seed: int) -> None:
    bench = ClusterLog(kind, seed)
    chance = bench.runtime.random

    def main() -> None:
        log = bench.open(segment_bytes=1500, group_bytes=300, give_up_seconds=2.0)
        bench.plan.delay(operation, 0.05, path="logs/", times=-1)
        bench.plan.fail(operation, error, path="logs/", nth=1 + chance.randrange(4), times=chance.choice((1, 3)))
        tasks = [bench.begin(log, tablet, 1, bytes(chance.randrange(300))) for tablet in range(12)]
        for task in tasks:
            bench.runtime.sleep(chance.random() * 0.05)
            task.kill()
        bench.runtime.sleep(60)
        assert not set(bench.applied) & set(bench.refused)
        assert sorted(bench.applied + bench.refused) == sorted(bench.called)

    bench.run(main)

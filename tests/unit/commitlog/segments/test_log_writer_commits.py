"""What commit() promises while nothing fails: order, durability before application, grouping, no switch."""

import pytest

from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.errors import AlreadyExists, InvalidConfiguration, StorageFailed, Unavailable
from tests.harness.slow_appends import SlowAppends
from tests.harness.tiers import quick_first


def test_sync_an_acknowledged_commit_is_on_the_medium_and_was_applied_after_the_sync(bench) -> None:
    def main() -> None:
        log = bench.writer()
        file = bench.memory.disk.files[f"{bench.folder}/0000000001.log"]
        durable_when_applied = []
        record = bytes(100)
        log.commit(1, 1, record, lambda: durable_when_applied.append(file.synced_bytes == len(file.content)))
        assert durable_when_applied == [True]

    bench.run(main)


def test_sync_commits_that_come_during_a_sync_share_the_next_one(bench) -> None:
    def main() -> None:
        log = bench.writer()
        before = bench.fs.syncs
        tasks = [bench.runtime.spawn(bench.commit, log, n % 3, n) for n in range(50)]
        for task in tasks:
            task.join()
        assert bench.fs.syncs - before <= 3
        assert bench.applied == bench.written()
        assert len(bench.applied) == 50

    bench.run(main)


def test_sync_a_client_that_is_alone_has_its_commits_written_by_its_own_task(bench, monkeypatch) -> None:
    spawned = []
    spawn = bench.runtime.spawn

    def main() -> None:
        log = bench.writer()

        def noted(function: object, *arguments: object, name: str = "") -> object:
            spawned.append(name)
            return spawn(function, *arguments, name=name)

        monkeypatch.setattr(bench.runtime, "spawn", noted)
        for n in range(5):
            bench.commit(log, 1, n)
        assert "commit-log" not in spawned
        assert bench.applied == bench.written() == [(1, n) for n in range(5)]

    bench.run(main)


@pytest.mark.parametrize("durability", ["sync", "os"])
@pytest.mark.parametrize("seed", range(10))
def test_commits_are_applied_and_written_in_the_order_of_the_calls(bench_of, seed: int, durability: str) -> None:
    bench = bench_of(seed)

    def main() -> None:
        log = bench.writer(durability=durability, segment_bytes=700, group_bytes=300, sync_every_bytes=150)
        called = []

        def client(number: int) -> None:
            for n in range(10):
                bench.runtime.sleep(bench.runtime.random.random() * 0.02)
                called.append((number, n))
                bench.commit(log, number, n, bytes(bench.runtime.random.randrange(200)))
                assert (number, n) in bench.applied

        tasks = [bench.runtime.spawn(client, number) for number in range(5)]
        for task in tasks:
            task.join()
            assert task.error is None
        assert called == bench.applied == bench.written()
        assert len(called) == 50
        log.close()
        assert bench.written() == called
        assert len(bench.segments()) > 3
        assert bench.fs.closed_while_syncing == 0

    bench.run(main)


def test_os_a_commit_does_not_switch(bench) -> None:
    def main() -> None:
        log = bench.writer(durability="os")
        others = []
        bench.runtime.spawn(others.append, 1)
        for n in range(5):
            bench.commit(log, 1, n)
        assert others == []
        assert bench.applied == [(1, n) for n in range(5)]

    bench.run(main)


def test_os_syncs_beside_the_commits_and_the_watermark_follows(bench) -> None:
    def main() -> None:
        log = bench.writer(durability="os", sync_every_bytes=1000)
        before = bench.fs.syncs
        for n in range(10):
            bench.commit(log, 1, n, bytes(200))
            bench.runtime.sleep(0.1)
        assert 1 <= bench.fs.syncs - before <= 4
        file = bench.memory.disk.files[f"{bench.folder}/0000000001.log"]
        assert file.synced_bytes > 1000

    bench.run(main)


def test_a_commit_larger_than_a_group_and_than_a_segment_is_written(bench) -> None:
    def main() -> None:
        log = bench.writer(segment_bytes=500, group_bytes=100)
        for n in range(3):
            bench.commit(log, 1, n, bytes(2000))
        assert bench.written() == [(1, 0), (1, 1), (1, 2)]
        assert len(bench.segments()) == 3

    bench.run(main)


def test_a_full_queue_refuses_all_but_exempt_commits(bench) -> None:
    def main() -> None:
        log = bench.writer(queue_bytes=500)
        tasks = [bench.begin(log, 1, n, bytes(300)) for n in (1, 2)]  # one is being written, one waits
        with pytest.raises(Unavailable, match="wait for the commit log"):
            bench.commit(log, 1, 3, bytes(300))
        log.commit(0, 1, bytes(300), lambda: None, True)
        assert all(task.join() and task.error is None for task in tasks)

    bench.run(main)


def test_a_commit_that_is_larger_than_the_queue_is_let_in_alone(bench) -> None:
    def main() -> None:
        log = bench.writer(queue_bytes=100)
        bench.commit(log, 1, 1, bytes(300))
        assert bench.applied == bench.written() == [(1, 1)]

    bench.run(main)


def test_a_waiter_that_is_killed_leaves_its_commit_to_the_log(bench) -> None:
    def main() -> None:
        log = bench.writer()
        waiter = bench.begin(log, 1, 1)
        waiter.kill()
        bench.commit(log, 1, 2)
        assert bench.applied == bench.written() == [(1, 1), (1, 2)]

    bench.run(main)


def test_a_commit_whose_task_is_killed_during_its_sync_needs_no_other_one_to_be_applied(bench) -> None:
    def main() -> None:
        log = bench.writer()
        waiter = bench.begin(log, 1, 1)
        waiter.kill()
        bench.runtime.sleep(1)
        assert bench.applied == bench.written() == [(1, 1)]
        log.close()

    bench.run(main)


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_a_kill_inside_the_append_of_a_very_large_commit_leaves_it_to_the_log(bench, durability) -> None:
    """Such an append switches on a local disk. Nobody knows what a killed one has left behind."""

    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        bench.fs.before_append = lambda: bench.runtime.sleep(1)
        waiter = bench.begin(log, 1, 2, bytes(3 << 20))
        bench.runtime.sleep(0.5)
        waiter.kill()
        bench.commit(log, 1, 3)
        assert bench.applied == bench.written() == [(1, 1), (1, 2), (1, 3)]
        log.close()

    bench.run(main)


@pytest.mark.parametrize("sync_error", [None, StorageFailed("EIO")])
def test_a_log_that_is_closed_or_breaks_after_a_kill_tells_so(bench, sync_error) -> None:
    def main() -> None:
        log = bench.writer()
        waiter = bench.begin(log, 1, 1)
        if sync_error is not None:
            bench.fs.sync_errors.append(sync_error)  # for the sync that the writing task repeats
        waiter.kill()
        if sync_error is None:
            log.close()
            assert bench.applied == bench.written() == [(1, 1)]
        else:
            with pytest.raises(StorageFailed):
                log.close()
            assert bench.applied == []

    bench.run(main)


@pytest.mark.parametrize("seed", quick_first(range(30), 8, 8))
def test_kills_at_any_moment_leave_the_order_and_lose_no_commit(bench_of, seed: int) -> None:
    bench = bench_of(seed)
    random = bench.runtime.random

    def main() -> None:
        log = bench.writer(segment_bytes=2000, group_bytes=300)
        called = []

        def client(number: int) -> None:
            for n in range(10):
                bench.runtime.sleep(random.random() * 0.02)
                called.append((number, n))
                bench.commit(log, number, n, bytes(random.randrange(100)))
                assert (number, n) in bench.applied

        tasks = [bench.runtime.spawn(client, number) for number in range(random.choice((1, 2, 4)))]
        for task in tasks:
            bench.runtime.sleep(random.random() * 0.05)
            task.kill()
        log.close()
        assert called == bench.applied == bench.written()

    bench.run(main)


@pytest.mark.parametrize("durability", ["sync", "os"])
@pytest.mark.parametrize("seed", quick_first(range(30), 8, 8))
def test_appends_that_switch_at_any_moment_keep_the_order_and_lose_no_commit(
    bench_of, seed: int, durability: str
) -> None:
    """Beside syncs, new segments, releases of old ones and the end of the log."""
    bench = bench_of(seed)
    random = bench.runtime.random
    bench.fs = SlowAppends(bench.fs, bench.runtime, f"{seed}")

    def main() -> None:
        log = bench.writer(
            durability=durability, segment_bytes=2000, group_bytes=300, sync_every_bytes=500, mark_seconds=0.01
        )
        called = []

        def client(number: int) -> None:
            for n in range(20):
                bench.runtime.sleep(random.choice((0.0, 0.0, random.random() * 0.02)))
                called.append((number, n))
                bench.commit(log, number, n, bytes(random.choice((10, 100, 400))))
                assert (number, n) in bench.applied
                if not random.randrange(10):
                    log.roll()
                if not random.randrange(5):
                    log.needed(number, n)  # of what is older nothing has to be kept

        tasks = [bench.runtime.spawn(client, number) for number in range(4)]
        for task in tasks:
            task.join()
            assert task.error is None
        log.close()
        assert called == bench.applied
        written = bench.written()
        assert written == called[len(called) - len(written) :]
        assert bench.fs.slow > 10

    bench.run(main)


@pytest.mark.parametrize("durability", ["sync", "os"])
@pytest.mark.parametrize("seed", quick_first(range(30), 8, 8))
def test_a_loss_of_power_while_appends_switch_keeps_what_was_synced(bench_of, seed: int, durability: str) -> None:
    """With "os" the end may be lost, and nothing in the middle."""
    bench = bench_of(seed)
    random = bench.runtime.random
    bench.fs = SlowAppends(bench.fs, bench.runtime, f"{seed}")
    called: list[tuple[int, int]] = []

    def client(log: LogWriter, number: int) -> None:
        for n in range(100):
            bench.runtime.sleep(random.choice((0.0, 0.0, random.random() * 0.02)))
            called.append((number, n))
            bench.commit(log, number, n, bytes(random.choice((10, 100, 400))))

    def main() -> None:
        log = bench.writer(durability=durability, segment_bytes=2000, group_bytes=300, sync_every_bytes=500)
        for number in range(4):
            bench.runtime.spawn(client, log, number)
        bench.runtime.sleep(random.uniform(0.02, 0.3))

    bench.run(main)
    applied = list(bench.applied)
    left = bench.memory.crash_clone(bench.runtime.random)
    bench.runtime.crash()
    written = [(record.tablet_id, record.sequence) for record in read_log(left, bench.folder)]
    assert written == called[: len(written)]
    if durability == "sync":
        assert applied == written[: len(applied)]


def test_an_apply_that_fails_stops_the_log(bench) -> None:
    def broken() -> None:
        raise ValueError("no")

    def main() -> None:
        log = bench.writer()
        with pytest.raises(StorageFailed, match="restart this tablet server"):
            log.commit(1, 1, bytes(10), broken)
        with pytest.raises(StorageFailed):
            bench.commit(log, 1, 2)

    bench.run(main)


def test_os_an_apply_that_fails_stops_the_log_too(bench) -> None:
    def broken() -> None:
        raise ValueError("no")

    def main() -> None:
        log = bench.writer(durability="os")
        with pytest.raises(ValueError, match="no"):
            log.commit(1, 1, bytes(10), broken)
        with pytest.raises(StorageFailed, match="restart this tablet server"):
            bench.commit(log, 1, 2)

    bench.run(main)


def test_close_writes_what_waits_and_refuses_the_rest(bench) -> None:
    def main() -> None:
        log = bench.writer()
        tasks = [bench.begin(log, 1, n) for n in range(5)]
        log.close()
        assert len(bench.applied) == 5
        assert all(task.join() and task.error is None for task in tasks)
        with pytest.raises(Unavailable, match="closing"):
            bench.commit(log, 1, 9)
        log.close()
        assert len(bench.written()) == 5

    bench.run(main)


def test_a_folder_is_written_by_one_incarnation_once(bench) -> None:
    def main() -> None:
        bench.writer().close()
        with pytest.raises(AlreadyExists):
            bench.writer()

    bench.run(main)


def test_metrics_and_size(bench) -> None:
    def main() -> None:
        log = bench.writer()
        log.commit(1, 3, bytes(500), lambda: None, False, 3)
        log.commit(1, 4, bytes(500), lambda: None)
        counts = {name: value for name, _, value in bench.registry.counters()}
        assert counts["hbtable_wal_records_total"] == 4
        assert counts["hbtable_wal_bytes_total"] == 1000
        assert counts["hbtable_wal_groups_total"] == 2
        assert log.size_bytes == len(bench.content(1))

    bench.run(main)


def test_options_that_make_no_sense_are_refused(bench) -> None:
    with pytest.raises(InvalidConfiguration, match="'sync' or 'os'"):
        bench.writer(durability="maybe")
    with pytest.raises(InvalidConfiguration):
        bench.writer(segment_bytes=0)


@pytest.mark.parametrize("clients", [2, 3, 8, 20])
def test_sync_clients_that_commit_again_at_once_share_a_sync(bench, monkeypatch, clients: int) -> None:
    """They think for less time than a sync takes. Without a wait for them the first to come begins a sync alone, and
    the others need a second one: two syncs a round."""
    rounds = 50
    _let_syncs_last(bench, monkeypatch, 0.001)

    def main() -> None:
        log = bench.writer()
        before = bench.fs.syncs

        def client(number: int) -> None:
            for n in range(rounds):
                bench.commit(log, number, n)
                bench.runtime.sleep(0.0001 + 0.00001 * number)

        for task in [bench.runtime.spawn(client, number) for number in range(clients)]:
            task.join()
        syncs = bench.fs.syncs - before
        assert rounds <= syncs <= rounds * 1.2 * -(-clients // 8)
        assert sorted(bench.applied) == sorted(bench.written())

    bench.run(main)


def test_sync_nobody_waits_for_a_client_that_went_away_twice(bench, monkeypatch) -> None:
    _let_syncs_last(bench, monkeypatch, 0.001)

    def main() -> None:
        log = bench.writer()

        def commits(number: int, count: int) -> list[float]:
            took = []
            for n in range(count):
                began = bench.runtime.clock_seconds()
                bench.commit(log, number, n)
                took.append(bench.runtime.clock_seconds() - began)
            return took

        stays = bench.runtime.spawn(lambda: times.extend(commits(1, 40)))
        times: list[float] = []
        leaves = bench.runtime.spawn(commits, 2, 20)
        for task in (stays, leaves):
            task.join()
        alone = times[-15:]
        assert max(alone) < 0.0015  # its own sync, and no wait
        assert max(times) < 0.0045  # another's sync, one wait that was in vain, its own sync

    bench.run(main)


@pytest.mark.parametrize(("clients", "seeds"), [(2, 1), (5, 6)])
def test_sync_clients_that_think_for_longer_than_a_sync_are_hardly_waited_for(
    bench_of, monkeypatch, clients: int, seeds: int
) -> None:
    """Two meet now and then by chance, and are not there when their next group is to begin. Of five clients' commits 4
    to 42 in a thousand take that long, from seed to seed."""
    late = commits = 0
    for seed in range(1, seeds + 1):
        bench = bench_of(seed)
        with monkeypatch.context() as patches:
            _let_syncs_last(bench, patches, 0.001)
            times = bench.run(lambda bench=bench: _times_of_thinkers(bench, clients))
        late += sum(taken > 0.0021 for taken in times)  # more than another's sync, and its own
        commits += len(times)
    assert late < commits / 33


def _times_of_thinkers(bench, clients: int) -> list[float]:
    """How long 200 commits of each took."""
    log = bench.writer()
    times: list[float] = []

    def client(number: int) -> None:
        for n in range(200):
            began = bench.runtime.clock_seconds()
            bench.commit(log, number, n)
            times.append(bench.runtime.clock_seconds() - began)
            bench.runtime.sleep(bench.runtime.random.uniform(0.002, 0.02))

    for task in [bench.runtime.spawn(client, number) for number in range(clients)]:
        task.join()
    return times


def test_sync_nobody_waits_where_a_sync_takes_less_than_a_commit(bench, monkeypatch) -> None:
    _let_syncs_last(bench, monkeypatch, 0.00005)

    def main() -> None:
        log = bench.writer()
        times: list[float] = []

        def client(number: int) -> None:
            for n in range(100):
                began = bench.runtime.clock_seconds()
                bench.commit(log, number, n)
                times.append(bench.runtime.clock_seconds() - began)
                bench.runtime.sleep(0.000015 * number)

        for task in [bench.runtime.spawn(client, number) for number in range(1, 6)]:
            task.join()
        assert 0.000075 < max(times) < 0.00012  # another's sync and its own

    bench.run(main)


def test_sync_a_log_that_breaks_while_a_group_gathers_tells_who_waits(bench, monkeypatch) -> None:
    _let_syncs_last(bench, monkeypatch, 0.001)

    def main() -> None:
        log = bench.writer()
        told = []

        def client(number: int) -> None:
            try:
                for n in range(1000):
                    bench.commit(log, number, n)
                    bench.runtime.sleep(0.0002 * number)
            except StorageFailed as error:
                told.append(str(error))

        tasks = [bench.runtime.spawn(client, number) for number in range(3)]
        for _ in range(10_000):
            if log._queue._awaited:
                break
            bench.runtime.sleep(0.0001)
        else:
            raise AssertionError("no group gathered")
        before = list(bench.applied)
        log._break(StorageFailed("the disk is gone"))
        for task in tasks:
            task.join()
        bench.runtime.sleep(0.1)
        assert len(told) == len(tasks)
        assert bench.applied == before
        assert bench.runtime.deaths.total == 0
        with pytest.raises(StorageFailed):
            log.close()

    bench.run(main)


def _let_syncs_last(bench, monkeypatch, seconds: float) -> None:
    """In place of the random times of a simulated disk."""
    offload = bench.runtime.offload

    def timed(kind: str, function: object, *arguments: object) -> object:
        if kind != "log-sync":
            return offload(kind, function, *arguments)
        bench.runtime.sleep(seconds)
        return function(*arguments)  # type: ignore[operator]

    monkeypatch.setattr(bench.runtime, "offload", timed)

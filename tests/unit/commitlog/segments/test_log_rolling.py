"""A new segment on demand: what was committed before it lies in files that can go."""

import pytest

from hbtable.errors import OutcomeUnknown, OutOfSpace, StorageFailed, Unavailable

DURABILITIES = pytest.mark.parametrize("durability", ["sync", "os"])


@DURABILITIES
def test_what_comes_after_lies_in_another_file_and_the_old_one_goes_when_nobody_needs_it(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        log.roll()
        assert bench.segments() == ["0000000001.log", "0000000002.log"]
        bench.commit(log, 1, 2)
        bench.runtime.sleep(1)
        assert len(bench.segments()) == 2, "its tablet needs the first record"
        log.needed(1, 2)
        bench.runtime.sleep(1)
        assert bench.segments() == ["0000000002.log"]
        assert bench.written() == [(1, 2)]
        log.close()
        assert bench.written() == [(1, 2)]

    bench.run(main)


def test_a_segment_that_nobody_needs_goes_at_once(bench) -> None:
    def main() -> None:
        log = bench.writer()
        bench.commit(log, 1, 1)
        log.forget(1)
        log.roll()
        bench.runtime.sleep(1)
        assert bench.segments() == ["0000000002.log"]
        bench.commit(log, 1, 2)
        assert bench.written() == [(1, 2)]

    bench.run(main)


@DURABILITIES
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_or_mixed_up_among_commits(bench_of, durability: str, seed: int) -> None:
    bench = bench_of(seed)

    def main() -> None:
        log = bench.writer(durability=durability)
        tasks = []
        for sequence in range(1, 31):
            tasks.append(bench.begin(log, 1 + sequence % 3, sequence))
            if sequence % 10 == 0:
                tasks += [bench.runtime.spawn(log.roll) for _ in range(2)]
        for task in tasks:
            task.join()
            assert task.error is None
        assert 2 <= len(bench.segments()) <= 7
        assert sorted(bench.written()) == sorted(bench.applied)
        assert len(bench.applied) == 30
        log.close()
        assert sorted(bench.written()) == sorted(bench.applied)

    bench.run(main)


@DURABILITIES
def test_without_room_for_a_segment_whoever_asked_is_told_and_the_log_goes_on(bench, durability) -> None:
    def main() -> None:
        log = bench.writer(durability=durability)
        bench.commit(log, 1, 1)
        bench.fs.create_errors.append(OutOfSpace("full"))
        with pytest.raises(Unavailable, match="full"):
            log.roll()
        bench.commit(log, 1, 2)
        assert bench.written() == [(1, 1), (1, 2)]
        log.close()
        with pytest.raises(Unavailable, match="is being closed"):
            log.roll()

    bench.run(main)


def test_a_broken_log_says_so(bench) -> None:
    def main() -> None:
        log = bench.writer(durability="sync")
        bench.fs.sync_errors.append(StorageFailed("disk"))
        with pytest.raises(OutcomeUnknown):
            bench.commit(log, 1, 1)
        for _ in range(2):
            with pytest.raises(StorageFailed):
                log.roll()

    bench.run(main)


def test_commits_do_not_wait_for_the_sync_of_a_group_that_filled_the_segment(bench) -> None:
    """Behind a put of 54 MB the next segment began with a sync of them, and other clients' puts waited for 0.3 s."""

    def main() -> None:
        log = bench.writer(durability="os", segment_bytes=2000, sync_every_bytes=500)
        bench.fs.before_sync = lambda: bench.runtime.sleep(1.0)
        bench.commit(log, 1, 1, bytes(2500))
        began = bench.runtime.clock_seconds()
        for sequence in range(1, 5):
            bench.commit(log, 2, sequence)
        assert bench.runtime.clock_seconds() - began < 0.1
        assert bench.segments() == ["0000000001.log"], "it runs over"
        bench.runtime.sleep(2.0)
        bench.commit(log, 2, 5)
        assert len(bench.segments()) == 2, "it was synced, and the next one began"
        assert bench.written() == [(1, 1), *((2, sequence) for sequence in range(1, 6))]
        log.close()

    bench.run(main)


def test_a_segment_that_runs_over_gets_no_longer_than_two(bench) -> None:
    """Where syncs take for ever, commits wait for them in the end: a segment is read whole at a recovery."""

    def main() -> None:
        log = bench.writer(durability="os", segment_bytes=2000, sync_every_bytes=500)
        bench.fs.before_sync = lambda: bench.runtime.sleep(1.0)
        for sequence in range(1, 9):
            bench.commit(log, 1, sequence, bytes(1500))
        assert len(bench.segments()) >= 3
        assert max(len(bench.content(number)) for number in range(1, len(bench.segments()) + 1)) < 6000
        log.close()
        assert bench.written() == [(1, sequence) for sequence in range(1, 9)]

    bench.run(main)


@pytest.mark.parametrize("seed", range(10))
def test_a_sync_that_fails_behind_a_segment_that_runs_over_breaks_the_log(bench_of, seed: int) -> None:
    bench = bench_of(seed)

    def main() -> None:
        log = bench.writer(durability="os", segment_bytes=2000, sync_every_bytes=500)
        bench.fs.before_sync = lambda: bench.runtime.sleep(1.0)
        bench.commit(log, 1, 1, bytes(2500))
        bench.fs.sync_errors.append(StorageFailed("the disk is gone"))
        with pytest.raises((StorageFailed, OutcomeUnknown)):
            _commit_again_and_again(log)
        assert log.broken
        with pytest.raises(StorageFailed):
            bench.commit(log, 1, 100)

    def _commit_again_and_again(log) -> None:
        for sequence in range(2, 100):
            bench.commit(log, 1, sequence)
            bench.runtime.sleep(0.1)

    bench.run(main)

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

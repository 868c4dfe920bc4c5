"""Segments go when no tablet needs them, and recovery tells a deleted segment from a lost one."""

import pytest

from hbtable.errors import Corruption, OutOfSpace


def _three_segments(bench):
    """Tablet 1 in segments 1 and 2, tablet 2 in segment 2 only, segment 3 active."""
    log = bench.writer(segment_bytes=300)
    bench.commit(log, 1, 1, bytes(300))
    bench.commit(log, 1, 2, bytes(100))
    bench.commit(log, 2, 1, bytes(300))
    bench.commit(log, 3, 1)
    assert len(bench.segments()) == 3
    return log


def test_a_segment_is_deleted_when_all_its_tablets_moved_on(bench) -> None:
    def main() -> None:
        log = _three_segments(bench)
        size = log.size_bytes
        assert log.tablets_of_oldest_segment() == [1]
        log.needed(1, 2)
        bench.runtime.sleep(1)
        assert bench.segments() == ["0000000002.log", "0000000003.log"]
        assert log.size_bytes < size
        assert log.tablets_of_oldest_segment() == [1, 2]
        log.needed(1, 3)
        log.forget(2)
        bench.runtime.sleep(1)
        assert bench.segments() == ["0000000003.log"]
        assert bench.written() == [(3, 1)]
        bench.commit(log, 3, 2)
        log.close()
        assert bench.written() == [(3, 1), (3, 2)]

    bench.run(main)


def test_a_lost_segment_is_never_taken_for_a_deleted_one(bench) -> None:
    def main() -> None:
        log = _three_segments(bench)
        log.needed(1, 2)
        bench.runtime.sleep(1)
        log.close()
        del bench.memory.disk.files[f"{bench.folder}/0000000002.log"]
        with pytest.raises(Corruption, match="missing"):
            bench.written()

    bench.run(main)


@pytest.mark.parametrize("seed", range(30))
def test_a_crash_while_segments_are_deleted_never_looks_like_a_loss(bench_of, seed: int) -> None:
    bench = bench_of(seed)

    def main() -> None:
        log = _three_segments(bench)
        log.needed(1, 3)
        log.forget(2)
        bench.runtime.sleep(bench.runtime.random.random() * 0.06)

    def recover() -> None:
        assert bench.written()[-1] == (3, 1)

    bench.run(main)
    survivor = bench.memory.crash_clone(bench.runtime.random)
    bench.fs.inner = bench.memory = survivor
    bench.run(recover)


def test_without_room_to_say_so_segments_stay_until_there_is(bench) -> None:
    def main() -> None:
        log = _three_segments(bench)
        disk = bench.memory.disk
        disk.capacity_bytes = disk.used_bytes
        log.needed(1, 2)
        bench.runtime.sleep(1)
        assert "0000000001.log" in bench.segments()
        with pytest.raises(OutOfSpace):
            bench.commit(log, 3, 2)
        disk.capacity_bytes = None
        log.needed(1, 2)
        bench.runtime.sleep(1)
        assert "0000000001.log" not in bench.segments()
        bench.commit(log, 3, 3)
        assert bench.written()[-1] == (3, 3)

    bench.run(main)


def test_needed_after_close_or_failure_does_nothing(bench) -> None:
    def main() -> None:
        log = _three_segments(bench)
        log.close()
        log.needed(1, 99)
        log.forget(2)
        bench.runtime.sleep(1)
        assert len(bench.segments()) == 3
        assert len(bench.written()) == 4
        log.close()

    bench.run(main)

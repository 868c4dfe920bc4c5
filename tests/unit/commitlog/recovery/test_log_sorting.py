import random

import pytest

from hbtable.commitlog.records import encode_record, places
from hbtable.commitlog.recovery.recovered_edits import SortedRunIndexes, recovered
from hbtable.errors import Corruption, StorageFailed
from tests.harness.sorted_log import sort_log


def _fill(bench, count: int = 300, tablets: int = 4) -> dict[int, list[int]]:
    """Random rows of a few tablets over several segments; the sequences of each tablet."""
    chance = random.Random(3)
    sequences: dict[int, list[int]] = {tablet: [] for tablet in range(tablets)}

    def main() -> None:
        log = bench.writer(durability="os", segment_bytes=8000)
        for n in range(1, count + 1):
            tablet = chance.randrange(tablets)
            key = b"row%d\x00\x01f\x00q\x00\x01" % chance.randrange(20) + bytes(18)
            log.commit(tablet, n, encode_record(tablet, 1, n, 0, [(key, b"%d" % n)]), lambda: None)
            sequences[tablet].append(n)

    bench.run(main)
    return sequences


def _recovered(bench, tablet: int, first: int = 0) -> list[int]:
    def main() -> list[int]:
        found = list(recovered(bench.fs, bench.folder, tablet, first))
        assert [record.pairs[0][1] for record in found] == [b"%d" % record.sequence for record in found]
        return [record.sequence for record in found]

    return bench.run(main)


def test_each_tablet_gets_its_own_records_by_sequence_sorted_or_not(bench) -> None:
    sequences = _fill(bench)
    for _ in range(2):
        for tablet, expected in sequences.items():
            assert _recovered(bench, tablet) == expected
            assert _recovered(bench, tablet, 150) == [n for n in expected if n >= 150]
        assert _recovered(bench, 99) == []
        bench.run(sort_log, bench.runtime, bench.fs, bench.folder, None, 5_000)
    assert len([name for name in bench.segments() if name.endswith(".run")]) > 3


def test_a_tablet_reads_one_contiguous_piece_per_run_and_only_runs_it_needs(bench) -> None:
    _fill(bench)
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder, None, 10_000)
    runs = [name for name in bench.segments() if name.endswith(".run")]
    bench.fs.reads.clear()
    _recovered(bench, 1)
    assert len(bench.fs.reads) == 2 * len(runs)  # footer and index, piece
    bench.fs.reads.clear()
    _recovered(bench, 1, 295)
    assert len(bench.fs.reads) == len(runs) + 1


def test_the_next_tablet_of_a_log_reads_no_index_again(bench) -> None:
    sequences = _fill(bench)
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder, None, 10_000)
    runs = [name for name in bench.segments() if name.endswith(".run")]
    indexes = SortedRunIndexes()

    def main(tablet: int) -> list[int]:
        return [record.sequence for record in recovered(bench.fs, bench.folder, tablet, 0, indexes)]

    assert bench.run(main, 1) == sequences[1]
    bench.fs.reads.clear()
    assert bench.run(main, 2) == sequences[2]
    assert len(bench.fs.reads) == len(runs)  # the pieces
    assert bench.run(main, 99) == []


def test_runs_are_sorted_by_tablet_then_row_then_sequence(bench) -> None:
    _fill(bench)
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    for path, file in bench.memory.disk.files.items():
        if path.endswith(".run"):
            content = bytes(file.content)
            index_bytes = int.from_bytes(content[-12:-8], "big") * 40
            found = [place[:3] for place in places(content, 0, len(content) - 24 - index_bytes, path)]
            assert found == sorted(found)


def test_sorting_again_changes_nothing_and_a_crash_in_the_middle_is_made_good(bench) -> None:
    sequences = _fill(bench)

    class Crash(Exception):
        pass

    inner = bench.fs.inner
    writes = 0
    allowed = 0

    class Crashing:
        def __getattr__(self, name: str) -> object:
            return getattr(inner, name)

        def write_file(self, path: str, data: bytes) -> None:
            nonlocal writes
            writes += 1
            if writes > allowed:
                raise StorageFailed("crashed here")
            inner.write_file(path, data)

    crashing = Crashing()
    while True:
        writes = 0
        try:
            bench.run(sort_log, bench.runtime, crashing, bench.folder, None, 10_000)
            break
        except StorageFailed:
            allowed += 1
        assert _recovered(bench, 2) == sequences[2]
    assert allowed > 3
    before = {path: bytes(file.content) for path, file in inner.disk.files.items()}
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    assert {path: bytes(file.content) for path, file in inner.disk.files.items()} == before


def test_a_sorted_log_is_settled_whatever_happens_to_the_log_itself(bench) -> None:
    sequences = _fill(bench)
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    for path in list(bench.memory.disk.files):
        if path.endswith(".log"):
            del bench.memory.disk.files[path]
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    assert _recovered(bench, 1) == sequences[1]


def test_a_record_that_is_in_the_log_twice_is_recovered_once(bench) -> None:
    def main() -> None:
        log = bench.writer(durability="os", segment_bytes=100)
        for generation, sequence, value in ((1, 1, b"1"), (1, 2, b"old"), (2, 2, b"2"), (1, 1, b"1"), (2, 3, b"3")):
            key = b"row\x00\x01f\x00q\x00\x01" + bytes(18)
            log.commit(5, sequence, encode_record(5, generation, sequence, 0, [(key, value)]), lambda: None)

    bench.run(main)
    assert _recovered(bench, 5) == [1, 2, 3]
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    assert _recovered(bench, 5) == [1, 2, 3]


def test_of_two_copies_the_later_one_counts_wherever_the_runs_lie(bench) -> None:
    """Also where the later run begins with an earlier sequence, and where later sequences follow in other runs."""
    written = [(5, b"early"), (6, b"other"), (4, b"first"), (5, b"late"), *((n, b"after") for n in range(7, 30))]

    def fill() -> None:
        log = bench.writer(durability="os", segment_bytes=1000)
        for sequence, value in written:
            record = encode_record(1, 1, sequence, 0, [(b"r\x00\x01f\x00q\x00\x01" + bytes(18), value + b"." * 400)])
            log.commit(1, sequence, record, lambda: None)

    def main() -> dict[int, bytes]:
        found = list(recovered(bench.fs, bench.folder, 1, 0))
        assert [record.sequence for record in found] == list(range(4, 30))
        return {record.sequence: record.pairs[0][1].rstrip(b".") for record in found}

    bench.run(fill)
    assert bench.run(main)[5] == b"late"
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder, None, 1_000)
    assert len([name for name in bench.segments() if name.endswith(".run")]) > 3
    assert bench.run(main)[5] == b"late"


def test_an_empty_log_sorts_to_nothing(bench) -> None:
    bench.run(lambda: bench.writer().close())
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    assert _recovered(bench, 1) == []


def test_a_damaged_log_is_not_sorted(bench) -> None:
    _fill(bench)
    bench.content(1)[300] ^= 1
    with pytest.raises(Corruption):
        bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    assert not any("sorted" in name for name in bench.segments())


def test_every_flipped_bit_of_the_sorted_files_is_noticed_by_whoever_reads_it(bench) -> None:
    sequences = _fill(bench, 12, 2)
    bench.run(sort_log, bench.runtime, bench.fs, bench.folder)
    noticed = 0
    for path, file in bench.memory.disk.files.items():
        if "/sorted/" not in path:
            continue
        for bit in range(len(file.content) * 8):
            file.content[bit // 8] ^= 1 << bit % 8
            try:
                assert [_recovered(bench, tablet) for tablet in (0, 1)] == [sequences[0], sequences[1]]
            except Corruption:
                noticed += 1
            else:
                raise AssertionError(f"bit {bit} of {path} went unnoticed")
            file.content[bit // 8] ^= 1 << bit % 8
    assert noticed > 1000


def test_sorting_lets_others_run(bench) -> None:
    _fill(bench, 3000, 1)
    turns = 0
    done = bench.runtime.event()

    def other() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            bench.runtime.sleep(0)

    def main() -> None:
        bench.runtime.spawn(other)
        sort_log(bench.runtime, bench.fs, bench.folder)
        done.set()

    bench.run(main)
    assert turns > 10

"""Reads and scans: positions, pieces, filters, time ranges, vanished files, no torn rows, hot columns."""

import pytest

from hbtable.errors import Corruption, InvalidRequest, StaleLocation
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import (
    PUT,
    RowMutation,
)
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanPosition, ScanRequest
from hbtable.model.tablet import TabletRecord
from hbtable.tablet.options import TabletOptions
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, OneRecord, VanishingFileSystem, delete, everything, put, values
from tests.harness.tiers import quick_first

ROWS = [b"a", b"a\x00", b"b", b"c", b"d"]


def filled(bench: Bench):
    tablet = bench.open()
    for number, row in enumerate(ROWS):
        tablet.mutate([put(row, b"f:%d" % n, b"v%d" % n) for n in range(5)])
        if number % 2:
            tablet.flush()
    return tablet


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    "rows", [RowRange(), RowRange(b"a\x00"), RowRange(b"", b"c"), RowRange(b"aa", b"d"), RowRange(b"x")]
)
@pytest.mark.parametrize("piece", [0, 1, 2, 5, 7])
def test_pages_of_any_size_give_the_same_rows(bench: Bench, rows: RowRange, backwards: bool, piece: int) -> None:
    def main() -> None:
        tablet = filled(bench)
        wanted = [row for row in ROWS if rows.holds(row)]
        if backwards:
            wanted.reverse()
        cells = [(row, b"f:%d" % n) for row in wanted for n in range(5)]
        for max_rows in (1, 2, 3, 100):
            request = ScanRequest(rows, EVERYTHING, backwards, piece, max_rows)
            found = everything(tablet, request)
            assert [(row, cell[0]) for row, some in found for cell in some] == cells
            assert all(len(some) <= (piece or 5) for _, some in found)
            limited = ScanRequest(rows, EVERYTHING, backwards, piece, 100, max_bytes=1)
            assert everything(tablet, limited) == found

    bench.run(main)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_scan_goes_on_where_it_was_whatever_happened_to_the_row_meanwhile(bench: Bench, backwards: bool) -> None:
    def main() -> None:
        tablet = filled(bench)
        page = tablet.scan(ScanRequest(reversed=backwards, max_rows=2))
        last = page.rows[-1][0]
        tablet.mutate([delete(last, b"f"), put(last + b"\x00", b"f:a", b""), put(last[:-1] or b"A", b"f:a", b"")])
        rest = everything(tablet, ScanRequest(reversed=backwards, position=page.next))
        assert last not in [row for row, _ in rest]
        order = [row for row, _ in page.rows + rest]
        assert order == sorted(order, reverse=backwards)

    bench.run(main)


def test_a_scan_is_cut_to_the_tablet_and_a_row_outside_is_refused(bench: Bench) -> None:
    bench.records = OneRecord(TabletRecord(16, 20, RowRange(b"b", b"d"), 1))

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(row, b"f:a", b"") for row in (b"b", b"c")])
        for position in (None, ScanPosition(b"a"), ScanPosition(b"b")):
            assert [row for row, _ in everything(tablet, ScanRequest(position=position))] == [b"b", b"c"]
        for position in (None, ScanPosition(b"z"), ScanPosition(b"d"), ScanPosition(b"")):
            found = everything(tablet, ScanRequest(reversed=True, position=position))
            assert [row for row, _ in found] == [b"c", b"b"]
        with pytest.raises(StaleLocation):
            tablet.read_rows([b"b", b"d"], EVERYTHING)
        with pytest.raises(InvalidRequest):
            tablet.read_rows([b""], EVERYTHING)

    bench.run(main)


def test_rows_come_in_the_order_asked_and_twice_when_asked_twice(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        found = tablet.read_rows([b"c", b"none", b"a", b"c"], EVERYTHING)
        assert [row for row, _ in found] == [b"c", b"a", b"c"]

    bench.run(main)


def test_the_time_range_does_not_lift_masks(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for time in (1, 2, 3):
            tablet.mutate([put(b"r", b"f:a", b"%d" % time, time), put(b"r", b"f:b", b"%d" % time, time)])
            tablet.flush()
        tablet.mutate([delete(b"r", b"f:a", 2)])
        tablet.flush()

        def times(low: int, high: int) -> list[tuple[bytes, int]]:
            spec = ReadSpec(None, low, high, 3)
            return [cell[:2] for _, cells in tablet.read_rows([b"r"], spec) for cell in cells]

        assert times(0, 3) == [(b"f:b", 2), (b"f:b", 1)]
        assert times(3, 4) == [(b"f:a", 3), (b"f:b", 3)]
        assert times(4, 9) == []
        tablet.mutate([delete(b"r", b"f", 20)])
        tablet.flush()
        assert times(0, 3) == []

    bench.run(main)


def test_a_column_read_sees_family_markers_in_files_that_hold_nothing_else(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"1", 1), put(b"r", b"f:b", b"2", 9)])
        tablet.flush()
        tablet.mutate([delete(b"r", b"f", 5)])
        spec = ReadSpec({b"f": frozenset((b"a", b"b", b"c")), b"g": None})
        for _ in range(2):
            assert values(tablet, b"r", spec) == {b"f:b": b"2"}
            tablet.flush()

    bench.run(main)


# ------------------------------------------------------------ filters


def test_a_filter_counts_on_over_pages_and_pieces(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        for piece, max_rows in ((0, 1), (0, 2), (2, 1), (2, 3), (1, 1)):
            spec = ReadSpec(filter=b"PageFilter(3)")
            found = everything(tablet, ScanRequest(spec=spec, cells_per_row=piece, max_rows=max_rows))
            assert list(dict(found)) == ROWS[:3]
            assert sum(len(cells) for _, cells in found) == 15

    bench.run(main)


def test_a_finished_filter_says_so_and_its_state_goes_on_in_the_next_tablet(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        spec = ReadSpec(filter=b"PageFilter(2)")
        page = tablet.scan(ScanRequest(RowRange(b"", b"a\x00"), spec))
        assert page.next is None
        assert not page.filter_finished
        again = tablet.scan(
            ScanRequest(RowRange(b"a\x00"), spec, position=ScanPosition(b"a\x00", 0, page.filter_state))
        )
        assert [row for row, _ in again.rows] == [b"a\x00"]
        assert again.filter_finished

    bench.run(main)


def test_filters_on_single_rows_and_on_reversed_scans(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        spec = ReadSpec(filter=b"QualifierFilter(=, 'binary:3')")
        assert tablet.read_rows([b"a"], spec)[0][1][0][0] == b"f:3"
        assert tablet.read_rows([b"a"], ReadSpec(filter=b"PrefixFilter('z')")) == []
        backwards = ScanRequest(spec=ReadSpec(filter=b"PageFilter(2)"), reversed=True, max_rows=1)
        assert [row for row, _ in everything(tablet, backwards)] == [b"d", b"c"]

    bench.run(main)


def test_an_older_version_surfaces_when_the_filter_drops_the_newest_one(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"old", 1), put(b"r", b"f:a", b"new", 2)])
        spec = ReadSpec(filter=b"ValueFilter(=, 'binary:old')")
        assert values(tablet, b"r", spec) == {b"f:a": b"old"}

    bench.run(main)


# ------------------------------------------------------------ while other things go on


@pytest.mark.parametrize("seed", quick_first(range(5), 1, 3))
def test_no_row_is_ever_seen_torn(seed: int) -> None:
    """HBase's TestAcidGuarantees: writers put one value into many columns of both families, a flusher never rests."""
    bench = Bench(seed, "sync")
    bench.options = TabletOptions(slice_seconds=0.0, merge_files=2)

    def main() -> None:
        tablet = bench.open()
        rows = [b"%d" % n for n in range(3)]
        stop = []

        def writer(name: int) -> None:
            number = 0
            while not stop:
                number += 1
                value = b"%d-%d" % (name, number)
                operations = [
                    (PUT, family, b"%d" % n, SERVER_TIME, value) for family in (b"f", b"g") for n in range(40)
                ]
                tablet.mutate([RowMutation(rows[number % 3], operations)])

        def flusher() -> None:
            while not stop:
                tablet.flush()
                tablet.compact(False)
                bench.runtime.sleep(0.001)

        def check(found: list[tuple[bytes, list[tuple[bytes, int, bytes]]]]) -> None:
            for _, cells in found:
                assert len({value for _, _, value in cells}) == 1
                assert len(cells) == 80

        def reader() -> None:
            for number in range(60):
                if number % 3:
                    check(tablet.read_rows(rows * 10, EVERYTHING))
                else:
                    check(everything(tablet, ScanRequest(reversed=bool(number % 2))))
                bench.runtime.sleep(0.001)

        writers = [bench.runtime.spawn(writer, name) for name in range(3)]
        others = [bench.runtime.spawn(flusher)]
        readers = [bench.runtime.spawn(reader) for _ in range(2)]
        for task in readers:
            task.join()
        stop.append(True)
        for task in readers + writers + others:
            task.join()
            assert task.error is None

    bench.run(main)


@pytest.mark.parametrize("backwards", [False, True])
def test_when_a_replaced_file_is_collected_a_scan_goes_on_at_a_row_boundary(backwards: bool) -> None:
    bench = Bench()
    reads = []
    at_third_read = []

    def before_read() -> None:
        reads.append(True)
        if len(reads) == 3 and at_third_read:
            at_third_read.pop()()

    bench.fs = VanishingFileSystem(bench.memory, before_read)

    def main() -> None:
        tablet = bench.open()
        rows = [b"%05d" % n for n in range(2000)]
        for half in (rows[::2], rows[1::2]):
            tablet.mutate([put(row, b"f:%d" % n, bytes(500)) for row in half for n in range(3)])
            tablet.flush()
        old = [ref.path for _, refs in tablet.record.files for ref in refs]
        before = everything(tablet, ScanRequest(reversed=backwards, max_rows=100))

        def replace_files() -> None:
            tablet.compact(True)
            for path in old:
                bench.fs.delete(path)
                bench.cache.drop_file(path)

        for path in old:
            bench.cache.drop_file(path)
        reads.clear()
        at_third_read.append(replace_files)
        assert everything(tablet, ScanRequest(reversed=backwards, max_rows=5000)) == before
        assert not at_third_read
        assert tablet.status().sstables == 1

    bench.run(main)


def test_a_lost_file_is_an_error_and_not_an_empty_answer(bench: Bench) -> None:
    bench.fs = VanishingFileSystem(bench.memory)

    def main() -> None:
        tablet = filled(bench)
        tablet.compact(True)
        path = tablet.record.files[0][1][0].path
        bench.cache.drop_file(path)
        bench.fs.delete(path)
        for call in (lambda: everything(tablet), lambda: tablet.read_rows([b"a"], EVERYTHING)):
            with pytest.raises(Corruption):
                call()

    bench.run(main)


def test_a_scan_over_masked_rows_lets_others_run(bench: Bench) -> None:
    bench.options = TabletOptions(slice_seconds=0.0)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%05d" % n, b"f:a", b"") for n in range(5000)])
        tablet.mutate([delete(b"%05d" % n, b"f") for n in range(5000)])
        row_locks = []

        def other() -> None:
            while True:
                row_locks.append(True)
                bench.runtime.sleep(0)

        task = bench.runtime.spawn(other)
        bench.runtime.sleep(0)
        before = len(row_locks)
        assert everything(tablet) == []
        assert len(row_locks) - before >= 10
        task.kill()

    bench.run(main)


def test_a_page_ends_in_time_and_says_where_to_go_on(bench: Bench) -> None:
    bench.options = TabletOptions(scan_seconds=-1.0)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%05d" % n, b"f:a", b"") for n in range(1000)])
        spec = ReadSpec(filter=b"RowFilter(=, 'binary:00999')")
        page = tablet.scan(ScanRequest(spec=spec))
        assert page.rows == []
        assert page.next is not None
        assert [row for row, _ in everything(tablet, ScanRequest(spec=spec))] == [b"00999"]

    bench.run(main)


@pytest.mark.slow
def test_the_planted_bug_of_torn_rows_is_found() -> None:
    is_found("torn", lambda: test_no_row_is_ever_seen_torn(0))

"""Rows of very many or very large cells: the same answers in any pieces, refused in time, never held whole."""

from dataclasses import replace
from itertools import pairwise

import pytest

from hbtable.errors import LimitExceeded
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanRequest
from hbtable.runtime.slices import FREED_AT_ONCE
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.portions import Portions
from hbtable.tablet.reads.long_rows import LongRow
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything, put
from tests.harness.tiers import quick_first

LENGTHS = {b"a": 1, b"b": 1500, b"c": 7, b"d": 40, b"e": 600, b"f": 1}
LARGE = 1 << 20


def many(row: bytes, first: int, count: int) -> RowMutation:
    return RowMutation(row, [(PUT, b"f", b"%05d" % n, 5, b"v%d" % n) for n in range(first, first + count)])


def filled(bench: Bench) -> Tablet:
    """Half of each row is in a file, half of it in the memtable, and they alternate."""
    tablet = bench.open()
    for row, length in LENGTHS.items():
        cells = many(row, 0, length).operations
        tablet.mutate([RowMutation(row, cells[::2])])
        tablet.flush()
        if cells[1::2]:
            tablet.mutate([RowMutation(row, cells[1::2])])
    return tablet


def expected() -> list[Row]:
    return [(row, [(b"f:%05d" % n, 5, b"v%d" % n) for n in range(length)]) for row, length in LENGTHS.items()]


def joined(rows: list[Row], largest: int) -> list[Row]:
    """Pieces of one row put together; none has more than `largest` cells."""
    found: list[tuple[bytes, list[Cell]]] = []
    for row, cells in rows:
        assert cells
        assert not largest or len(cells) <= largest
        if found and found[-1][0] == row:
            found[-1][1].extend(cells)
        else:
            found.append((row, list(cells)))
    return found


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("piece", [0, 1, 7, 600, 10_000])
@pytest.mark.parametrize("limits", [(1, 1 << 30), (3, 1 << 30), (1000, 20_000), (1000, 1 << 30)])
def test_long_rows_come_whole_in_any_pieces(
    bench: Bench, is_reversed: bool, piece: int, limits: tuple[int, int]
) -> None:
    def main() -> None:
        tablet = filled(bench)
        request = ScanRequest(
            reversed=is_reversed, cells_per_row=piece, max_rows=limits[0] * (piece == 1) * 50 + limits[0],
            max_bytes=limits[1],
        )  # fmt: skip
        rows = everything(tablet, request)
        assert joined(rows, piece) == expected()[:: -1 if is_reversed else 1]
        if limits[1] == 1 << 30 and piece:
            assert len(rows) == sum(-(-length // piece) for length in LENGTHS.values())

    bench.run(main)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (b"ColumnPrefixFilter('000')", lambda n, length: n < 100),
        (b"ColumnCountGetFilter(550)", lambda n, length: n < 550),
        (b"ColumnPaginationFilter(3, 700)", lambda n, length: 700 <= n < 703),
        (b"FirstKeyOnlyFilter()", lambda n, length: n == 0),
        (b"SingleColumnValueFilter('f', '01400', =, 'binary:v1400', true, true)", lambda n, length: length > 1400),
        (b"WHILE ValueFilter(!=, 'binary:v1300')", lambda n, length: n < 1300),
        (b"PrefixFilter('b')", lambda n, length: length == 1500),
    ],
)
@pytest.mark.parametrize("piece", [0, 100])
def test_filters_see_long_rows_as_they_see_others(bench: Bench, text: bytes, passes: object, piece: int) -> None:
    def main() -> None:
        tablet = filled(bench)
        wanted = [
            (row, [cell for n, cell in enumerate(cells) if passes(n, len(cells))])  # type: ignore[operator]
            for row, cells in expected()
        ]
        wanted = [(row, cells) for row, cells in wanted if cells]
        spec = ReadSpec(filter=text)
        found = joined(everything(tablet, ScanRequest(spec=spec, cells_per_row=piece, max_rows=3)), piece)
        if text.startswith(b"WHILE"):  # over with the row in which it failed
            wanted = wanted[:2]
        assert found == wanted
        if not text.startswith(b"WHILE"):
            assert tablet.read_rows(list(LENGTHS), spec) == wanted

    bench.run(main)


@pytest.mark.parametrize("is_reversed", quick_first([False, True], 1))
@pytest.mark.parametrize(
    "text",
    [b"KeyOnlyFilter()", b"ValueFilter(=, 'substring:1')", b"KeyOnlyFilter() AND QualifierFilter(>, 'binary:00100')"],
)
def test_pieces_behind_a_filter_are_found_by_a_seek(bench: Bench, text: bytes, is_reversed: bool) -> None:
    """However many pieces a row comes in, all together read little more than the row; nor is it ever held whole."""

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([many(b"wide", 0, 20_000), many(b"other", 0, 3)])
        whole = everything(tablet, ScanRequest(spec=ReadSpec(filter=text), reversed=is_reversed))
        spec = ReadSpec(filter=text, max_bytes=100_000)
        with pytest.raises(LimitExceeded, match="answer_bytes"):
            everything(tablet, ScanRequest(spec=spec, reversed=is_reversed))
        before = tablet.cells_examined
        request = ScanRequest(spec=spec, cells_per_row=500, max_rows=1, reversed=is_reversed)
        assert joined(everything(tablet, request), 500) == whole
        again = 40 * 512 + 20_000 * is_reversed  # backwards a row is read once to find out that it is long
        assert tablet.cells_examined - before < 20_000 + again + 2000

    bench.run(main)


def test_raw_scans_give_long_rows_in_pieces(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        spec = ReadSpec(raw=True)
        whole = everything(tablet, ScanRequest(spec=spec))
        assert [len(cells) for _, cells in whole] == list(LENGTHS.values())
        pieces = everything(tablet, ScanRequest(spec=spec, cells_per_row=100, max_rows=4))
        assert joined(pieces, 100) == whole

    bench.run(main)


def test_rows_that_a_scan_looks_at_are_counted_once(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        scanned, request = 0, ScanRequest(cells_per_row=100, max_rows=3)
        while True:
            page = tablet.scan(request)
            scanned += page.rows_scanned
            if page.next is None:
                break
            request = replace(request, position=page.next)
        assert scanned == len(LENGTHS)

    bench.run(main)


def test_a_row_beyond_the_largest_answer_is_refused_before_it_is_read(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        spec = ReadSpec(max_bytes=10_000)
        before = tablet.cells_examined
        with pytest.raises(LimitExceeded, match=r"row b'b' holds more than the 10000 bytes .* scan it in pieces"):
            tablet.read_rows([b"b"], spec)
        assert tablet.cells_examined - before < 600
        with pytest.raises(LimitExceeded, match=r"the 6 rows asked for hold more than the 10000 bytes"):
            tablet.read_rows([b"d"] * 6, spec)
        with pytest.raises(LimitExceeded, match=r"row b'd' holds more than the 1000 bytes .* scan it in pieces"):
            tablet.read_rows([b"d"], ReadSpec(max_bytes=1000))
        assert len(tablet.read_rows([b"a", b"c", b"d"], spec)) == 3
        with pytest.raises(LimitExceeded, match="answer_bytes"):
            tablet.read_rows([b"b"], replace(spec, filter=b"KeyOnlyFilter()"))
        [(_, cells)] = tablet.read_rows([b"b"], replace(spec, filter=b"ColumnPaginationFilter(2, 1400)"))
        assert [column for column, _, _ in cells] == [b"f:01400", b"f:01401"]

    bench.run(main)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_page_ends_before_a_row_that_is_too_large_for_any(bench: Bench, is_reversed: bool) -> None:
    def main() -> None:
        tablet = filled(bench)
        request = ScanRequest(RowRange(b"a", b"e"), ReadSpec(max_bytes=10_000), is_reversed)
        page = tablet.scan(request)
        assert [row for row, _ in page.rows] == ([b"d", b"c"] if is_reversed else [b"a"])
        assert page.next is not None
        with pytest.raises(LimitExceeded, match="row b'b' holds more"):
            tablet.scan(replace(request, position=page.next))
        rest = everything(tablet, replace(request, position=page.next, cells_per_row=500))
        pieces = [len(cells) for row, cells in rest if row == b"b"]
        assert sum(pieces) == 1500
        assert max(pieces) < 500  # as many as fit

    bench.run(main)


class _Blocks:
    """A source of large pairs that knows how many of them are in use."""

    def __init__(self, portions: Portions) -> None:
        self.portions = portions
        self.given = 0

    def __iter__(self) -> "_Blocks":
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        self.given += 1
        self.portions.read(LARGE)
        return b"%05d" % self.given, b""


def test_a_list_of_pairs_ends_when_its_blocks_are_large() -> None:
    portions = Portions()
    source = _Blocks(portions)
    assert [key for key, _ in portions.take(source, 512)] == [b"00001", b"00002", b"00003"]
    assert source.given == 3
    assert [key for key, _ in portions.take(source, 2)] == [b"00004", b"00005"]
    assert [key for key, _ in portions.take(iter([(b"x", b"y")] * 3), 512)] == [b"x"] * 3


def test_no_more_large_cells_are_read_than_an_answer_may_hold(bench: Bench) -> None:
    """Counted in blocks, each of which holds one of the cells."""

    def main() -> None:
        tablet = bench.open()
        for number in range(60):
            tablet.mutate([put(b"r", b"f:%02d" % number, bytes(LARGE))])
        tablet.flush()
        before = tablet.cells_examined
        with pytest.raises(LimitExceeded):
            tablet.read_rows([b"r"], ReadSpec(max_bytes=4 * LARGE, cache_blocks=False))
        assert tablet.cells_examined - before <= 10
        spec = ReadSpec(max_bytes=4 * LARGE)
        page = tablet.scan(ScanRequest(spec=spec, cells_per_row=1000, max_bytes=4 * LARGE))
        assert sum(len(cells) for _, cells in page.rows) <= 10
        assert sum(len(cells) for _, cells in everything(tablet, ScanRequest(cells_per_row=1000))) == 60

    bench.run(main)


def test_short_rows_after_a_long_one_are_read_in_the_short_way(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:%02d" % number, bytes(LARGE)) for number in range(10)])
        tablet.mutate([put(b"s", b"f:a", b"v"), put(b"t", b"f:a", b"v")])
        tablet.flush()
        long_row, *short = [cells for _, cells in tablet.read_rows([b"r", b"s", b"t"], EVERYTHING)]
        assert len(long_row) == 10
        assert isinstance(long_row, LongRow)
        assert [type(cells) for cells in short] == [list, list]

    bench.run(main)


def test_reads_and_compactions_of_long_rows_give_way(bench: Bench) -> None:
    """With time slices of no length every pause is a switch: another task counts them."""
    bench.options = TabletOptions(slice_seconds=0.0)
    row_locks = 0

    def count() -> None:
        nonlocal row_locks
        while True:
            row_locks += 1
            bench.runtime.sleep(0)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([many(b"r", 0, 20_000)])
        task = bench.runtime.spawn(count)
        try:
            for what in (
                lambda: tablet.read_rows([b"r"], EVERYTHING),
                lambda: tablet.flush(),
                lambda: tablet.read_rows([b"r"], EVERYTHING),
                lambda: tablet.scan(ScanRequest(cells_per_row=100)),
                lambda: tablet.compact(major=True),
            ):
                before = row_locks
                what()
                assert row_locks - before >= 20_000 / 1024
        finally:
            task.kill()

    bench.run(main)


def test_a_row_that_is_refused_goes_in_parts() -> None:
    """A million cells that are freed together take 70 ms."""
    pauses: list[int] = []
    row = LongRow(2_000_000, lambda: pauses.append(len(row)), None, 1, lambda _: None)
    cells = [(b"f:%05d" % number, 1, b"v") for number in range(500)]
    while row.size_bytes < 1_950_000:
        row.take(b"r", cells, False)
    assert len(row) > 8 * FREED_AT_ONCE
    with pytest.raises(LimitExceeded):
        row.take(b"r", 5 * cells, False)
    assert len(row) <= FREED_AT_ONCE
    assert all(before - after <= FREED_AT_ONCE for before, after in pairwise(pauses))


@pytest.mark.parametrize("length", [100, 200, 300, 500])
def test_a_page_has_as_many_rows_of_some_hundred_cells_as_fit(bench: Bench, length: int) -> None:
    """Where lists of pairs were cut small for pauses, most such rows came in parts, whose bytes count for more: a page
    had half of them, or a seventh."""

    def main() -> None:
        tablet = bench.open()
        for number in range(60):
            tablet.mutate([many(b"%030d" % number, 0, length)])
        tablet.flush()
        row = [(b"f:%05d" % n, 5, b"v%d" % n) for n in range(length)]
        each = 30 + sum(len(column) + len(value) + 16 for column, _, value in row)
        page = tablet.scan(ScanRequest(max_bytes=40 * each))
        assert len(page.rows) >= 36

    bench.run(main)

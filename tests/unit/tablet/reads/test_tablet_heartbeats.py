"""A scan through cells that nobody sees ends its pages in time, and comes to the end all the same. With `scan_seconds`
0 every page ends as soon as it may: the tests need no clock."""

from dataclasses import replace

import pytest

from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, delete, everything, put
from tests.harness.tiers import quick_first

DEAD = 3000


def pages(tablet: Tablet, request: ScanRequest) -> list[tuple[ScanPage, int]]:
    """Each with the number of cells that were looked at for it."""
    found = []
    while True:
        before = tablet.cells_examined
        page = tablet.scan(request)
        found.append((page, tablet.cells_examined - before))
        if page.next is None:
            return found
        request = replace(request, position=page.next)


def desert(bench: Bench, flushed: bool) -> Tablet:
    """Deleted rows with a live one before them, in their middle, and behind."""
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", block_bytes=4096)})
    tablet = bench.open()
    rows = [b"r%05d" % number for number in range(DEAD)]
    tablet.mutate([put(row, b"f:q", b"") for row in rows])
    tablet.mutate([delete(row, b"f") for row in rows])
    if flushed:
        tablet.flush()
    tablet.mutate([put(row, b"f:q", b"live") for row in (b"a", b"r01500+", b"z")])
    return tablet


@pytest.mark.parametrize("flushed", quick_first([True, False], 1))
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("pieces", [0, 1])
@pytest.mark.parametrize(
    "spec",
    [ReadSpec(), ReadSpec(columns={b"f": None}), ReadSpec(filter=b"PageFilter(3)"), ReadSpec(cache_blocks=False)],
)
def test_a_page_ends_in_time_and_the_scan_at_its_end(
    bench: Bench, flushed: bool, backwards: bool, pieces: int, spec: ReadSpec
) -> None:
    bench.options = TabletOptions(scan_seconds=0.0)

    def main() -> None:
        tablet = desert(bench, flushed)
        found = pages(tablet, ScanRequest(spec=spec, reversed=backwards, cells_per_row=pieces, max_rows=10))
        rows = [row for page, _ in found for row, _ in page.rows]
        assert rows == sorted([b"a", b"r01500+", b"z"], reverse=backwards)
        assert any(not page.rows for page, _ in found)
        assert max(cells for _, cells in found) < DEAD / 2
        assert sum(page.rows_scanned for page, _ in found) == 3

    bench.run(main)


@pytest.mark.parametrize("backwards", [False, True])
def test_rows_that_a_filter_drops_are_no_reason_to_go_on(bench: Bench, backwards: bool) -> None:
    bench.options = TabletOptions(scan_seconds=0.0)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r%05d" % number, b"f:q", b"%d" % number) for number in range(DEAD)])
        spec = ReadSpec(filter=b"ValueFilter(=, 'binary:77')")
        found = pages(tablet, ScanRequest(spec=spec, reversed=backwards))
        assert [row for page, _ in found for row, _ in page.rows] == [b"r00077"]
        assert max(page.rows_scanned for page, _ in found) < DEAD / 2
        assert sum(page.rows_scanned for page, _ in found) == DEAD

    bench.run(main)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("raw", [False, True])
def test_no_row_is_torn(bench: Bench, backwards: bool, raw: bool) -> None:
    """Rows longer and shorter than what is looked at between two looks at the clock."""
    asked = ScanRequest(spec=ReadSpec(raw=raw, max_versions=3), reversed=backwards)

    def main() -> None:
        tablet = bench.open()
        for number, width in enumerate((1, 2000, 15, 16, 17, 1, 700, 3, 3, 3, 3, 3, 500)):
            tablet.mutate([put(b"r%02d" % number, b"f:%04d" % column, b"") for column in range(width)])
            if number % 4 == 0:
                tablet.flush()
            tablet.mutate([delete(b"r%02d" % number, b"f:0000")])
        whole = everything(tablet, asked)
        bench.options = TabletOptions(scan_seconds=0.0)
        tablet.flush()
        again = bench.load()
        assert everything(again, asked) == whole
        assert everything(again, replace(asked, range=RowRange(b"r02", b"r11"))) == [
            row for row in whole if b"r02" <= row[0] < b"r11"
        ]

    bench.run(main)

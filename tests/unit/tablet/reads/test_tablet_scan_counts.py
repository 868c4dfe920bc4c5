"""How many rows a scan looked at: each once, whatever the page, the filter and the pieces."""

from dataclasses import replace

import pytest

from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, put


def pages(tablet: Tablet, request: ScanRequest) -> list[ScanPage]:
    found = [tablet.scan(request)]
    while (position := found[-1].next) is not None:
        found.append(tablet.scan(replace(request, position=position)))
    return found


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("max_rows", [1, 3, 1000])
@pytest.mark.parametrize("pieces", [0, 2])
@pytest.mark.parametrize(
    ("given", "scanned", "rows"),
    [
        (None, 20, 20),
        (b"ValueFilter(=, 'binary:7')", 20, 1),
        (b"PrefixFilter('r1')", None, 10),
        (b"RowFilter(=, 'binary:none')", 20, 0),
    ],
)
def test_rows_are_counted_once(
    bench: Bench, backwards: bool, max_rows: int, pieces: int, given: bytes | None, scanned: int | None, rows: int
) -> None:
    def main() -> None:
        tablet = bench.open()
        for number in range(20):
            tablet.mutate([put(b"r%02d" % number, b"f:%d" % column, b"%d" % number) for column in range(5)])
            if number % 7 == 0:
                tablet.flush()
        spec = ReadSpec(filter=given)
        found = pages(tablet, ScanRequest(spec=spec, reversed=backwards, cells_per_row=pieces, max_rows=max_rows))
        assert len({row for page in found for row, _ in page.rows}) == rows
        counted = sum(page.rows_scanned for page in found)
        assert counted == scanned if scanned is not None else rows <= counted <= 20

    bench.run(main)

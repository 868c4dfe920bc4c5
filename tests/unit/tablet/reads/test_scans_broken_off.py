"""A scan may be broken off wherever it asks whether it has cost too much. The page ends there, and whoever goes on is
given every row once, as in a scan that is not broken off."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hbtable.errors import CostExceeded
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench

ROWS = {b"a": 2, b"b": 1500, b"c": 3, b"d": 1500, b"e": 1}
"""Their numbers of cells; the long ones are given away in parts, or freed in parts."""
FILTERS = [
    None,
    b"PageFilter(2)",
    b"PageFilter(4)",
    b"PageFilter(3) AND ValueFilter(=, 'binaryprefix:v')",
    b"WHILE RowFilter(!=, 'binary:d')",
    b"WHILE ValueFilter(!=, 'binary:v1499')",
    b"RowFilter(>=, 'binary:b') AND WHILE ValueFilter(!=, 'binary:v700')",
    b"RowFilter(!=, 'binary:e') AND RowFilter(!=, 'binary:a') AND WHILE ValueFilter(!=, 'binary:v3')",
    b"InclusiveStopFilter('d')",
    b"SKIP ValueFilter(!=, 'binary:v1499')",
    b"PageFilter(2) AND QualifierFilter(<, 'binary:00010')",
    b"ColumnCountGetFilter(20)",
]
Shown = list[tuple[bytes, int]]


@pytest.mark.parametrize("is_reversed", [False, True], ids=["ascending", "reversed"])
@pytest.mark.parametrize("text", FILTERS, ids=[(text or b"no filter").decode() for text in FILTERS])
def test_every_row_comes_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, text: bytes | None, is_reversed: bool
) -> None:
    """It is broken off at each pause in turn. A PageFilter had counted a row that was not given then: its page was the
    last one, and the row was lost without an error."""

    def main() -> None:
        tablet = bench.open()
        for row, count in ROWS.items():
            operations = [(PUT, b"f", b"%05d" % number, 5, b"v%d" % number) for number in range(count)]
            tablet.mutate([RowMutation(row, operations)])
        rows = RowRange(b"a", b"z") if is_reversed else RowRange()
        request = ScanRequest(rows, ReadSpec(filter=text), is_reversed)
        expected, pauses = scanned(tablet, request, iter(())), 0
        assert expected
        usual = Pacer.pause

        def paused(pacer: Pacer) -> None:
            nonlocal pauses
            pauses += 1
            if next(breaks, False):
                raise CostExceeded("it is too much")
            usual(pacer)

        monkeypatch.setattr(Pacer, "pause", paused)
        breaks: Iterator[bool] = iter(())
        scanned(tablet, request, breaks)
        assert pauses >= 5
        for before in range(pauses):
            breaks = iter([False] * before + [True])
            assert scanned(tablet, request, breaks) == expected
        monkeypatch.undo()

    bench.run(main)


def scanned(tablet: Tablet, request: ScanRequest, breaks: Iterator[bool]) -> Shown:
    """What a client is given that asks again where a page was refused, as another one may go through."""
    found: Shown = []
    while True:
        try:
            page = tablet.scan(request)
        except CostExceeded:
            assert next(breaks, None) is None, "it was broken off twice"
            continue
        found += [(row, len(cells)) for row, cells in page.rows]
        if page.next is None:
            return found
        request = replace(request, position=page.next)

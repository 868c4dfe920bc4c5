"""The client library goes through a page of very many rows in steps, between which others run."""

from hbtable.client import scanning
from hbtable.model.cell import Row
from hbtable.model.ranges import RowRange
from hbtable.model.read import ScanPage, ScanPosition, ScanRequest
from hbtable.model.tablet import TabletRecord
from tests.harness.counted_things import CountedThings


def test_a_page_of_many_small_rows() -> None:
    small: list[Row] = [(b"%06d" % number, [(b"f:a", number, b"v")]) for number in range(100_000)]
    rows = CountedThings(small)
    found = ScanPage(rows, ScanPosition(b"1", 0))
    record = TabletRecord(7, 8, RowRange(b"", b""), 0)
    request = ScanRequest(max_rows=1_000_000, max_bytes=len(small) * 10)
    page = scanning.page(request, lambda row, before, narrow: (found, record), rows.pause)
    assert page.rows == small
    assert 0 < rows.most <= 8192

"""Pages of very many rows are gone through in steps, between which others run."""

from hbtable.encoding.row_results import rows_of
from hbtable.hbase.codec.scanned_pages import ScannedPages, size_of
from hbtable.model.cell import Row
from hbtable.model.read import PlainSlices, ScanPage, bytes_of
from tests.harness.counted_things import CountedThings

SMALL: list[Row] = [(b"%06d" % number, [(b"f:a", number, b"v")]) for number in range(100_000)]
PIECES = [
    b"\x0b\x00\x01\x00\x00\x00\x06%06d" % number
    + b"\x0d\x00\x02\x0b\x0c\x00\x00\x00\x01\x00\x00\x00\x03f:a\x0b\x00\x01\x00\x00\x00\x01v\x0a\x00\x02"
    + number.to_bytes(8, "big")
    + b"\x00\x00"
    for number in range(1000)
]


def test_the_size_of_many_small_rows() -> None:
    rows = CountedThings(SMALL)
    assert size_of(ScanPage(rows, None), rows.pause) == sum(bytes_of(row, cells) for row, cells in SMALL)
    assert rows.most <= 4096


def test_rows_of_plain_pages() -> None:
    pieces = CountedThings(PIECES)
    pages = ScannedPages()
    pages.add(ScanPage([], None, plain=PlainSlices(pieces, len(pieces), 0)))
    assert pages.rows(pieces.pause) == SMALL[:1000] == rows_of(PlainSlices(PIECES, len(PIECES), 0))
    assert pieces.most == 1

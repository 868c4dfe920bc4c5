"""Raw reads show markers and masked cells as they are stored."""

from hbtable.encoding.cell_key import cell_key
from hbtable.merge.raw import raw_rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, PUT

PAIRS = sorted(
    [
        (cell_key(b"r", b"f", b"q", 5, DELETE_COLUMN, 3), b""),
        (cell_key(b"r", b"f", b"q", 4, PUT, 2), b"new"),
        (cell_key(b"r", b"f", b"q", 3, PUT, 1, 1), (1000).to_bytes(8, "big") + b"old"),
        (cell_key(b"s", b"gone", b"q", 3, PUT, 1), b"of no family"),
    ]
)


def test_markers_come_with_what_they_mask() -> None:
    rows = list(raw_rows([PAIRS], (b"f",), None, 0, MAX_TIMESTAMP, 9))
    assert rows == [(b"r", [(b"f:q", 5, b"\x03"), (b"f:q", 4, b"\x08new"), (b"f:q", 3, b"\x08old")])]


def test_versions_count_puts_only() -> None:
    [(_, cells)] = raw_rows([PAIRS], (b"f",), None, 0, MAX_TIMESTAMP, 1)
    assert [timestamp for _, timestamp, _ in cells] == [5, 4]
    assert list(raw_rows([PAIRS], (b"f",), {b"f": frozenset((b"other",))}, 0, MAX_TIMESTAMP, 1)) == []
    [(_, cells)] = raw_rows([PAIRS], (b"f",), None, 4, 5, 1)
    assert [timestamp for _, timestamp, _ in cells] == [4]

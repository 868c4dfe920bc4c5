"""Reads of copies: what is visible, each value behind the time to live of its cell."""

from hbtable.encoding.cell_key import cell_key
from hbtable.merge.lifetimes import with_lifetimes
from hbtable.merge.rules import FamilyRules
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.model.read import LIVES_FOREVER


def mortal(millis: int, value: bytes) -> bytes:
    return millis.to_bytes(8, "big") + value


PAIRS = sorted(
    [
        (cell_key(b"r", b"f", b"deleted", 5, DELETE_COLUMN, 3), b""),
        (cell_key(b"r", b"f", b"deleted", 3, PUT, 1, 1), mortal(1000, b"old")),
        (cell_key(b"r", b"f", b"over", 3, PUT, 1, 1), mortal(10, b"over")),
        (cell_key(b"r", b"f", b"q", 4, PUT, 2), b""),
        (cell_key(b"r", b"f", b"q", 3, PUT, 5, 1), mortal(1000, b"mortal")),
        (cell_key(b"r", b"f", b"q", 3, PUT, 1), b"of the same time, and older"),
    ]
)


def test_each_value_stands_behind_its_time_to_live() -> None:
    lists = with_lifetimes([PAIRS])
    found = list(rows(lists, {b"f": FamilyRules(max_versions=9)}, None, 0, MAX_TIMESTAMP, 9, now_millis=100))
    assert found == [(b"r", [(b"f:q", 4, LIVES_FOREVER), (b"f:q", 3, LIVES_FOREVER[:1] + mortal(1000, b"mortal"))])]

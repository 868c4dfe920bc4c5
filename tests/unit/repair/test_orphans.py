"""Log records of a tablet that METADATA has lost go to a table only where nothing else can be meant."""

from hbtable.commitlog.records import LogRecord
from hbtable.encoding.cell_key import cell_key
from hbtable.model.mutation import PUT
from hbtable.model.ranges import EVERY_ROW, RowRange
from hbtable.repair.orphans import Orphan, TableEvidence, orphans, uncovered
from hbtable.repair.rebuilding import Span

LOW, HIGH = RowRange(b"", b"m"), RowRange(b"m", b"")


def table(*spans: tuple[RowRange, int]) -> TableEvidence:
    return TableEvidence([Span(rows, tablet_id, 1) for rows, tablet_id in spans], {b"f", b"g"})


def records(tablet_id: int, *rows: bytes, family: bytes = b"f") -> dict[int, list[LogRecord]]:
    pairs = [(cell_key(row, family, b"q", 1, PUT, 1), b"v") for row in rows]
    return {tablet_id: [LogRecord(tablet_id, 1, 1, 1, pairs)]}


def test_rows_that_nothing_covers() -> None:
    assert uncovered([]) == [EVERY_ROW]
    assert uncovered([Span(LOW, 16, 1)]) == [HIGH]
    assert uncovered([Span(HIGH, 16, 1), Span(RowRange(b"c", b"d"), 17, 1)]) == [
        RowRange(b"", b"c"),
        RowRange(b"d", b"m"),
    ]
    assert uncovered([Span(EVERY_ROW, 16, 1), Span(LOW, 17, 1)]) == []


def test_the_second_tablet_of_a_new_table_is_found_again() -> None:
    assert orphans({16: table((LOW, 16))}, records(17, b"n", b"z")) == {16: [Orphan(17, HIGH)]}


def test_nothing_is_taken_where_something_speaks_against_it() -> None:
    mine = table((LOW, 16))
    assert orphans({16: mine}, records(17, b"a", b"n")) == {}  # rows that another tablet has
    assert orphans({16: mine}, records(18, b"n")) == {}  # as far as anybody knows another table's
    assert orphans({16: mine}, records(17, b"n", family=b"x")) == {}
    assert orphans({16: mine}, {17: [LogRecord(17, 1, 1, 1, [])]}) == {}
    assert orphans({16: mine}, records(2, b"n")) == {}
    assert orphans({16: mine, 17: table((HIGH, 18))}, records(17, b"n")) == {16: [Orphan(17, HIGH)]}
    assert orphans({16: mine, 17: table((LOW, 18))}, records(17, b"n")) == {}  # of either
    assert orphans({16: table((EVERY_ROW, 16))}, records(17, b"n")) == {}
    assert orphans({16: mine, 17: table((EVERY_ROW, 17))}, records(17, b"n")) == {}


def test_two_tablets_for_the_same_rows_are_told_apart_by_nothing() -> None:
    mine = table((LOW, 17))
    assert orphans({16: mine}, {**records(16, b"n"), **records(18, b"o")}) == {}

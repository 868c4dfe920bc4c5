"""Tablets one after the other from a row on, each with the time of its last change, also while one splits."""

from typing import Any

from hbtable.encoding import tablet_record
from hbtable.metadata import layout
from hbtable.metadata.listing import tablets_from
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord

LEFT = TabletRecord(16, 21, RowRange(b"", b"g"), 5)
RIGHT = TabletRecord(16, 22, RowRange(b"g", b"m"), 5, left=LEFT)
LAST = TabletRecord(16, 23, RowRange(b"m", b""), 5)


class Metadata:
    """Rows by key, each changed at its time."""

    def __init__(self, *changed: tuple[TabletRecord, int]) -> None:
        self.held = sorted(
            (layout.key_of(record), [(layout.COLUMN, time, tablet_record.encode(record))]) for record, time in changed
        )

    def rows(self, rows: RowRange, page_rows: int) -> Any:
        return (row for row in self.held if rows.holds(row[0]))


def listed(row: bytes, *changed: tuple[TabletRecord, int]) -> list[tuple[int, int]]:
    calls: Any = Metadata(*changed)
    return [(record.tablet_id, time) for record, time in tablets_from(calls, 16, row, 10)]


def test_the_left_half_of_a_split_stands_in_the_row_of_the_right_one() -> None:
    changed = ((RIGHT, 100), (LAST, 70))
    assert [one for one, _ in listed(b"", *changed)] == [21, 22, 23]
    assert listed(b"g", *changed) == [(22, 100), (23, 70)], "the left half lies before the row"
    assert listed(b"n", *changed) == [(23, 70)]


def test_each_tablet_has_the_time_of_its_own_row() -> None:
    changed = ((LEFT, 120), (RIGHT, 100), (LAST, 70))
    assert listed(b"", *changed) == [(21, 120), (22, 100), (23, 70)]
    assert listed(b"c", *changed) == [(21, 120), (22, 100), (23, 70)]

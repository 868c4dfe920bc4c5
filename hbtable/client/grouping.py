"""Rows by the tablet that holds them. Pure but for `find`, which may *switch* and raise as Locator.find does."""

from collections.abc import Callable, Sequence

from hbtable.model.cell import Row
from hbtable.model.mutation import RowMutation
from hbtable.model.tablet import TabletRecord
from hbtable.model.values import check_bytes
from hbtable.switches import switches

Find = Callable[[int, bytes], TabletRecord]


def mutations_within(mutations: Sequence[RowMutation], record: TabletRecord) -> bool:
    start, stop = record.range
    try:
        if stop:
            return all(start <= mutation.row < stop for mutation in mutations)
        return not start or all(start <= mutation.row for mutation in mutations)
    except TypeError:
        return False  # a row that is no bytes: mutations_by_tablet says which


def rows_within(rows: Sequence[bytes], record: TabletRecord) -> bool:
    start, stop = record.range
    try:
        return start <= min(rows) and (not stop or max(rows) < stop)
    except TypeError:
        return False  # as above


@switches
def mutations_by_tablet(find: Find, table_id: int, mutations: Sequence[RowMutation]) -> list[list[RowMutation]]:
    """One list per tablet, each in the caller's order."""
    groups: dict[int, list[RowMutation]] = {}
    start = stop = b""
    group: list[RowMutation] | None = None
    for mutation in mutations:
        row = mutation.row
        check_bytes("the row", row)
        if group is None or row < start or (stop and row >= stop):
            record = find(table_id, row)
            start, stop = record.range
            group = groups.setdefault(record.tablet_id, [])
        group.append(mutation)
    return list(groups.values())


@switches
def rows_by_tablet(find: Find, table_id: int, rows: Sequence[bytes]) -> list[list[bytes]]:
    """One list per tablet, each in the caller's order and without repetitions."""
    groups: dict[int, list[bytes]] = {}
    for row in rows:
        check_bytes("the row", row)
    for row in dict.fromkeys(rows):
        groups.setdefault(find(table_id, row).tablet_id, []).append(row)
    return list(groups.values())


def in_order(rows: Sequence[bytes], found: Sequence[list[Row]]) -> list[Row]:
    """The rows found, one entry for each time they were asked for, in the order asked."""
    by_row = {row[0]: row for group in found for row in group}
    return [by_row[row] for row in rows if row in by_row]

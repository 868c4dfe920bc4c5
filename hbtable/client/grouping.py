"""Rows by the tablet that holds them. Pure but for `find`, which may *switch* and raise as Locator.find does."""

from collections.abc import Callable, Sequence

from hbtable.model.cell import Row
from hbtable.model.mutation import RowMutation
from hbtable.model.put_batch import PutBatch, puts_in_columns, rows_of
from hbtable.model.tablet import TabletRecord
from hbtable.model.values import check_bytes
from hbtable.switches import switches

Find = Callable[[int, bytes], TabletRecord]


def mutations_within(mutations: Sequence[RowMutation], record: TabletRecord) -> bool:
    start, stop = record.range
    if not start and not stop:
        return True
    try:
        rows = rows_of(mutations)
        return start <= min(rows) and (not stop or max(rows) < stop)
    except TypeError:
        return False  # a row that is no bytes: mutations_by_tablet says which


def rows_within(rows: Sequence[bytes], record: TabletRecord) -> bool:
    start, stop = record.range
    try:
        return start <= min(rows) and (not stop or max(rows) < stop)
    except TypeError:
        return False  # as above


@switches
def mutations_by_tablet(find: Find, table_id: int, mutations: Sequence[RowMutation]) -> Sequence[Sequence[RowMutation]]:
    """One list per tablet, each in the caller's order. All changes of a row are in one list, also where it was learned
    meanwhile that the row's tablet has split: lists are written in parallel, and the later change has to win."""
    puts = puts_in_columns(mutations)
    if puts is not None:
        return _puts_by_tablet(find, table_id, puts)
    groups: dict[int, list[RowMutation]] = {}
    of_row: dict[bytes, list[RowMutation]] = {}
    start = stop = b""
    group: list[RowMutation] | None = None
    for mutation in mutations:
        row = mutation.row
        check_bytes("the row", row)
        known = of_row.get(row)
        if known is None:
            if group is None or row < start or (stop and row >= stop):
                record = find(table_id, row)
                start, stop = record.range
                group = groups.setdefault(record.tablet_id, [])
            known = of_row[row] = group
        known.append(mutation)
    return list(groups.values())


@switches
def _puts_by_tablet(find: Find, table_id: int, puts: PutBatch) -> list[PutBatch]:
    groups: dict[int, tuple[list[bytes], list[bytes]]] = {}
    of_row: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
    start = stop = b""
    group: tuple[list[bytes], list[bytes]] | None = None
    for row, value in zip(puts.rows, puts.values, strict=True):
        check_bytes("the row", row)
        known = of_row.get(row)
        if known is None:
            if group is None or row < start or (stop and row >= stop):
                record = find(table_id, row)
                start, stop = record.range
                group = groups.setdefault(record.tablet_id, ([], []))
            known = of_row[row] = group
        known[0].append(row)
        known[1].append(value)
    return [PutBatch(puts.family, puts.qualifier, puts.timestamp, *group) for group in groups.values()]


@switches
def rows_by_tablet(find: Find, table_id: int, rows: Sequence[bytes]) -> list[list[bytes]]:
    """One list per tablet, each in the caller's order. A row that is asked for twice is there twice: what it is
    answered with counts twice, and whoever is given the answer may empty one of its lists and still need the other."""
    groups: dict[int, list[bytes]] = {}
    for row in rows:
        check_bytes("the row", row)
    tablets: dict[bytes, int] = {}
    for row in rows:
        tablet = tablets.get(row)
        if tablet is None:
            tablet = tablets[row] = find(table_id, row).tablet_id
        groups.setdefault(tablet, []).append(row)
    return list(groups.values())


def in_order(rows: Sequence[bytes], found: Sequence[list[Row]]) -> list[Row]:
    """The rows found, one entry for each time they were asked for, in the order asked. No two are one object."""
    by_row: dict[bytes, list[Row]] = {}
    for group in reversed(found):
        for row in reversed(group):
            by_row.setdefault(row[0], []).append(row)
    return [left.pop() for row in rows if (left := by_row.get(row))]

"""Log records of tablets whose row METADATA has lost, while it still knows their table. Pure.

A tablet's log records name neither its table nor its range of rows. It counts as a table's tablet if three things hold
for that table and for no other: all rows of the records lie in rows that no tablet of the table covers, the table has
the records' families, and a tablet of the table has the id right before or after (the tablets of a new table get
consecutive ids). Two such tablets for the same rows cannot be told apart, and count as no table's.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from hbtable.commitlog.records import LogRecord
from hbtable.encoding.cell_key import row_of
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import FIRST_FREE_TABLET_ID
from hbtable.repair.log_flush import family_of
from hbtable.repair.rebuilding import Span


class TableEvidence(NamedTuple):
    """The evidence about one table. `spans`: the rows of all tablets that anything tells of, earlier ones included.
    `families`: as they stand in cell keys."""

    spans: Sequence[Span]
    families: Collection[bytes]


class Orphan(NamedTuple):
    """A tablet, and the rows that nothing else covers."""

    tablet_id: int
    rows: RowRange


def orphans(tables: Mapping[int, TableEvidence], records: Mapping[int, Sequence[LogRecord]]) -> dict[int, list[Orphan]]:
    """The orphaned records by table id."""
    known = {span.tablet_id for table in tables.values() for span in table.spans}
    found: dict[int, list[Orphan]] = {}
    for tablet_id in sorted(records):
        if tablet_id < FIRST_FREE_TABLET_ID or tablet_id in known:
            continue
        homes = [
            (table_id, rows)
            for table_id, table in tables.items()
            if {tablet_id - 1, tablet_id + 1} & {span.tablet_id for span in table.spans}
            for rows in uncovered(table.spans)
            if _fit(records[tablet_id], rows, table.families)
        ]
        if len(homes) == 1:
            ((table_id, rows),) = homes
            found.setdefault(table_id, []).append(Orphan(tablet_id, rows))
    return {table_id: some for table_id, some in found.items() if len({one.rows for one in some}) == len(some)}


def uncovered(spans: Sequence[Span]) -> list[RowRange]:
    """The rows that none of them has."""
    found = []
    start = b""
    for rows in sorted(span.rows for span in spans):
        if rows.start > start:
            found.append(RowRange(start, rows.start))
        if not rows.stop:
            return found
        start = max(start, rows.stop)
    return [*found, RowRange(start, b"")]


def _fit(records: Sequence[LogRecord], rows: RowRange, families: Collection[bytes]) -> bool:
    keys = [key for record in records for key, _ in record.pairs]
    return bool(keys) and all(rows.holds(row_of(key)) and family_of(key) in families for key in keys)

"""METADATA's rows one after the other, each with the time of its last change, for whoever shows them to people."""

from collections.abc import Iterable, Iterator

from hbtable.encoding import table_record
from hbtable.metadata import layout
from hbtable.metadata.locator import tablets_of
from hbtable.metadata.metadata_calls import MetadataCalls, stored
from hbtable.metadata.tiling import standing
from hbtable.model.cell import Row
from hbtable.model.ranges import RowRange
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches


@switches
def tables_from(calls: MetadataCalls, name: bytes, page_rows: int) -> Iterator[tuple[TableRecord, int]]:
    """The tables of this name and of later ones in all states, ascending; each with the milliseconds of its last
    change. `page_rows` are read at a time."""
    for key, cells in calls.rows(RowRange(layout.table_key(name), layout.TABLE_ROWS.stop), page_rows):
        yield table_record.decode(stored(cells) or b"", f"METADATA row {key!r}"), _changed(cells)


@switches
def tablets_from(calls: MetadataCalls, table_id: int, row: bytes, page_rows: int) -> Iterator[tuple[TabletRecord, int]]:
    """The tablets of a user table, from that of `row` on, ascending; each with the milliseconds of its last change.
    *Switches* between pages: not a snapshot."""
    times: dict[bytes, int] = {}
    rows = RowRange(layout.first_key_for(table_id, row), layout.tablet_rows(table_id).stop)
    latest = 0
    for record in standing(tablets_of(_noted(calls.rows(rows, page_rows), times))):
        if record.range.stop and record.range.stop <= row:
            continue  # the left half of a split in progress, which stands in the row of the right one
        latest = times.pop(layout.key_of(record), latest)  # such a half has no row of its own
        yield record, latest


@switches
def _noted(rows: Iterable[Row], times: dict[bytes, int]) -> Iterator[Row]:
    for row in rows:
        times[row[0]] = _changed(row[1])
        yield row


def _changed(cells: list[tuple[bytes, int, bytes]]) -> int:
    return max((timestamp for _, timestamp, _ in cells), default=0)

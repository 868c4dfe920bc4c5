"""Records as METADATA rows hold them, seen as tablets: a split in progress counts as two; together they tile the table.

Pure. While a split is completed, the row of the right child embeds the left child's record; the
left child's own row may stand already, and then it is the newer one. While a merge is completed, the row of the left
tablet stands beside the merged one, which covers it; then the merged one counts.
"""

from collections.abc import Iterable, Iterator

from hbtable.errors import Corruption
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches


@switches
def standing(records: Iterable[TabletRecord]) -> Iterator[TabletRecord]:
    """`records` ascending by METADATA row. Yields each tablet once: embedded left children take the place of rows
    that are not there yet. The embedding stays on the right child's record. Of a merge that was committed only the
    merged tablet is left."""
    previous: TabletRecord | None = None
    for record in _without_absorbed(records):
        left = record.left
        if left is not None and not (
            previous is not None
            and previous.table_id == left.table_id
            and previous.range.stop == left.range.stop  # row M stands: it has what changed since the split
        ):
            yield left
        yield record
        previous = record


@switches
def _without_absorbed(records: Iterable[TabletRecord]) -> Iterator[TabletRecord]:
    waiting: TabletRecord | None = None
    for record in records:
        if waiting is not None and not (waiting.merges_into and waiting.merges_into.tablet_id == record.tablet_id):
            yield waiting
        waiting = record
    if waiting is not None:
        yield waiting


@switches
def verify_tiling(records: Iterable[TabletRecord]) -> None:
    """`records` of one table, ascending, embedded ones not yet taken out. They must cover every row exactly once;
    Corruption names the rows of the first hole, overlap or missing end."""
    expected = b""
    last: TabletRecord | None = None
    for record in standing(records):
        name = f"METADATA, table {record.table_id}"
        if last is not None and not expected:
            raise Corruption(name, 0, f"tablet {record.tablet_id} follows tablet {last.tablet_id}, which has no end")
        start = record.range.start
        if start != expected:
            kind = "no tablet covers" if start > expected else "two tablets cover"
            low, high = min(start, expected), max(start, expected)
            raise Corruption(name, 0, f"{kind} rows from {low!r} to {high!r}, before tablet {record.tablet_id}")
        if record.range.is_empty():
            raise Corruption(
                name, 0, f"tablet {record.tablet_id} has the empty range {start!r} to {record.range.stop!r}"
            )
        expected = record.range.stop
        last = record
    if last is None:
        raise Corruption("METADATA", 0, "the table has no tablet")
    if expected:
        raise Corruption(
            f"METADATA, table {last.table_id}",
            0,
            f"no tablet covers the rows from {expected!r} to the end of the table",
        )

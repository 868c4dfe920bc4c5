"""Commits a served tablet's record to METADATA, and notices when the tablet belongs to someone else.

The tablet knows its record but for one field: `left`, the record of a split's left child, which the split repair of
anyone may clear (metadata.split_repair). So a compare-and-set that fails is looked at again, leaving `left` aside.
"""

from collections.abc import Callable
from dataclasses import replace

from hbtable.errors import Conflict
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.split_repair import complete_split
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches


class RecordCommits:
    """Writes records of the tablets of one server to METADATA. `on_foreign` is called (it must not switch) with the
    record of a tablet whose row has another owner by now."""

    def __init__(
        self, catalog: Catalog, on_foreign: Callable[[TabletRecord], None], check: Callable[[], None] = lambda: None
    ) -> None:
        """`check` is Suspension.outwait: nothing is committed by a server that may have lost its lock."""
        self._catalog = catalog
        self._on_foreign = on_foreign
        self._check = check
        self._first: dict[int, Callable[[], object]] = {}

    @switches
    def commit(self, expected: TabletRecord, record: TabletRecord) -> None:
        """Durable on return. Conflict: the row changed under us, the tablet is not ours any more."""
        finish = self._first.get(expected.tablet_id)
        if finish is not None:
            # The left child's record may not change before its own row stands: a repair would put the old one back, and
            # a split of the child itself would find no row, and take that for another owner's doing.
            finish()
        while True:
            self._check()
            try:
                self._catalog.replace_tablet(expected, record)
                return
            except Conflict:
                current = self._catalog.read_tablet(record.table_id, record.range.stop)
                # A change that changes nothing has to be written as well: what was refused before must not come back.
                if current is not None and _alike(current, record) and not _alike(expected, record):
                    return
                if current is None or not _alike(current, expected):
                    self._on_foreign(expected)
                    raise
                if record.left == expected.left:
                    record = replace(record, left=current.left)  # this change is not about the split: it stays as it is
                elif current.left is not None:
                    current = complete_split(self._catalog, current)  # one child can be embedded at a time
                    if current is None:
                        continue
                expected = current

    def before(self, tablet_id: int, finish: Callable[[], object]) -> None:
        """Has `finish` called before each commit of this tablet's record, until done() is called."""
        self._first[tablet_id] = finish

    def done(self, tablet_id: int) -> None:
        self._first.pop(tablet_id, None)


def _alike(one: TabletRecord, other: TabletRecord) -> bool:
    """Equal but for the embedded left child."""
    return replace(one, left=None) == replace(other, left=None)

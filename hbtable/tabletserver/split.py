"""Splits a served tablet in two (paper, section 5.2; design, section 5).

    1  cancel its compactions, minor compaction, stop writes, second minor compaction (as for an unload)
    2  ONE compare-and-set on the METADATA row of its end: the row becomes the right child, narrowed to [row, end) under
       a new id, and embeds the left child's whole record. This is the commit: before it nothing happened, after it
       the parent does not exist
    3  in memory, in the same stretch: the parent out, both children in; they share its SSTables, their sequences go on
    4  put the left child's row if absent, clear the embedding (metadata.split_repair)

A crash after 2 leaves the embedding to whoever sees it next: the master's cycle, or the server that loads the right
child. Until the left child's row stands its record may not change, so its commits do step 4 first.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import final

from hbtable.errors import Conflict, InvalidRequest, StaleLocation
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.split_repair import complete_split
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import ROOT_TABLET_ID, LogRef, TabletRecord
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.commits import RecordCommits
from hbtable.tabletserver.residence import Residence

log = logging.getLogger(__name__)


@final
class Splitter:
    """`new_tablet_id`: never given out before. `forget_log`: tells the log that a tablet is gone."""

    def __init__(
        self,
        incarnation: str,
        residence: Residence,
        catalog: Catalog,
        commits: RecordCommits,
        new_tablet_id: Callable[[], int],
        wall_millis: Callable[[], int],
        forget_log: Callable[[int], None],
    ) -> None:
        self._incarnation = incarnation
        self._residence = residence
        self._catalog = catalog
        self._commits = commits
        self._new_tablet_id = new_tablet_id
        self._wall_millis = wall_millis
        self._forget_log = forget_log

    def split(self, tablet_id: int, split_row: bytes | None) -> bool:
        """Both children are served, and their rows stand, on return. False when there is no row to split at.
        InvalidRequest for a row outside the tablet. After any other error the parent is served as before, or the
        split was committed and is being finished. *Switches.*"""
        with self._residence.turn(tablet_id):
            tablet = self._residence.served(tablet_id)
            row = _row(tablet, split_row)
            if row is None:
                return False
            # The ids come first: they may need the lock service, and writes wait from the freeze on.
            left_id, right_id = self._new_tablet_id(), self._new_tablet_id()
            tablet.freeze_for_unload()
            try:
                left, right = split_records(
                    tablet.record, row, left_id, right_id, self._incarnation, tablet.next_sequence, self._wall_millis()
                )
                children = tablet.children(left, right)
                self._commit(tablet.record, right)
            except BaseException:
                tablet.thaw()
                raise
            self._commits.before(left_id, lambda: self._finish(right))
            self._residence.replace_parent(tablet_id, children)
        tablet.close()
        self._forget_log(tablet_id)
        log.info("tablet %d: split at %r into %d and %d", tablet_id, row, left_id, right_id)
        self._finish(right)
        return True

    def _commit(self, parent: TabletRecord, right: TabletRecord) -> None:
        """Returns when the split is committed; any error means that it is not. StaleLocation: the tablet is lost."""
        while True:
            try:
                self._commits.commit(parent, right)
                return
            except Conflict as error:
                raise StaleLocation(f"tablet {parent.tablet_id} belongs to another owner now") from error

    def _finish(self, right: TabletRecord) -> None:
        """Step 4. A failure is left to the next one that sees the embedding."""
        left = right.left
        if left is None:
            return
        current = self._catalog.read_tablet(right.table_id, right.range.stop)
        if current is not None and current.left is not None and current.left.tablet_id == left.tablet_id:
            complete_split(self._catalog, current)
        self._commits.done(left.tablet_id)


def split_records(
    parent: TabletRecord, row: bytes, left_id: int, right_id: int, incarnation: str, next_sequence: int, now: int
) -> tuple[TabletRecord, TabletRecord]:
    """Both children of a parent whose memtable is empty; the right one embeds the left. Pure.

    Files: both name all of the parent's, and show only their own rows of them until a compaction rewrites their part.
    Logs: nothing before `next_sequence` is needed, and no record with the children's new ids is in any log.
    """
    start, stop = parent.range
    logs = (LogRef(incarnation, next_sequence),)
    left = replace(parent, tablet_id=left_id, range=RowRange(start, row), created_millis=now, logs=logs, left=None)
    right = replace(parent, tablet_id=right_id, range=RowRange(row, stop), created_millis=now, logs=logs, left=left)
    return left, right


def _row(tablet: Tablet, asked: bytes | None) -> bytes | None:
    """Where to split; None when there is no row that leaves something on both sides."""
    record = tablet.record
    if record.tablet_id == ROOT_TABLET_ID:
        raise InvalidRequest("the root tablet never splits")
    row = tablet.split_point() if asked is None else asked
    if row is None or row == record.range.start:
        return None
    if not record.range.holds(row):
        raise InvalidRequest(f"row {row!r} lies outside tablet {record.tablet_id}, so it cannot be split there")
    return row

"""Splits a served tablet in two (paper, section 5.2).

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

from hbtable.errors import HbtableError, InvalidRequest, LimitExceeded, SwitchedOff
from hbtable.metadata.catalog import Catalog
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import ROOT_TABLET_ID, TabletRecord
from hbtable.model.values import check_bytes
from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.commits import RecordCommits
from hbtable.tabletserver.online_tablets import OnlineTablets

log = logging.getLogger(__name__)


@final
class Splitter:
    """Splits tablets of one server. `new_tablet_id`: never given out before. `allowed`: whether operators want splits.
    `insist`: METADATA's log may be another server's, so that a commit for which it had no room may come back
    (tablet.records); the parent must not have acknowledged anything by then, because its log records would be
    nobody's."""

    def __init__(
        self,
        online_tablets: OnlineTablets,
        catalog: Catalog,
        commits: RecordCommits,
        new_tablet_id: Callable[[], int],
        wall_millis: Callable[[], int],
        allowed: Callable[[], bool],
        insist: bool = False,
    ) -> None:
        self._online_tablets = online_tablets
        self._catalog = catalog
        self._commits = commits
        self._new_tablet_id = new_tablet_id
        self._wall_millis = wall_millis
        self._allowed = allowed
        self._insist = insist

    @switches
    def split(self, tablet_id: int, split_row: bytes | None, why: str = "it was asked to") -> bool:
        """Both children are served on return. False when there is no row to split at. InvalidRequest for a row outside
        the tablet, SwitchedOff. After any other error the parent is served as before, or lost to another owner.
        `why`: for the children's histories. *Switches.*"""
        if not self._allowed():
            raise SwitchedOff("nothing was split: splits are switched off (splitormerge_switch 'SPLIT', true)")
        with self._online_tablets.lock(tablet_id):
            tablet = self._online_tablets.served(tablet_id)
            row = _row(tablet, split_row)
            if row is None:
                return False
            if tablet.record.left is not None:
                self._finish(tablet)  # an earlier split: one child can be embedded at a time
            # The ids come first: they may need the lock service, and writes wait from the freeze on.
            left_id, right_id = self._new_tablet_id(), self._new_tablet_id()
            # The children's locks as well: METADATA shows them before its answer is here, and a master that finds them
            # not served asks for them to be loaded, or takes them back.
            with self._online_tablets.lock(left_id), self._online_tablets.lock(right_id):
                child = self._swapped(tablet, row, (left_id, right_id), why)
        tablet.close()
        log.info("tablet %d: split at %r into %d and %d", tablet_id, row, left_id, right_id)
        try:
            self._finish(child)
        except HbtableError as error:
            log.warning("tablet %d: the split is committed and will be finished later: %s", tablet_id, error)
        return True

    @switches
    def _swapped(self, tablet: Tablet, row: bytes, ids: tuple[int, int], why: str) -> Tablet:
        """Steps 1 to 3; the right child."""
        parent_id = tablet.record.tablet_id
        tablet.freeze_for_unload()
        try:
            right = self._commit(tablet, row, *ids)
        except BaseException:
            tablet.thaw()
            raise
        return self._swap(parent_id, tablet, right, f"tablet {parent_id} was split at {row!r}: {why}")

    @switches
    def _commit(self, tablet: Tablet, row: bytes, left_id: int, right_id: int) -> TabletRecord:
        """The right child's record, once METADATA has it. An unknown outcome is tried until it is known
        (tablet.records), so an error means: not split."""
        now = self._wall_millis()
        return tablet.change_record(lambda parent: split_records(parent, row, left_id, right_id, now)[1], self._insist)

    def _swap(self, parent_id: int, parent: Tablet, right: TabletRecord, why: str) -> Tablet:
        """No switch between the commit and the return: from here on the children serve. The right one."""
        left = right.left
        assert left is not None
        self._commits.before(left.tablet_id, lambda: self._catalog.put_tablet_if_absent(left))
        children = parent.child(left, self._commits.commit), parent.child(right, self._commits.commit)
        self._online_tablets.replace_parent(parent_id, children, why)
        return children[1]

    @switches
    def _finish(self, right: Tablet) -> None:
        """Step 4, in the name of the right child, so that its record in memory is cleared as well."""
        left = right.record.left
        if left is not None:
            self._catalog.put_tablet_if_absent(left)
            self._commits.done(left.tablet_id)
            right.change_record(lambda record: replace(record, left=None))


def split_records(
    parent: TabletRecord, row: bytes, left_id: int, right_id: int, now: int
) -> tuple[TabletRecord, TabletRecord]:
    """Both children of a parent whose memtable is empty; the right one embeds the left. Pure.

    Files: both name all of the parent's, and show only their own rows of them until a compaction rewrites their part.
    Logs: as the parent's after its last flush, only the owner's own from the next sequence on. No record with the
    children's new ids is in any log yet.
    """
    start, stop = parent.range
    left = replace(parent, tablet_id=left_id, range=RowRange(start, row), created_millis=now, left=None)
    right = replace(parent, tablet_id=right_id, range=RowRange(row, stop), created_millis=now, left=left)
    return left, right


@switches
def _row(tablet: Tablet, asked: bytes | None) -> bytes | None:
    """The row to split at; None when there is none that leaves something on both sides."""
    record = tablet.record
    if record.tablet_id == ROOT_TABLET_ID:
        raise InvalidRequest("the root tablet never splits")
    if asked is None:
        return tablet.split_row()
    check_bytes("the split row", asked)
    if len(asked) > MAX_ROW_BYTES:
        raise LimitExceeded(f"the split row has {len(asked)} bytes, and a row has at most {MAX_ROW_BYTES}")
    if not record.range.holds(asked):
        raise InvalidRequest(f"row {asked!r} lies outside tablet {record.tablet_id}, so it cannot be split there")
    return asked if tablet.may_split_at(asked) else None

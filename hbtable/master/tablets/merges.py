"""Merges neighbouring tablets of an enabled table (paper, section 5.2; merging.py has the states).

    1  whichever of them shares SSTables with a split's other child has a major compaction: its files are its own then
    2  both are flushed and unloaded; from the files themselves: each lies inside the tablet that names it
    3  the left row is marked
    4  compare-and-set of the right row into the merged tablet: the commit
    5  the left row says only that its tablet is gone; it stays a day (Catalog.put_tablet_if_absent)
    6  the merged tablet may be owned, and is placed

The table's operation lock is held from 2 on: compactions may take long, and a tablet whose server dies meanwhile needs
another one. After a crash, or with a second master that does not know yet that it
is none, settle() finishes or undoes what the rows show; anyone may, at any time, as often as he likes:

  * committed or not is what the right row says, and it can not change its mind: the merged tablet keeps its id until 5
    and 6 are done, because nobody owns it before
  * before a mark is taken back, the right row gets a new generation: whoever still means to commit, or whose commit is
    still under way, compares with the old one
  * a mark is taken back into a new generation as well, so that no late repetition of it is believed

METADATA's tablets merge in the same way, but for the root tablet, which has their rows. The cycle goes on beside that:
it leaves alone what is being merged, and serves METADATA's other tablets (of_metadata).
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, final

from hbtable.errors import Conflict, FileNotFound, InvalidRequest, OutcomeUnknown, StaleLocation, Unavailable
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets import merging
from hbtable.master.tablets.assignment import Assign, describe, least_loaded
from hbtable.master.tablets.moves import enabled
from hbtable.master.tablets.ownership import released
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import takers
from hbtable.master.tablets.slow_loads import ASKED_SECONDS, WAIT_SECONDS
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.model.range_delete import MAX_RECORD_BYTES
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, GoneTablet, TabletRecord
from hbtable.model.tablet_event import MERGED
from hbtable.switches import switches

METADATA: Final = TableRecord(METADATA_TABLE_ID, TableState.ENABLED, layout.SCHEMA)
"""As if it were a table. No row says so."""

GONE_MILLIS: Final = 86_400_000
"""The time for which METADATA says that a tablet is gone: longer than any split repair can be held up."""


@final
class Merges:
    """Merges two neighbouring tablets into one. `operation` and `settled` are those of TableOperations. `shared_file`:
    an SSTable that a record names and that does not lie inside its range. `request_cycle`: Master.request_cycle."""

    def __init__(
        self,
        catalog: Catalog,
        placement: Placement,
        reports: Callable[[], ServerReports],
        operation: Callable[[bytes], AbstractContextManager[object]],
        settled: Callable[[int], list[TabletRecord]],
        shared_file: Callable[[TabletRecord], str],
        new_tablet_id: Callable[[], int],
        wall_millis: Callable[[], int],
        request_cycle: Callable[[], None],
    ) -> None:
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._operation = operation
        self._settled = settled
        self._shared_file = shared_file
        self._new_tablet_id = new_tablet_id
        self._wall_millis = wall_millis
        self._request_cycle = request_cycle
        self.of_metadata: frozenset[int] = frozenset()
        """METADATA's tablets that are being merged now, and those that they become."""

    @switches
    def merge(self, name: bytes, tablet_ids: Sequence[int], why: str = "it was asked to") -> int:
        """They are one tablet, which is served, on return; its id. TableNotFound, TableNotEnabled; InvalidRequest
        unless they are two or more neighbours of this table. Unavailable: nothing was merged. OutcomeUnknown: perhaps
        not, or not all of them were merged, or the merged one is not served yet. Each is whole, and served soon.
        `why`: for the tablet's history."""
        with self._operation(name):
            _, chosen = self._chosen(name, tablet_ids)
        for tablet in chosen:
            self._take_own_files(tablet)
            if tablet.range_bytes() > MAX_RECORD_BYTES // len(chosen):
                self._placement.compact(tablet)  # else the merged one's record may have no room for those of all
        with self._operation(name):
            table, chosen = self._chosen(name, tablet_ids)
            if table is not METADATA:
                return self._merged(table, chosen, why)
            self.of_metadata = frozenset(tablet.tablet_id for tablet in chosen)
            try:
                return self._merged(table, chosen, why)
            finally:
                self.of_metadata = frozenset()
                self._request_cycle()  # it may wait for them

    @switches
    def _merged(self, table: TableRecord, chosen: Sequence[TabletRecord], why: str) -> int:
        _refuse_too_many_ranges(chosen)  # before they are out of service
        rested = self._at_rest(chosen, table.schema.name)
        _refuse_too_many_ranges(rested)  # some may have been deleted meanwhile
        try:
            merged = self._joined(rested)
            names = ", ".join(str(tablet.tablet_id) for tablet in rested)
            self._placement.note(merged, MERGED, "", f"of tablets {names}: {why}")
            self._serve(merged, table)
            return merged.tablet_id
        except (Conflict, StaleLocation, Unavailable) as error:
            # Not to be repeated as it is: some of these tablets may be no more.
            raise OutcomeUnknown(
                f"{len(chosen)} tablets may or may not have been merged, or not all of them: {error}"
            ) from error

    @switches
    def settle(self, record: TabletRecord) -> None:
        """Finishes or undoes the merge that one of its two rows shows. The caller holds the table's
        operation lock, and reads the rows again."""
        if record.absorbs is not None:
            self._finish(record)
        elif record.merges_into is not None:
            into = record.merges_into
            at_stop = self._catalog.read_tablet(record.table_id, into.stop)
            if at_stop is not None and at_stop.tablet_id == into.tablet_id:
                self._finish(at_stop)
            else:
                self._undo(record, at_stop)

    @switches
    def forget_old(self, gone: Sequence[GoneTablet]) -> None:
        oldest = self._wall_millis() - GONE_MILLIS
        for one in gone:
            if one.gone_millis <= oldest:
                self._catalog.forget_gone(one)

    # ---------------------------------------------------------------- steps 1 and 2

    @switches
    def _chosen(self, name: bytes, tablet_ids: Sequence[int]) -> tuple[TableRecord, list[TabletRecord]]:
        table = METADATA if name == layout.SCHEMA.name else enabled(self._catalog, name)
        if table is METADATA and ROOT_TABLET_ID in tablet_ids:
            raise InvalidRequest("the root tablet is never merged: its record has a place of its own")
        return table, merging.neighbours(self._settled(table.table_id), tablet_ids)

    @switches
    def _at_rest(self, tablets: Sequence[TabletRecord], table: bytes) -> list[TabletRecord]:
        try:
            return [self._rested(tablet, table) for tablet in tablets]
        except Conflict as error:
            raise Unavailable(f"a tablet changed when it was to be merged; try again: {error}") from error

    @switches
    def _take_own_files(self, tablet: TabletRecord) -> None:
        try:
            if not self._shared_file(tablet):
                return
        except FileNotFound:
            pass  # a compaction has just replaced it: the record is of yesterday
        is_damaged = self._placement.compact(tablet)
        if not is_damaged:
            return
        path = self._shared_file(self._catalog.read_tablet(tablet.table_id, tablet.range.stop) or tablet)
        if path:
            raise InvalidRequest(
                f"nothing was merged: {describe(tablet)} shares {path} with a split's other child, and no compaction "
                "can write that anew, because it cannot be read whole: repair it first, `hbtable check` says more"
            )

    @switches
    def _rested(self, tablet: TabletRecord, table: bytes) -> TabletRecord:
        """Its record when it is unloaded and all its files are its own. Unavailable when it cannot be brought there."""
        self._placement.vacate(tablet, self._reports().living, table, _wait_seconds(tablet))
        current = self._catalog.read_tablet(tablet.table_id, tablet.range.stop)
        if current is None or current.tablet_id != tablet.tablet_id or not merging.is_at_rest(current):
            raise Unavailable(f"{describe(tablet)} could not be unloaded, or was split or moved; try again")
        # From the files, not from what the server said: METADATA must never show rows outside a tablet.
        if self._shared_file(current):
            raise Unavailable(f"{describe(tablet)} still shares files with a split's other child; try again")
        return current

    # ---------------------------------------------------------------- steps 3 to 6

    @switches
    def _joined(self, rested: Sequence[TabletRecord]) -> TabletRecord:
        result, *others = rested
        for right in others:
            result = self._join(result, right)
        return result

    @switches
    def _join(self, left: TabletRecord, right: TabletRecord) -> TabletRecord:
        """The merged tablet's record, which anybody may own. Conflict: one of them changed."""
        marked = merging.marked(left, right, self._new_tablet_id())
        if left.table_id == METADATA_TABLE_ID and marked.merges_into is not None:
            self.of_metadata |= {marked.merges_into.tablet_id}
        self._catalog.replace_tablet(left, marked)
        result = merging.merged(marked, right, self._wall_millis())
        self._catalog.replace_tablet(right, result)
        self._retire(marked)
        return self._allow(result)

    @switches
    def _serve(self, tablet: TabletRecord, table: TableRecord) -> None:
        reports = self._reports()
        able = takers(reports.loads)
        if not able:
            raise Unavailable(f"no tablet server can take {describe(tablet)}")
        why = f"{describe(tablet)} was merged"
        assign = Assign(tablet, least_loaded(able), why)
        self._placement.place(assign, table.schema, reports.living, _wait_seconds(tablet))

    @switches
    def _finish(self, result: TabletRecord) -> None:
        """From the merged tablet's row: it was committed. Conflict: somebody else finishes it."""
        if result.absorbs is None:
            return
        left = self._catalog.read_tablet(result.table_id, result.absorbs)
        if left is not None and left.merges_into is not None and left.merges_into.tablet_id == result.tablet_id:
            self._retire(left)
        self._allow(result)

    @switches
    def _retire(self, left: TabletRecord) -> None:
        """Conflict: somebody else did it, or the row is not as it should be; nobody may own the merged one before."""
        self._catalog.retire_tablet(left, merging.gone(left, self._wall_millis()))

    @switches
    def _allow(self, result: TabletRecord) -> TabletRecord:
        """Anybody may own it. Conflict: somebody else said so already."""
        allowed = replace(result, absorbs=None)
        self._catalog.replace_tablet(result, allowed)
        return allowed

    @switches
    def _undo(self, left: TabletRecord, at_stop: TabletRecord | None) -> None:
        """`at_stop` was read after `left`. Conflict: somebody was faster, perhaps the commit itself; look again."""
        if at_stop is not None and merging.can_commit(left, at_stop):
            self._catalog.replace_tablet(at_stop, released(at_stop))
        self._catalog.replace_tablet(left, merging.undone(left))


def _refuse_too_many_ranges(tablets: Sequence[TabletRecord]) -> None:
    if sum(tablet.range_bytes() for tablet in tablets) > MAX_RECORD_BYTES:
        raise Unavailable(
            "nothing was merged: ranges of rows that were deleted of these tablets take more than one record has "
            "room for; `major_compact` the table, and try again"
        )


def _wait_seconds(tablet: TabletRecord) -> float:
    """All tables wait for METADATA, and the cycle for whoever holds its lock."""
    return WAIT_SECONDS if tablet.table_id == METADATA_TABLE_ID else ASKED_SECONDS

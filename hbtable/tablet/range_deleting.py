"""Deletes a range of a tablet's rows with one change of its record, whatever the range holds.

    1  a minor compaction, while writes go on
    2  writes wait at the gate; what is on its way lands; a second, small minor compaction: everything is in SSTables
    3  one record change: SSTables that lie inside of the range are not named any more, others remember the range
       (model.range_delete)
    4  right after, without a switch: the version is swapped, and writes go on

So no log and no memtable ever holds anything of the range that is older than the delete, and nothing has to be replayed
against it. Later writes lie in later SSTables, which do not know of the range: whatever their times are, they stay.
Of the output of a compaction that read SSTables before 3 the range is deleted as well, or it is given up, if one of
them is not named any more (compaction.py). A read goes on with the version that it began with. A read-modify-write that
read before 3 and wants to write after it reads again (writing.py).

Cells and delete markers go alike, if their time is not later than the delete's: who deletes without a time gives it the
newest that the tablet ever assigned, so that only cells of the future stay, which somebody put there by hand.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, final

from hbtable.encoding.cell_key import range_key
from hbtable.errors import (
    HbtableError,
    InvalidRequest,
    LimitExceeded,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    SwitchedOff,
    Unavailable,
)
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.range_delete import (
    MAX_RECORD_BYTES,
    RangeDelete,
    are_much_together,
    are_too_many,
    bytes_of,
    with_range,
)
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import SSTableRef, TabletRecord
from hbtable.model.values import check_bytes
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.compactions.compaction import Compactor
from hbtable.tablet.records import with_files
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, key_range
from hbtable.tablet.writes.apply import bad_row, bad_timestamp


@final
class RangeDeleter:
    """Deletes ranges of the rows of one tablet."""

    __slots__ = ("_compactor", "_state")

    def __init__(self, state: TabletState, compactor: Compactor) -> None:
        self._state = state
        self._compactor = compactor

    @switches
    def delete(self, rows: RowRange, timestamp: int) -> None:
        """As rpc.services.TabletService.delete_range. *Switches.*"""
        state = self._state
        self._check(rows, timestamp)
        self._compactor.flush()
        state.gate.admit()
        state.gate.hold()
        try:
            state.row_locks.wait_until_idle()
            self._compactor.flush()
            if timestamp in (SERVER_TIME, MAX_TIMESTAMP):
                timestamp = max(state.clock.tick(), state.clock.highest)
            self._change(RangeDelete(rows.start, rows.stop, timestamp))
        finally:
            state.gate.let_go()

    def _check(self, rows: RowRange, timestamp: int) -> None:
        """Before anything is looked at."""
        state = self._state
        state.gate.check_served()
        for row in rows:
            check_bytes("the row", row)
            if len(row) > state.max_row_bytes:
                raise bad_row(row, state.max_row_bytes)
        layout = state.version.layout
        if state.gate.exempt:
            raise InvalidRequest("no range of METADATA's rows can be deleted")
        if layout.read_only:
            raise InvalidRequest(f"table {layout.table} is read only")
        if type(timestamp) is not int or not SERVER_TIME <= timestamp <= MAX_TIMESTAMP:
            raise bad_timestamp(timestamp)
        if rows.is_empty():
            raise InvalidRequest(f"no row lies between {rows.start!r} and {rows.stop!r}")
        if rows.intersect(state.range) != rows:
            raise StaleLocation(
                f"rows from {rows.start!r} to {rows.stop!r} do not all lie inside tablet {state.tablet_id} of table "
                f"{layout.table}"
            )

    @switches
    def _change(self, deleted: RangeDelete) -> None:
        """Unavailable: nothing was deleted, and nothing will be. OutcomeUnknown: METADATA's log had no room, and the
        change comes back if METADATA's server dies before there is some (tablet.records)."""
        state = self._state
        refs: dict[str, SSTableRef | None] = {}
        files: dict[str, LoadedFile] = {}
        was_asked = False

        def edit(record: TabletRecord) -> TabletRecord:
            nonlocal was_asked
            if record.tablet_id != state.tablet_id:
                raise StaleLocation(f"tablet {state.tablet_id} was split")
            files.update({file.ref.path: file for stack in state.version.stacks for file in stack.files})
            refs.clear()
            before = record
            for key, old in record.files:
                after = [self._after(files[ref.path], deleted) for ref in old]
                for ref, new in zip(old, after, strict=True):
                    if new is not ref:
                        refs[ref.path] = new
                record = with_files(record, key, tuple(ref for ref in after if ref is not None))
            self._check_record(before, record)
            was_asked = True
            return record

        def swap() -> None:
            state.ranges_deleted += 1
            state.install(state.version.with_refs(refs))

        try:
            state.keeper.change(edit, swap)
        except OutOfSpace:
            if was_asked:
                self._confirm_undone()
            raise
        keys = key_range(state.range)
        for path, ref in refs.items():
            if ref is None and files[path].inside(keys):  # else a split's other child may read it still
                state.environment.cache.drop_file(path)
        state.shared.attention()  # much of some SSTables may be worth nothing any more

    @switches
    def _confirm_undone(self) -> None:
        """On return the change that METADATA refused does not come back."""
        try:
            self._state.keeper.confirm_record()
        except HbtableError as error:
            raise OutcomeUnknown(
                f"METADATA has no room for the deletion of these rows, and they may be deleted yet: {error}"
            ) from error

    def _after(self, file: LoadedFile, deleted: RangeDelete) -> SSTableRef | None:
        """The reference to the file without these rows; None when nothing is left of it in this tablet."""
        ref, reader = file.ref, file.reader
        if isinstance(reader, SSTableReader):
            properties = reader.properties
            start, stop = range_key(deleted.start), range_key(deleted.stop)
            tablet_start, tablet_stop = key_range(self._state.range)
            first = max(properties.first_key, tablet_start)
            if properties.last_key < start or (stop and first >= stop) or properties.min_timestamp > deleted.timestamp:
                return ref
            to_the_end = not stop or properties.last_key < stop or (tablet_stop and tablet_stop <= stop)
            if start <= first and to_the_end and properties.max_timestamp <= deleted.timestamp:
                return None
        ranges = with_range(ref.deleted, deleted)
        grow = len(ranges) > len(ref.deleted) or bytes_of(ranges) > bytes_of(ref.deleted)
        if are_too_many(ranges) and grow:
            self._refuse(ref)
        return replace(ref, deleted=ranges)

    def _check_record(self, before: TabletRecord, after: TabletRecord) -> None:
        """Each SSTable has the range, and METADATA's row has them all: what is too long for it is refused here, as long
        as the tablet can still be split and given to another server."""
        has, needs = before.range_bytes(), after.range_bytes()
        if needs <= max(has, MAX_RECORD_BYTES):
            return
        what = f"tablet {self._state.tablet_id} of table {self._state.version.layout.table}"
        if are_much_together(has):
            marked = [ref for _, refs in before.files for ref in refs if ref.deleted]
            self._wait_for(marked, f"ranges of {len(marked)} SSTables of {what} take {has} bytes of its record")
        count = len(after.file_lengths())
        raise LimitExceeded(
            f"nothing was deleted: the record of {what} would have {needs} bytes of ranges of its {count} SSTables, "
            f"and has room for {MAX_RECORD_BYTES}; name the range by shorter rows, or delete its rows one by one"
        )

    def _refuse(self, ref: SSTableRef) -> NoReturn:
        state = self._state
        what = f"{len(ref.deleted)} ranges of rows were deleted of an SSTable of tablet {state.tablet_id} of table "
        self._wait_for([ref], what + state.version.layout.table)

    def _wait_for(self, refs: Sequence[SSTableRef], what: str) -> NoReturn:
        """One more range has to wait for a compaction of these files, which may be one that never comes."""
        state, shared = self._state, self._state.shared
        full = f"{what}, and no more can be before a compaction wrote {'it' if len(refs) == 1 else 'them'} anew"
        undone = f"nothing was deleted: {full}"
        for ref in refs:
            state.damaged.check(ref.path, undone)
        if not shared.compactions_on:
            raise SwitchedOff(f"{undone}; {shared.no_compactions()}")
        if not shared.has_room_for(max(ref.length_bytes for ref in refs)):
            raise OutOfSpace(f"{undone}; {shared.out_of_space}")
        shared.attention()
        raise Unavailable(f"nothing was deleted: {full}{state.gate.why_no_merge()}; try again")

"""The tablet's record in METADATA, and its changes one at a time.

The record is the only truth about files and redo points. Each change is one compare-and-set of the whole record, so the
new SSTables and the redo point that they allow are durable together or not at all (bug class 6), and a log is released
only after the change was acknowledged (bug class 2).

A change whose outcome is unknown is repeated until it is known: `commit_record(old, new)` succeeds as well when the
record already equals `new`. Going on without knowing could leave a file in METADATA that the tablet does not read.
"""

import dataclasses
from collections.abc import Callable
from typing import final

from hbtable.errors import Conflict, HbtableError, OutcomeUnknown, OutOfSpace, StaleLocation, Unavailable
from hbtable.model.tablet import LogRef, SSTableRef, TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

CommitRecord = Callable[[TabletRecord, TabletRecord], None]
"""Compare-and-set: durable on return. Conflict: the record is another one, this tablet belongs to someone else now.
Fine when the record equals the new one already. Any other HbtableError but OutcomeUnknown: nothing was changed."""

Edit = Callable[[TabletRecord], TabletRecord]


@final
class RecordKeeper:
    """Changes one tablet's record, one change at a time. `lost`: another
    owner was found; serve no more. `closed`: nothing changes it any more; what waits for its turn then (the end of a
    split, a flush) could only spoil another owner's. `acknowledged`: the number of changes that were made.
    `in_doubt`: of the last one that failed it is not known whether it was made."""

    __slots__ = (
        "_lock", "_retry_seconds", "_runtime", "acknowledged", "closed", "commit", "in_doubt", "lost", "record",
    )  # fmt: skip

    def __init__(self, runtime: Runtime, record: TabletRecord, commit: CommitRecord, retry_seconds: float) -> None:
        self._runtime = runtime
        self.commit = commit
        self._lock = runtime.lock()
        self._retry_seconds = retry_seconds
        self.record = record
        self.lost = False
        self.closed = False
        self.acknowledged = 0
        self.in_doubt = False

    @switches
    def change(self, edit: Edit, swap: Callable[[], None] | None = None, insist: bool = False) -> TabletRecord:
        """Durable on return. `edit` makes the new record from the current one. `swap` runs right after the change was
        acknowledged, without a switch in between, so that no other change sees a record that the version lacks.
        StaleLocation when the tablet is lost or closed; any other error: nothing was changed, except that
        a change that was OutOfSpace comes back if METADATA's server dies before its log writes on. Who may not go on
        with the old record then has to `insist`: OutOfSpace is tried again until there is room."""
        with self._lock:
            if self.lost or self.closed:
                raise self._lost_error()
            old = self.record
            new = edit(old)
            if new != old:
                self._settle(old, new, insist)
                self.record = new
                self.acknowledged += 1
            if swap is not None:
                swap()
            return new

    @switches
    def confirm_record(self) -> None:
        """The record, written once more as it is: what was refused before will not come back. Errors as of change()."""
        with self._lock:
            if self.lost or self.closed:
                raise self._lost_error()
            self._settle(self.record, self.record, insist=False)
            self.acknowledged += 1

    @switches
    def _settle(self, old: TabletRecord, new: TabletRecord, insist: bool) -> None:
        self.in_doubt = False
        while True:
            try:
                self.commit(old, new)
                return
            except Conflict as error:
                self.lost = True
                raise self._lost_error() from error
            except OutcomeUnknown:
                self.in_doubt = True
            except HbtableError as error:
                # Once an outcome is in doubt, 'not applied now' says nothing about the earlier attempt.
                self.in_doubt = self.in_doubt or (insist and isinstance(error, OutOfSpace))
                if not self.in_doubt or not isinstance(error, (Unavailable, StaleLocation)):
                    raise
            self._runtime.sleep(self._retry_seconds)

    def _lost_error(self) -> StaleLocation:
        what = "belongs to another owner now" if self.lost else "is not served here any more"
        return StaleLocation(f"tablet {self.record.tablet_id} {what}")


def with_files(record: TabletRecord, key: str, refs: tuple[SSTableRef, ...]) -> TabletRecord:
    """The record with exactly these SSTables in one stack."""
    files = {name: old for name, old in record.files if name != key}
    if refs:
        files[key] = tuple(sorted(refs, key=lambda ref: (ref.first_sequence, ref.path)))
    return dataclasses.replace(record, files=tuple((name, files[name]) for name in sorted(files)))


def with_redo_point(record: TabletRecord, incarnation: str, first_needed: int) -> TabletRecord:
    """Everything below `first_needed` is in SSTables, from whichever log it came: only the current owner's log is
    needed. It stays named even when nothing of it is needed, because it keeps the sequence for the next owner."""
    return dataclasses.replace(record, logs=(LogRef(incarnation, first_needed),))


def with_all_logs_from(record: TabletRecord, first_needed: int) -> TabletRecord:
    """While logs of earlier owners are still being replayed: they stay, from a later sequence on."""
    logs = tuple(LogRef(log.incarnation, max(log.first_needed, first_needed)) for log in record.logs)
    return dataclasses.replace(record, logs=logs)

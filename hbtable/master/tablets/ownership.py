"""Changes a tablet's record when it gets or loses an owner (paper, 5.2 and 5.3; bug classes 3 and 10). Pure.

    assigned   generation + 1, owner = the server, and the server's log joins the logs needed, in the same change:
               whatever the server will log is then found after its death, without a second book
    released   generation + 1, owner = ""; the logs stay, because only a flush makes them unneeded
    given back as released, by an owner that lives and does not serve the tablet: its log is not needed

A log named with first needed sequence n holds nothing below n that is needed. A server that gets a tablet for the
second time still has records of the first stay in its log; those are below every sequence the record names, so the new
reference begins at the highest of them, and recovery never sees them twice.
"""

from collections.abc import Iterator, Set
from dataclasses import replace

from hbtable.model.ranges import RowRange
from hbtable.model.tablet import NO_LOG, LogRef, TabletRecord


def assigned(record: TabletRecord, server: str, emptied: Set[str] = frozenset()) -> TabletRecord:
    """`emptied`: logs of dead servers that hold nothing any more."""
    # A log without incarnation is what a clean unload leaves: it only keeps the sequence, which the new one takes over.
    logs = tuple(ref for ref in record.logs if ref.incarnation != NO_LOG and ref.incarnation not in emptied)
    if all(ref.incarnation != server for ref in logs):
        logs = (*logs, LogRef(server, first_unflushed(record)))
    return replace(record, owner=server, generation=record.generation + 1, logs=logs)


def released(record: TabletRecord) -> TabletRecord:
    return replace(record, owner="", generation=record.generation + 1)


def given_back(record: TabletRecord) -> TabletRecord:
    """The record of a tablet that its living owner was asked to unload and does not serve: it could not load it, or
    unloaded it and could not say so. Nothing of it is in that log alone, or it would have refused; and a record that
    went on naming the log could be loaded by nobody else, because the log of a server that lives has no end to recover
    up to."""
    logs = tuple(ref for ref in record.logs if ref.incarnation != record.owner)
    return replace(released(record), logs=logs or (LogRef(NO_LOG, first_unflushed(record)),))


def first_unflushed(record: TabletRecord) -> int:
    """A sequence that is greater than all that earlier owners flushed, and not greater than any to come."""
    flushed = max((ref.last_sequence for _group, refs in record.files for ref in refs), default=0)
    return max((ref.first_needed for ref in record.logs), default=0) or flushed + 1


def first_records(table_id: int, tablet_ids: list[int], split_rows: list[bytes], now: int) -> Iterator[TabletRecord]:
    """The unassigned tablets of a new table: one more than `split_rows`, which ascend and hold no b""."""
    bounds = [b"", *split_rows, b""]
    for index, tablet_id in enumerate(tablet_ids):
        yield TabletRecord(table_id, tablet_id, RowRange(bounds[index], bounds[index + 1]), now)

"""Ranges of rows that were deleted while a compaction ran: its output has these rows, which are not to be read."""

from dataclasses import replace

from hbtable.errors import Unavailable
from hbtable.model.range_delete import RangeDelete, are_too_many, ranges_since, with_ranges
from hbtable.model.tablet import TabletRecord
from hbtable.tablet.version import LoadedFile


class CompactionCancelled(Unavailable):
    """A split or unload wants the tablet to itself, or the output is not what the record asks for by now."""


def deleted_since(
    record: TabletRecord, inputs: tuple[LoadedFile, ...], has_their_times: bool = True
) -> tuple[RangeDelete, ...]:
    """The ranges of rows that were deleted since the inputs were read: the output has these rows. Each was deleted of
    all inputs that have any of it. CompactionCancelled when an input went as a whole, so that its range is not known,
    when they are too many, or when the output has not the times of its inputs, by which a range is deleted."""
    refs = {ref.path: ref for _, refs in record.files for ref in refs}
    deleted: tuple[RangeDelete, ...] = ()
    for file in inputs:
        ref = refs.get(file.ref.path)
        if ref is not None and ref.deleted != file.ref.deleted:
            deleted = with_ranges(deleted, ranges_since(file.ref.deleted, ref.deleted))
        if ref is None or are_too_many(deleted) or (deleted and not has_their_times):
            raise CompactionCancelled(
                f"the compaction of tablet {record.tablet_id} was cancelled: a range of its rows was deleted meanwhile"
            )
    return deleted


def without(output: LoadedFile | None, deleted: tuple[RangeDelete, ...]) -> LoadedFile | None:
    """As if they were deleted of the output, once it was there."""
    return output if output is None or not deleted else LoadedFile(replace(output.ref, deleted=deleted), output.reader)

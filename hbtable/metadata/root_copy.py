"""Compares the root tablet's record with its copy (decision 11). The copy is written before each change of the record.
So it is one change ahead at most. When it is further ahead, somebody put an old record back. Pure.

A flush leaves the generation as it is. Nothing tells a record that was put back over a flush from one whose next change
a crash cut off; but in both cases the copy names what its owner had made durable.
"""

from dataclasses import replace

from hbtable.model.tablet import NO_LOG, LogRef, TabletRecord


def is_older(one: TabletRecord, other: TabletRecord) -> bool:
    """Whether the first of two records of the root tablet is the older one."""
    return (one.generation, _last_sequence(one)) < (other.generation, _last_sequence(other))


def was_put_back(root: TabletRecord, copy: TabletRecord) -> bool:
    """Whether what `root` leads to was METADATA once, and is it no more."""
    ahead = copy.generation - root.generation
    flushed_since = _last_sequence(copy) > _last_sequence(root)
    # One change gives the tablet an owner or takes it, and neither flushes.
    return ahead > 1 or (ahead == 1 and (flushed_since or not (copy.owner or root.owner)))


def _last_sequence(record: TabletRecord) -> int:
    return max((ref.last_sequence for _, refs in record.files for ref in refs), default=0)


def with_flushes_of(copy: TabletRecord, root: TabletRecord) -> TabletRecord:
    """`root` with what a later flush of the same generation made durable, as its copy tells; `root` where it tells
    of none.

    The owner stays, and so does its log: one that failed to give the tablet up may have served it again, and the
    records from that time stand in its log alone.
    """
    first_needed = _first_needed(copy)
    if copy.generation != root.generation or first_needed <= _first_needed(root):
        return root
    return replace(root, files=copy.files, logs=(LogRef(root.owner or NO_LOG, first_needed),))


def _first_needed(record: TabletRecord) -> int:
    """Below this sequence its logs are not needed. A flush can leave no file, when all of it was deleted."""
    return max((_last_sequence(record) + 1, *(log.first_needed for log in record.logs)))

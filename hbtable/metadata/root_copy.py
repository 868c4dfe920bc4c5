"""Compares the root tablet's record with its copy (decision 11). The copy is written before each change of the record.
So it is one change ahead at most. When it is further ahead, somebody put an old record back. Pure.
"""

from hbtable.model.tablet import TabletRecord


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

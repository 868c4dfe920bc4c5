"""What a tablet server says about itself, for planners, pages and `status`."""

from typing import NamedTuple

from hbtable.model.tablet import TabletRecord


class TabletStatus(NamedTuple):
    """A served tablet, for planners, pages and `status`."""

    record: TabletRecord
    schema_version: int
    memtable_bytes: int
    sstable_bytes: int
    sstables: int
    reads: int
    writes: int

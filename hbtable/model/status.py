"""A tablet server's report about itself, for planners, pages and `status`."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord

EVERY_TABLE: Final = -1
"""In the place of a table's id: the tablets of all tables."""


class TabletStatus(NamedTuple):
    """A served tablet, for planners, pages and `status`."""

    record: TabletRecord
    schema_version: int
    memtable_bytes: int
    sstable_bytes: int
    sstables: int
    reads: int
    writes: int
    merging: bool = False
    """A merging compaction runs or waits for its turn."""
    major: bool = False
    """A major one runs."""
    damaged: int = 0
    """Files of it that cannot be read, or not whole."""


class TabletSize(NamedTuple):
    """The rows of a tablet, and about how many bytes they take on disk and in the memtable."""

    rows: RowRange
    size_bytes: int


class ServedTablet(NamedTuple):
    """A served tablet, for the master."""

    table_id: int
    tablet_id: int
    schema_version: int
    sstable_bytes: int
    reads: int = -1
    """Since its server opened it. -1: the server is of a release that does not say."""
    writes: int = -1


class LeftTablet(NamedTuple):
    """A tablet that a server served, and serves no more, and where METADATA has it."""

    table_id: int
    tablet_id: int
    stop_row: bytes
    table: bytes
    """The table's name."""


class ServedChanges(NamedTuple):
    """A tablet server's tablets since the master asked last."""

    number: int
    """Of the last change; it counts from 1 in each life of a server."""
    whole: bool
    """Of everything that is served: a tablet that is not named is not served."""
    served: list[ServedTablet]
    """Tablets that came, or changed their schema. Sizes are as of now."""
    gone: list[int]
    left: Sequence[LeftTablet] = ()
    """Of those that are gone; of none where the server is of a release that does not say."""


class CacheEviction(NamedTuple):
    """The blocks that a tablet server's cache lost when it was emptied of a table."""

    blocks: int
    capacity_bytes: int


class Collection(NamedTuple):
    """The outcome of one garbage collection, for who asked for it."""

    rows: int
    """Tablet rows that belonged to no table; they are gone."""
    waiting: int
    """Files in the trash that are not old enough yet."""

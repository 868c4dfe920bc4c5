"""A tablet's record: one METADATA row (paper, section 5.1).

Every change of a record is one compare-and-set of the whole encoded record (encoding.tablet_record), so there is
never a half-changed tablet. METADATA itself is table 0; its first tablet is the root tablet, whose record is kept by
the lock service.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hbtable.model.range_delete import RangeDelete, record_bytes
from hbtable.model.ranges import RowRange

METADATA_TABLE_ID: Final = 0
ROOT_TABLET_ID: Final = 1
FIRST_METADATA_TABLET_ID: Final = 2
FIRST_USER_TABLE_ID: Final = 16
FIRST_FREE_TABLET_ID: Final = 16

ROOT_LEVEL: Final = 0
METADATA_LEVEL: Final = 1
USER_LEVEL: Final = 2
"""Of the three levels of tablets, each located by the one before (paper, section 5.1)."""


@dataclass(frozen=True, slots=True)
class SSTableRef:
    """METADATA's reference to an SSTable. Existence proves nothing: length and checksum must agree."""

    path: str
    length_bytes: int
    footer_checksum: int
    """CRC32 of the file's last bytes as written (sstable.layout)."""
    first_sequence: int
    last_sequence: int
    cells: int
    deleted: tuple[RangeDelete, ...] = ()
    """Of its rows, those that were deleted as ranges since it was written."""


NO_LOG: Final = ""
"""Incarnation of a LogRef that needs no log: a clean unload leaves it to keep the tablet's first unused sequence."""


@dataclass(frozen=True, slots=True)
class LogRef:
    """A commit log that may hold records of the tablet: those of sequence >= `first_needed`. Or NO_LOG."""

    incarnation: str
    first_needed: int


@dataclass(frozen=True, slots=True)
class MergesInto:
    """The merge that a tablet waits for, in the record of the left one of the two: nobody may own it
    (master.merges)."""

    stop: bytes
    """End of the right one, whose METADATA row becomes the merged tablet's."""
    tablet_id: int
    """Of the merged tablet."""
    right_generation: int
    """Of the right tablet's record that the merged one is to replace, and of no later one."""


@dataclass(frozen=True, slots=True)
class TabletRecord:
    """Everything that must survive about one tablet."""

    table_id: int
    tablet_id: int
    range: RowRange
    created_millis: int
    owner: str = ""
    """Incarnation of the tablet server that serves it; "" when unassigned."""
    generation: int = 0
    """Grows with every assignment; log records carry it."""
    files: tuple[tuple[str, tuple[SSTableRef, ...]], ...] = ()
    """(locality group, its SSTables) in ascending order of group and of first_sequence."""
    logs: tuple[LogRef, ...] = ()
    left: "TabletRecord | None" = None
    """While a split is being completed: the left child, whose own row may not exist yet."""
    merges_into: MergesInto | None = None
    absorbs: bytes | None = None
    """On a merged tablet that nobody may own yet: where the left tablet ended, whose row may still have to go."""
    withheld_millis: int = 0
    """Since when nobody serves it, by an operator's word (repair.withholding); 0: it is to be served."""

    def is_merging(self) -> bool:
        """Half-way of a merge: it must be finished, or undone, before anybody owns it."""
        return self.merges_into is not None or self.absorbs is not None

    def files_of(self, group: str) -> tuple[SSTableRef, ...]:
        for name, refs in self.files:
            if name == group:
                return refs
        return ()

    def file_lengths(self) -> list[int]:
        """Bytes of each of its SSTables."""
        return [ref.length_bytes for _, refs in self.files for ref in refs]

    def range_bytes(self) -> int:
        """Those that ranges deleted of its SSTables take in this record, without the left child's."""
        return record_bytes(ref.deleted for _, refs in self.files for ref in refs if ref.deleted)


@dataclass(frozen=True, slots=True)
class GoneTablet:
    """A tablet that was merged into the one to its right. Its METADATA row stays for a while, so that a slow split
    repair does not put an old record of it back (metadata.catalog, put_tablet_if_absent)."""

    table_id: int
    tablet_id: int
    range: RowRange
    generation: int
    """Of the merged tablet when it came to be: records of the tablet that is gone have smaller ones, records of
    whatever will end at this row again have none that is smaller."""
    gone_millis: int


def level(record: TabletRecord) -> int:
    """ROOT_LEVEL, METADATA_LEVEL or USER_LEVEL."""
    if record.tablet_id == ROOT_TABLET_ID:
        return ROOT_LEVEL
    return METADATA_LEVEL if record.table_id == METADATA_TABLE_ID else USER_LEVEL


def owners(records: Iterable[TabletRecord]) -> list[str]:
    """Each once, ascending."""
    return sorted({record.owner for record in records if record.owner})

"""Finds how far the counters of numbers that are given out once had got, by everything that the folder shows."""

import re
from dataclasses import dataclass
from typing import Final

from hbtable.encoding import table_record, tablet_record
from hbtable.errors import HbtableError
from hbtable.metadata import layout
from hbtable.metadata.id_allocator import SCANNER_IDS, TABLE_IDS, TABLET_IDS
from hbtable.metadata.numbers_in_use import NumbersInUse
from hbtable.model.tablet import FIRST_FREE_TABLET_ID, FIRST_USER_TABLE_ID, GoneTablet, TabletRecord
from hbtable.repair.evidence import Evidence
from hbtable.repair.lock_files import LockFiles
from hbtable.repair.metadata_reading import MetadataReader, MetadataView
from hbtable.switches import switches
from hbtable.tablet.shared import table_of_path

_MARGIN: Final = 1 << 20
"""More than all processes of a cluster have taken and not used, together."""

_INCARNATION: Final = re.compile(r"(?:^|/)(\d{8,})-[0-9a-f]{8}(?:$|[-/.])")


@dataclass(slots=True)
class Seen:
    """The highest of each kind."""

    tablet_id: int = FIRST_FREE_TABLET_ID - 1
    table_id: int = FIRST_USER_TABLE_ID - 1
    starts: int = 0
    generation: int = 0

    def name(self, text: str) -> None:
        """An incarnation, or a path that has one in it."""
        match = _INCARNATION.search(text)
        if match is not None:
            self.starts = max(self.starts, int(match.group(1)))


@switches
def look_everywhere(
    seen: Seen, locks: LockFiles, evidence: Evidence, view: MetadataView, reader: MetadataReader
) -> None:
    """Looks at every file's name and identity, every log record, and every row that METADATA has or had."""
    for path in (*evidence.sstables, *evidence.trash, *evidence.logs, *locks.sound):
        seen.name(path)
    for file in (*evidence.sstables.values(), *evidence.trash.values()):
        seen.table_id = max(seen.table_id, table_of_path(file.path))
        if file.properties is not None:
            identity = file.properties.identity
            seen.tablet_id = max(seen.tablet_id, identity.tablet_id)
            seen.generation = max(seen.generation, identity.generation)
    seen.tablet_id = max(seen.tablet_id, evidence.highest_tablet)
    seen.generation = max(seen.generation, evidence.highest_generation)
    for incarnation in (name for name, damage in evidence.logs.items() if damage):
        for record in reader.log(incarnation):
            seen.tablet_id = max(seen.tablet_id, record.tablet_id)
            seen.generation = max(seen.generation, record.generation)
    for found in (locks.root, locks.copy, *view.tablets):
        if found is not None:
            seen.generation = max(seen.generation, found.generation)
    for key, values in view.history.items():
        for value in values:
            _look_at_row(seen, key, value)


def _look_at_row(seen: Seen, key: bytes, value: bytes) -> None:
    try:
        if layout.TABLE_ROWS.holds(key):
            seen.table_id = max(seen.table_id, table_record.decode(value).table_id)
        elif not layout.NAMESPACE_ROWS.holds(key):
            record = tablet_record.decode_row(value, "")
            for one in (record, None if isinstance(record, GoneTablet) else record.left):
                if one is not None:
                    seen.tablet_id = max(seen.tablet_id, one.tablet_id)
                    seen.table_id = max(seen.table_id, one.table_id)
                    seen.generation = max(seen.generation, one.generation)
            if isinstance(record, TabletRecord):
                for log in record.logs:
                    seen.name(log.incarnation)
    except HbtableError:
        return  # a row of nobody


def in_use(files: LockFiles, seen: Seen, scanner: int) -> NumbersInUse:
    """The highest numbers in use: counters must be above them. If a counter cannot be read, some numbers that it gave
    out left no trace: then a margin more. `scanner`: the highest id of a saved scanner, or -1."""
    table, tablet, started = seen.table_id, seen.tablet_id, seen.starts
    if TABLE_IDS not in files.sound and table >= FIRST_USER_TABLE_ID:
        table += _MARGIN
    if TABLET_IDS not in files.sound and tablet >= FIRST_FREE_TABLET_ID:
        tablet += _MARGIN
    return NumbersInUse(table, tablet, started, scanner_in_use(files, scanner))


def scanner_in_use(files: LockFiles, saved: int) -> int:
    """-1 where the counter cannot be read or is not there. Ids of scanners that ended left no trace, and clients may
    still ask by them: the next start sets the counter by the clock, above all of them, if it finds none."""
    return saved if SCANNER_IDS in files.sound else -1

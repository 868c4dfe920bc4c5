"""All files of a stopped folder, each read for itself, so that one damaged file hides no other.

An SSTable in the trash is evidence, too: it says which files it replaced, and it can come back.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hbtable.commitlog.records import LogRecord
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.recovered_edits import sorted_runs, verify_run
from hbtable.commitlog.segments.segment import LOGS, incarnation_of
from hbtable.encoding.cell_key import check_known, column_prefix, row_prefix
from hbtable.errors import FileNotFound, HbtableError, UnsupportedFormat
from hbtable.fs.interface import FileSystem
from hbtable.metadata import layout
from hbtable.model.tablet import SSTableRef
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.layout import FOOTER_BYTES
from hbtable.sstable.properties import Properties
from hbtable.sstable.reader import SSTableReader
from hbtable.sstable.salvaging import read_identity
from hbtable.switches import switches
from hbtable.tablet.shared import SSTABLE_FOLDER, table_of_path

TRASH: Final = "trash"
_METADATA_COLUMN: Final = column_prefix(row_prefix(b""), layout.FAMILY, layout.QUALIFIER)
"""In a cell key, behind the row."""


@dataclass(frozen=True, slots=True)
class SSTableFound:
    """`path`: as METADATA would name it; `place`: where it lies, which differs in the trash."""

    path: str
    place: str
    length_bytes: int
    footer_checksum: int
    properties: Properties | None
    """None when they cannot be read."""
    damage: str = ""
    """What is wrong; "" when every byte checks."""

    @property
    def in_trash(self) -> bool:
        return self.path != self.place

    def is_whole(self, ref: SSTableRef) -> bool:
        """Whether it is, byte for byte, what METADATA names."""
        same = (self.length_bytes, self.footer_checksum) == (ref.length_bytes, ref.footer_checksum)
        return same and not self.damage

    def is_of(self, table_id: int) -> bool:
        """Lies among the files of this table, and does not say that it is another's."""
        if table_of_path(self.path) != table_id:
            return False
        return self.properties is None or self.properties.identity.table_id == table_id

    def ref(self) -> SSTableRef:
        """As METADATA names a sound file."""
        properties = self.properties
        assert properties is not None
        numbers = (properties.first_sequence, properties.last_sequence, properties.cells)
        return SSTableRef(self.path, self.length_bytes, self.footer_checksum, *numbers)


@dataclass(slots=True)
class Evidence:
    """What there is."""

    sstables: dict[str, SSTableFound] = field(default_factory=dict)
    trash: dict[str, SSTableFound] = field(default_factory=dict)
    """By the path they had."""
    logs: dict[str, str] = field(default_factory=dict)
    """Incarnation -> what is wrong with its log, "" when recovery can read it."""
    log_notes: dict[str, list[str]] = field(default_factory=dict)
    """Incarnation -> what was dropped at its end as never promised, and what of its mark cannot be read."""
    metadata_records: dict[str, list[LogRecord]] = field(default_factory=dict)
    """Of each log that recovery can read, those that look like METADATA's: of the column of its records."""
    highest_tablet: int = 0
    highest_generation: int = 0
    """In those logs."""
    log_records: int = 0
    sorted_records: int = 0

    def somewhere(self, path: str) -> SSTableFound | None:
        """In its place, or in the trash."""
        return self.sstables.get(path) or self.trash.get(path)


@switches
def gather(fs: FileSystem, pause: Callable[[], None]) -> Evidence:
    """Reads everything; about a second for each 100 MB. `pause` is called now and then. UnsupportedFormat: a newer
    hbtable wrote some of it. May switch."""
    found = Evidence()
    for status in fs.list_files(SSTABLE_FOLDER):
        if _is_sstable(status.path):
            found.sstables[status.path] = read_sstable(fs, status.path, status.path, pause)
    for status in fs.list_files(TRASH):
        path = status.path.split("/", 2)[-1]
        if _is_sstable(path):
            found.trash[path] = read_sstable(fs, path, status.path, pause)
    for incarnation in sorted({status.path.split("/")[1] for status in fs.list_files(LOGS)}):
        found.logs[incarnation] = _log_damage(fs, f"{LOGS}/{incarnation}", found, pause)
    return found


def _is_sstable(path: str) -> bool:
    try:
        return table_of_path(path) >= 0
    except ValueError:
        return False  # somebody else's


@switches
def read_sstable(fs: FileSystem, path: str, place: str, pause: Callable[[], None]) -> SSTableFound:
    """Every byte of it. UnsupportedFormat."""
    length = 0
    try:
        file = fs.open(place)
        try:
            length = file.length_bytes
            reader = SSTableReader.open(file.read_at, place, length, BlockCache(0))
            reader.verify(pause)
            return SSTableFound(path, place, length, reader.footer.checksum, reader.properties)
        finally:
            file.close()
    except UnsupportedFormat:
        raise
    except HbtableError as error:
        properties = read_identity(place, fs.read_file(place)) if length >= FOOTER_BYTES else None
        return SSTableFound(path, place, length, 0, properties, str(error))


@switches
def _read_log(fs: FileSystem, folder: str, found: Evidence) -> None:
    """Keeps little of it: a log may have hundreds of megabytes."""
    metadata = found.metadata_records.setdefault(incarnation_of(folder), [])
    notes = found.log_notes.setdefault(incarnation_of(folder), [])
    for record in read_log(fs, folder, tell=lambda _, what: notes.append(what)):
        found.log_records += 1
        found.highest_tablet = max(found.highest_tablet, record.tablet_id)
        found.highest_generation = max(found.highest_generation, record.generation)
        for key, _ in record.pairs:
            check_known(key, folder)
        if any(_METADATA_COLUMN in key for key, _ in record.pairs):
            metadata.append(record)


@switches
def _log_damage(fs: FileSystem, folder: str, found: Evidence, pause: Callable[[], None]) -> str:
    messages = []
    try:
        _read_log(fs, folder, found)
    except UnsupportedFormat:
        raise
    except HbtableError as error:
        messages.append(str(error))
    try:
        for run in sorted_runs(fs, folder) or []:
            found.sorted_records += verify_run(fs, folder, run, pause)
    except UnsupportedFormat:
        raise
    except FileNotFound as error:
        messages.append(f"the list of {folder}'s sorted runs names one that is not there: {error}")
    except HbtableError as error:
        messages.append(str(error))
    return "; ".join(messages)

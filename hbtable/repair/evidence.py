"""All files of a folder, each read for itself, so that one damaged file hides no other.

A folder of one machine is stopped. A cluster's may be in use: files come and go, and a log that nobody has fenced may
still be written, so it is not judged.

An SSTable in the trash is evidence, too: it says which files it replaced, and it can come back.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hbtable.commitlog.records import LogRecord
from hbtable.commitlog.recovery.fencing import FENCED, is_given_up, marker_path
from hbtable.commitlog.recovery.manifest import list_log, manifest_path
from hbtable.commitlog.recovery.reading import read_log
from hbtable.commitlog.recovery.recovered_edits import sorted_runs, verify_run
from hbtable.commitlog.segments.segment import LOGS, incarnation_of, log_folder
from hbtable.encoding.cell_key import check_known, column_prefix, row_prefix
from hbtable.errors import FileNotFound, HbtableError, Unavailable, UnsupportedFormat
from hbtable.fs.interface import HDFS, LOCAL, FileStatus, FileSystem
from hbtable.metadata import layout
from hbtable.model.range_delete import RangeDelete
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
    """An SSTable that was found. `path`: its name in METADATA; `place`: its name in the file system, which differs in
    the trash."""

    path: str
    place: str
    length_bytes: int
    footer_checksum: int
    properties: Properties | None
    """None when they cannot be read."""
    damage: str = ""
    """The damage, for people; "" when every byte checks."""
    deleted: tuple[RangeDelete, ...] = ()
    """Ranges of its rows that were deleted, and that only the file says which was made from it and is damaged now."""

    @property
    def in_trash(self) -> bool:
        return self.path != self.place

    def is_whole(self, ref: SSTableRef) -> bool:
        """Whether it is, byte for byte, what METADATA names."""
        same = (self.length_bytes, self.footer_checksum) == (ref.length_bytes, ref.footer_checksum)
        return same and not self.damage

    def is_of(self, table_id: int) -> bool:
        """Whether it is among the files of this table, and does not say that it belongs to another."""
        if table_of_path(self.path) != table_id:
            return False
        return self.properties is None or self.properties.identity.table_id == table_id

    def ref(self) -> SSTableRef:
        """The reference by which METADATA would name this file."""
        properties = self.properties
        assert properties is not None
        numbers = (properties.first_sequence, properties.last_sequence, properties.cells)
        return SSTableRef(self.path, self.length_bytes, self.footer_checksum, *numbers, self.deleted)


@dataclass(slots=True)
class Evidence:
    """All that the files show, each read for itself."""

    alone: bool = False
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
    highest_clock_millis: int = 0
    """In those logs."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Of a cluster's files those that could not be had now, sound or not, by path; and why."""
    unfenced: set[str] = field(default_factory=set)
    """Logs of a cluster that nobody has ended: they are not in `logs`."""
    given_up: set[str] = field(default_factory=set)
    """Logs that are gone because nobody needed them, whoever names them since."""
    log_records: int = 0
    sorted_records: int = 0

    def clock_millis(self) -> int:
        """The latest time that a server is known to have assigned, to a cell of any tablet; 0: none."""
        files = [*self.sstables.values(), *self.trash.values()]
        times = [file.properties.identity.clock_millis for file in files if file.properties is not None]
        return max([self.highest_clock_millis, *times])

    @switches
    def look_at(
        self, fs: FileSystem, path: str, status: FileStatus, pause: Callable[[], None], known: dict[str, SSTableFound]
    ) -> None:
        place, among = status.path, self.sstables if status.path == path else self.trash
        before = known.get(place)
        if before is not None and before.length_bytes == status.length_bytes:
            among[path] = before
            return
        try:
            file = self._read(fs, path, place, pause)
        except Unavailable as error:
            self.unreadable[place] = str(error)
            return
        if file is not None and not (self.alone and fs.log_kind == HDFS and not file.length_bytes):
            # A file that its dead writer never finished, and no tablet ever named, may show nothing of itself on HDFS.
            among[path] = file
            if not file.damage:
                known[place] = file

    @switches
    def _read(self, fs: FileSystem, path: str, place: str, pause: Callable[[], None]) -> SSTableFound | None:
        try:
            return read_sstable(fs, path, place, pause)
        except Unavailable:
            if not self.alone:
                raise
            fs.seal(place)
            file = read_sstable(fs, path, place, pause)
            # Of a file that its writer never finished there is no end, and no tablet ever named it.
            return None if file is not None and file.damage and file.properties is None else file

    def somewhere(self, path: str) -> SSTableFound | None:
        """The file, in its place or in the trash."""
        return self.sstables.get(path) or self.trash.get(path)


@switches
def gather(
    fs: FileSystem, pause: Callable[[], None], known: dict[str, SSTableFound] | None = None, alone: bool = False
) -> Evidence:
    """Reads everything; about a second for each 100 MB. `pause` is called now and then. `known`: SSTables that were
    found sound before, by place; they are not read again, and what is found sound is added. `alone`: nobody else
    writes, so what HDFS has open is taken from its writer, who is dead. UnsupportedFormat: a newer hbtable wrote some
    of it. May switch."""
    found = Evidence(alone=alone)
    known = {} if known is None else known
    for status in fs.list_files(SSTABLE_FOLDER):
        if _is_sstable(status.path):
            found.look_at(fs, status.path, status, pause, known)
    for status in fs.list_files(TRASH):
        path = status.path.split("/", 2)[-1]
        if _is_sstable(path):
            found.look_at(fs, path, status, pause, known)
    for incarnation in sorted({status.path.split("/")[1] for status in fs.list_files(LOGS)}):
        _look_at_log(fs, incarnation, found, pause)
    if fs.log_kind != LOCAL:
        found.given_up = {name for name in _markers(fs) if name not in found.logs and _was_given_up(fs, name)}
    return found


@switches
def _markers(fs: FileSystem) -> list[str]:
    return [status.path.rpartition("/")[2] for status in fs.list_files(FENCED)]


@switches
def _was_given_up(fs: FileSystem, incarnation: str) -> bool:
    try:
        return is_given_up(fs.read_file(marker_path(incarnation)), incarnation)
    except UnsupportedFormat:
        return False  # what a fencer was about to place has a longer name
    except FileNotFound:
        return False


@switches
def _look_at_log(fs: FileSystem, incarnation: str, found: Evidence, pause: Callable[[], None]) -> None:
    folder = log_folder(incarnation)
    try:
        if fs.log_kind != LOCAL and not fs.exists(manifest_path(folder)):
            found.unfenced.add(incarnation)
            return
        found.logs[incarnation] = _log_damage(fs, folder, found, pause)
    except Unavailable as error:
        found.unreadable[folder] = str(error)


def _is_sstable(path: str) -> bool:
    try:
        return table_of_path(path) >= 0
    except ValueError:
        return False  # somebody else's


@switches
def read_sstable(fs: FileSystem, path: str, place: str, pause: Callable[[], None]) -> SSTableFound | None:
    """Every byte of it; None when it is gone. UnsupportedFormat. Unavailable, of a cluster's folder: it may be sound.
    What one machine's disk does not hand out is damaged."""
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
    except FileNotFound:
        return None
    except HbtableError as error:
        if isinstance(error, Unavailable) and fs.log_kind != LOCAL:
            raise
        properties = read_identity(place, fs.read_file(place)) if length >= FOOTER_BYTES else None
        return SSTableFound(path, place, length, 0, properties, str(error))


@switches
def _read_log(fs: FileSystem, folder: str, found: Evidence) -> None:
    """Keeps little of it: a log may have hundreds of megabytes."""
    metadata = found.metadata_records.setdefault(incarnation_of(folder), [])
    notes = found.log_notes.setdefault(incarnation_of(folder), [])
    if _is_empty(fs, folder):
        return
    for record in read_log(fs, folder, tell=lambda _, what: notes.append(what)):
        found.log_records += 1
        found.highest_tablet = max(found.highest_tablet, record.tablet_id)
        found.highest_generation = max(found.highest_generation, record.generation)
        found.highest_clock_millis = max(found.highest_clock_millis, record.clock_millis)
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
        _pass_on(fs, error)
        messages.append(str(error))
    try:
        for run in sorted_runs(fs, folder) or []:
            found.sorted_records += verify_run(fs, folder, run, pause)
    except UnsupportedFormat:
        raise
    except FileNotFound as error:
        messages.append(f"the list of {folder}'s sorted runs names one that is not there: {error}")
    except HbtableError as error:
        _pass_on(fs, error)
        messages.append(str(error))
    return "; ".join(messages)


@switches
def _is_empty(fs: FileSystem, folder: str) -> bool:
    """Whether it was emptied on a full disk (master/servers/needless_logs.py)."""
    return not list_log(fs, folder).files and sorted_runs(fs, folder) == []


def _pass_on(fs: FileSystem, error: HbtableError) -> None:
    """Raises an error that means "not now" on another machine: that is no damage."""
    if isinstance(error, Unavailable) and fs.log_kind != LOCAL:
        raise error

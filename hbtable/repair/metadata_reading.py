"""METADATA's rows, from its SSTables and the logs, without a tablet server.

First along the chain, as servers read it: the root record, the root tablet, METADATA's other tablets. Where a part of
the chain is damaged, missing or older than another file says, everything that is left of METADATA is taken together:
of each row the newest cell counts. Such a view is *complete* if all of it checks, as when only the root record is lost.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from hbtable.commitlog.records import LogRecord
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding import table_record, tablet_record
from hbtable.encoding.cell_key import Pair, column_prefix, parse_suffix, row_of, row_prefix
from hbtable.errors import Corruption, FileNotFound
from hbtable.fs.interface import FileSystem
from hbtable.metadata import layout
from hbtable.metadata.root_copy import is_older, was_put_back
from hbtable.metadata.tiling import standing
from hbtable.model.mutation import PUT
from hbtable.model.table import TableRecord
from hbtable.model.tablet import (
    FIRST_METADATA_TABLET_ID,
    METADATA_TABLE_ID,
    NO_LOG,
    ROOT_TABLET_ID,
    GoneTablet,
    TabletRecord,
)
from hbtable.repair.evidence import Evidence, SSTableFound
from hbtable.repair.log_salvage import salvage_log
from hbtable.sstable.salvaging import salvage
from hbtable.switches import switches


@dataclass(slots=True)
class MetadataView:
    """The rows of METADATA as far as they could be read. `rows`: the newest value of each row that has one."""

    rows: dict[bytes, bytes] = field(default_factory=dict)
    deleted: set[bytes] = field(default_factory=set)
    """Rows whose newest cell is a marker."""
    history: dict[bytes, list[bytes]] = field(default_factory=dict)
    """Every value that was found, newest first: tells of tablets that no row names any more."""
    tablets: list[TabletRecord] = field(default_factory=list)
    """METADATA's own, the root tablet first, as far as the chain was followed."""
    tablet_ids: set[int] = field(default_factory=set)
    """Of every tablet of METADATA that anything tells of, when all that is left of METADATA was taken together."""
    doubts: list[str] = field(default_factory=list)
    """Reasons why the chain could not be followed to its end; [] when it was."""
    newer: list[str] = field(default_factory=list)
    """Files that say that a part of the chain is old, and hold what it does not lead to."""
    as_of_before: list[str] = field(default_factory=list)
    """Logs that the chain needs and that nobody has ended: what they hold is not in `rows`."""
    complete: bool = True
    """No row can be missing or old."""
    timestamp: int = 0
    sequence: int = 0
    """The highest ones that were found."""

    def tablet_rows(self) -> Iterator[tuple[bytes, TabletRecord | GoneTablet]]:
        """The tablets of user tables, ascending. Values that cannot be decoded are doubts."""
        for key in sorted(self.rows):
            if layout.EVERY_USER_TABLET.holds(key):
                try:
                    yield key, tablet_record.decode_row(self.rows[key], f"METADATA row {key!r}")
                except Corruption as error:
                    self.doubts.append(str(error))

    @switches
    def needing_logs(self) -> dict[str, list[TabletRecord]]:
        """Incarnation -> the tablets, METADATA's own among them, that may need records of its log."""
        users = standing(record for _, record in self.tablet_rows() if isinstance(record, TabletRecord))
        found: dict[str, list[TabletRecord]] = {}
        for record in (*users, *self.tablets):
            for log in record.logs:
                if log.incarnation != NO_LOG:
                    found.setdefault(log.incarnation, []).append(record)
        return found

    def tables(self) -> dict[bytes, TableRecord]:
        """The tables by name."""
        found = {}
        for key in sorted(self.rows):
            if layout.TABLE_ROWS.holds(key):
                found[key[len(layout.TABLE_PREFIX) :]] = table_record.decode(self.rows[key], f"METADATA row {key!r}")
        return found


class MetadataReader:
    """Reads METADATA from its files and logs. `roots`: the root records that could be read, best first."""

    def __init__(self, fs: FileSystem, evidence: Evidence, pause: Callable[[], None]) -> None:
        self._fs = fs
        self._evidence = evidence
        self._pause = pause
        self._logs: dict[str, list[LogRecord]] = {}
        self.gaps: dict[str, list[Gap]] = {}
        """Incarnation -> what cannot be read of its log. Of those that log() was asked for."""

    @switches
    def read(self, root: TabletRecord | None) -> MetadataView:
        """*Switches.* UnsupportedFormat."""
        view = MetadataView()
        pairs: list[Pair] = []
        if root is None:
            view.doubts.append("the root tablet's record cannot be read")
        else:
            self._follow(root, view, pairs)
        view.doubts = list(dict.fromkeys(view.doubts))
        if view.doubts or view.newer:
            pairs += self._everything(view)
        self._settle(view, pairs)
        return view

    # ------------------------------------------------------------ along the chain

    @switches
    def _follow(self, root: TabletRecord, view: MetadataView, pairs: list[Pair]) -> None:
        mine = self._tablet(root, view)
        pairs += mine
        below = MetadataView()
        self._settle(below, mine)
        records = []
        for key in sorted(below.rows):
            try:
                found = tablet_record.decode_row(below.rows[key], f"METADATA row {key!r}")
            except Corruption as error:
                view.doubts.append(str(error))
                continue
            if isinstance(found, TabletRecord):
                records.append(found)
        if (
            not records and not view.as_of_before and (root.files or self._has_users_files())
        ):  # else a first start that crashed
            view.doubts.append("the root tablet names no tablet of METADATA")
        for record in standing(records):
            pairs += self._tablet(record, view)

    def _has_users_files(self) -> bool:
        return any(not file.is_of(METADATA_TABLE_ID) for file in self._evidence.sstables.values())

    @switches
    def _tablet(self, record: TabletRecord, view: MetadataView) -> list[Pair]:
        view.tablets.append(record)
        pairs: list[Pair] = []
        paths = set()
        for _, refs in record.files:
            for ref in refs:
                paths.add(ref.path)
                file = self._evidence.sstables.get(ref.path)
                if file is None:
                    why = self._evidence.unreadable.get(ref.path, "it is not there")
                    view.doubts.append(f"{ref.path}, of METADATA's tablet {record.tablet_id}: {why}")
                elif not file.is_whole(ref):
                    view.doubts.append(file.damage or f"{ref.path} is not the file that METADATA names")
                else:
                    pairs += self._pairs(file)
        pairs = _within(record, pairs)
        named = [log for log in record.logs if log.incarnation not in self._evidence.given_up | {NO_LOG}]
        view.as_of_before += [log.incarnation for log in named if log.incarnation in self._evidence.unfenced]
        for log in (log for log in named if log.incarnation not in self._evidence.unfenced):
            damage = self._evidence.logs.get(log.incarnation)
            if damage is None:
                view.doubts.append(f"the log {log.incarnation}, of METADATA's tablet {record.tablet_id}, is not there")
                continue
            if damage:
                view.doubts.append(damage)
            for one in self._metadata_records(log.incarnation):
                if one.tablet_id == record.tablet_id and one.sequence >= log.first_needed:
                    pairs += one.pairs
        if not view.as_of_before:
            view.newer += self._newer_files(record, paths, pairs)
        return pairs

    @switches
    def _newer_files(self, record: TabletRecord, named: set[str], held: list[Pair]) -> list[str]:
        """Files of this tablet that say the record is old: they replaced what it names, or hold more than it knows of.
        A flush or a compaction that a crash ended before the record named its output leaves such a file as well, with
        all that it was made from still in its place: of that no cell is missing in `held`, to which the record
        leads."""
        found = []
        for file in self._evidence.sstables.values():
            properties = file.properties
            if file.damage or properties is None or file.path in named:
                continue
            identity = properties.identity
            if identity.table_id == METADATA_TABLE_ID and identity.tablet_id == record.tablet_id:
                replaced = {path for path in identity.replaced if path in named}
                is_newer = replaced or properties.last_sequence > _last_sequence(record)
                if is_newer and not set(held).issuperset(_within(record, self._pairs(file))):
                    found.append(f"{file.path} is newer than the record of METADATA's tablet {record.tablet_id}")
        return found

    # ------------------------------------------------------------ everything there is

    @switches
    def _everything(self, view: MetadataView) -> list[Pair]:
        files = [*self._evidence.sstables.values(), *self._evidence.trash.values()]
        identified = [file for file in files if file.properties is not None]
        replaced = {
            path
            for file in identified
            if not file.damage and file.properties is not None
            for path in file.properties.identity.replaced
        }
        mine = [file for file in files if file.is_of(METADATA_TABLE_ID) and file.path not in replaced]
        pairs = [pair for file in mine for pair in self._pairs(file)]
        tablet_ids = {ROOT_TABLET_ID, FIRST_METADATA_TABLET_ID, *(record.tablet_id for record in view.tablets)}
        for file in identified:
            if file.properties is not None and file.properties.identity.table_id == METADATA_TABLE_ID:
                tablet_ids.add(file.properties.identity.tablet_id)
        view.tablet_ids = tablet_ids | _tablets_of_metadata(pairs)
        pairs += self._logged(view.tablet_ids)
        sound = not any(file.damage for file in mine)
        # Without a root record nobody knows which files of METADATA there were.
        view.complete = bool(view.tablets) and sound and self._nothing_is_missing(view, replaced)
        return pairs

    @switches
    def _logged(self, tablet_ids: set[int]) -> list[Pair]:
        """The cells that logs have of these tablets of METADATA, and of those that such cells tell of, which are added:
        what METADATA's last split made has no file yet."""
        pairs: list[Pair] = []
        records = [record for incarnation in self._evidence.logs for record in self._metadata_records(incarnation)]
        while True:
            found = [pair for record in records if record.tablet_id in tablet_ids for pair in record.pairs]
            if not found:
                return pairs
            records = [record for record in records if record.tablet_id not in tablet_ids]
            tablet_ids |= _tablets_of_metadata(found)
            pairs += found

    def _nothing_is_missing(self, view: MetadataView, replaced: set[str]) -> bool:
        """Every log can be read, and what METADATA's records name is there, or something that was made from it."""
        logs = self._evidence.logs
        if any(logs.values()):
            return False
        named = {log.incarnation for record in view.tablets for log in record.logs} - {NO_LOG}
        for ref in (ref for record in view.tablets for _, refs in record.files for ref in refs):
            file = self._evidence.sstables.get(ref.path)
            if ref.path not in replaced and (file is None or not file.is_whole(ref)):
                return False
        return named <= logs.keys() | self._evidence.given_up

    @switches
    def _pairs(self, file: SSTableFound) -> list[Pair]:
        self._pause()
        return salvage(file.place, self._fs.read_file(file.place), self._pause).pairs

    @switches
    def _metadata_records(self, incarnation: str) -> list[LogRecord]:
        """METADATA's, and perhaps others."""
        if self._evidence.logs[incarnation]:
            return self.log(incarnation)
        return self._evidence.metadata_records[incarnation]

    @switches
    def log(self, incarnation: str) -> list[LogRecord]:
        """All records that can be read of a log, damaged or not."""
        if incarnation not in self._logs:
            try:
                found = salvage_log(self._fs, log_folder(incarnation), self._pause)
                self._logs[incarnation] = found.records
                self.gaps[incarnation] = found.gaps
            except (Corruption, FileNotFound):  # or it was collected meanwhile, in a folder that is in use
                self._logs[incarnation] = []
                self.gaps[incarnation] = []
        return self._logs[incarnation]

    def _settle(self, view: MetadataView, pairs: Iterable[Pair]) -> None:
        """The newest cell of each row; cell keys of one column ascend from the newest to the oldest."""
        seen: set[bytes] = set()
        for key, value in sorted(set(pairs)):
            row = row_of(key)
            if not key.startswith(column_prefix(row_prefix(row), layout.FAMILY, layout.QUALIFIER)):
                continue
            timestamp, kind, sequence, _ = parse_suffix(key)
            view.timestamp = max(view.timestamp, timestamp)
            view.sequence = max(view.sequence, sequence)
            if kind == PUT:
                view.history.setdefault(row, []).append(value)
            if row in seen:
                continue
            seen.add(row)
            if kind == PUT:
                view.rows[row] = value
            else:
                view.deleted.add(row)


def _tablets_of_metadata(pairs: Iterable[Pair]) -> set[int]:
    """The ids of METADATA's own tablets whose rows are among these cells, old ones as well."""
    found = set()
    for key, value in pairs:
        row = row_of(key)
        if layout.ROOT_RANGE.holds(row) and parse_suffix(key)[1] == PUT:
            with contextlib.suppress(Corruption):
                found.add(tablet_record.decode_row(value, f"METADATA row {row!r}").tablet_id)
    return found


def _within(record: TabletRecord, pairs: list[Pair]) -> list[Pair]:
    """The cells that are in the tablet's rows."""
    start, stop = row_prefix(record.range.start), record.range.stop and row_prefix(record.range.stop)
    return [pair for pair in pairs if start <= pair[0] and (not stop or pair[0] < stop)]


def _last_sequence(record: TabletRecord) -> int:
    """Everything up to here is in files or logs that the record names."""
    held = [ref.last_sequence for _, refs in record.files for ref in refs]
    return max([*held, *(log.first_needed - 1 for log in record.logs)], default=0)


@switches
def best_root(
    reader: MetadataReader, root: TabletRecord | None, copy: TabletRecord | None
) -> tuple[TabletRecord | None, MetadataView]:
    """The newer one, if it leads to all of METADATA. Normally both are the same; the copy is written first, so it may
    be one change ahead, which then was about to be made: the record counts as long as both lead to the same rows."""
    if root is None or copy is None or root == copy:
        only = root or copy
        return only, reader.read(only)
    newer, older = (copy, root) if is_older(root, copy) else (root, copy)
    view = reader.read(newer)
    other = reader.read(older)
    if older is root and not was_put_back(root, copy) and _are_same(view, other):
        return root, other
    if not view.doubts:
        return newer, view
    return (older, other) if not other.doubts else (newer, view)


def _are_same(one: MetadataView, other: MetadataView) -> bool:
    return one.rows == other.rows and not (one.doubts or one.newer or other.doubts or other.newer)

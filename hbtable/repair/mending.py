"""`hbtable repair`: mends a stopped folder, in an order that leaves the old METADATA valid until the new root record.

1. read    every file, the lock service's files, METADATA as far as it goes
2. files   what is left of damaged SSTables is written under new names
3. rows    tablets are withheld or released; METADATA's rows: as they were, with other files where they name damaged
ones; or, where rows may be missing or old, made anew from the identities in the files, and the logs' records written
into SSTables
4. anew    METADATA's SSTables, then the root record; the old ones and the logs that are read go to the backup
5. rest    numbers, the cluster's file, files of dead servers
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final, final

from hbtable.encoding import namespace_row, table_record, tablet_record
from hbtable.errors import Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.features import FEATURES, FORMAT, LISTED, read_cluster
from hbtable.lockservice.files import EPOCHS, stored_number
from hbtable.lockservice.identity import ID_FILE, identity_damage, sound_folder_id
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.paths import CLUSTER, INCARNATIONS
from hbtable.lockservice.state_number import STATE_NUMBER, of_files, older_files_of
from hbtable.metadata import layout
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.counters import put_counters_right
from hbtable.metadata.id_allocator import TABLE_IDS
from hbtable.metadata.root_copy import is_older
from hbtable.model.names import DEFAULT_NAMESPACE, SYSTEM_NAMESPACE
from hbtable.model.range_delete import with_ranges
from hbtable.model.table import TableRecord
from hbtable.model.tablet import FIRST_USER_TABLE_ID, METADATA_TABLE_ID, SSTableRef, TabletRecord
from hbtable.repair.backup import Backup
from hbtable.repair.evidence import Evidence, SSTableFound, gather
from hbtable.repair.lock_files import LockFiles, read_lock_files
from hbtable.repair.lock_store import FolderLockStore, LockStore
from hbtable.repair.metadata_reading import MetadataReader, MetadataView, best_root
from hbtable.repair.numbers import Seen, in_use, look_everywhere
from hbtable.repair.rebuilding import left_in
from hbtable.repair.report import Report
from hbtable.repair.table_rebuild import TableRebuild
from hbtable.repair.user_files import UserFiles
from hbtable.repair.withholding import NO_ORDERS, WithholdingOrders, mark, tell_of_withheld
from hbtable.repair.writing import RepairWriter
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.shared import table_of_path

_SPANS: Final = 20


@final
class Repair:
    """One run over one folder. `fs` is written to: hand in an overlay to see what would be done."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        target: FileSystem,
        folder: str,
        saved_scanner: int = -1,
        store: LockStore | None = None,
        orders: WithholdingOrders = NO_ORDERS,
    ) -> None:
        """`target`, `folder`: where the backup goes. `orders`: which tablets to withhold, which to release.
        `saved_scanner`: the highest id among scanners that wait for the next start; -1 without any. `store`: the lock
        service; None: it lies in the folder. Of a cluster every role must be down, every log fenced, and the lock
        service's session must hold the master's lock."""
        self._runtime = runtime
        self._orders = orders
        self._saved_scanner = saved_scanner
        self._fs = fs
        self._store = store = store or FolderLockStore(fs)
        self.backup = Backup(fs, target, folder, store.held)
        self.report = Report()
        self._now = runtime.wall_millis()
        self._seen = Seen()
        self._older_files = ""
        self._needed: set[str] = set()
        """Logs of which tablets may need records."""
        self._locks: LockFiles
        self._evidence: Evidence
        self._view: MetadataView
        self._writer: RepairWriter

    @switches
    def run(self) -> Report:
        """*Switches.* UnsupportedFormat: a newer hbtable wrote some of it; InvalidRequest: a tablet cannot be withheld
        or released. Nothing was changed then. Any error later on: the backup has what was changed by then."""
        pause: Callable[[], None] = lambda: self._runtime.sleep(0)  # noqa: E731
        self._locks = read_lock_files(self._fs, self._store)
        self._evidence = gather(self._fs, pause, alone=True)
        self._refuse_what_is_out_of_reach()
        reader = MetadataReader(self._fs, self._evidence, pause)
        self._older_files = older_files_of(self._locks.sound.get(STATE_NUMBER), self._fs)
        # The lock service's record leads to files that these do not have yet.
        theirs = None if self._older_files and self._locks.copy is not None else self._locks.root
        root, self._view = best_root(reader, theirs, self._locks.copy)
        look_everywhere(self._seen, self._locks, self._evidence, self._view, reader)
        self._needed = set(self._view.needing_logs())
        self._writer = RepairWriter(self._fs, self._new_incarnation)
        self.backup.note_root(self._store.stored(layout.ROOT_PATH))
        marked = mark(self._view, self._orders, self._now, self.report)
        tell_of_withheld(self._view, self._orders, self.report)
        if not self._is_empty():
            self._metadata(root, reader, marked)
        self._lock_files()
        self.backup.end()
        return self.report

    def _is_empty(self) -> bool:
        """A folder on which nothing was ever stored."""
        return not (self._evidence.sstables or self._evidence.logs or self._view.rows)

    def _refuse_what_is_out_of_reach(self) -> None:
        """Raises Unavailable for the first file that another machine does not hand out now: it may be sound."""
        for path, error in self._evidence.unreadable.items():
            more = f" ({len(self._evidence.unreadable) - 1} more cannot either)" * (len(self._evidence.unreadable) > 1)
            raise Unavailable(
                f"{path} cannot be read, and nobody knows whether it is sound: {error}{more}. See to the file "
                "system, and repair again; if it has lost the file for good, move that away first"
            )

    @switches
    def _new_incarnation(self) -> str:
        starts = max(self._locks.number(INCARNATIONS), self._seen.starts) + 1
        self._seen.starts = starts
        incarnation = f"{starts:08d}-{self._runtime.random.getrandbits(32):08x}"
        self.backup.note_files(incarnation)
        return incarnation

    # ------------------------------------------------------------ METADATA

    @switches
    def _metadata(self, root: TabletRecord | None, reader: MetadataReader, marked: bool) -> None:
        """`marked`: rows of the view were changed."""
        view = self._view
        tables = view.tables()
        rows = dict(view.rows)
        logs = self._evidence.logs
        # What a log lost that no tablet needs is no reason to doubt anything.
        trusted = view.complete and not any(logs.get(name) for name in self._needed) and not self._missing_logs()
        schemas = {record.table_id: record.schema for record in tables.values()}
        needed = self._files_of_withheld() if trusted else frozenset()
        files = UserFiles(self._fs, self._evidence, self._writer, self.backup, self.report, schemas, needed)
        if trusted:
            changed = self._mend_rows(rows, files) or marked
            if view.doubts or files.successors:
                self._tell_of_a_lost_end()
        else:
            changed = True
            rows = self._rebuild_rows(tables, files, reader)
        rows = {key: value for key, value in rows.items() if not key < layout.ROOT_STOP}
        if changed or view.doubts or view.newer or root is None:
            self._write_metadata(rows)
        elif self._locks.root != root:
            self._write_root(root, "the root tablet's record was taken from its copy")
        elif self._locks.copy is not None and is_older(self._locks.copy, root):
            self._locks.copy_damage = f"{ROOT_COPY_PATH} is older than the record of which it is the copy"
        if not trusted:
            self._remove_logs(reader)

    def _files_of_withheld(self) -> frozenset[str]:
        records = [record for _, record in self._view.tablet_rows() if isinstance(record, TabletRecord)]
        withheld = [record for record in records if record.withheld_millis]
        return frozenset(ref.path for record in withheld for _, refs in record.files for ref in refs)

    def _missing_logs(self) -> set[str]:
        return self._needed - self._evidence.logs.keys() - self._evidence.given_up

    @switches
    def _mend_rows(self, rows: dict[bytes, bytes], files: UserFiles) -> bool:
        """Whether any row had to be changed."""
        changed = False
        for key, record in list(self._view.tablet_rows()):
            if isinstance(record, TabletRecord) and not record.withheld_millis:
                mended = self._mended(record, files)
                if mended != record:
                    rows[key] = tablet_record.encode(mended)
                    changed = True
        return changed

    @switches
    def _mended(self, record: TabletRecord, files: UserFiles) -> TabletRecord:
        found: dict[str, dict[str, SSTableRef]] = {}
        instead: list[SSTableFound] = []
        for stack, refs in record.files:
            deleted = {ref.path: ref.deleted for ref in refs}
            for ref in refs:
                file = self._evidence.sstables.get(ref.path)
                if file is not None and file.is_whole(ref):
                    found.setdefault(stack, {})[ref.path] = ref
                    continue
                for one in files.instead_of(ref.path, (record, stack, ref)):
                    assert one.properties is not None
                    identity = one.properties.identity
                    is_successor = ref.path in identity.replaced
                    mine = one.deleted if is_successor else with_ranges(one.deleted, ref.deleted)
                    # In its own stack: what a regrouping made of the file has some of its families, or more.
                    found.setdefault(identity.group, {})[one.path] = replace(
                        one.ref(), deleted=left_in(replace(one, deleted=mine), deleted)
                    )
                    instead.append(one)
        left = self._mended(record.left, files) if record.left is not None else None
        kept: list[tuple[str, tuple[SSTableRef, ...]]] = []
        for stack, named in sorted(found.items()):
            needed = [ref for path, ref in named.items() if not files.have_all(instead, path, stack, record.table_id)]
            if needed:
                kept.append((stack, tuple(sorted(needed, key=lambda ref: (ref.first_sequence, ref.path)))))
        after = tuple(kept)
        if (after, left) == (record.files, record.left):
            return record
        return replace(record, files=after, left=left, generation=record.generation + 1)

    @switches
    def _rebuild_rows(
        self, tables: dict[bytes, TableRecord], files: UserFiles, reader: MetadataReader
    ) -> dict[bytes, bytes]:
        view = self._view
        self.report.done.append(
            "METADATA's rows were made anew from the SSTables and logs: "
            + "; ".join(list(dict.fromkeys([*view.doubts, *filter(None, self._evidence.logs.values())]))[:5])
        )
        rows = {key: value for key, value in view.rows.items() if layout.NAMESPACE_ROWS.holds(key)}
        rebuild = TableRebuild(self._evidence, view, files, self._writer, self.report, self._seen, reader)
        found = rebuild.tables(tables)
        for name, record in found.items():
            rows[layout.table_key(name)] = table_record.encode(record)
            namespace, colon, _ = name.partition(b":")
            if colon and namespace not in (DEFAULT_NAMESPACE, SYSTEM_NAMESPACE):
                rows.setdefault(layout.namespace_key(namespace), namespace_row.encode(namespace, {}))
            for tablet in rebuild.tablets(record, self._now):
                rows[layout.key_of(tablet)] = tablet_record.encode(tablet)
        rebuild.unknown_records()
        if not view.complete:
            self._tell_what_is_unknown({record.table_id for record in found.values()} | rebuild.dropped())
        return rows

    def _tell_what_is_unknown(self, accounted_for: set[int]) -> None:
        """Rows of METADATA are missing or old, and what stood in them alone cannot come back. `accounted_for`: ids of
        tables that are there, or that METADATA says were dropped."""
        self.report.done.append(
            "METADATA's own rows were not all to be had: cells that were deleted and tables that were dropped shortly "
            "before may be back, and schemas are those of each table's newest SSTable; look at what counts"
        )
        given_out = max(self._locks.number(TABLE_IDS), self._seen.table_id + 1)
        missing = set(range(FIRST_USER_TABLE_ID, given_out)) - accounted_for
        if missing:
            self.report.lost.append(
                f"tables of which no SSTable tells, unless they were dropped: their ids are {_spans(missing)}"
            )

    def _tell_of_a_lost_end(self) -> None:
        """Files that METADATA names were collected, which is done once it names others: that change was in a log.
        Each log can be read to its end, so one of them went on once, and with whose writes nobody knows."""
        needed = {log.incarnation for record in self._view.tablets for log in record.logs} & self._evidence.logs.keys()
        if needed:
            self.report.lost.append(
                f"the end of the log {' or '.join(sorted(needed))}, which went on once: METADATA is older than its "
                "files; any table of this server may have lost its last writes"
            )

    @switches
    def _write_metadata(self, rows: dict[bytes, bytes]) -> None:
        old = [path for path in self._evidence.sstables if table_of_path(path) == METADATA_TABLE_ID]
        timestamp = max(self._view.timestamp + 1, self._now)
        self._seen.generation += 1
        root = self._writer.metadata(rows, self._seen.generation, self._view.sequence + 1, timestamp, self._now)
        self._write_root(root, f"METADATA was written anew, {len(rows)} rows")
        for path in old:
            self.backup.remove(path)

    @switches
    def _write_root(self, root: TabletRecord, message: str) -> None:
        data = tablet_record.encode(root)
        self.backup.replace(ROOT_COPY_PATH, data)
        self.backup.note_root(data)
        self._put(layout.ROOT_PATH, data)
        self._locks.damaged.pop(layout.ROOT_PATH, None)
        self._locks.copy_damage = ""
        self.report.done.append(message)

    @switches
    def _remove_logs(self, reader: MetadataReader) -> None:
        """Every record that counts is in an SSTable now."""
        for incarnation, damage in self._evidence.logs.items():
            for status in self._fs.list_files(f"logs/{incarnation}"):
                self.backup.remove(status.path)
            if damage:
                self.report.done.append(f"the log {incarnation} was read as far as it goes and taken out")
                if not reader.gaps.get(incarnation):  # else what is lost is told tablet by tablet
                    self.report.lost.append(f"what the log {incarnation} held where it cannot be read: {damage}")
                for gap in reader.gaps.get(incarnation, ()):
                    if gap.hides_the_end and (incarnation in self._needed or not self._view.tablets):
                        self.report.lost.append(f"{gap.path}: {gap.reason()}; {gap.unattributed()}")
        for incarnation in sorted(self._missing_logs()):
            self.report.lost.append(f"the log {incarnation}, which is not there, with recent writes")

    # ------------------------------------------------------------ the lock service's files

    @switches
    def _lock_files(self) -> None:
        locks = self._locks
        if not self._is_empty():
            numbers = in_use(locks, self._seen, self._saved_scanner)
            for path, least in numbers.needed().items():
                if path in locks.damaged or locks.number(path) < least:
                    self._keep(path)
                locks.damaged.pop(path, None)
            self.report.done += put_counters_right(self._store, numbers)
            if CLUSTER not in locks.sound:
                self._new_cluster()
            if self._older_files:
                self._go_on_with_older_files()
            for what in identity_damage(self._store, self._fs):
                self.backup.replace(ID_FILE, self._cluster_id().encode())
                self.report.done.append(f"the file {ID_FILE} was written anew: {what}")
        for path in sorted(locks.damaged):
            self._keep(path)
            self._store.remove(path)
            self.report.done.append(f"the lock service's file {path} was taken out: {locks.damaged[path]}")
        if locks.epochs_damage and not self._is_empty():
            # Nothing keeps numbers of locks over a stop; only they must not come again.
            self.backup.replace(EPOCHS, stored_number(self._now, 1))
            self.report.done.append(f"{EPOCHS} was set to {self._now}: {locks.epochs_damage}")
        if locks.copy_damage and locks.root is not None:
            self.backup.replace(ROOT_COPY_PATH, tablet_record.encode(locks.root))
            self.report.done.append(f"the copy of the root tablet's record was written anew: {locks.copy_damage}")

    @switches
    def _go_on_with_older_files(self) -> None:
        self._put(STATE_NUMBER, of_files(self._fs).encode())
        self.report.done.append("the lock service's state number is that of the files now")
        self.report.lost.append(f"everything that was written since: {self._older_files}")

    @switches
    def _cluster_id(self) -> str:
        file = self._store.load(CLUSTER)
        assert file is not None
        return str(read_cluster(file.data)["id"])

    @switches
    def _new_cluster(self) -> None:
        identity = sound_folder_id(self._fs) or f"{self._runtime.random.getrandbits(128):032x}"
        # Which features the data use is lost with it; to list all of them keeps older programs away in any case.
        listed = {"format": LISTED, "features": sorted(FEATURES)} if FEATURES else {"format": FORMAT}
        fields = {"id": identity, "log_kind": self._fs.log_kind, **listed}
        self._put(CLUSTER, json.dumps(fields).encode())
        self._locks.damaged.pop(CLUSTER, None)
        self.report.done.append(f"the cluster's id was lost; it is {identity} now")

    @switches
    def _put(self, path: str, data: bytes) -> None:
        old = self._locks.sound.get(path)
        version = old.version + 1 if old is not None else 1
        self._keep(path)
        self._store.put(path, VersionedFile(data, version))

    @switches
    def _keep(self, path: str) -> None:
        """Keeps a file of the lock service before it is changed."""
        stored = self._store.stored(path)
        if stored is not None:
            self.backup.put_aside(self._store.kept_as(path), stored)
        self._store.held()


def _spans(numbers: set[int]) -> str:
    """The spans of these numbers as text, ascending, the first few of them."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    named = [f"{first} to {last}" if first < last else str(first) for first, last in spans[:_SPANS]]
    return ", ".join(named) + f" and {len(spans) - _SPANS} more spans" * (len(spans) > _SPANS)

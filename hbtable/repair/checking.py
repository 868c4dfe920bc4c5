"""`hbtable check`: what is damaged in a folder, what hangs on it, and what to do. Changes nothing.

One machine's folder is stopped. A cluster's may be served meanwhile: then METADATA is what its servers say, and what
looks damaged may just have changed (looking_again.py).

An SSTable that does not check and that no tablet names is no damage: a crash in the middle of a compaction leaves such
files, and the collector removes them. The same holds for a log that no tablet needs. Of a stopped folder they are
noted, because a disk that damaged one file may damage others.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, final

from hbtable.commitlog.segments.segment import LOGS
from hbtable.errors import Corruption
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.files import EPOCHS
from hbtable.lockservice.identity import ID_FILE, identity_damage
from hbtable.lockservice.paths import CLUSTER, SERVERS
from hbtable.lockservice.state_number import STATE_FOLDER, STATE_NUMBER, older_files_of
from hbtable.metadata import layout
from hbtable.metadata.catalog import ROOT_COPY_PATH
from hbtable.metadata.counters import counter_damage
from hbtable.metadata.numbers_in_use import NumbersInUse
from hbtable.metadata.root_copy import is_older, was_put_back
from hbtable.metadata.tiling import standing, verify_tiling
from hbtable.model.names import shown
from hbtable.model.tablet import METADATA_TABLE_ID, SSTableRef, TabletRecord
from hbtable.repair.evidence import Evidence, SSTableFound, gather
from hbtable.repair.lock_files import NEEDED, NUMBERS, LockFiles, read_lock_files
from hbtable.repair.lock_store import FolderLockStore, LockStore
from hbtable.repair.log_flush import first_needed
from hbtable.repair.metadata_reading import MetadataReader, MetadataView, best_root
from hbtable.repair.numbers import Seen, look_everywhere, scanner_in_use
from hbtable.repair.served_metadata import ServedMetadata
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.wall_clock import span
from hbtable.tablet.withheld import since

REPAIR = "`hbtable repair` on the stopped folder"
LOST_CLUSTER: Final = (
    "look whether cluster.zookeeper and cluster.root are what the roles are given; if ZooKeeper has lost the cluster, "
    "stop all roles, then run `hbtable repair --config FILE --lock-service-lost`"
)
SEE_TO_STORAGE: Final = "see to the file system, as with `hdfs fsck`, and check again"


class Finding(NamedTuple):
    """One damaged thing. `table`, `tablet_id` and `rows` where it is a tablet's."""

    path: str
    what: str
    consequence: str
    remedy: str
    table: str = ""
    tablet_id: int = 0
    rows: tuple[bytes, bytes] = (b"", b"")

    def message(self) -> str:
        where = ""
        if self.table:
            start, stop = self.rows
            where = f"; it belongs to table {self.table}, tablet {self.tablet_id}, rows from {start!r} "
            where += f"to {stop!r}" if stop else "on"
        return f"{self.what}{where}: {self.consequence}; {self.remedy}"


_NOTEWORTHY_MILLIS: Final = 300_000


@final
class Check:
    """One check of a folder or a cluster. `fs` is only read."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        saved_scanner: int = -1,
        store: LockStore | None = None,
        served: ServedMetadata | None = None,
        known: dict[str, SSTableFound] | None = None,
    ) -> None:
        """`saved_scanner`: the highest id among scanners that wait for the next start; -1 without any. `store`: the
        lock service; None: it lies in the folder. `served`: METADATA as the cluster's servers have it; None: from the
        files. `known`: of an earlier look (evidence.gather)."""
        self._runtime = runtime
        self._fs = fs
        self._saved_scanner = saved_scanner
        self._store: LockStore = store or FolderLockStore(fs)
        self._served = served
        self._known = known
        self.findings: list[Finding] = []
        self.counts: dict[str, int] = {}
        self._evidence: Evidence
        self._reader: MetadataReader
        self._locks: LockFiles
        self._view: MetadataView
        self._tables: dict[int, str] = {}
        self._clock_ahead_millis = 0
        self._log_notes: list[str] = []
        self._needed: set[str] = set()
        """Paths of SSTables that a tablet names."""
        self._needless: list[str] = []
        self._older_files = ""
        self.remedy = REPAIR

    @switches
    def run(self) -> None:
        """Reads everything there is; takes about a second for each 100 MB. UnsupportedFormat."""
        pause: Callable[[], None] = lambda: self._runtime.sleep(0)  # noqa: E731
        self._locks = read_lock_files(self._fs, self._store)
        self._evidence = gather(self._fs, pause, self._known)
        self._reader = reader = MetadataReader(self._fs, self._evidence, pause)
        if self._served is None:
            root, self._view = best_root(reader, self._locks.root, self._locks.copy)
        else:
            root, self._view = self._locks.root, self._served.read()
        self._count()
        for path, what in self._locks.damaged.items():
            self._find(self._store.place(path), what, _consequence(path))
        for path, what in self._evidence.unreadable.items():
            if path.startswith(f"{LOGS}/"):
                self._out_of_reach(path, what)
        if not self._is_empty():
            self._lock_files(root, reader)
            self._numbers(reader)
        self._metadata(root)
        self._tablets()

    def _is_empty(self) -> bool:
        """Nothing was ever stored: a first start that crashed may have left some of the small files, in any state that
        the next one goes on from."""
        return not (self._evidence.sstables or self._evidence.logs or self._view.rows)

    def _count(self) -> None:
        sound = [file for file in self._evidence.sstables.values() if not file.damage and file.properties]
        self.counts = {
            "lock service files": len(self._locks.sound) + (self._store.kept_numbers and not self._locks.epochs_damage),
            "log records": self._evidence.log_records,
            "log records sorted for recovery": self._evidence.sorted_records,
            "SSTables": len(sound),
            "cells in SSTables": sum(file.properties.cells for file in sound if file.properties),
            "bytes in SSTables": sum(file.length_bytes for file in sound),
        }
        latest = max((file.properties.identity.clock_millis for file in sound if file.properties), default=0)
        self._clock_ahead_millis = latest - self._runtime.wall_millis()
        if not self.counts["log records sorted for recovery"]:
            del self.counts["log records sorted for recovery"]

    def _find(self, path: str, what: str, consequence: str) -> None:
        self.findings.append(Finding(path, what, consequence, self.remedy))

    def _out_of_reach(self, path: str, what: str) -> None:
        """Reports a log, or a file that a tablet names, that cannot be read now; any other one may never have been
        finished."""
        finding = Finding(path, f"{path} cannot be read: {what}", "nobody knows whether it is sound", SEE_TO_STORAGE)
        if finding not in self.findings:
            self.findings.append(finding)

    # ------------------------------------------------------------ small files

    @switches
    def _lock_files(self, root: TabletRecord | None, reader: MetadataReader) -> None:
        locks = self._locks
        for path in NEEDED:
            if path not in locks.sound and path not in locks.damaged:
                place = self._store.place(path)
                self._find(place, f"{place} is not there", _consequence(path))
                if path == CLUSTER and not self._store.kept_numbers:
                    self.findings[-1] = self.findings[-1]._replace(remedy=LOST_CLUSTER)
        for what in identity_damage(self._store, self._fs):
            if CLUSTER in locks.sound:
                self._find(ID_FILE, what, "files could be another cluster's")
        self._older_files = older_files_of(locks.sound.get(STATE_NUMBER), self._fs)
        if self._older_files:
            self._find(STATE_FOLDER, self._older_files, "no server serves them: what was written since is missing")
        if locks.epochs_damage:
            self._find(EPOCHS, locks.epochs_damage, "locks and sessions could get numbers that others had")
        if locks.copy_damage:
            self._find(ROOT_COPY_PATH, locks.copy_damage, "the root tablet's record has no second copy")
        elif locks.root is not None and locks.copy is not None and is_older(locks.copy, locks.root):
            what = f"{ROOT_COPY_PATH} is older than the record of which it is the copy"
            self._find(ROOT_COPY_PATH, what, "it would bring back an old state")
        elif root is not None and locks.root is not None and self._is_stale(locks, root, reader):
            what = f"{self._store.place(layout.ROOT_PATH)} is older than its copy {ROOT_COPY_PATH}"
            self._find(self._store.place(layout.ROOT_PATH), what, "METADATA would be read as it was then")

    @switches
    def _is_stale(self, locks: LockFiles, best: TabletRecord, reader: MetadataReader) -> bool:
        """A server refuses to start on what was put back; what one change would explain may still lead to other rows,
        or to files that are not there any more."""
        if locks.root is None or (locks.root == best and self._served is None):
            return False
        if locks.copy is not None and was_put_back(locks.root, locks.copy):
            return True
        if self._served is not None:
            return False
        view = reader.read(locks.root)
        return not view.as_of_before or bool(view.doubts)

    @switches
    def _numbers(self, reader: MetadataReader) -> None:
        seen = Seen()
        look_everywhere(seen, self._locks, self._evidence, self._view, reader)
        scanner = scanner_in_use(self._locks, self._saved_scanner)
        numbers = NumbersInUse(seen.table_id, seen.tablet_id, seen.starts, scanner)
        for what in counter_damage(self._store, numbers):
            path = next(self._store.place(path) for path in numbers.needed() if path in what)
            self._find(path, what, "tablets or scanners would share a number")

    # ------------------------------------------------------------ METADATA and tablets

    def _metadata(self, root: TabletRecord | None) -> None:
        said = {finding.what for finding in self.findings} | set(self._evidence.logs.values())  # told below
        for doubt in self._view.doubts:
            if doubt not in said and root is not None:
                self._find("METADATA", doubt, "METADATA cannot be read to its end, so tablets stay closed")
        for newer in self._view.newer:
            self._find("METADATA", newer, "METADATA would be read as it was then")
        try:
            tables = self._view.tables()
        except Corruption as error:
            self._find("METADATA", str(error), "that table cannot be opened")
            tables = {}
        self._tables = {record.table_id: shown(name) for name, record in tables.items()}
        self.counts["tables"] = len(self._tables)

    @switches
    def _tablets(self) -> None:
        by_table: dict[int, list[TabletRecord]] = {}
        for _, record in self._view.tablet_rows():
            if isinstance(record, TabletRecord):
                by_table.setdefault(record.table_id, []).append(record)
        count = len(self._view.tablets)
        for table_id, records in by_table.items():
            try:
                verify_tiling(records)
            except Corruption as error:
                name = self._tables.get(table_id, f"with id {table_id}")
                self._find(
                    "METADATA",
                    f"the tablets of table {name} do not cover its rows once: {error}",
                    "rows are not served",
                )
            self._needed |= {ref.path for record in records for _, refs in record.files for ref in refs}
            for record in standing(records):
                count += 1
                self._files(record)
        self.counts["tablets"] = count
        self._logs(self._view.needing_logs())
        self._needless_files()

    @switches
    def _files(self, record: TabletRecord) -> None:
        if record.withheld_millis:
            what = f"tablet {record.tablet_id} {since(record)}"
            remedy = f"`hbtable repair --release {record.tablet_id}` on the stopped folder mends it and gives it back"
            self._find_of(record, "METADATA", what, "its rows are not served, and its files stay", remedy)
        for ref in (ref for _, refs in record.files for ref in refs):
            what = self._wrong_with(record, ref)
            if what:
                consequence = f"reads of what its {ref.cells} cells cover are refused"
                self._find_of(record, ref.path, what, consequence, self.remedy)

    def _find_of(self, record: TabletRecord, path: str, what: str, consequence: str, remedy: str) -> None:
        table = self._tables.get(record.table_id, f"with id {record.table_id}")
        self.findings.append(Finding(path, what, consequence, remedy, table, record.tablet_id, record.range))

    @switches
    def _wrong_with(self, record: TabletRecord, ref: SSTableRef) -> str:
        if ref.path in self._evidence.unreadable:
            self._out_of_reach(ref.path, self._evidence.unreadable[ref.path])
            return ""
        file = self._evidence.sstables.get(ref.path)
        if file is None and self._served is not None and self._fs.exists(ref.path):
            return ""  # it was written after the files were listed; the next check reads it
        if file is None and self._view.as_of_before:
            return ""  # it may have been compacted away since
        if file is None:
            return f"tablet {record.tablet_id} needs {ref.path}, which is not there"
        if file.damage:
            return file.damage
        return "" if file.is_whole(ref) else f"{ref.path} is a whole SSTable, but not the one that METADATA names"

    @switches
    def _logs(self, named: dict[str, list[TabletRecord]]) -> None:
        known = self._view.complete
        said = " ".join(finding.what for finding in self.findings)
        told = self._evidence.unfenced | self._evidence.given_up
        for incarnation in sorted({*self._evidence.logs, *named} - told):
            if f"{LOGS}/{incarnation}" in self._evidence.unreadable:
                continue
            damage = self._evidence.logs.get(incarnation)
            tablets = named.get(incarnation, [])
            if tablets:
                self._log_notes += self._evidence.log_notes.get(incarnation, [])
            if damage is None:
                damage = f"the log {LOGS}/{incarnation} is not there"
            if not damage or damage in said:
                continue
            if known and not tablets:
                self._note_needless(damage)
                continue
            self._find(f"{LOGS}/{incarnation}", damage, self._of_log(incarnation, tablets))

    def _needless_files(self) -> None:
        if self._view.complete and not self._view.doubts:
            for path, file in self._evidence.sstables.items():
                if file.damage and path not in self._needed:
                    self._note_needless(file.damage)

    def _note_needless(self, damage: str) -> None:
        """Notes it of a stopped folder. In one that is in use a file may look so because it is not finished."""
        if self._served is None and self._store.kept_numbers:
            self._needless.append(
                f"{damage}: nothing needs it, so nothing is lost, and it will be removed. A crash leaves such files, "
                "and so does a disk that fails: if there was no crash, look at the disk"
            )

    @switches
    def _of_log(self, incarnation: str, tablets: list[TabletRecord]) -> str:
        if not tablets:
            return "what it holds of recent writes cannot be recovered"
        behind = ""
        if incarnation in self._evidence.logs:
            self._reader.log(incarnation)
            gaps = self._reader.gaps[incarnation]
            tablets = [
                record
                for record in tablets
                if any(gap.may_have_lost(record.tablet_id, first_needed(record)) for gap in gaps)
            ]
            behind = "".join(f"; {gap.unattributed()}" for gap in gaps if gap.hides_the_end)
        names = sorted({self._name(record) for record in tablets})
        if not names:
            known = "is known to be lost" if behind else "is lost"
            return f"nothing that a tablet needs of it {known}{behind}"
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return f"recent writes cannot be recovered of {', '.join(names[:5])}{more}{behind}"

    def _name(self, record: TabletRecord) -> str:
        if record.table_id == METADATA_TABLE_ID:
            return "METADATA"
        return f"table {self._tables.get(record.table_id, f'with id {record.table_id}')}, tablet {record.tablet_id}"

    def has_no_way_in(self) -> bool:
        """METADATA cannot be read to its end, or what a start needs of the lock service, or the files are older."""
        return bool(self._view.doubts or self._older_files) or not self._locks.sound.keys() >= set(NEEDED)

    def report(self) -> Iterator[str]:
        for name, number in self.counts.items():
            yield f"{number:>12,} {name}"
        yield f"{len(self.findings)} damaged" if self.findings else "everything checks"

    def notes(self) -> list[str]:
        """Messages about what is worth a look, although it is no damage by all that can be known."""
        notes = [*self._log_notes, *self._needless]
        if self._view.as_of_before:
            notes.append(
                f"nobody has ended the log {self._view.as_of_before[0]}, of a server that is gone, so the last changes "
                "of METADATA are not known, and what hangs on them was not checked: start the cluster, and check again"
            )
        if self._clock_ahead_millis > _NOTEWORTHY_MILLIS:
            notes.append(
                f"a server gave times {span(self._clock_ahead_millis)} this machine's clock: its clock was wrong, or "
                "this one is. If this one is right, start once with -D tablet.set_back_clocks=true"
            )
        return notes


def _consequence(path: str) -> str:
    if path == layout.ROOT_PATH:
        return "nothing can be served: METADATA begins there"
    if path == CLUSTER:
        return "the cluster's id is lost"
    if path in NUMBERS:
        return "numbers could be given out again, and tablets would share files"
    if path.startswith(SERVERS + "/"):
        return "a server that is gone cannot be told from one that lives"
    return "what it says is lost"

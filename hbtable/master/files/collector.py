"""Carries the garbage plan out: moves files to the trash (trash.py), drops logs nobody needs (paper, section 6).

Some files are named by no record, and go by their age: what interrupted writes left under unfinished/ and probes/, the
scanners of gateways that are gone, and markers. Two clocks must say that such a file is old: the master's and the file
system's own. If one were enough, a wrong clock would delete a file that is being written.

Any error while listing, scanning or asking ends the collection before anything is moved (bug class 5). Logs of dead
servers are deleted outright: METADATA has named the SSTables that replace them for at least two scans. On a shared file
system a log is fenced first, and METADATA is scanned once more. The reason: its server may have been just starting,
unknown to the lock service, and have got tablets since, perhaps from another master. Such a server stops at the fence,
and acknowledges nothing into files that are gone. What it acknowledged before was for tablets whose records name its
log, which the second scan shows. The fencing marker outlives the log by a day.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from hbtable.commitlog.recovery.fencing import FENCED, FencingOptions, fence, give_up, marker_path
from hbtable.commitlog.segments.segment import LOGS, log_folder
from hbtable.errors import Conflict, FileNotFound, HbtableError, OutOfSpace
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.fs.paths import UNFINISHED
from hbtable.fs.probing import PROBES, probe
from hbtable.master.background_work import BackgroundWork
from hbtable.master.files.garbage import (
    ListedFile,
    MetadataScan,
    dropped_tables,
    garbage_files,
    garbage_logs,
    garbage_markers,
)
from hbtable.master.files.trash import Trash
from hbtable.master.servers.server_reports import ServerReports
from hbtable.metadata.catalog import Catalog
from hbtable.model.status import Collection
from hbtable.model.table import TableRecord
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches
from hbtable.tablet.shared import SSTABLE_FOLDER, table_folder, table_of_path

GATEWAY_FILES: Final = "front-door"
"""The folder in which servers that stopped in order leave their scanners for their next start
(launch.thrift_gateway)."""
_UNNAMED: Final = (UNFINISHED, PROBES, GATEWAY_FILES)
"""Folders of files that nothing names."""
_HASTE_SECONDS: Final = 1.0
_HASTY: Final = FencingOptions(patience_seconds=0.0)
"""Nobody waits for a collection; the next one tries again."""
_PARALLEL: Final = 32
"""Servers that are asked at a time."""


@dataclass(frozen=True, slots=True)
class CollectorOptions:
    """File garbage collection. The defaults suit a single machine, whose disk would otherwise fill during a load: every
    merging compaction leaves as much garbage as it read. On a cluster's file system a trash of hours costs little, and
    gives an operator time to undo a mistake."""

    period_seconds: float = 30.0
    """Time between collections. Longer: fewer scans of METADATA, more dead bytes."""
    period_bytes: int = 64 << 20
    """A collection begins earlier when compactions in this process have replaced files of so many bytes since the last
    one. Larger: fewer scans of METADATA, more dead bytes. On a cluster the period alone counts."""
    trash_seconds: float = 60.0
    """The time for which a file stays in the trash. Longer: more time to undo a mistake, more dead bytes."""
    trash_bytes: int = 64 << 20
    """The most that the trash holds: beyond it the oldest files leave early, and what does not fit at all is deleted at
    once. 0: no bound. Larger: more time to undo a mistake while much is written, more dead bytes."""
    marker_seconds: float = 86400.0
    """The time for which a fencing marker stays at least. Must be longer than any process can be held up; longer: more
    tiny files."""
    leftover_seconds: float = 86400.0
    """The age at which an unfinished file is taken for the leftover of a write that was cut off. Must be longer than
    any write can be held up; longer: more dead bytes. Scanners of a stopped server are kept as long for its next
    start."""


class Collected(NamedTuple):
    """The outcome of a collection."""

    message: str
    """"" when nothing."""
    dead_logs: list[str]
    """Names of the servers whose logs were deleted."""
    result: Collection
    """For who asked for it."""


@final
class CollectionTimes(BackgroundWork):
    """Begins the next collection when it is due, beside the master's cycle: on a shared file system it waits for fences
    and deletes for many seconds, and a tablet without a server waits for the cycle."""

    def __init__(self, runtime: Runtime, options: CollectorOptions) -> None:
        super().__init__(runtime, "collect garbage", "master: garbage was not collected, and will be later")
        self._options = options
        self.replaced_bytes: Callable[[], int] = _nothing_replaced
        """Of all files that compactions of this process have replaced so far; the composition root sets it."""
        self.out_of_space: Callable[[], bool] = _never
        """The disk is full: whatever can go goes soon, and not by way of the trash (Master.watch_room)."""
        self._at_seconds = runtime.clock_seconds() + options.period_seconds
        self._at_bytes = options.period_bytes
        self._began = 0.0

    def due(self) -> bool:
        now = self._runtime.clock_seconds()
        if self.out_of_space() and now >= self._began + _HASTE_SECONDS:
            return True
        return now >= self._at_seconds or self.replaced_bytes() >= self._at_bytes

    def soon(self) -> None:
        """Asks for a collection as soon as everything is served."""
        self._at_seconds = self._runtime.clock_seconds()

    def begin_if_due(self, collect: Callable[[], None]) -> None:
        """Begins one that is due. Called in the master's cycle, when METADATA is served. Does not switch."""
        if not self._may_begin() or not self.due():
            return
        self._began = self._runtime.clock_seconds()
        self._at_seconds = self._began + self._options.period_seconds
        self._at_bytes = self.replaced_bytes() + self._options.period_bytes
        self._begin(collect)


class Collector:
    """Moves SSTables to the trash and deletes logs that nobody needs. `check_master` raises LockLost when this is not
    the master any more, InvalidConfiguration when the files may be another cluster's."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        catalog: Catalog,
        transport: Transport,
        check_master: Callable[[], None],
        options: CollectorOptions,
        unnamed: set[int] | None = None,
        wall_millis: Callable[[], int] | None = None,
    ) -> None:
        """`unnamed`: ids of tables whose rows stand before their name row (master.tables). `wall_millis`: a wall clock
        that does not jump; None: the machine's."""
        self._wall_millis = wall_millis or runtime.wall_millis
        self._unnamed = unnamed if unnamed is not None else set()
        self._runtime = runtime
        self._fs = fs
        self._catalog = catalog
        self._transport = transport
        self._check_master = check_master
        self._options = options
        self._trash = Trash(self._wall_millis, fs, options.trash_seconds, options.trash_bytes)
        self._turn = runtime.lock()
        self.exclude_truncates: Callable[[Sequence[TableRecord]], bool] = lambda tables: True
        """LateTruncates.exclude."""

    @switches
    def collect(self, reports: Callable[[], ServerReports], out_of_space: bool = False, rows: bool = True) -> Collected:
        """One collection, after one that is under way. When `out_of_space` nothing is kept in the trash. Not `rows`:
        those of no table stay, since an operation that a crash interrupted may be to go on with them. *Switches* for
        long."""
        with self._turn:
            return self._collect(reports, out_of_space, rows)

    @switches
    def _collect(self, reports: Callable[[], ServerReports], out_of_space: bool, rows: bool) -> Collected:
        # The order is the proof: see garbage.py.
        lengths = self._list_sstables()
        files = [ListedFile(table_of_path(path), path) for path in lengths]
        markers = [(status.path[len(FENCED) + 1 :], status.modified_millis) for status in self._fs.list_files(FENCED)]
        logs = self._list_logs()
        now = reports()
        in_flight = self._in_flight(now)
        first = MetadataScan(tuple(self._catalog.all_tablet_rows()))
        second = MetadataScan(tuple(self._catalog.all_tablet_rows()))
        paths = garbage_files(files, in_flight, first, second)
        alive = now.living | now.starting  # a server has its lock before its log begins
        dead_logs = garbage_logs(logs, alive, first, second)
        left_over = self._left_over()
        # After the scans and before anything is removed: rows that a later master wrote before their name row were in a
        # scan only if that began after this master's lease had run out.
        self._check_master()
        orphans = self._remove_orphans(second) if rows else 0
        self._check_master()
        garbage = {path: lengths[path] for path in paths}
        # First: on a full disk this makes the room that moving may need.
        emptied, kept = self._trash.make_room(sum(garbage.values()), not out_of_space)
        moved = self._trash.take(garbage, not out_of_space)
        for table_id in dropped_tables(files, paths, first, second):
            self._remove_folder(table_id)
        dead_logs = self._given_up(dead_logs)
        for name in dead_logs:
            self._fs.delete_folder(log_folder(name))
        oldest = self._oldest(self._options.marker_seconds, [modified for _, modified in markers])
        for name in garbage_markers(markers, set(logs), alive, oldest):
            self._delete(marker_path(name))
        for path in left_over:
            self._delete(path)
        result = Collection(orphans, kept + moved)
        if not (paths or dead_logs or orphans or emptied or left_over):
            return Collected("", [], result)
        message = (
            f"collected {len(paths)} SSTables, {len(dead_logs)} logs, {len(left_over)} left-over files and {orphans} "
            f"left-over tablet rows; {emptied} files left the trash"
        )
        return Collected(message, dead_logs, result)

    @switches
    def _remove_folder(self, table_id: int) -> None:
        """Deletes the empty folder of a dropped table: else it would stay for ever, and a NameNode keeps each folder in
        memory."""
        folder = table_folder(table_id)
        if table_id not in self._unnamed and not self._fs.list_files(folder):  # somebody may have put a file there
            self._fs.delete_folder(folder)

    @switches
    def _given_up(self, logs: list[str]) -> list[str]:
        """Gives up those of these logs that may be deleted, and returns them: nothing that counts is in them, and
        nothing ever will be."""
        if self._fs.log_kind == LOCAL or not logs:
            return logs
        for name in logs:
            fence(self._runtime, self._fs, name, _HASTY)
        first = MetadataScan(tuple(self._catalog.all_tablet_rows()))
        second = MetadataScan(tuple(self._catalog.all_tablet_rows()))
        unneeded = garbage_logs(logs, frozenset(), first, second)
        for name in unneeded:
            give_up(self._runtime, self._fs, name)
        return unneeded

    @switches
    def _list_sstables(self) -> dict[str, int]:
        """Lengths by path."""
        listed: dict[str, int] = {}
        for status in self._fs.list_files(SSTABLE_FOLDER):
            try:
                table_of_path(status.path)
            except ValueError:
                continue  # not ours: a file somebody put there
            listed[status.path] = status.length_bytes
        return listed

    @switches
    def _list_logs(self) -> list[str]:
        return sorted({status.path.split("/")[1] for status in self._fs.list_files(LOGS)})

    @switches
    def _left_over(self) -> list[str]:
        if self._fs.log_kind == LOCAL:
            return []  # the data folder's next start removes them, and its scanners are of one server alone
        files = [status for folder in _UNNAMED for status in self._fs.list_files(folder)]
        oldest = self._oldest(self._options.leftover_seconds, [status.modified_millis for status in files])
        return [status.path for status in files if status.modified_millis <= oldest]

    @switches
    def _oldest(self, age_seconds: float, modified: list[int]) -> int:
        """The time, in wall milliseconds, before which a file has that age by this machine's clock and by the file
        system's. The latter is asked only if it matters for one of those `modified`."""
        oldest = self._wall_millis() - int(age_seconds * 1000)
        if any(millis <= oldest for millis in modified):
            oldest = min(oldest, probe(self._runtime, self._fs) - int(age_seconds * 1000))
        return oldest

    @switches
    def _in_flight(self, reports: ServerReports) -> dict[str, set[str]]:
        """The files in flight, by server that answered: tables of the others are spared."""

        def question(server: str) -> Callable[[], set[str]]:
            return lambda: self._transport.tablet_admin(server).files_in_flight()

        servers = list(reports.loads)
        answers = run_all(self._runtime, _PARALLEL, [question(server) for server in servers], "files in flight")
        told = zip(servers, answers, strict=True)
        return {server: files for server, files in told if not isinstance(files, HbtableError)}

    @switches
    def _remove_orphans(self, scan: MetadataScan) -> int:
        """Rows of tables without a name row: a slow split repair put one back after its table was deleted, or a
        truncate did not end. The name row is written first and removed last, and is read after the scan, so a living
        table is never taken for one; of one that is truncated see late_truncates.py."""
        # Before the name rows: a table that is being truncated is in one of the two.
        known = self._unnamed | {METADATA_TABLE_ID}
        tables = self._catalog.tables()
        known.update(record.table_id for record in tables)
        orphans = [record for record in scan.tablets if record.table_id not in known]
        if not orphans or not self.exclude_truncates(tables):
            return 0
        known.update(self._unnamed)
        known.update(record.table_id for record in self._catalog.tables())
        removed = 0
        for record in orphans:
            if record.table_id not in known:
                try:
                    self._catalog.delete_tablet(record)
                except Conflict:
                    continue
                except OutOfSpace:
                    break  # the files that are removed next make room for the rest
                removed += 1
        return removed

    @switches
    def _delete(self, path: str) -> None:
        try:
            self._fs.delete(path)
        except FileNotFound:
            pass  # another master was faster


def _nothing_replaced() -> int:
    """There is no tablet server in this process."""
    return 0


def _never() -> bool:
    """Nobody counts the room."""
    return False

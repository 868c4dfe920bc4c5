"""`hbtable check DIR`: reads every file and METADATA, verifies every checksum and the tiling of row ranges.

Nothing in the folder changes: what recovery would write (sorted logs, new records) goes to memory, over an overlay.
First every file is read for itself, so that one damaged file hides no other; then METADATA is read through the ordinary
code. An SSTable that does not check and that no tablet names is no damage: a crash in the middle of a compaction leaves
such files, and the collector removes them.
"""

import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar, final

from hbtable.commitlog.reading import read_log
from hbtable.commitlog.runs import Run
from hbtable.commitlog.segment import LOGS
from hbtable.commitlog.sorted_logs import sorted_runs, verify_run
from hbtable.errors import HbtableError, InvalidRequest
from hbtable.fs.data_folder import DataFolder
from hbtable.fs.interface import FileSystem
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.launch.check_counters import CounterCheck
from hbtable.launch.cluster import EmbeddedCluster
from hbtable.lockservice.files import EPOCHS, DurableFiles
from hbtable.lockservice.local import LocalLockService
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.tiling import standing, verify_tiling
from hbtable.model.tablet import METADATA_TABLE_ID, SSTableRef, TabletRecord
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Runtime
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.reader import SSTableReader
from hbtable.tablet.shared import SSTABLE_FOLDER

T = TypeVar("T")


def check_folder(path: str) -> int:
    """Prints what was read and every sentence about damage; 0 when there is none, else 1."""
    runtime = GeventRuntime()
    if not LocalFileSystem(path, runtime).exists("FORMAT"):
        raise InvalidRequest(f"{path} is no hbtable data folder: it has no file FORMAT")
    folder = DataFolder.open(path, "hbtable check, no port")
    logging.getLogger("hbtable").addHandler(logging.NullHandler())  # the report says it in its own words
    try:
        base = LocalFileSystem(path, runtime)
        checker = Checker(runtime, OverlayFileSystem(base, MemoryFileSystem(runtime)))
        checker.check()
    finally:
        folder.close()
    for line in checker.report():
        print(line)  # noqa: T201 -- the report is what was asked for
    for sentence in checker.damage:
        print(f"DAMAGED: {sentence}", file=sys.stderr)  # noqa: T201
    return 1 if checker.damage else 0


@final
class Checker:
    """Counts what is sound and gathers sentences about what is not."""

    def __init__(self, runtime: Runtime, fs: FileSystem) -> None:
        """`fs` may be written to: hand in an overlay."""
        self._runtime = runtime
        self._fs = fs
        self.damage: list[str] = []
        self._counts: dict[str, int] = {}
        self._sound: dict[str, tuple[int, int]] = {}
        """Path of each whole SSTable -> (length, footer checksum)."""
        self._unsound: dict[str, str] = {}
        """Path of each other SSTable -> what is wrong, until it is known whether a tablet names it."""
        self._metadata_read = False

    def check(self) -> None:
        """Reads everything there is. Takes about a second for each 100 MB."""
        self._lock_service_files()
        self._counters = CounterCheck(self._fs)
        self._logs()
        self._sstables()
        if not self.damage:  # else starting a cluster on it would only repeat the sentences
            self._attempt(self._metadata)
        if not self._metadata_read:
            self.damage.extend(self._unsound.values())  # who knows what it names
        elif self._unsound:
            self._count("unfinished files that nothing needs, left by a crash", len(self._unsound))

    def report(self) -> list[str]:
        counts = self._counts
        lines = [f"{counts[name]:>12,} {name}" for name in counts]
        verdict = f"{len(self.damage)} damaged" if self.damage else "everything checks"
        return [*lines, verdict]

    def _count(self, name: str, number: int = 1) -> None:
        self._counts[name] = self._counts.get(name, 0) + number

    def _attempt(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except HbtableError as error:
            self.damage.append(str(error))
            return None

    def _lock_service_files(self) -> None:
        files = DurableFiles(self._fs)
        paths = self._attempt(files.paths) or []
        for path in paths:
            if self._attempt(partial(files.load, path)):
                self._count("lock service files")
        if self._attempt(files.next_number):
            self._count("lock service files")
        if paths and not self._fs.exists(EPOCHS):
            self.damage.append(f"{EPOCHS} is not there: numbers that locks had would be given out again")

    def _logs(self) -> None:
        folders = {"/".join(status.path.split("/")[:2]) for status in self._fs.list_files(LOGS)}
        self._counts.setdefault("log records", 0)
        for folder in sorted(folders):
            self._attempt(partial(self._log, folder))
            for run in self._attempt(partial(sorted_runs, self._fs, folder)) or []:
                self._attempt(partial(self._run, folder, run))

    def _log(self, folder: str) -> None:
        for _ in read_log(self._fs, folder):
            self._count("log records")

    def _run(self, folder: str, run: Run) -> None:
        records = verify_run(self._fs, folder, run, lambda: self._runtime.sleep(0))
        self._count("log records sorted for recovery", records)

    def _sstables(self) -> None:
        self._counts.setdefault("SSTables", 0)
        for status in self._fs.list_files(SSTABLE_FOLDER):
            try:
                self._sstable(status.path)
            except HbtableError as error:
                self._unsound[status.path] = str(error)

    def _sstable(self, path: str) -> None:
        file = self._fs.open(path)
        try:
            reader = SSTableReader.open(file.read_at, path, file.length_bytes, BlockCache(0))
            cells = reader.verify(lambda: self._runtime.sleep(0))
            self._sound[path] = (file.length_bytes, reader.footer.checksum)
            self._count("SSTables")
            self._count("cells in SSTables", cells)
            self._count("bytes in SSTables", file.length_bytes)
        finally:
            file.close()

    def _metadata(self) -> None:
        lock_service = LocalLockService(self._fs, self._runtime)
        self._counters.keep_ids(lock_service)
        cluster = EmbeddedCluster(self._runtime, self._fs, lock_service)
        cluster.start()
        try:
            self._tables(cluster.client.catalog)
        finally:
            cluster.stop(clean=False)

    def _tables(self, catalog: Catalog) -> None:
        tables = [record.table_id for record in catalog.tables()]
        self._count("tables", len(tables))
        for table_id in (METADATA_TABLE_ID, *tables):
            records = catalog.tablet_rows(table_id)
            self._attempt(partial(verify_tiling, records))
            for record in standing(records):
                self._tablet(record)
        self._metadata_read = True
        self.damage.extend(self._counters.damage(catalog))

    def _tablet(self, record: TabletRecord) -> None:
        self._count("tablets")
        for _, refs in record.files:
            for ref in refs:
                self._reference(record, ref)

    def _reference(self, record: TabletRecord, ref: SSTableRef) -> None:
        found = self._sound.get(ref.path)
        unsound = self._unsound.pop(ref.path, None)
        if unsound is not None:
            self.damage.append(unsound)
        elif found is None:
            if not self._fs.exists(ref.path):
                self.damage.append(f"tablet {record.tablet_id} needs {ref.path}, which is not there")
            # else made by the check itself, in memory
        elif found != (ref.length_bytes, ref.footer_checksum):
            self.damage.append(f"{ref.path} is a whole SSTable, but not the one tablet {record.tablet_id} names")

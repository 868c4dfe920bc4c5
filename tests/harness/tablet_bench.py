"""One tablet on a simulated machine: memory file system, seeded scheduler, a METADATA of one record."""

from collections.abc import Callable
from typing import TypeVar

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.segments.writer import LogWriter
from hbtable.errors import Conflict, FileNotFound, HbtableError
from hbtable.fs.interface import FileSystem, RandomReadFile
from hbtable.fs.memory import MemoryFileSystem
from hbtable.metrics.registry import Registry
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, Operation, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.tablet import LogRef, TabletRecord
from hbtable.sstable.cache import BlockCache
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.shared import SharedState
from hbtable.tablet.tablet import Tablet
from hbtable.testing.simulated.runtime import SimulatedRuntime

T = TypeVar("T")

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f"), b"g": FamilySchema(b"g", locality_group="other")})


class OneRecord:
    """METADATA's one row. `errors`: raised by the next changes, before (False) or after (True) they happened."""

    def __init__(self, record: TabletRecord) -> None:
        self.record = record
        self.errors: list[tuple[HbtableError, bool]] = []
        self.changes = 0
        self.before_change: Callable[[], None] = lambda: None

    def commit(self, old: TabletRecord, new: TabletRecord) -> None:
        self.before_change()
        error, applied = self.errors.pop(0) if self.errors else (None, True)
        if applied:
            if self.record not in (old, new):
                raise Conflict("the record is another one")
            self.record = new
            self.changes += 1
        if error is not None:
            raise error


class VanishingFile:
    """Unlike an open file of memory or Linux: once deleted it cannot be read (HDFS)."""

    def __init__(self, system: MemoryFileSystem, file: RandomReadFile, before_read: Callable[[], object]) -> None:
        self.path = file.path
        self.length_bytes = file.length_bytes
        self._system = system
        self._file = file
        self._before_read = before_read

    def read_at(self, offset: int, size: int) -> bytes:
        self._before_read()
        if not self._system.exists(self.path):
            raise FileNotFound(f"there is no file {self.path}")
        return self._file.read_at(offset, size)

    def close(self) -> None:
        self._file.close()


class VanishingFileSystem:
    """Everything but open() is the memory file system's own. `before_read` may switch: reads of a disk do."""

    def __init__(self, system: MemoryFileSystem, before_read: Callable[[], object] = lambda: None) -> None:
        self._system = system
        self._before_read = before_read
        self.log_kind = system.log_kind
        self.create = system.create
        self.read_file = system.read_file
        self.write_file = system.write_file
        self.exists = system.exists
        self.status = system.status
        self.list_files = system.list_files
        self.rename = system.rename
        self.delete = system.delete
        self.delete_folder = system.delete_folder

    def open(self, path: str) -> RandomReadFile:
        return VanishingFile(self._system, self._system.open(path), self._before_read)


class Bench:
    """A machine with one tablet server at a time. Everything but the constructor runs inside run()."""

    def __init__(self, seed: int = 0, durability: str = "os", schema: TableSchema = SCHEMA) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.memory = MemoryFileSystem(self.runtime)
        self.fs: FileSystem = self.memory
        self.schema = schema
        self.options = TabletOptions()
        self.durability = durability
        self.records = OneRecord(TabletRecord(16, 20, RowRange(), 1))
        self.cache = BlockCache(1 << 20)
        self.memtable_limit_bytes = 1 << 30
        self.starts = 0
        self.children: list[OneRecord] = []
        """The records of all children of splits."""

    def run(self, main: Callable[..., T], *arguments: object) -> T:
        return self.runtime.run(main, *arguments)

    def start_server(self) -> None:
        """A new incarnation, with a log of its own."""
        self.starts += 1
        self.incarnation = f"server-{self.starts}"
        self.registry = Registry()
        self.log = LogWriter(
            self.runtime, self.fs, f"logs/{self.incarnation}", LogOptions(durability=self.durability), self.registry
        )
        self.shared = SharedState(self.runtime, self.incarnation, self.registry, self.memtable_limit_bytes)

    def assign(self, record: TabletRecord) -> TabletRecord:
        """What the master does: a new owner and generation, the owner's log appended."""
        logs = record.logs
        if all(log.incarnation != self.incarnation for log in logs):
            logs = (*logs, LogRef(self.incarnation, 0))
        return TabletRecord(
            record.table_id,
            record.tablet_id,
            record.range,
            record.created_millis,
            self.incarnation,
            record.generation + 1,
            record.files,
            logs,
            record.left,
        )

    def load(self, records: OneRecord | None = None) -> Tablet:
        records = records or self.records
        records.record = self.assign(records.record)
        return self.load_as_it_is(records)

    def load_as_it_is(self, records: OneRecord | None = None) -> Tablet:
        """Without the master's change of the record before."""
        records = records or self.records
        return Tablet.load(
            self.runtime,
            self.fs,
            self.log,
            records.record,
            self.schema,
            self.options,
            self.cache,
            self.shared,
            records.commit,
        )

    def open(self) -> Tablet:
        """A server's start and its tablet's load."""
        self.start_server()
        return self.load()

    def split(self, tablet: Tablet, row: bytes) -> list[Tablet]:
        """What a tablet server does once the tablet is frozen; each child has a METADATA of its own."""
        children = []
        sides = (RowRange(tablet.range.start, row), RowRange(row, tablet.range.stop))
        for number, side in enumerate(sides, 1):
            old = tablet.record
            record = TabletRecord(
                old.table_id,
                10 * old.tablet_id + number,
                side,
                1,
                old.owner,
                old.generation,
                old.files,
                old.logs,
            )
            self.children.append(OneRecord(record))
            children.append(tablet.child(record, self.children[-1].commit))
        return children

    def crash(self) -> None:
        """The process dies: what the operating system has, stays."""
        self.memory = self.memory.restarted()
        self.fs = self.memory


def put(row: bytes, column: bytes, value: bytes, timestamp: int = SERVER_TIME) -> RowMutation:
    family, _, qualifier = column.partition(b":")
    return RowMutation(row, [(PUT, family, qualifier, timestamp, value)])


def delete(row: bytes, column: bytes, timestamp: int = SERVER_TIME) -> RowMutation:
    """Of a column, or of a family when there is no ':'."""
    family, colon, qualifier = column.partition(b":")
    operation: Operation = (DELETE_COLUMN if colon else DELETE_FAMILY, family, qualifier, timestamp, b"")
    return RowMutation(row, [operation])


def values(tablet: Tablet, row: bytes, spec: ReadSpec = EVERYTHING) -> dict[bytes, bytes]:
    """column -> newest value."""
    found: dict[bytes, bytes] = {}
    for _, cells in tablet.read_rows([row], spec):
        for column, _, value in cells:
            found.setdefault(column, value)
    return found


def everything(
    tablet: Tablet, request: ScanRequest | None = None
) -> list[tuple[bytes, list[tuple[bytes, int, bytes]]]]:
    """All pages of a scan, one after another."""
    rows: list[tuple[bytes, list[tuple[bytes, int, bytes]]]] = []
    asked = request or ScanRequest()
    while True:
        page = tablet.scan(asked)
        rows += page.rows
        if page.next is None:
            return rows
        asked = ScanRequest(
            asked.range,
            asked.spec,
            asked.reversed,
            asked.cells_per_row,
            asked.max_rows,
            asked.max_bytes,
            page.next,
            family_times=asked.family_times,
        )

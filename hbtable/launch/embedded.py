"""hbtable.open(): the embedded cluster inside an ordinary, threaded, unpatched program.

The cluster lives in a background thread with a hub of its own (runtime.portal); every call crosses into it and blocks
the calling thread only. Any number of threads may share a Database and its tables.
"""

import contextlib
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Final, TypedDict, final

from hbtable.client.rows import Rows
from hbtable.client.table import Table
from hbtable.client.table_calls import NamedTableCalls
from hbtable.commitlog.options import LogOptions
from hbtable.errors import AlreadyExists, InvalidRequest, Unavailable
from hbtable.fs.data_folder import DataFolder, FolderForReading
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.overlay import OverlayFileSystem
from hbtable.fs.under_way import MarksFile
from hbtable.launch.closing import Closing, give_back
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.launch.library_calls import LibraryCalls
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.names import check_family
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import Attributes, FamilySchema, TableSchema
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord
from hbtable.model.values import check_mapping, members, own_bytes, shown
from hbtable.runtime.portal import Portal
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerOptions

_REFUSAL: Final = (
    "the database {} was opened with read_only=True, and nothing in it can be changed: open it without that to write"
)


class FamilyOptions(TypedDict, total=False):
    """Options of a column family; see model.schema.FamilySchema."""

    max_versions: int
    min_versions: int
    ttl_seconds: int
    compression: str
    bloom: str
    in_memory: bool
    block_cache: bool
    block_bytes: int
    locality_group: str
    new_version_behavior: bool
    attributes: Attributes


Families = Mapping[str, FamilyOptions | None] | Mapping[bytes, FamilyOptions | None] | Collection[str | bytes]


@final
class _ThroughPortal:
    """A client.table.Table whose calls come from any thread."""

    def __init__(self, database: "Database", calls: LibraryCalls, table: Table) -> None:
        self._database = database  # which is closed when nobody refers to it any more
        self._call = calls.call
        self._table = table
        self.name = table.name

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self._call(self._table.mutate, mutations)

    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        return self._call(self._table.read_rows, rows, spec)

    def scan_page(self, request: ScanRequest) -> ScanPage:
        return self._call(self._table.scan_page, request)

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        return self._call(self._table.increment, row, family, qualifier, amount)

    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        return self._call(self._table.append, row, values, ttl_millis)

    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        return self._call(self._table.check_and_mutate, row, family, qualifier, expected, mutation)

    def record(self) -> TableRecord:
        return self._call(self._table.record)

    def shown_name(self) -> str:
        return self._table.shown_name()


@final
class Database:
    """An open database (hbtable.open()): tables by name, with happybase's names and meanings, and their administration.

    Everything acknowledged is durable on return. Usable from any thread until close(); afterwards every call raises
    Unavailable. LockLost, which says why, from the moment when the data folder is seen moved or replaced.

    One that is `read_only` begins as any other, over an overlay: what the start would write stays in memory, and what
    would change the database afterwards is refused (rpc.read_only).
    """

    def __init__(
        self, path: str | os.PathLike[str], options: EmbeddedOptions | None = None, read_only: bool = False
    ) -> None:
        """Starts the cluster, or raises: AlreadyExists naming the process that has the folder open."""
        self.path = path = os.path.abspath(path)
        self._closing: Closing | None = None
        self._portal = Portal()
        with contextlib.ExitStack() as undo:
            undo.callback(self._portal.close)
            self._folder = folder = _opened(path, read_only)
            undo.callback(folder.close)
            self._marks: MarksFile | None = None
            if isinstance(folder, DataFolder):
                self._marks = MarksFile(path)
                undo.callback(self._marks.close)
            self._library_calls = LibraryCalls(self._portal, self._folder)
            self._call = self._library_calls.call
            self._cluster = self._portal.call(self._start, options)
            undo.pop_all()
        self._closing = Closing(path, self._close)
        self._closed = False

    @switches
    def _start(self, options: EmbeddedOptions | None) -> EmbeddedCluster:
        """In the hub."""
        runtime = self._portal.runtime
        local = LocalFileSystem(self.path, runtime)
        local.check_held = self._folder.check_held
        if self._marks is None:
            overlay = OverlayFileSystem(local, MemoryFileSystem(runtime))
            lock_service = LocalLockService(overlay, runtime)
            cluster = EmbeddedCluster(runtime, overlay, lock_service, options, refusal=_REFUSAL.format(self.path))
        else:
            lock_service = LocalLockService(local, runtime)
            cluster = EmbeddedCluster(runtime, local, lock_service, options, room=local, marks=self._marks)
        cluster.start()
        self._library_calls.watch(lock_service, cluster.lost)
        return cluster

    def __repr__(self) -> str:
        return f"<hbtable database {self.path}{' (closed)' if self._closed else ''}>"

    def __del__(self) -> None:
        """Closes what was left open. Does not wait: the garbage collector runs in the middle of anything."""
        if self._closing is not None and not self._closed:
            warnings.warn(f"{self!r} was left open: call close()", ResourceWarning, stacklevel=2, source=self)
            self._closing.begin()

    def table(self, name: str | bytes) -> Rows:
        """The table of this name; TableNotFound comes with the first use."""
        calls: NamedTableCalls = _ThroughPortal(self, self._library_calls, self._cluster.client.table(_bytes(name)))
        return Rows(calls)

    def tables(self) -> list[bytes]:
        """Names of all tables, ascending, disabled ones included."""
        return self._call(self._cluster.client.names)

    def create_table(self, name: str | bytes, families: Families, split_rows: Sequence[bytes] = ()) -> Rows:
        """Made, enabled and served on return; one tablet, or len(split_rows) + 1. `families`: options by name, or the
        names alone. TableExists."""
        if isinstance(families, (str, bytes)) or not families:
            raise InvalidRequest(f"table {name!r} needs column families: a list of names, or a dict of their options")
        if isinstance(families, Mapping):
            named = list(families.items())
        else:
            named = [(family, None) for family in members("families", families)]
        schemas: dict[bytes, FamilySchema] = {}
        for given, options in named:
            family = _family(given, {} if options is None else options)
            if family.name in schemas:
                raise InvalidRequest(f"column family {given!r} of table {name!r} is given twice")
            schemas[family.name] = family
        schema = TableSchema(_bytes(name), schemas)
        rows = [own_bytes("the split row", row) for row in members("split_rows", split_rows)]
        self._call(self._cluster.client.admin.create_table, schema, rows)
        return self.table(name)

    def delete_table(self, name: str | bytes, disable: bool = False) -> None:
        """TableNotDisabled unless it is disabled, or `disable` says to do that first."""
        if disable and self.is_table_enabled(name):
            self.disable_table(name)
        self._call(self._cluster.client.admin.delete_table, _bytes(name))

    def enable_table(self, name: str | bytes) -> None:
        self._call(self._cluster.client.admin.enable_table, _bytes(name))

    def disable_table(self, name: str | bytes) -> None:
        self._call(self._cluster.client.admin.disable_table, _bytes(name))

    def is_table_enabled(self, name: str | bytes) -> bool:
        return self._call(self._cluster.client.admin.is_enabled, _bytes(name))

    def compact_table(self, name: str | bytes, major: bool = False) -> None:
        """Returns when done."""
        admin = self._cluster.client.admin
        self._call(admin.major_compact if major else admin.compact, _bytes(name))

    def flush_table(self, name: str | bytes) -> None:
        """A minor compaction: what was written before is in SSTables on return. (It was durable before that, too.)"""
        self._call(self._cluster.client.admin.flush, _bytes(name))

    def split_table(self, name: str | bytes, row: bytes | None = None) -> bool:
        """Splits the tablet of `row` there; None: every tablet at its middle. True when anything was split."""
        row = None if row is None else own_bytes("the row", row)
        return self._call(self._cluster.client.admin.split, _bytes(name), row)

    def tablets(self, name: str | bytes) -> list[TabletRecord]:
        """Ascending: each with its `range` of rows and its `files`."""
        return self._call(self._cluster.client.admin.tablets, _bytes(name))

    def close(self) -> None:
        """Waits for calls under way, up to 10 s, writes memtables out, so that the next open needs no log, and lets go
        of the folder. From any thread, any number of times: each returns when it is done."""
        if self._closing is not None and self._closing.begin():
            self._closing.wait()

    def _close(self) -> None:
        self._closed = True
        closing = self._portal.call_to_close
        try:
            closing(self._portal.drain, lambda: Unavailable(f"the database {self.path} is closed: open it again"))
            closing(self._library_calls.end)
            closing(self._cluster.stop, self._marks is not None)
        finally:
            self._portal.close()
            if self._marks is not None:
                self._marks.close()
            self._folder.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_database(path: str, durability: str, read_only: bool) -> Database:
    """hbtable.open()."""
    if path in ("", b""):
        raise InvalidRequest("the path of the database is empty; '.' is the current folder")
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InvalidRequest(f"the path {shown(path)} is {type(path).__name__}, and has to be text")
    if type(durability) is not str:
        raise InvalidRequest(f"durability {shown(durability)} is {type(durability).__name__}: it is 'sync' or 'os'")
    if type(read_only) is not bool:
        raise InvalidRequest(f"read_only {shown(read_only)} is {type(read_only).__name__}: it is True or False")
    options = EmbeddedOptions(server=TabletServerOptions(log=LogOptions(durability=durability)))
    text = os.fsdecode(path)
    try:
        return Database(text, options, read_only)
    except AlreadyExists:
        if not give_back(os.path.abspath(text)):
            raise
    return Database(text, options, read_only)


def _opened(path: str, read_only: bool) -> DataFolder | FolderForReading:
    if not read_only:
        return DataFolder.open(path, "hbtable.open(), no port")
    folder = FolderForReading(path)
    try:
        folder.check_format()
    except BaseException:
        folder.close()
        raise
    return folder


def _bytes(name: str | bytes) -> bytes:
    """A table's or family's name. InvalidRequest."""
    if not isinstance(name, str):
        return own_bytes("the name", name)
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"the name {shown(name)} cannot be stored: it holds half of a surrogate pair") from None


def _family(name: str | bytes, options: FamilyOptions) -> FamilySchema:
    family = _bytes(name).removesuffix(b":")
    check_family(family)
    check_mapping(f"the options of column family {name!r}:", options)
    known = list(FamilyOptions.__annotations__)
    for option in options:
        if option not in known:
            raise InvalidRequest(f"column family {name!r} has no option {option!r}; there are {', '.join(known)}")
    return FamilySchema(family, **options)

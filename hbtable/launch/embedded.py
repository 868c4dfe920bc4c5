"""hbtable.open(): the embedded cluster inside an ordinary, threaded, unpatched program.

The cluster lives in a background thread with a hub of its own (runtime.portal); every call crosses into it and blocks
the calling thread only. Any number of threads may share a Database and its tables.
"""

import contextlib
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, final

from hbtable.client.given import bytes_of
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
from hbtable.library.database import AdminCalls, Database
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord
from hbtable.model.values import shown
from hbtable.runtime.portal import Portal
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerOptions

T = TypeVar("T")

_REFUSAL: Final = (
    "the database {} was opened with read_only=True, and nothing in it can be changed: open it without that to write"
)


@final
class _ThroughPortal:
    """A client.table.Table whose calls come from any thread."""

    def __init__(self, database: "EmbeddedDatabase", calls: LibraryCalls, table: Table) -> None:
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
class EmbeddedDatabase(Database):
    """An open database in this process (hbtable.open()).

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

    def _ask(self, call: Callable[[AdminCalls], T]) -> T:
        return self._call(call, self._cluster.client.admin)

    def _calls_of(self, name: bytes) -> NamedTableCalls:
        return _ThroughPortal(self, self._library_calls, self._cluster.client.table(name))

    def tablets(self, name: str | bytes) -> list[TabletRecord]:
        """Ascending: each with its `range` of rows and its `files`."""
        return self._call(self._cluster.client.admin.tablets, bytes_of("the name", name))

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


def open_database(path: str, durability: str, read_only: bool) -> EmbeddedDatabase:
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
        return EmbeddedDatabase(text, options, read_only)
    except AlreadyExists:
        if not give_back(os.path.abspath(text)):
            raise
    return EmbeddedDatabase(text, options, read_only)


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

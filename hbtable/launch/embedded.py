"""hbtable.open(): the embedded cluster inside an ordinary, threaded, unpatched program.

The cluster lives in a background thread with a hub of its own (runtime.portal); every call crosses into it and blocks
the calling thread only. Any number of threads may share a Database and its tables.
"""

import ipaddress
import os
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeVar, final

from hbtable.client.given import bytes_of, flag, seconds, whole_number
from hbtable.client.table import Table
from hbtable.client.table_calls import DescribedTableCalls
from hbtable.errors import AlreadyExists, HbtableError, InvalidRequest, Unavailable, WrongType, WrongValue
from hbtable.launch.embedded_cluster import EmbeddedOptions
from hbtable.launch.library_settings import options_of
from hbtable.launch.shared_database import Opening, SharedDatabase, shared_database
from hbtable.launch.storage import MEMORY
from hbtable.library.database import AdminCalls, Database
from hbtable.library.refusals import spelled_out
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.table import TableRecord
from hbtable.model.tablet import TabletRecord
from hbtable.model.values import shown
from hbtable.runtime.repeated import repeated

T = TypeVar("T")


@final
class _ThroughPortal:
    """A client.table.Table whose calls come from any thread."""

    def __init__(self, database: "EmbeddedDatabase", table: Table) -> None:
        self._call = database._call  # it refers to the database, which is closed when nobody refers to it any more
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

    def mutate_if(self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        return self._call(self._table.mutate_if, row, spec, operator, value, mutation)

    def delete_range(self, rows: RowRange, timestamp: int) -> None:
        self._call(self._table.delete_range, rows, timestamp)

    def record(self) -> TableRecord:
        return self._call(self._table.record)

    def described(self) -> TableRecord:
        return self._call(self._table.described)

    def shown_name(self) -> str:
        return self._table.shown_name()


@final
class EmbeddedDatabase(Database):
    """A handle on a database that is open in this process (hbtable.open()).

    Everything acknowledged is durable on return. Usable from any thread until close(); afterwards every call raises
    Unavailable, also of the tables that came from here. LockLost, which says why, from the moment when the data folder
    is seen moved or replaced.

    All handles on one folder in this process share one database (launch.shared_database), which is closed with the last
    one.
    """

    _shared: SharedDatabase | None = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        options: EmbeddedOptions | None = None,
        read_only: bool = False,
        wait_seconds: float = 0.0,
    ) -> None:
        """Starts the cluster, unless it runs. AlreadyExists names the process that has the folder open, or says with
        which other settings it is this one; `wait_seconds`: unless it lets go of it by then."""
        self.path = os.fspath(path)
        if self.path != MEMORY:
            self.path = os.path.abspath(self.path)
        self._closed = False
        self._handle = object()
        opening = Opening(self.path, options or EmbeddedOptions(), read_only)
        self._shared = shared = repeated(wait_seconds, AlreadyExists, lambda: shared_database(opening, self._handle))
        self._portal = shared.portal
        self._cluster = shared.cluster
        self._shared_call = shared.calls.call

    def _call(self, function: Callable[..., T], *arguments: object) -> T:
        if self._closed:
            raise Unavailable(f"the database {self.path} is closed: open it again")
        try:
            return self._shared_call(function, *arguments)
        except HbtableError as error:
            said = spelled_out(error)
            if said is error:
                raise
            raise said.with_traceback(error.__traceback__) from None

    def _is_closed(self) -> bool:
        return self._closed or self._shared is None or self._shared.ended

    def __repr__(self) -> str:
        return f"<hbtable database {self.path}{' (closed)' if self._is_closed() else ''}>"

    def __del__(self) -> None:
        """Closes what was left open. Does not wait: the garbage collector runs in the middle of anything."""
        if self._shared is not None and not self._is_closed():
            try:
                warnings.warn(f"{self!r} was left open: call close()", ResourceWarning, stacklevel=2, source=self)
            finally:  # warnings may be errors
                self._shared.drop(self._handle)

    def _ask(self, call: Callable[[AdminCalls], T]) -> T:
        return self._call(call, self._cluster.client.admin)

    def _calls_of(self, name: bytes) -> DescribedTableCalls:
        return _ThroughPortal(self, self._cluster.client.table(name))

    def tablets(self, name: str | bytes) -> list[TabletRecord]:
        """Ascending: each with its `range` of rows and its `files`."""
        return self._call(self._cluster.client.admin.tablets, bytes_of("the name", name))

    def serve(self, host: str = "127.0.0.1", port: int = 9090) -> int:
        """Lets other programs use the tables over Thrift, as those of `hbtable start`, until the database is closed:
        happybase, hbtable.connect(), HBase's Thrift clients. The port; `port` 0: any free one. Unavailable when it is
        in use.

        On this machine alone: there is neither TLS nor a login, and whoever reaches the port may do everything, but
        change a database that is read_only.
        """
        place, wanted = _address(host), whole_number("the port", port, 0, 65535)
        assert self._shared is not None
        return self._call(self._shared.serve, place, wanted)

    def share(self) -> None:
        """Lets other processes of this user use the tables, until the database is closed: hbtable.connect(folder=...),
        with the same path. Through a Unix socket in the data folder, so that no port is open. Where it is shared
        already, nothing happens. InvalidRequest for a database in memory, or one that is read_only."""
        assert self._shared is not None
        self._call(self._shared.share)

    def metrics(self) -> str:
        """Counters, gauges and histograms of this database and of the process, in Prometheus' text format."""
        page = import_module("hbtable.launch.http.metrics_export").MetricsPage  # open() needs no exporter
        text: bytes = self._call(lambda: page(self._portal.runtime, self._cluster.registry).text())
        return text.decode()

    def close(self) -> None:
        """From any thread, any number of times. The last handle on the folder waits for calls under way, up to 10 s,
        writes memtables out, so that the next open needs no log, and lets go of the folder: each of its close() returns
        when that is done. While others are open, only this handle ends; calls under way through it go on."""
        self._closed = True
        if self._shared is not None and self._shared.drop(self._handle):
            self._shared.wait()


def _address(host: object) -> str:
    """No name is looked up: of several addresses it would be one, and that may take long."""
    if not isinstance(host, str):
        raise WrongType(f"the host {shown(host)} has to be text: 127.0.0.1")
    if host == "localhost":
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise WrongValue(f"the host {shown(host)} is no IP address, as 127.0.0.1 is") from None
    if not address.is_loopback:
        raise InvalidRequest(
            f"the host {host} is reached by other machines, and the port of a database of hbtable.open() has neither "
            "TLS nor users: listen on 127.0.0.1, or close the database and run `hbtable start`, which has both"
        )
    return str(address)


def open_database(
    path: str | os.PathLike[str], durability: str, read_only: bool, config: object, wait: object
) -> EmbeddedDatabase:
    """hbtable.open()."""
    if path in ("", b""):
        raise InvalidRequest("the path of the database is empty; '.' is the current folder")
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InvalidRequest(f"the path {shown(path)} is {type(path).__name__}, and has to be text")
    if type(durability) is not str:
        raise InvalidRequest(f"durability {shown(durability)} is {type(durability).__name__}: it is 'sync' or 'os'")
    flag("read_only", read_only)
    wait_seconds = seconds("wait", wait)
    return EmbeddedDatabase(os.fsdecode(path), options_of(durability, config), read_only, wait_seconds)

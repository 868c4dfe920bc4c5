"""The place of a table, in a form that another process can be told, and connections to it that outlive a server."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar, final

from hbtable.dataflow.pickled import between_releases
from hbtable.errors import OutcomeUnknown, Unavailable, WrongType
from hbtable.launch.connected import ConnectedDatabase, connect_database
from hbtable.launch.embedded import EmbeddedDatabase
from hbtable.library.server_calls import READS, Calls
from hbtable.library.server_table import ServerTable
from hbtable.library.table import Table
from hbtable.model.values import shown
from hbtable.runtime.repeated import repeated

T = TypeVar("T")

RETRY_SECONDS: Final = 60.0
"""A task waits as long for a server that died, and for its tablets to be served again."""
_WRITES: Final = frozenset(("adminMutateRows",))
_FILES: Final = ("ca", "certificate", "secret")


@between_releases
@dataclass(frozen=True, slots=True)
class Place:
    """A way to connect: hbtable.connect()'s arguments. A secret is the name of its file, which every process that takes
    the place has to be able to read; of files the paths are absolute."""

    host: str = ""
    port: int = 0
    timeout: int | None = None
    """Milliseconds, for each wait."""
    route: bool = False
    tls: bool = False
    ca: str = ""
    certificate: str = ""
    user: str = ""
    secret: str = ""
    plain_text: bool = False
    folder: str = ""
    """Shared by who has it open, on this machine; "": there is a server."""


def place_of(table: Table) -> Place:
    """The place of `table`. A folder of hbtable.open() is shared from now on, with processes of this user
    (EmbeddedDatabase.share). InvalidRequest for a database in memory, or one that is read_only; WrongType for anything
    but a table."""
    if not isinstance(table, Table):
        raise WrongType(f"the table {shown(table)} is {type(table).__name__}, and has to be an hbtable.Table")
    database = table.connection
    if isinstance(database, EmbeddedDatabase):
        database.share()
        return Place(folder=database.path)
    assert isinstance(database, ConnectedDatabase)
    if database.folder:
        return Place(timeout=database.timeout, folder=database.folder)
    security = dict(database.security)
    for name in _FILES:
        if security[name]:
            security[name] = os.path.abspath(security[name])
    return Place(database.host, database.port, database.timeout, database.route, **security)


@contextmanager
def table_at(place: Place, name: bytes, retry_seconds: float, repeats_writes: bool = False) -> Iterator[Table]:
    """The table of this name, over a connection of its own. Reads begin again where they broke off, for so many
    seconds; with `repeats_writes`, so do writes: all have to give their times, or some are done twice."""
    given = asdict(place)
    folder, route = given.pop("folder") or None, given.pop("route")
    host, port, timeout = (given.pop(name) for name in ("host", "port", "timeout"))
    choices = {"compat": "0.98", "transport": "buffered", "protocol": "binary"}
    if folder is not None:
        host, port = "localhost", 9090  # what connect() takes for none given
    database = connect_database(host, port, timeout, False, None, b"_", choices, given, route, folder)
    with database:
        methods = READS | _WRITES if repeats_writes else READS
        calls = PersistentCalls(database.calls, retry_seconds, methods)
        yield Table(ServerTable(calls, name), database)


@final
class PersistentCalls:
    """A library.server_calls.Calls that makes a call of `methods` again, for so many seconds, while no server takes it
    or its connection breaks. What it answers may have been done twice."""

    def __init__(self, calls: Calls, seconds: float, methods: frozenset[str]) -> None:
        self._calls = calls
        self._seconds = seconds
        self._methods = methods
        self.struct, self.open, self.close = calls.struct, calls.open, calls.close

    def admin(self, method: str, *arguments: object) -> Any:
        return self._persistent(method, lambda: self._calls.admin(method, *arguments))

    def hbase(self, method: str, *arguments: object) -> Any:
        return self._persistent(method, lambda: self._calls.hbase(method, *arguments))

    def _persistent(self, method: str, call: Callable[[], T]) -> T:
        if method not in self._methods:
            return call()
        return repeated(self._seconds, (Unavailable, OutcomeUnknown), call)

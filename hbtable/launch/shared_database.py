"""The databases that this process has open: one for each data folder, and any number of handles on it.

A program opens a folder that it has open already: a notebook's cell is run again, while its variable still refers to
the first database; two modules open the same folder. Each gets a handle of its own, and the last one that is closed or
dropped closes the database. A folder is told by its device and inode, since paths are spelled in many ways, and since
another folder may have come to stand at the path. A database in memory has one handle.

All that is left open is closed before the interpreter ends (atexit): afterwards no other thread runs, nor the hub's.
"""

import atexit
import contextlib
import gc
import os
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, final

from hbtable.errors import AlreadyExists, LockLost, Unavailable
from hbtable.fs.data_folder import folder_at
from hbtable.launch.closing import Closing
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.launch.library_calls import LibraryCalls
from hbtable.launch.storage import MEMORY, storage_at
from hbtable.runtime.threads.native_threads import CallerMark, NativeEvent, allocate_rlock
from hbtable.runtime.threads.portal import Portal
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerOptions

if TYPE_CHECKING:
    from hbtable.launch.embedded_gateway import EmbeddedGateway


@final
@dataclass(frozen=True, slots=True)
class Opening:
    """The arguments of an open()."""

    path: str
    options: EmbeddedOptions
    read_only: bool

    def has_settings_of(self, other: "Opening") -> bool:
        return self.read_only == other.read_only and (self.read_only or self.options == other.options)

    def settings(self) -> str:
        if self.read_only:
            return "read_only=True"
        text = f"durability={self.options.server.log.durability!r}, read_only=False"
        plain = EmbeddedOptions(server=TabletServerOptions(log=self.options.server.log))
        return text if self.options == plain else f"{text} and a config of its own"


@final
class SharedDatabase:
    """Everything behind the handles of one folder. `handles` are objects that stand for them; a database that ended has
    none, and gets none any more.

    No lock guards the handles: the garbage collector may drop one in any thread at any step, and a signal handler may
    wait for a thread in which it does.
    """

    portal: Portal
    calls: LibraryCalls
    cluster: EmbeddedCluster

    def __init__(self, opening: Opening, handle: object) -> None:
        """Takes the folder, for the first handle. start() comes next, from the same thread."""
        self.opening = opening
        self.ended = False
        self._starter: CallerMark | None = CallerMark()
        self._started = NativeEvent()
        self._handles = {handle}
        self._last: set[object] = set()
        """Dropped handles, after which none seemed to be left."""
        self._closing = Closing()
        self._gateway: EmbeddedGateway | None = None
        self._storage = storage_at(opening.path, opening.read_only)
        self.folder_id = self._storage.folder_id

    def start(self) -> None:
        """Once."""
        try:
            with contextlib.ExitStack() as undo:
                undo.callback(self._storage.close)
                self.portal = Portal()
                undo.callback(self.portal.close)
                self.calls = LibraryCalls(self.portal, self._storage)
                self.cluster = self.portal.call(self._start)
                undo.pop_all()
        except BaseException:
            self._last.add(self)
            self.ended = True
            _OPEN.discard(self)
            raise
        finally:
            self._started.set()
            self._starter = None

    @switches
    def _start(self) -> EmbeddedCluster:
        """In the hub."""
        cluster, lock_service = self._storage.cluster(self.portal.runtime, self.opening.options)
        cluster.start()
        self.calls.watch(lock_service, cluster.lost)
        return cluster

    def add(self, handle: object, opening: Opening) -> bool:
        """False when the database ends just now. AlreadyExists: it has other settings. LockLost: it is lost."""
        if not opening.has_settings_of(self.opening):
            raise AlreadyExists(
                f"the data folder {self.opening.path} is in use by this process, which opened it with "
                f"{self.opening.settings()}: it cannot be opened with {opening.settings()} as well; close the first "
                "database, or open this one with the same settings"
            )
        starter = self._starter
        if starter is not None and not self._started.is_set() and starter.waits_for_the_caller():
            raise _interrupted(opening.path)
        self._started.wait()
        if not self.ended:
            self.calls.check_not_lost()
        self._handles.add(handle)
        if self._last:
            self.drop(handle)
            return False
        return True

    def drop(self, handle: object) -> bool:
        """Begins to close the database with its last handle. Whether there is anything to wait for. Never waits."""
        if not self._closing.is_possible():
            return False
        self._handles.discard(handle)
        if not self._handles:
            self._last.add(handle)
            if self._handles:  # one came before it could see that: it stays, or is dropped in its turn
                self._last.discard(handle)
            else:
                self._end()
        return self.ended

    def end(self) -> bool:
        """As drop(), of all handles."""
        if not self._closing.is_possible():
            return False
        self._last.add(self)
        self._end()
        return True

    def _end(self) -> None:
        self.ended = True
        self._closing.begin(self._close)

    def wait(self) -> None:
        """Returns when the database is closed, after its end. Raises what closing failed with, to the first one."""
        self._closing.wait()

    @switches
    def serve(self, host: str, port: int) -> int:
        """In the hub. As EmbeddedGateway.serve()."""
        gateway = self._made_gateway()
        at = gateway.serve(host, port)
        self._storage.reached_by(gateway.ways_in())
        return at

    @switches
    def share(self) -> None:
        """In the hub. Once is enough: it is shared until it is closed."""
        gateway = self._made_gateway()
        gateway.share(self._storage.share)
        self._storage.reached_by(gateway.ways_in())

    def _made_gateway(self) -> "EmbeddedGateway":
        if self._gateway is None:
            # Imported with its first use: open() needs no Thrift.
            gateway = import_module("hbtable.launch.embedded_gateway")
            self._gateway = gateway.EmbeddedGateway(self.portal.runtime, self.cluster)
        return self._gateway

    def leave_to_parent(self) -> None:
        """In a forked child."""
        self._storage.leave_to_parent()
        if self._gateway is not None:
            self._gateway.leave_to_parent()

    @switches
    def _stop_serving(self) -> None:
        if self._gateway is not None:
            self._gateway.stop()

    def is_started(self) -> bool:
        return self._started.is_set()

    def _close(self) -> None:
        closing, path = self.portal.call_to_close, self.opening.path
        try:
            closing(self.portal.drain, lambda: Unavailable(f"the database {path} is closed: open it again"))
            closing(self._stop_serving)
            closing(self.calls.end)
            closing(self.cluster.stop, self._storage.outlives)
        finally:
            self.portal.close()
            self._storage.close()
            _OPEN.discard(self)


_OPEN: Final[set[SharedDatabase]] = set()
"""From the taking of the folder until it is given back."""

_gate = allocate_rlock()
"""Between the taking of a folder and its place in _OPEN no other thread looks."""

_TAKING: Final[set[str]] = set()
"""The paths between the two. Only who interrupted that, in the same thread, sees one here."""


def shared_database(opening: Opening, handle: object) -> SharedDatabase:
    """The database in a folder, started and with the handle. AlreadyExists: another process has the folder, or this
    one, with other settings."""
    while True:
        database, is_new = _found_or_taken(opening, handle)
        if is_new:
            database.start()
            return database
        try:
            if database.add(handle, opening):
                return database
        except (AlreadyExists, LockLost):
            gc.collect()  # perhaps nobody refers to the handles
            if not database.ended:
                raise
        if database.ended and database in _OPEN:
            if not database.end():
                raise Unavailable(f"the data folder {opening.path} is being closed by this program, which ends")
            database.wait()


def _found_or_taken(opening: Opening, handle: object) -> tuple[SharedDatabase, bool]:
    """And whether it was taken, and has to be started. What was found may have ended, and not be closed yet."""
    path = opening.path
    with _gate:
        folder_id = None if path == MEMORY else folder_at(path)
        for database in list(_OPEN):
            if folder_id is not None and database.folder_id == folder_id:
                return database, False
        if path in _TAKING and path != MEMORY:
            raise _interrupted(path)
        _TAKING.add(path)
        try:
            database = SharedDatabase(opening, handle)
            _OPEN.add(database)
        finally:
            _TAKING.discard(path)
        return database, True


def _interrupted(path: str) -> AlreadyExists:
    return AlreadyExists(
        f"the data folder {path} is just being opened by this thread, and what opens it again interrupted that: a "
        "signal handler can do it after the first open has returned"
    )


def _forget() -> None:
    """In a forked child: all is the parent's, and a thread that does not exist here may hold the gate."""
    global _gate
    for database in _OPEN:
        database.leave_to_parent()
    _OPEN.clear()
    _TAKING.clear()
    _gate = allocate_rlock()


def _close_all() -> None:
    for database in list(_OPEN):
        if database.is_started() and database.end():
            database.wait()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close_all)

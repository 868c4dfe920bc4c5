"""Sessions, locks and watches of a lock service that lives in one process; files.py keeps its files.

Used by local.py (one process alone, behind the data folder's flock) and by testing/memory_lockservice.py, where
sessions may expire.

Invariants: a lock belongs to a session whose valid() was True when it was taken, and valid() turns False no later than
the lock vanishes. Files change one at a time, under one lock; what readers see is durable, or was so unknown after a
failed write that it is read again. A path is a file or a lock, never both.
"""

from collections.abc import Callable
from typing import Final, final

from hbtable.errors import AlreadyExists, Conflict, FileNotFound, HbtableError, LockLost
from hbtable.lockservice.files import FileStore, check_data, check_path
from hbtable.lockservice.interface import VersionedFile
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

_NUMBERS_AT_ONCE: Final = 1000


@final
class HeldLock:
    """The holder of a lock, and the epoch since which he holds it."""

    __slots__ = ("data", "epoch", "session")

    def __init__(self, session: "LocalSession", data: bytes, epoch: int) -> None:
        self.session = session
        self.data = data
        self.epoch = epoch


@final
class Watch:
    """One session's interest in a folder. Several changes before the call is made cause one call."""

    __slots__ = ("changed", "due", "folder", "session")

    def __init__(self, session: "LocalSession", folder: str, changed: Callable[[], None]) -> None:
        self.session = session
        self.folder = folder
        self.changed = changed
        self.due = False

    @switches
    def call(self) -> None:
        self.due = False  # first: a change during the call asks for another one
        if self.session.valid():
            self.changed()


@final
class SessionTable:
    """State that the sessions of one lock service share. `pause` is called where a remote service would switch."""

    def __init__(self, runtime: Runtime, files: FileStore, pause: Callable[[], None] | None = None) -> None:
        self.files = files
        self.locks: dict[str, HeldLock] = {}
        self._pause = pause
        self._known: dict[str, VersionedFile] = {}
        self._changing = runtime.lock()
        self._numbering = runtime.lock()
        self._watches: list[Watch] = []
        self._next_number = 0
        self._numbers_end = 0

    @switches
    def open_session(self, name: str, runtime: Runtime) -> "LocalSession":
        """*Switches.* `runtime` runs the session's watches."""
        return LocalSession(self, f"{name}-{self.next_number()}", runtime)

    @switches
    def pause(self) -> None:
        if self._pause is not None:
            self._pause()

    @switches
    def next_number(self) -> int:
        """Greater than every number given out before, also before a restart. *Switches* once in a thousand times."""
        if self._next_number == self._numbers_end:
            with self._numbering:
                if self._next_number == self._numbers_end:
                    self._next_number = self.files.reserve_numbers(_NUMBERS_AT_ONCE)
                    self._numbers_end = self._next_number + _NUMBERS_AT_ONCE
        number = self._next_number
        self._next_number += 1
        return number

    # ------------------------------------------------------------ files

    @switches
    def load(self, path: str) -> VersionedFile | None:
        file = self._known.get(path)
        if file is None:
            with self._changing:  # or a change that ends while we read would be hidden behind what we read
                file = self.files.load(path)
                if file is not None:
                    self._known[path] = file
        return file

    @switches
    def change(self, path: str, decide: Callable[[VersionedFile | None], VersionedFile | None]) -> None:
        """Replaces the file by what `decide` makes of it (None removes it), durably. `decide` may raise."""
        with self._changing:
            before = self._known.get(path) or self.files.load(path)
            after = decide(before)
            try:
                if after is not None:
                    self.files.put(path, after)
                elif before is not None:
                    self.files.remove(path)
            except HbtableError:
                self._known.pop(path, None)  # old or new? Only the store knows: ask it next time
                raise
            if after is not None:
                self._known[path] = after
            else:
                self._known.pop(path, None)
        self.notify(path)

    # ------------------------------------------------------------ locks and watches

    def end(self, session: "LocalSession") -> None:
        """Frees the locks of an invalid session and forgets its watches."""
        self._watches = [watch for watch in self._watches if watch.session is not session]
        for path in [path for path, held in self.locks.items() if held.session is session]:
            del self.locks[path]
            self.notify(path)

    def watch(self, watch: Watch) -> None:
        self._watches.append(watch)

    def notify(self, path: str) -> None:
        for watch in self._watches:
            if not watch.due and (watch.folder == "/" or path.startswith(f"{watch.folder}/")):
                watch.due = True
                spawn_counted(watch.session.runtime, watch.call, name=f"watch {watch.folder}")


@final
class LocalSession:
    """Implements lockservice.interface.Session. Reads of known files and all of locks never switch in local.py."""

    def __init__(self, table: SessionTable, session_id: str, runtime: Runtime) -> None:
        self.session_id = session_id
        self.runtime = runtime
        self._table = table
        self._valid = True

    def valid(self) -> bool:
        return self._valid

    def over(self) -> bool:
        return not self._valid

    def invalidate(self) -> None:
        """From now on valid() is False; the locks stay until SessionTable.end()."""
        self._valid = False

    def close(self) -> None:
        self._valid = False
        self._table.end(self)

    # ------------------------------------------------------------ locks

    @switches
    def lock(self, path: str, data: bytes = b"") -> int:
        """A session that holds the lock already gets its epoch once more; the data become the new ones."""
        self._begin(path)
        check_data(path, data)
        if self._table.load(path) is not None:
            raise Conflict(f"{path} is a file, not a lock")
        held = self._held_by_me(path)
        if held is not None:
            held.data = data
            return held.epoch
        epoch = self._table.next_number()
        # next_number may have switched; from its return to the end nothing does, so that epochs rise with each holder.
        self._check_valid()
        if self._held_by_me(path) is None:
            self._table.locks[path] = HeldLock(self, data, epoch)
            self._table.notify(path)
        return self._table.locks[path].epoch

    def _held_by_me(self, path: str) -> HeldLock | None:
        held = self._table.locks.get(path)
        if held is not None and held.session is not self:
            raise Conflict(f"the lock {path} is held by {held.session.session_id}")
        return held

    @switches
    def unlock(self, path: str) -> None:
        """Nothing happens when this session does not hold the lock."""
        self._begin(path)
        held = self._table.locks.get(path)
        if held is not None and held.session is self:
            del self._table.locks[path]
            self._table.notify(path)

    @switches
    def holder(self, path: str) -> VersionedFile | None:
        self._begin(path)
        held = self._table.locks.get(path)
        return VersionedFile(held.data, held.epoch) if held is not None else None

    # ------------------------------------------------------------ files

    @switches
    def create(self, path: str, data: bytes) -> None:
        self._begin(path)
        check_data(path, data)

        def decide(before: VersionedFile | None) -> VersionedFile:
            if before is not None or path in self._table.locks:
                raise AlreadyExists(f"{path} exists already in the lock service")
            return VersionedFile(data, 1)

        self._change(path, decide)

    @switches
    def read(self, path: str, latest: bool = False) -> VersionedFile:
        self._begin(path)
        file = self._table.load(path)
        if file is None:
            raise FileNotFound(f"there is no file {path} in the lock service")
        return file

    @switches
    def write(self, path: str, data: bytes, expected_version: int) -> int:
        self._begin(path)
        check_data(path, data)

        def decide(before: VersionedFile | None) -> VersionedFile:
            return VersionedFile(data, _checked(path, before, expected_version).version + 1)

        self._change(path, decide)
        return expected_version + 1

    @switches
    def delete(self, path: str, expected_version: int = -1) -> None:
        self._begin(path)

        def decide(before: VersionedFile | None) -> None:
            _checked(path, before, expected_version)

        self._change(path, decide)

    @switches
    def list(self, folder: str) -> list[str]:
        self._begin(folder, folder=True)
        prefix = folder if folder.endswith("/") else f"{folder}/"
        paths = [*self._table.files.paths(), *self._table.locks]
        return sorted({path[len(prefix) :].split("/", 1)[0] for path in paths if path.startswith(prefix)})

    @switches
    def watch(self, folder: str, changed: Callable[[], None]) -> None:
        self._begin(folder, folder=True)
        self._table.watch(Watch(self, folder, changed))

    # ------------------------------------------------------------ inside

    @switches
    def _begin(self, path: str, folder: bool = False) -> None:
        if not (folder and path == "/"):
            check_path(path)
        self._table.pause()
        self._check_valid()

    def _check_valid(self) -> None:
        if not self._valid:
            raise LockLost(f"the lock service session {self.session_id} is over")

    @switches
    def _change(self, path: str, decide: Callable[[VersionedFile | None], VersionedFile | None]) -> None:
        def decide_if_valid(before: VersionedFile | None) -> VersionedFile | None:
            self._check_valid()  # it may have ended while we waited for our turn
            return decide(before)

        self._table.change(path, decide_if_valid)
        self._table.pause()


def _checked(path: str, before: VersionedFile | None, expected_version: int) -> VersionedFile:
    """The file as expected: FileNotFound, Conflict."""
    if before is None:
        raise FileNotFound(f"there is no file {path} in the lock service")
    if expected_version not in (-1, before.version):
        raise Conflict(f"{path} has version {before.version}, not {expected_version}: another process changed it")
    return before

r"""The folder a single machine's hbtable lives in: its format version, and the lock that keeps other processes out.

    FORMAT    "hbtable data folder\nformat 1\n"
    LOCK      held by flock while a process uses the folder; says which: "pid 4711\naddress 127.0.0.1:9090\n", then the
              host's name and the namespace of its pids, because in two containers both may be pid 1

Invariants: nothing in the folder is read or written without the flock, which the kernel frees when the process dies,
however it dies; what LOCK says is only for people. Who only reads shares it with others that only read, and needs no
right to write. A folder is never taken over unless it is empty or has FORMAT.

Somebody may remove LOCK, or put another folder in this one's place, a backup say, while a process uses it. So the
folder itself is locked as well, where the file system can do that, and its holder looks whether path and LOCK are still
those that it locked (check_held): otherwise a second process could be serving there. A backup copied over the files
leaves folder and LOCK in place: what LOCK says tells, and the files that are being written; others (check_files) later.
"""

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from hbtable.errors import AlreadyExists, Corruption, InvalidConfiguration, StorageFailed
from hbtable.fs import disk, folder_socket
from hbtable.fs.entry_kinds import of_wrong_kind
from hbtable.fs.folder_format import check_format, format_damage, has_data, read_format
from hbtable.fs.folder_identity import check_same, id_at, id_of, lost
from hbtable.fs.folder_rights import UNUSED, close_to_others
from hbtable.fs.paths import NO_ROOM, UNFINISHED, write_error

OPENED: Final = "hbtable.open()"
"""In the address of who has a folder open inside a program of its own, and not in a server."""
SHARED: Final = "shared"
"""Beside it, when others may connect by the folder's socket."""
UNSHARED: Final = f"{OPENED}, no port"
"""The address of one whom nobody can connect to."""
_NAMELESS: Final = (
    "another process, whose file LOCK was removed, or which is just opening, leaving or repairing it (hbtable repair)"
)
"""The holder of a folder that does not say who it is: a name is written once the folder is locked."""
_USERS: Final = ("users", "users.lock", "users.new")
_MEANS_EMPTY: Final = UNUSED | {*_USERS}
"""Files of a folder in which nothing was stored yet: also those of `hbtable user`, as the first user is made before the
first start."""

_HELD: Final[set[tuple[int, tuple[int, int]]]] = set()
"""(pid, device and inode) of the folders that this process has open; a forked child has none."""


@final
class DataFolder:
    """Owns the folder's lock from open() to close()."""

    def __init__(self, root: str, lock: int, descriptor: int) -> None:
        self.root = root
        self._lock = lock
        self._descriptor = descriptor
        self._ids = (id_of(os.fstat(descriptor)), id_of(os.fstat(lock)))
        self._says, self._written = b"", (0, 0)
        """The text of LOCK; its length and time of change after it was written."""
        self._turn = 0
        """Counted up before the text is written, and after."""
        self.overwritten: Callable[[], str] = lambda: ""
        self.replaced: Callable[[], str] = lambda: ""
        """Of KnownFiles, look_at_growing and look."""
        _HELD.add((os.getpid(), self._ids[0]))

    @property
    def id(self) -> tuple[int, int]:
        """As folder_at() has it of this folder, wherever it is moved."""
        return self._ids[0]

    @property
    def descriptors(self) -> tuple[int, int]:
        """The descriptors of LOCK and of the folder. A child that inherits them keeps the lock until it has ended, too
        (folder_identity)."""
        return self._lock, self._descriptor

    @staticmethod
    def open(root: str, address: str = "") -> "DataFolder":
        """Makes the folder if need be, takes its lock and removes what an interrupted write left. Blocks for some
        milliseconds; meant for the start, before the hub has other tasks.

        AlreadyExists: another process (or this one) uses it. UnsupportedFormat: written by a newer hbtable.
        InvalidConfiguration: it is something else's folder, or cannot be used.
        """
        root = os.path.abspath(root)
        _check_name(root)
        try:
            _make(root)
            _check_ours(root)
            close_to_others(root)
            descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _unusable(error, root) from error
        with contextlib.ExitStack() as undo:
            undo.callback(_free, descriptor)
            try:
                lock = os.open(f"{root}/LOCK", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise _unusable(error, root) from error
            undo.callback(_free, lock)
            try:
                _lock(root, lock, descriptor, fcntl.LOCK_EX)
                check_format(root)
                disk.delete_folder(f"{root}/{UNFINISHED}")
                folder_socket.remove_from(descriptor)
                folder = DataFolder(root, lock, descriptor)
            except OSError as error:
                raise write_error(error, root, "preparing the data folder") from error
            undo.pop_all()
        try:
            folder.set_address(address)
        except OSError as error:
            folder.close()
            raise write_error(error, root, "preparing the data folder") from error
        return folder

    def check_held(self) -> None:
        """LockLost when the path leads to another folder by now, or LOCK to another file: another process may use what
        is there. The same when somebody wrote over the files in it. A few calls of the system; to be made often, and
        before anything is acknowledged."""
        check_same(self.root, self._ids)
        _check_unchanged(self.root, "LOCK" if self._is_other_text() else self.overwritten())

    def check_files(self) -> None:
        """As check_held, of some files that this process read or wrote before. In the thread that writes them."""
        _check_unchanged(self.root, self.replaced())

    def _is_other_text(self) -> bool:
        """Whether somebody else wrote into LOCK. Another thread than that of set_address() may ask."""
        turn = self._turn
        try:
            if self._lock < 0 or turn % 2 or _written(self._lock) == self._written:
                return False
            if os.pread(self._lock, 1000, 0) != self._says:
                return self._turn == turn and self._lock >= 0
            self._written = _written(self._lock)  # touched, and no more
        except OSError:
            pass  # nothing is known
        return False

    def set_address(self, address: str) -> None:
        """Writes down the address that a second process is told, once this one knows its port."""
        if self._lock < 0:
            raise StorageFailed(f"the data folder {self.root} is closed")
        says = f"pid {os.getpid()}\naddress {address or 'none'}\nhost {socket.gethostname()}\npids {_pids()}\n".encode()
        self._turn += 1
        try:
            os.pwrite(self._lock, says, 0)
            os.ftruncate(self._lock, len(says))
            self._says = says
        except OSError as error:
            if error.errno not in NO_ROOM:  # a full disk need not keep anybody from starting
                raise
            self._says = os.pread(self._lock, 1000, 0)
        finally:
            self._written = _written(self._lock)
            self._turn += 1

    def close(self) -> None:
        """Frees the folder for other processes. Idempotent; to be called after everything in it is closed."""
        if self._lock >= 0:
            with contextlib.suppress(OSError):
                folder_socket.remove_from(self._descriptor)
            _HELD.discard((os.getpid(), self._ids[0]))
            os.ftruncate(self._lock, 0)
            freed = self.descriptors
            self._lock = self._descriptor = -1  # before: their numbers may be another file's then
            for descriptor in freed:
                _free(descriptor)


@final
class FolderForReading:
    """A data folder in which this process makes and changes nothing, whatever state it is in. Meanwhile no process that
    would change it has it; `alone`: nobody else looks at it, either."""

    def __init__(self, root: str, alone: bool = False) -> None:
        """AlreadyExists: a process uses it. InvalidConfiguration: it cannot be read, or is no folder."""
        self.root = root = os.path.abspath(root)
        _check_name(root)
        if not os.path.isdir(root):
            raise InvalidConfiguration(why_no_store(root))
        try:
            with contextlib.ExitStack() as undo:
                descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                undo.callback(_free, descriptor)
                lock = None
                with contextlib.suppress(FileNotFoundError):
                    lock = os.open(f"{root}/LOCK", os.O_RDONLY | os.O_CLOEXEC)
                    undo.callback(_free, lock)
                _lock(root, lock, descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
                self._ids = (id_of(os.fstat(descriptor)), None if lock is None else id_of(os.fstat(lock)))
                self._held = [descriptor] if lock is None else [lock, descriptor]
                undo.pop_all()
        except OSError as error:
            raise _unusable(error, root) from error

    @property
    def id(self) -> tuple[int, int]:
        """As DataFolder.id."""
        return self._ids[0]

    def check_format(self) -> None:
        """Corruption, UnsupportedFormat; InvalidConfiguration when the folder is no hbtable data folder."""
        if not os.path.exists(f"{self.root}/FORMAT"):
            raise InvalidConfiguration(format_damage(self.root) or why_no_store(self.root))
        read_format(self.root)

    def check_held(self) -> None:
        """As DataFolder.check_held."""
        check_same(self.root, self._ids)

    @property
    def descriptors(self) -> Sequence[int]:
        """As DataFolder.descriptors; there need not be a LOCK."""
        return self._held

    def close(self) -> None:
        """Idempotent."""
        freed, self._held = self._held, []
        for descriptor in freed:
            _free(descriptor)


@contextlib.contextmanager
def looked_at(root: str, alone: bool = False) -> Iterator[None]:
    """Meanwhile the folder is a FolderForReading. UnsupportedFormat: written by a newer hbtable."""
    folder = FolderForReading(root, alone)
    with contextlib.closing(folder):
        with contextlib.suppress(Corruption):
            read_format(folder.root)
        yield


def folder_at(root: str) -> tuple[int, int] | None:
    """The folder's device and inode, however its path is spelled. While somebody has the folder open, no other one has
    the same. None when nothing is there, or that is not known."""
    _check_name(root)
    try:
        return id_at(root)
    except OSError:
        return None


def _check_unchanged(root: str, changed: str) -> None:
    if changed:
        raise lost(root, f"somebody wrote over its files ({changed}), as when a backup is copied into it,")


def check_readable(root: str) -> None:
    """InvalidConfiguration when this user may not even list what the folder holds. One that is not there is fine."""
    try:
        os.listdir(root)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise _unusable(error, root) from error


def why_no_store(root: str) -> str:
    """The reason why a path without FORMAT is no data folder."""
    if not os.path.exists(root):
        return f"{root} is no hbtable data folder: it is not there; name the one that hbtable start --data was given"
    if not os.path.isdir(root):
        return f"{root} is no hbtable data folder: it is a file; name a folder, which hbtable has for itself"
    return f"{root} is no hbtable data folder: it has no file FORMAT"


def _unusable(error: OSError, root: str) -> InvalidConfiguration:
    if not os.path.exists(root):
        return InvalidConfiguration(
            f"the data folder {root} cannot be made: {error.strerror or error}; choose a folder that this user may "
            "make, on a disk"
        )
    message = f"the data folder {root} cannot be used: {error.strerror or error}"
    if error.errno in (errno.EROFS, errno.EACCES) and os.path.exists(f"{root}/FORMAT"):
        message += "; to read it, use hbtable.open(..., read_only=True), or hbtable check"
    return InvalidConfiguration(message)


def _check_name(root: str) -> None:
    """Refuses a name before the system sees it: Python refuses it with a ValueError that does not say which."""
    try:
        possible = b"\0" not in os.fsencode(root)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        reason = "it holds a zero byte, or half of a surrogate pair"
        raise InvalidConfiguration(f"the data folder {root!r} cannot be used: no file can have this name, {reason}")


def _make(root: str) -> None:
    if os.path.exists(root) and not os.path.isdir(root):
        raise InvalidConfiguration(why_no_store(root))
    if not os.path.isdir(root):
        os.makedirs(root, 0o700)
        disk.sync_folder_of(root)


def _check_ours(root: str) -> None:
    entries = os.listdir(root)
    if "FORMAT" not in entries and not _MEANS_EMPTY.issuperset(entries):
        if has_data(root):
            raise InvalidConfiguration(
                f"{root} holds data and has no file FORMAT: restore it, or run hbtable repair {root}"
            )
        raise InvalidConfiguration(
            f"{root} is not empty and no hbtable data folder (it has no file FORMAT): choose another one"
        )
    for path, what in of_wrong_kind(root).items():
        raise InvalidConfiguration(
            f"the data folder {root} cannot be used: {path} {what}; restore it, or run hbtable repair {root}"
        )


def _lock(root: str, lock: int | None, descriptor: int, kind: int) -> None:
    """`lock` None: there is no file LOCK, so no server has the folder, unless somebody removed it. `kind`: LOCK_EX or
    LOCK_SH."""
    try:
        if lock is not None:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # NFS locks no folders
    except BlockingIOError as error:
        if kind == fcntl.LOCK_EX and _is_shared(lock, descriptor):
            raise AlreadyExists(
                f"the data folder {root} is in use by somebody who only reads it, with hbtable check or "
                "hbtable.open(..., read_only=True): end that first"
            ) from error
        holder = _holder(lock, descriptor)
        way_out = "connect to it"
        if f"{OPENED}, {SHARED}" in holder:
            way_out = f"connect to it with hbtable.connect(folder={root!r})"
        elif UNSHARED in holder or holder == _NAMELESS:
            way_out = "share it as docs/manual/programs.md says"
        raise AlreadyExists(f"the data folder {root} is in use by {holder}: stop it, or {way_out}") from error


def _is_shared(lock: int | None, descriptor: int) -> bool:
    """Whether the owner of a folder lets others read it."""
    for one in (lock, descriptor):
        try:
            if one is not None:
                fcntl.flock(one, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # NFS locks no folders
    return True


def _free(descriptor: int) -> None:
    """Closing alone would free the flock, but in a program under gevent's patches os.close() may put off closing a
    folder until the program's hub turns, and the next open would find this one locked."""
    with contextlib.suppress(OSError):  # NFS locks no folders
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _holder(lock: int | None, descriptor: int) -> str:
    text = _text_of(lock) if lock is not None else ""
    said = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    pid, address, host = said.get("pid", ""), said.get("address", "none"), said.get("host", "")
    where = "" if address == "none" else f" ({address})"
    if (os.getpid(), id_of(os.fstat(descriptor))) in _HELD:
        return f"this process{where}"
    if not pid:
        return _NAMELESS
    if host in ("", socket.gethostname()) and said.get("pids", _pids()) == _pids():
        return f"process {pid}{where}"
    return f"process {pid} of {host}{where}, which is another container or machine"


def _pids() -> str:
    """The namespace of this process's pid: in two containers it is not the same."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "unknown"


def _written(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


def _text_of(descriptor: int) -> str:
    return os.pread(descriptor, 1000, 0).decode("utf-8", "replace")

"""Keeps the list of users: in a file of the data folder on one machine, in one of the lock service in a cluster.

`hbtable user` changes it while the server runs, so both are read again when they have changed, and changed by
compare-and-set or under a lock. Neither goes through the server: whoever may write there is trusted anyway.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.access.accounts import Accounts
from hbtable.errors import AlreadyExists, Conflict, FileNotFound, InvalidConfiguration, StorageFailed
from hbtable.fs.folder_rights import close_to_others
from hbtable.lockservice.interface import Session
from hbtable.runtime.private_files import check_private
from hbtable.switches import switches

USERS_PATH: Final = "/users"
"""In the lock service."""
USERS_FILE: Final = "users"
"""In the data folder."""
_LOCK_FILE: Final = "users.lock"
_LOCK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE: Final = 0o600
_LOOK_SECONDS: Final = 0.5


class AccountStore(Protocol):
    """Keeps the users."""

    @switches
    def read(self, latest: bool = False) -> Accounts:
        """*Switches.* As they are now, or unless they have to be the `latest`, half a second ago; nobody when nothing
        was ever written. Corruption, UnsupportedFormat, InvalidConfiguration, Unavailable."""

    @switches
    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        """*Switches.* Durable on return. `edit` may be called again, and its errors are raised."""


@final
class AccountFile:
    """Implements AccountStore in a folder of this machine."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, USERS_FILE)
        self._known = Accounts()
        self._known_as: tuple[int, ...] = ()
        """By which the file is told from another one."""

    @switches
    def read(self, latest: bool = False) -> Accounts:
        """A small file, and only when it has changed. Does not switch."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):  # no list, or no folder for one
            return Accounts()
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            status = os.fstat(descriptor)
            looks = (*status[:7], status.st_mtime_ns, status.st_ctime_ns)
            if looks != self._known_as:
                check_private(self._path, status, f"the list of users, {self._path}")
                self._known = Accounts.decode(_all_of(descriptor), self._path)
                self._known_as = looks
        except OSError as error:  # it is a folder, for one
            raise self._unreadable(error) from error
        finally:
            os.close(descriptor)
        return self._known

    @switches
    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        """Does not switch."""
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            close_to_others(self._folder)
            lock = os.open(os.path.join(self._folder, _LOCK_FILE), _LOCK_FLAGS, _MODE)
            _give_to_owner_of(self._folder, lock)
        except OSError as error:
            raise self._unreadable(error) from error
        with open(lock, "rb"):
            fcntl.flock(lock, fcntl.LOCK_EX)
            changed = edit(self.read()).encode()
            try:
                self._replace(changed)
            except OSError as error:
                raise StorageFailed(f"{self._path} cannot be written: {error.strerror}; it is as it was") from error

    def _replace(self, data: bytes) -> None:
        unfinished = f"{self._path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)  # of one who died here; the lock is ours
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        with open(descriptor, "wb") as file:
            _give_to_owner_of(self._folder, descriptor)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.rename(unfinished, self._path)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _unreadable(self, error: OSError) -> InvalidConfiguration:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        return InvalidConfiguration(f"the list of users, {self._path}, cannot be used: {why}")


@final
class AccountNode:
    """Implements AccountStore in the lock service of a cluster. With a `clock` it looks there twice a second at most:
    over HTTP each request asks."""

    def __init__(self, session: Session, clock: Callable[[], float] | None = None) -> None:
        self._session = session
        self._clock = clock
        self._known = Accounts()
        self._known_until = 0.0
        self._decoded = (b"", Accounts())

    @switches
    def read(self, latest: bool = False) -> Accounts:
        if self._clock is None:
            return self._look()
        now = self._clock()
        if latest or now >= self._known_until:
            self._known = self._look()
            self._known_until = now + _LOOK_SECONDS
        return self._known

    @switches
    def _look(self) -> Accounts:
        try:
            data = self._session.read(USERS_PATH, latest=True).data
        except FileNotFound:
            return Accounts()
        if data != self._decoded[0]:
            self._decoded = (data, Accounts.decode(data, USERS_PATH))
        return self._decoded[1]

    @switches
    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        while True:
            try:
                return self._try(edit)
            except Conflict:
                continue  # somebody else changed it at the same moment

    @switches
    def _try(self, edit: Callable[[Accounts], Accounts]) -> None:
        """Conflict: somebody else changed it meanwhile."""
        try:
            file = self._session.read(USERS_PATH)
        except FileNotFound:
            data = edit(Accounts()).encode()
            try:
                self._session.create(USERS_PATH, data)
            except AlreadyExists as error:
                raise Conflict("the list of users is being made by somebody else") from error
        else:
            changed = edit(Accounts.decode(file.data, USERS_PATH))
            self._session.write(USERS_PATH, changed.encode(), file.version)


def _give_to_owner_of(folder: str, descriptor: int) -> None:
    """So that root may change the list of a server that runs as somebody else. A file with another name as well may be
    one of root's, which the owner of the folder has linked there."""
    if os.geteuid() == 0 and os.fstat(descriptor).st_nlink == 1:
        owner = os.stat(folder)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _all_of(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)

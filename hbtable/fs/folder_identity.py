"""Says whether the path of a data folder still leads to the folder and the LOCK that a process has locked."""

import os
from typing import final

from hbtable.errors import LockLost


def check_same(root: str, ids: tuple[tuple[int, int], tuple[int, int] | None]) -> None:
    """`ids`: of the folder and its LOCK. LockLost when other ones are there now."""
    try:
        folder, lock = id_at(root), id_at(f"{root}/LOCK")
    except OSError:
        return  # nothing is known, as with too many open files
    if (folder, lock) == ids:
        return
    raise lost(root, "its file LOCK was removed or replaced" if folder == ids[0] else "it was moved or replaced")


def lost(root: str, what: str) -> LockLost:
    """The error for whoever has the folder. `what`: happened to it."""
    return LockLost(
        f"the data folder {root} is not this process's any more: {what} while it was in use. Another process may own "
        "what is there now: stop this server or close this database, and start or open the folder that counts"
    )


def id_at(path: str) -> tuple[int, int] | None:
    """None when nothing is there. OSError when that is not known."""
    try:
        return id_of(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def id_of(status: os.stat_result) -> tuple[int, int]:
    """Device and inode."""
    return status.st_dev, status.st_ino


@final
class InheritedFolder:
    """A data folder that this process's parent has locked, by the descriptors of that lock, which it inherited.
    The kernel frees the lock when the last process that has them is gone: while this one lives no other may have the
    folder, even if its parent has died."""

    def __init__(self, root: str, lock: int, folder: int) -> None:
        self.root = root
        self._ids = (id_of(os.fstat(folder)), id_of(os.fstat(lock)))
        for descriptor in (lock, folder):
            os.set_inheritable(descriptor, False)  # worker processes must not keep it

    def check_held(self) -> None:
        """As DataFolder.check_held, of the folder and its LOCK."""
        check_same(self.root, self._ids)

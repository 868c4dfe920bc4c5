"""Temporary folders that do not stay for ever when their process is killed: the next of the same kind removes them.

The process that made a folder holds a lock on it (flock), and so does each process to which it gives the descriptor;
the lock goes with the last of them, however they end. Whoever makes a folder removes those of his that nobody holds.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_HELD: Final = ".held"
"""At the end of the name of a folder that is locked as long as somebody uses it. Those of earlier versions are not."""
_TRIES: Final = 100


class TemporaryFolder(NamedTuple):
    """An open temporary folder. A process that inherits the descriptor (`pass_fds`) keeps the folder from being
    removed by others."""

    path: Path
    descriptor: int


@contextmanager
def temporary_folder(prefix: str) -> Iterator[TemporaryFolder]:
    """A new folder where tempfile makes them, until the with block ends. Before, those with this prefix are removed
    whose processes were killed. OSError."""
    remove_abandoned(prefix)
    folder = _made(prefix)
    try:
        yield folder
    finally:
        # A process that ends a little later may still write to it.
        shutil.rmtree(folder.path, ignore_errors=True)
        os.close(folder.descriptor)


def remove_abandoned(prefix: str) -> None:
    """Removes the folders with this prefix that nobody holds. One that cannot be removed stays."""
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).iterdir():
            if path.name.startswith(prefix) and path.name.endswith(_HELD):
                _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(descriptor)


def _made(prefix: str) -> TemporaryFolder:
    for _ in range(_TRIES):
        path = Path(tempfile.mkdtemp(_HELD, prefix))
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            if _is_held(path, descriptor):
                return TemporaryFolder(path, descriptor)
            os.close(descriptor)
    raise OSError(f"no folder in {tempfile.gettempdir()} could be locked")


def _is_held(path: Path, descriptor: int) -> bool:
    """False: another process found it before it was locked, and removes it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks, where nobody removes what he cannot lock
    return path.exists()

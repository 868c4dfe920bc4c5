"""SOCKET in a data folder: by it other processes of the same user reach the one that has the folder open and shares it.

Only the holder of the folder makes or removes it, so one that is found at an opening is what a killed process left. A
Unix socket's address has 107 bytes at most, and paths of folders may be longer; so on Linux it is spelled by way of a
descriptor of the folder, which also is the very folder that was opened, wherever it was moved.
"""

import contextlib
import os
import socket
from typing import Final

from hbtable.errors import StorageFailed, Unavailable

NAME: Final = "SOCKET"
_DESCRIPTORS: Final = "/proc/self/fd"


def bind_in(root: str, folder: int) -> socket.socket:
    """A socket to listen at, which only this user may connect to. `folder`: a descriptor of `root`. StorageFailed."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        remove_from(folder)
        bound.bind(_address(root, folder))
        os.chmod(NAME, 0o600, dir_fd=folder)  # nobody gets in before it listens
    except OSError as error:
        bound.close()
        reason = error.strerror or error
        raise StorageFailed(f"no Unix socket can be made in the data folder {root}: {reason}") from error
    return bound


def remove_from(folder: int) -> None:
    """`folder`: a descriptor of it. OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(NAME, dir_fd=folder)


def connect_to(root: str, timeout_seconds: float) -> socket.socket:
    """A connection to the process that shares the folder. Unavailable."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_seconds)
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            made.connect(_address(root, folder))
        finally:
            os.close(folder)
    except OSError as error:
        made.close()
        raise Unavailable(
            f"no process shares the data folder {root} ({error.strerror or error}): call db.share() in the one that "
            "has it open; a server of `hbtable start` is reached by its port; docs/manual/programs.md says more"
        ) from error
    return made


def _address(root: str, folder: int) -> str:
    return f"{_DESCRIPTORS}/{folder}/{NAME}" if os.path.isdir(_DESCRIPTORS) else f"{root}/{NAME}"

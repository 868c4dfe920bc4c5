"""The paths that the file system port accepts, and the translation of operating system errors into hbtable's.

A path has parts of [A-Za-z0-9._-] joined by "/", none of them "." or "..". The first part "unfinished" belongs to
the adapters, which write files there before they rename them into place.
"""

import errno
import re
from typing import Final

from hbtable.errors import FileNotFound, HbtableError, InvalidRequest, OutOfSpace, StorageFailed, Unavailable

UNFINISHED: Final = "unfinished"

_PATH: Final = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._-]+)*")
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


def check_path(path: str) -> None:
    """InvalidRequest when `path` is not a well-formed path of the port."""
    if _PATH.fullmatch(path) is None:
        raise InvalidRequest(f"{path!r} is no path of an hbtable file system: parts of [A-Za-z0-9._-] joined by /")


def write_error(error: OSError, path: str, doing: str) -> HbtableError:
    """The error that a failed write, sync or change of names means: OutOfSpace or StorageFailed."""
    if error.errno in NO_ROOM:
        return OutOfSpace(f"no room left while {doing} {path}: {error.strerror}; make room, then try again")
    return StorageFailed(
        f"{doing} {path} failed: {error.strerror or error}{_way_out(error)}; what was not synced counts as lost"
    )


def _way_out(error: OSError) -> str:
    return "; let this user do it, or run this as the one who owns it" if error.errno == errno.EACCES else ""


def read_error(error: OSError, path: str) -> HbtableError:
    """The error that a failed read means: FileNotFound or Unavailable."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
        return FileNotFound(f"there is no file {path}")
    return Unavailable(f"reading {path} failed: {error.strerror or error}{_way_out(error)}")

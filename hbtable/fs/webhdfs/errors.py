"""Translates Hadoop's refusals into our tree of errors."""

from typing import Final

from hbtable.errors import AlreadyExists, FileNotFound, HbtableError, OutOfSpace, Stalled, StorageFailed, Unavailable
from hbtable.fs.webhdfs.requests import HadoopError

_THERE: Final = frozenset(("FileAlreadyExistsException", "AlreadyBeingCreatedException"))
_ABSENT: Final = frozenset(("FileNotFoundException", "PathIsNotEmptyDirectoryException"))
_FULL: Final = ("QuotaExceeded", "DiskOutOfSpace", "No space left", "could only be written to 0 of", "replicated to 0 ")
_FORBIDDEN: Final = frozenset(("AccessControlException", "SecurityException", "AuthorizationException", "InvalidToken"))


def is_absent(error: HadoopError) -> bool:
    """Whether there is no such file. (A path that leads through a file is forbidden rather than absent.)"""
    return error.java_class in _ABSENT or (
        error.java_class in ("AccessControlException", "ParentNotDirectoryException")
        and "is not a directory" in error.message
    )


def exists_already(error: HadoopError) -> bool:
    return error.java_class in _THERE


def refused(error: HadoopError, path: str, doing: str) -> HbtableError:
    """The error of a refused call that the NameNode answers alone: what was refused was not done."""
    if exists_already(error):
        return AlreadyExists(f"{path} exists already")
    if is_absent(error):
        return FileNotFound(f"there is no file {path}")
    return _full(error, path, doing) or _forbidden(error, path, doing) or _failed(StorageFailed, error, path, doing)


def unread(error: HadoopError, path: str) -> HbtableError:
    """The error of a read: FileNotFound, or one worth another try."""
    if is_absent(error):
        return FileNotFound(f"there is no file {path}")
    return _failed(Unavailable, error, path, "reading")


def put_refused(error: HadoopError, path: str) -> HbtableError:
    """The error of a refused write of a new file's content, which a DataNode carries out: only "exists already" is
    certain to have left nothing."""
    if exists_already(error):
        return AlreadyExists(f"{path} exists already")
    return (
        _full(error, path, "writing") or _forbidden(error, path, "writing") or _failed(Stalled, error, path, "writing")
    )


def _full(error: HadoopError, path: str, doing: str) -> HbtableError | None:
    if any(sign in error.java_class or sign in error.message for sign in _FULL):
        return OutOfSpace(f"HDFS takes no more while {doing} {path}: {error.message}; make room, then try again")
    return None


def _forbidden(error: HadoopError, path: str, doing: str) -> HbtableError | None:
    if error.status == 401 and not error.java_class:
        return StorageFailed(
            f"{doing} {path} is not allowed: the NameNode asks who this is, and was not told. Where it wants a ticket "
            'of Kerberos, set webhdfs.sign_in (over hdfs:// hdfs.sign_in) to "kerberos"'
        )
    if error.java_class in _FORBIDDEN or error.status == 401:
        return StorageFailed(f"{doing} {path} is not allowed: {error.message}; give this user the right to it")
    return None


def _failed(kind: type[HbtableError], error: HadoopError, path: str, doing: str) -> HbtableError:
    return kind(f"{doing} {path} failed: {error.java_class or 'no answer of Hadoop'}: {error.message}")

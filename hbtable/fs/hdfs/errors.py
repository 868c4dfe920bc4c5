"""Translates the exceptions of hdfs-native into hbtable's.

FileNotFoundError and FileExistsError come as Python's own, with a Java stack trace as text. Everything else is a
RuntimeError, RPCError("the.java.Class", "message, stack trace") or DataTransferError("..."), or an OSError of a
socket: the Java class in the text says what it means.
"""

import re
from typing import Final

from hbtable.errors import (
    AlreadyExists,
    FileNotFound,
    HbtableError,
    OutOfSpace,
    Stalled,
    StorageFailed,
    Unavailable,
)

_REMOTE: Final = re.compile(r'RPCError\("([\w.$]+)", "(.*)"\)', re.DOTALL)
_TRACE: Final = re.compile(r"(\\n|\n)(\\t|\t)at .*", re.DOTALL)

_NO_ROOM: Final = (
    "DSQuotaExceededException",
    "NSQuotaExceededException",
    "QuotaExceededException",
    "MaxDirectoryItemsExceededException",
    "No space left on device",
    "could only be written to 0 of the",
)
_NOT_NOW: Final = (
    "SafeModeException",
    "StandbyException",
    "RetriableException",
    "ObserverRetryOnActiveException",
    "ServerTooBusyException",
    "RecoveryInProgressException",
)
_AWAY: Final = ("StandbyException", "SafeModeException", "RetriableException", "RPC listener disconnected")
_FORBIDDEN: Final = "AccessControlException"
_NO_FILE: Final = ("ParentNotDirectoryException", "PathIsNotEmptyDirectoryException")
_THROUGH_A_FILE: Final = "(is not a directory)"
"""Said of a path that has a file for a folder, by a NameNode that checks permissions."""
_SAME_HOLDER: Final = "is already the current lease holder"


class NotAllowed(StorageFailed):
    """HDFS refuses this user: no other DataNode and no other moment would help."""


def message(error: BaseException) -> str:
    """The error without its stack trace, with the last part of the Java class."""
    text = str(error)
    remote = _REMOTE.search(text)
    if remote is None:
        return _TRACE.sub("", text) or type(error).__name__
    return f"{remote[1].rpartition('.')[2]}: {_TRACE.sub('', remote[2])}"


def is_away(error: BaseException) -> bool:
    """No NameNode answered, or one that is not active, or not yet of any use: another one may be."""
    if isinstance(error, (FileNotFoundError, FileExistsError)):
        return False
    return isinstance(error, OSError) or any(word in str(error) for word in _AWAY)


def missing_parent(error: BaseException) -> bool:
    """A rename failed because the folder of the target is not there."""
    return isinstance(error, FileNotFoundError) and "destination parent" in str(error)


def is_a_folder(error: BaseException) -> bool:
    """A rename failed because its target is a folder."""
    return "must both be directories" in str(error)


def translated(error: Exception, path: str, doing: str, writes: bool) -> HbtableError:
    """`doing`: "creating", say, for the message."""
    if isinstance(error, HbtableError):
        if isinstance(error, Stalled) and not writes:
            return Unavailable(f"{doing} {path}: {error}")
        return error
    if isinstance(error, FileNotFoundError):
        return FileNotFound(f"there is no file {path}")
    text = str(error)
    if isinstance(error, FileExistsError):
        if _SAME_HOLDER in text:
            # The adapter refuses paths it has open itself, so it was an earlier try of this very call.
            return Stalled(f"{doing} {path}: an earlier try was applied, its answer lost")
        return AlreadyExists(f"{path} exists already")
    if any(word in text for word in _NO_ROOM):
        return OutOfSpace(f"no room left while {doing} {path}: {message(error)}; make room, then try again")
    if any(word in text for word in _NOT_NOW):
        return Unavailable(f"{doing} {path} is not possible now: {message(error)}")
    if not writes:
        if any(word in text for word in _NO_FILE) or (_FORBIDDEN in text and _THROUGH_A_FILE in text):
            return FileNotFound(f"there is no file {path}")
        return Unavailable(f"{doing} {path} failed: {message(error)}")
    if _FORBIDDEN in text:
        return NotAllowed(f"{doing} {path} is not allowed: {message(error)}; give this user the right to it")
    return StorageFailed(f"{doing} {path} failed: {message(error)}; what was not synced counts as lost")


def sync_error(error: Exception, path: str) -> HbtableError:
    """Whatever became of a writer's pipeline or lease, its file is given up: Stalled, but OutOfSpace for no room."""
    known = translated(error, path, "syncing", writes=True)
    if isinstance(known, (OutOfSpace, Stalled)):
        return known
    return Stalled(f"syncing {path} failed: {message(error)}; the file is given up")

"""Every error of hbtable, in one tree, classified by what the receiver does next.

    InvalidRequest   the caller's mistake: never retry, show the message
    NotFound         the thing named is not there          AlreadyExists  it already is
    StaleLocation    ask METADATA again, then retry         Unavailable    retry later, nothing was applied
    OutcomeUnknown   it may have been applied: do not retry blindly
    MoveFailed       a tablet is not where it was to go, and was away for it
    Corruption       stop using this file                   LockLost       stop this process
    DataDamaged      of these rows; the others are served
    TabletWithheld   the same, by an operator's word

Foreign exceptions (OSError, kazoo's, requests') are translated in the adapter that meets them.
Messages are one clear sentence that names table, row, family or limit, and the way out.
"""

from collections.abc import Iterable


class HbtableError(Exception):
    """Root of the tree. `str(error)` is a message fit for a user."""

    def __reduce__(self) -> tuple[object, ...]:
        """Errors with arguments of their own are pickled, too: by what they hold, not by a second call of __init__,
        which Exception would give the message alone."""
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[HbtableError], arguments: tuple[object, ...], holds: dict[str, object]) -> HbtableError:
    error = kind.__new__(kind, *arguments)
    vars(error).update(holds)
    return error


def class_names(error: HbtableError) -> list[str]:
    """The class of the error and its ancestors up to HbtableError, nearest first: what another process is told."""
    return [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, HbtableError)]


def nearest_class(names: Iterable[str]) -> type[HbtableError]:
    """The first of class_names() that is known here. A class of a newer hbtable becomes its nearest known ancestor:
    what the receiver does next follows from that one."""
    known = (globals().get(name) for name in names)
    return next((kind for kind in known if isinstance(kind, type) and issubclass(kind, HbtableError)), HbtableError)


# ---------------------------------------------------------------- the caller's mistake


class InvalidRequest(HbtableError):
    """The request can never succeed as it stands: a bad name, row, column, timestamp or argument."""


class WrongType(InvalidRequest, TypeError):
    """An argument of the library has a type that it cannot have; Python and happybase say TypeError."""


class WrongValue(InvalidRequest, ValueError):
    """An argument of the library has the right type and an impossible value; Python and happybase say ValueError."""


class NoSuchFamily(InvalidRequest):
    """A column names a family that the table does not have."""


class NotACounter(InvalidRequest):
    """An increment met a cell that is not 8 bytes wide."""


class LimitExceeded(InvalidRequest):
    """A row key, cell or message is larger than the configured limit."""


class CostExceeded(LimitExceeded):
    """A request takes longer, or looks at more bytes or cells, than one may: others of the same rows may not."""


class SpaceLimitReached(InvalidRequest):
    """A table holds more than its limit of space allows, and what was asked for would add to it, or is forbidden until
    it holds less."""


class BadFilter(InvalidRequest):
    """A filter string cannot be understood. `position` is the byte offset of the offence, -1 if unknown."""

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message)
        self.position = position


class TableNotEnabled(InvalidRequest):
    """The operation needs an enabled table."""


class TableNotDisabled(InvalidRequest):
    """The operation needs a disabled table."""


class SwitchedOff(InvalidRequest):
    """An operator has forbidden it until further notice."""


class NotSupported(InvalidRequest):
    """The server cannot do that: it is of an earlier version, or a package that it takes is not installed there."""


class AccessDenied(InvalidRequest):
    """Whoever calls may not do that. Nothing was done, and the message says nothing of what is stored."""


class NotAuthenticated(InvalidRequest):
    """A client did not prove to be the user that it says it is."""


class InvalidConfiguration(InvalidRequest):
    """A configuration key or value is unknown or out of range."""


# ---------------------------------------------------------------- is there, is not there


class NotFound(HbtableError):
    """The thing named does not exist."""


class TableNotFound(NotFound):
    """No table has this name."""


class NamespaceNotFound(NotFound):
    """No namespace has this name."""


class ScannerNotFound(NotFound):
    """The scanner id was never given out, was closed, or expired."""


class FileNotFound(NotFound):
    """A file system or lock service path does not exist."""


class AlreadyExists(HbtableError):
    """The thing to be created is already there."""


class TableExists(AlreadyExists):
    """A table of this name exists."""


class Conflict(AlreadyExists):
    """A compare-and-set found another value or version than the expected one; nothing was changed."""


# ---------------------------------------------------------------- retry


class StaleLocation(HbtableError):
    """This server does not serve that tablet (any more): look the row up again, then retry. Nothing was applied."""


class ServerLost(StaleLocation):
    """The server gave no answer to a call that may be repeated: it may have died of it, or of anything else."""


class Unavailable(HbtableError):
    """Not now: overloaded, starting, draining, log unable to accept writes. Nothing was applied; retry later."""


class Overloaded(Unavailable):
    """Too many requests wait already: this one was not begun. The same server may take it a moment later."""


class Throttled(Unavailable):
    """A quota is used up for now: the call was not begun. The message says when it is worth another try."""


class OutOfSpace(Unavailable):
    """The file system has no room: the write was refused or not acknowledged. Reads go on."""


class MemoryDamaged(Unavailable):
    """Bytes of a write changed in this process's memory. Nothing of them was stored, and what the log has of them is
    sound: sent again, or recovered from the log, they are right."""


class OutcomeUnknown(HbtableError):
    """The operation may or may not have been applied; only the caller can decide whether to repeat it."""

    no_answer = False
    """Nothing was heard, so whoever was asked may be at it still. For the process that asked: it is not sent on."""


def no_answer(message: str) -> OutcomeUnknown:
    """The connection broke, or time ran out."""
    error = OutcomeUnknown(message)
    error.no_answer = True
    return error


class MoveFailed(HbtableError):
    """A tablet was taken from its server, and the one that was to have it could not load it. Another one has it, or
    will; asked again, it would be taken away again."""


# ---------------------------------------------------------------- stop


class Corruption(HbtableError):
    """Bytes on disk or on the wire do not check. Stop using `path`."""

    def __init__(self, path: str, offset: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at byte {offset}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason


class DataDamaged(Corruption):
    """Rows that cannot be answered for, because a file that may hold something of them is damaged or gone. Asking again
    changes nothing; all other rows are served. `first_row` and `stop_row` are a half-open range, b"" without a bound;
    `reason` says which tablet, which rows and what to do."""

    def __init__(self, path: str, offset: int, reason: str, first_row: bytes = b"", stop_row: bytes = b"") -> None:
        super().__init__(path, offset, reason)
        self.first_row = first_row
        self.stop_row = stop_row


class TabletWithheld(DataDamaged):
    """Rows of a tablet that an operator has withheld, in a repair. `reason` is all of the message."""

    def __init__(self, path: str, offset: int, reason: str, first_row: bytes = b"", stop_row: bytes = b"") -> None:
        super().__init__(path, offset, reason, first_row, stop_row)
        self.args = (reason,)


class UnsupportedFormat(HbtableError):
    """A file was written by a newer hbtable; this one must not touch it."""

    @staticmethod
    def unknown(path: str, what: str, found: object, known: object) -> "UnsupportedFormat":
        """The error for sound bytes at `path` that have a `what` of which this hbtable knows nothing."""
        return UnsupportedFormat(
            f"{path} has the {what} {found!r} and was written by a newer hbtable; this one knows {known}: use the "
            "newer one"
        )


class UnknownCall(UnsupportedFormat):
    """The role that was called is of an older release and does not know the call. Nothing was done."""


class LockLost(HbtableError):
    """The lock that allowed this process to act is gone: stop the process."""


class StorageFailed(HbtableError):
    """A write or fsync failed in a way after which the file's content is unknown; the log stops acknowledging."""


class Stalled(StorageFailed):
    """A call to a remote file system did not end in its time, or the file's writers were lost. Whether it took effect
    is unknown; the file is given up, and another one may be written in its place."""

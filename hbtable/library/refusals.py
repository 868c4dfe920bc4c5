"""Answers of a server that are errors, as hbtable's own: by the Java class that HBase's clients are told, and where one
class says too little, by the message."""

from typing import Final

from hbtable import errors
from hbtable.errors import HbtableError
from hbtable.hbase.errors import DO_NOT_RETRY, HBASE, ILLEGAL, PLAIN
from hbtable.shell.errors import BrokenOff, CannotConnect, OutOfRange, ServerError, ShellError

_KINDS: Final[dict[str, type[HbtableError]]] = {
    ILLEGAL: errors.InvalidRequest,
    PLAIN: errors.Unavailable,
    HBASE + "CallQueueTooBigException": errors.Overloaded,
    HBASE + "NamespaceExistException": errors.AlreadyExists,
    HBASE + "NamespaceNotFoundException": errors.NamespaceNotFound,
    HBASE + "NotServingRegionException": errors.Unavailable,
    HBASE + "TableExistsException": errors.TableExists,
    HBASE + "TableNotDisabledException": errors.TableNotDisabled,
    HBASE + "TableNotEnabledException": errors.TableNotEnabled,
    HBASE + "TableNotFoundException": errors.TableNotFound,
    HBASE + "constraint.ConstraintException": errors.InvalidRequest,
    HBASE + "quotas.RpcThrottlingException": errors.Throttled,
    HBASE + "quotas.SpaceLimitingException": errors.SpaceLimitReached,
    HBASE + "security.AccessDeniedException": errors.AccessDenied,
    HBASE + "regionserver.NoSuchColumnFamilyException": errors.NoSuchFamily,
    "": errors.InvalidRequest,  # Thrift's own: an unknown method, a message that is too large
}

_BY_MESSAGE: Final[tuple[tuple[str, str, type[HbtableError]], ...]] = (
    (DO_NOT_RETRY, "Field is not a long", errors.NotACounter),
    (DO_NOT_RETRY, "KeyValue size too large", errors.LimitExceeded),
    (ILLEGAL, "KeyValue size too large", errors.LimitExceeded),
    (ILLEGAL, "Row length", errors.LimitExceeded),
    (PLAIN, "was changed by someone else", errors.Conflict),
    (PLAIN, "read the schema again", errors.Conflict),
    (PLAIN, "The same puts may be sent again", errors.OutcomeUnknown),
)
"""Class, a part of the message, and the error. Each is told by the server in one place only."""


def translated(error: ShellError, changes_nothing: bool = False) -> HbtableError:
    """`changes_nothing`: the call only reads. Of an unknown class it is HbtableError itself: whoever calls cannot know
    whether it was carried out."""
    message = str(error)
    if isinstance(error, BrokenOff) and not changes_nothing:
        return errors.OutcomeUnknown(f"{message}; what was to be changed may have been")
    if isinstance(error, CannotConnect):
        return errors.Unavailable(message)
    if isinstance(error, OutOfRange):
        return errors.WrongValue(message)
    if not isinstance(error, ServerError):
        return HbtableError(message)
    return _told(errors.nearest_class(error.classes) if error.classes else HbtableError, error)


def _told(kind: type[HbtableError], error: ServerError) -> HbtableError:
    """An error of this class; where the server did not tell it, as one of an earlier version does not, of that which
    follows from Java's."""
    message = str(error)
    if kind is HbtableError and error.classes[:1] != (HbtableError.__name__,):
        kind = _KINDS.get(error.java_class, HbtableError)
        for java_class, part, named in _BY_MESSAGE:
            if error.java_class == java_class and part in message:
                kind = named
    if not issubclass(kind, errors.Corruption):
        return kind(message)
    damaged = kind("", -1, message)
    damaged.args = (message,)  # the server's sentence says which file and which byte
    return damaged

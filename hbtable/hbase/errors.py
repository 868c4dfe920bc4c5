"""hbtable's errors as HBase's declared exceptions: `fully.qualified.JavaClass: one message`.

Clients look for the class at the start of the first line and at canRetry. A refused argument is IllegalArgument where
the method declares it, else an IOError whose first line says java.lang.IllegalArgumentException and canRetry = false.
"""

from typing import Final, NamedTuple

from hbtable import errors
from hbtable.errors import HbtableError

HBASE: Final = "org.apache.hadoop.hbase."
ILLEGAL: Final = "java.lang.IllegalArgumentException"
PLAIN: Final = "java.io.IOException"
DO_NOT_RETRY: Final = HBASE + "DoNotRetryIOException"
TURNED_OUT: Final = (
    "this idle connection was closed to make room for another client: the server takes {most} connections at a time "
    "(thrift.connections), and {host} held most of them. Connect again"
)


_KNOWN: Final[dict[type[HbtableError], tuple[str, bool] | None]] = {}
"""Java classes by class of error, as _java_class() has found them."""


class BadArgument(errors.InvalidRequest):
    """An argument can never be right. `bare`: the text goes out without a Java class in front (as HBase sends it)."""

    def __init__(self, message: str, bare: bool = False) -> None:
        super().__init__(message)
        self.bare = bare


class TooLongArgument(BadArgument, errors.LimitExceeded):
    """An argument is longer than it may be."""


class PutsUnknown(errors.OutcomeUnknown):
    """The outcome of puts alone is unknown, and they may be sent again (unknown_puts.py)."""


class JavaError(HbtableError):
    """An error whose Java class is known where it is raised."""

    def __init__(self, java_class: str, message: str, can_retry: bool = False) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.can_retry = can_retry


SCANNER_INVALID: Final = "scanner ID is invalid"
NAME_IN_USE: Final = "table name already in use"


class Declared(NamedTuple):
    """An exception as it goes out: `field` is "io", "ia" or "exist"; `classes` as errors.class_names() has them."""

    field: str
    message: str
    can_retry: bool
    classes: list[str] | None = None


_CLASSES: Final[tuple[tuple[type[HbtableError], str, bool], ...]] = (
    (errors.NoSuchFamily, HBASE + "regionserver.NoSuchColumnFamilyException", False),
    (errors.NotACounter, DO_NOT_RETRY, False),
    (errors.SwitchedOff, DO_NOT_RETRY, False),
    (errors.SpaceLimitReached, HBASE + "quotas.SpaceLimitingException", False),
    (errors.AccessDenied, HBASE + "security.AccessDeniedException", False),
    (errors.NotAuthenticated, HBASE + "security.AccessDeniedException", False),
    (errors.TableNotEnabled, HBASE + "TableNotEnabledException", False),
    (errors.TableNotDisabled, HBASE + "TableNotDisabledException", False),
    (errors.TableNotFound, HBASE + "TableNotFoundException", False),
    (errors.NamespaceNotFound, HBASE + "NamespaceNotFoundException", False),
    (errors.TableExists, HBASE + "TableExistsException", False),
    (errors.StaleLocation, HBASE + "NotServingRegionException", True),
    (errors.Overloaded, HBASE + "CallQueueTooBigException", True),
    (errors.Throttled, HBASE + "quotas.RpcThrottlingException", True),
    (errors.OutOfSpace, PLAIN, True),
    (errors.Unavailable, PLAIN, True),
    (errors.Conflict, PLAIN, True),
    (errors.AlreadyExists, HBASE + "NamespaceExistException", False),
    (PutsUnknown, PLAIN, True),
    (errors.OutcomeUnknown, DO_NOT_RETRY, False),
    (errors.MoveFailed, DO_NOT_RETRY, False),
    (errors.Corruption, DO_NOT_RETRY, False),
    (errors.StorageFailed, DO_NOT_RETRY, False),
    (errors.LockLost, PLAIN, True),
    (errors.UnsupportedFormat, DO_NOT_RETRY, False),
)
"""The first that fits; subclasses before their parents."""


def declared(error: HbtableError, declares: dict[str, int]) -> Declared:
    """`declares` are the exceptions of the method (interface.ThriftMethod.declares); every data method has "io"."""
    return _in_java(error, declares)._replace(classes=errors.class_names(error))


def _in_java(error: HbtableError, declares: dict[str, int]) -> Declared:
    if isinstance(error, errors.ScannerNotFound):
        return _illegal(SCANNER_INVALID, declares, bare=True)
    if isinstance(error, errors.TableExists) and "exist" in declares:
        return Declared("exist", NAME_IN_USE, False)
    if isinstance(error, JavaError):
        return Declared("io", f"{error.java_class}: {error}", error.can_retry)
    if isinstance(error, BadArgument):
        return _illegal(str(error), declares, error.bare)
    known = _java_class(type(error))
    if known is not None:
        return Declared("io", f"{known[0]}: {error}", known[1])
    if isinstance(error, errors.InvalidRequest):
        return _illegal(str(error), declares)
    return Declared("io", f"{PLAIN}: {error}", True)


def _java_class(kind: type[HbtableError]) -> tuple[str, bool] | None:
    """(its name, whether the client may try again)"""
    if kind not in _KNOWN:
        _KNOWN[kind] = next(((name, can_retry) for of, name, can_retry in _CLASSES if issubclass(kind, of)), None)
    return _KNOWN[kind]


def too_large(message: str) -> Declared:
    """The error of a request that is longer than this port takes."""
    return Declared("io", f"{DO_NOT_RETRY}: {message}", False, errors.class_names(errors.LimitExceeded()))


def internal(error: BaseException) -> Declared:
    """A fault of ours: the caller can do nothing, and the log has the trace."""
    kind = type(error).__name__
    return Declared("io", f"{DO_NOT_RETRY}: internal error of the server ({kind}); its log tells where", False)


def _illegal(message: str, declares: dict[str, int], bare: bool = False) -> Declared:
    if "ia" in declares:
        return Declared("ia", message if bare else f"{ILLEGAL}: {message}", False)
    return Declared("io", f"{ILLEGAL}: {message}", False)

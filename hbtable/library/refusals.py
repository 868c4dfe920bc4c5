"""Errors as callers of the library get them: a server's answers as hbtable's own, by the Java class that clients of
HBase are told, and where that says too little, by the message; and whole sentences where HBase says a word or two."""

import copy
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from hbtable import errors
from hbtable.errors import HbtableError
from hbtable.hbase.errors import DO_NOT_RETRY, HBASE, ILLEGAL, PLAIN
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.shell.errors import BrokenOff, CannotConnect, NotLetIn, OutOfRange, ServerError, ShellError, WrongOption

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
    (PLAIN, "table does not exist", errors.TableNotFound),
    (PLAIN, "was changed by someone else", errors.Conflict),
    (PLAIN, "read the schema again", errors.Conflict),
    (PLAIN, "The same puts may be sent again", errors.OutcomeUnknown),
)
"""Class, a part of the message, and the error. Each is told by the server in one place only."""


_BOUNDS: Final = f"a row key has 1 to {MAX_ROW_BYTES:,} bytes"
_MESSAGES: Final[tuple[tuple[type[HbtableError], re.Pattern[str], str], ...]] = (
    (errors.TableNotFound, re.compile(r"(\S+)"), "there is no table {}; tables() has the names of all"),
    (
        errors.TableNotDisabled,
        re.compile(r"(\S+)"),
        "table {} is enabled, and has to be disabled for this: call disable_table() first",
    ),
    (
        errors.TableNotEnabled,
        re.compile(r"(\S+) is disabled\."),
        "table {} is disabled, and has to be enabled for this: call enable_table() first",
    ),
    (errors.InvalidRequest, re.compile("Row length is 0"), f"the row is empty: {_BOUNDS}"),
    (errors.LimitExceeded, re.compile(r"Row length (\d+) is > \d+"), f"the row is {{}} bytes long: {_BOUNDS}"),
)
"""For texts of a word or two, which clients of HBase look for."""


def spelled_out(error: HbtableError) -> HbtableError:
    """The same error for people who call the library: it says what was wrong, and what to do."""
    for kind, pattern, message in _MESSAGES:
        found = pattern.fullmatch(str(error)) if isinstance(error, kind) else None
        if found:
            return type(error)(message.format(*found.groups()))
    return error


def of_one_part(error: HbtableError, parts: Sequence[AbstractSet[bytes]], number: int, ways: str) -> HbtableError:
    """The error of a batch of which the part with this number ended with `error`, and those behind it were not sent.
    `parts`: the rows of each. `ways`: what the parts do, with a place for how many there are."""
    before, behind = set[bytes]().union(*parts[:number]), set[bytes]().union(*parts[number + 1 :])
    mine = parts[number]
    told = copy.copy(error)
    told.args = (
        f"{error}; this was for {len(mine)} of the {len(before | mine | behind)} rows of the batch, which "
        f"{ways.format(len(parts))}: {len(before - mine)} others were written before, and "
        f"{len(behind - before - mine)} were not sent",
    )
    told.__cause__ = error.__cause__
    return told


def translated(error: ShellError, changes_nothing: bool = False) -> HbtableError:
    """`changes_nothing`: the call only reads. Of an unknown class it is HbtableError itself: whoever calls cannot know
    whether it was carried out."""
    message = str(error)
    if isinstance(error, BrokenOff) and not changes_nothing:
        return errors.OutcomeUnknown(f"{message}; what was to be changed may have been")
    if isinstance(error, NotLetIn):
        return errors.NotAuthenticated(message)
    if isinstance(error, CannotConnect):
        return errors.Unavailable(message)
    if isinstance(error, WrongOption):
        return errors.InvalidRequest(message)
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

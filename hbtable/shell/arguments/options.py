"""The hashes that get, scan and count take, read into what is asked of the server and how answers are shown.

Unknown keys of scan are ignored, those of get refused, as HBase does; see reading.py for the calls.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, NamedTuple

from hbtable.hbase.admin.structs import AdminColumn, AdminRead
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.ranges import prefix_stop
from hbtable.shell.answers import text
from hbtable.shell.arguments import columns
from hbtable.shell.arguments.columns import Column, Formatter
from hbtable.shell.context import text_of
from hbtable.shell.errors import ArgumentError, ArgumentTypeError, OutOfRange, ServerError
from hbtable.shell.language.literals import Value, class_of, inspect, shown

Given = dict[Value, Value]
_ILLEGAL: Final = "java.lang.IllegalArgumentException"
_BESIDE_COLUMNS: Final = (
    b"MAXLENGTH", b"FILTER", b"ATTRIBUTES", b"AUTHORIZATIONS", b"CONSISTENCY", b"REGION_REPLICA_ID", b"FORMATTER",
    b"FORMATTER_CLASS",
)  # fmt: skip
"""Options of get that say nothing about which cells: they may stand alone."""


_SUFFICIENT: Final = frozenset((b"TIMESTAMP", b"TIMERANGE", b"ATTRIBUTES", b"AUTHORIZATIONS"))
"""With one of these get takes other options without columns."""


@dataclass(slots=True)
class Showing:
    """The format of cells. `by_column`: formatters given with a column's name."""

    formatter: Formatter = text.binary
    by_column: dict[bytes, Formatter] = field(default_factory=dict)
    max_length: int = -1
    plain: bool = True
    """Nothing of the above was asked for."""


class RowsOfPrefix(NamedTuple):
    """ROWPREFIXFILTER of hbtable's own commands: the rows that begin so, in either direction. That of the language
    gives no rows with REVERSED, and passes over STARTROW and STOPROW, as in HBase."""

    row: bytes


@dataclass(slots=True)
class ScanOptions:
    """One scan. `start` and `stop` are in scan direction; with a `prefix` they do not count."""

    read: AdminRead
    showing: Showing
    start: bytes = b""
    stop: bytes = b""
    prefix: bytes | None = None
    reversed: bool = False
    limit: int = -1
    batch: int = 0
    page_rows: int = 1000
    metrics: list[str] | None = None
    """Names to show, [] for all; None: no metrics."""


def whole(value: Value, what: str) -> int:
    if isinstance(value, bytes) and value.lstrip(b"-").isdigit():
        value = int(value)
    if isinstance(value, float) and isfinite(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"{what} must be a whole number, not {inspect(value)} ({class_of(value)})")
    if not -(2**63) <= value < 2**63:
        error = OutOfRange("bignum too big to convert into `long'")
        error.advice = f"{what} is {value}"
        raise error
    return value


def truth(value: Value) -> bool:
    return value not in (None, False, b"false", b"FALSE")


_NAMES: Final = {
    b"CONSISTENCY": ("Consistency", (b"STRONG", b"TIMELINE")),
    b"ISOLATION_LEVEL": ("IsolationLevel", (b"READ_COMMITTED", b"READ_UNCOMMITTED")),
    b"READ_TYPE": ("Scan.ReadType", (b"DEFAULT", b"STREAM", b"PREAD")),
}


def check_attributes(given: Given) -> None:
    """Refuses what HBase refuses of options that change nothing here."""
    if given.get(b"ATTRIBUTES") is not None and not isinstance(given[b"ATTRIBUTES"], dict):
        raise ArgumentError("Attributes must be a Hash type")
    if given.get(b"AUTHORIZATIONS") is not None and not isinstance(given[b"AUTHORIZATIONS"], list):
        raise ArgumentError("Authorizations must be a Array type")
    for key, (kind, known) in _NAMES.items():
        value = given.get(key)
        if value is not None and value not in known:
            raise no_such_constant(f"client.{kind}", value, known)


def no_such_constant(kind: str, value: Value, known: Iterable[bytes]) -> ServerError:
    """The error in Java's words, with what could be said instead."""
    return ServerError(
        _ILLEGAL,
        f"No enum constant org.apache.hadoop.hbase.{kind}.{shown(value)}",
        f"it is one of {', '.join(name.decode() for name in known)}",
    )


def get_options(arguments: list[Value]) -> tuple[AdminRead, Showing]:
    """The options in what follows the row in `get`."""
    written = _get_hash(arguments)
    given = {key: value for key, value in written.items() if value is not None}
    showing = _showing(given)
    filter_text = _filter(given)
    check_attributes(given)
    rest = {key: value for key, value in written.items() if key not in _BESIDE_COLUMNS}
    asked = given.get(b"COLUMN", given.get(b"COLUMNS"))
    if rest and asked is None and not given.keys() & _SUFFICIENT:
        raise ArgumentError(f"Failed parse of {inspect(rest)}, Hash")
    if asked is not None and not isinstance(asked, (bytes, list)):
        raise ArgumentError(f"Failed parse column argument type {inspect(rest)}, Hash")
    low, high = _times(given)
    versions = whole(given.get(b"VERSIONS", 1), "VERSIONS")
    if versions < 1:
        raise ServerError(_ILLEGAL, "versions must be positive")
    return AdminRead(_columns(asked, showing), low, high, versions, filter_text), showing


def _get_hash(arguments: list[Value]) -> Given:
    if len(arguments) == 1 and isinstance(arguments[0], dict):
        return dict(arguments[0])
    names: list[Value] = []
    for argument in arguments:
        if isinstance(argument, dict):  # HBase takes it for a column's name
            raise ArgumentError("get takes names of columns or one hash of options, not both: {COLUMN => ...}")
        names += argument if isinstance(argument, list) else [argument]
    names = [name for name in names if name is not None]
    return {b"COLUMN": names} if names else {}


def scan_options(given: Given) -> ScanOptions:
    given = {key: value for key, value in given.items() if value is not None}
    check_attributes(given)
    showing = _showing(given)
    asked = given.get(b"COLUMNS", given.get(b"COLUMN"))
    if asked is not None and not isinstance(asked, (bytes, list)):
        raise ArgumentError("COLUMNS must be specified as a String or an Array")
    low, high = _times(given)
    versions = whole(given.get(b"VERSIONS", 1), "VERSIONS")
    wanted = _columns(asked, showing)
    raw, cached = truth(given.get(b"RAW")), truth(given.get(b"CACHE_BLOCKS", True))
    read = AdminRead(wanted, low, high, max(versions, 1), _filter(given), cached, raw)
    options = ScanOptions(read, showing, reversed=truth(given.get(b"REVERSED")))
    options.start = _row(given, b"STARTROW")
    options.stop = _row(given, b"STOPROW")
    if isinstance(prefix := given.get(b"ROWPREFIXFILTER"), RowsOfPrefix):
        options.prefix = prefix.row
    elif b"ROWPREFIXFILTER" in given:
        options.start = _row(given, b"ROWPREFIXFILTER")
        options.stop = prefix_stop(options.start)
    options.limit = whole(given.get(b"LIMIT", -1), "LIMIT")
    options.batch = max(whole(given.get(b"BATCH", 0), "BATCH"), 0)
    if b"CACHE" in given:
        options.page_rows = max(whole(given[b"CACHE"], "CACHE"), 1)
    if truth(given.get(b"ALL_METRICS")) or b"METRICS" in given:
        names = given.get(b"METRICS")
        names = [names] if isinstance(names, bytes) else names
        options.metrics = [text.binary(text_of(name, "a metric")) for name in names] if isinstance(names, list) else []
    return options


def _row(given: Given, key: bytes) -> bytes:
    value = given.get(key)
    return b"" if value is None else text_of(value, key.decode())


def _filter(given: Given) -> bytes | None:
    value = given.get(b"FILTER")
    if value is None:
        return None
    text_given = text_of(value, "FILTER, a text of the filter language such as \"PrefixFilter('a')\",")
    if not text_given:
        raise ServerError(_ILLEGAL, "Incorrect Filter String")
    return text_given


def _times(given: Given) -> tuple[int, int]:
    if b"TIMESTAMP" in given:
        at = whole(given[b"TIMESTAMP"], "TIMESTAMP")
        if at < 0:
            raise ServerError(_ILLEGAL, f"invalid ts:{at}")
        return at, at + 1
    span = given.get(b"TIMERANGE")
    if span is None:
        return 0, MAX_TIMESTAMP
    if not isinstance(span, list) or not span:
        raise ArgumentError(f"TIMERANGE is [from, to), not {inspect(span)}")
    low = whole(span[0], "TIMERANGE")
    high = whole(span[1], "TIMERANGE") if len(span) > 1 and span[1] is not None else 0
    if low < 0 or high < 0:
        raise ServerError(_ILLEGAL, f"Timestamp cannot be negative. minStamp:{low}, maxStamp:{high}")
    if high < low:
        raise ServerError(_ILLEGAL, "maxStamp is smaller than minStamp")
    return low, high


def _columns(asked: Value, showing: Showing) -> list[AdminColumn] | None:
    if asked is None or asked == []:
        return None
    parsed: list[Column] = columns.parse_all(asked)
    for column in parsed:
        if column.formatter is not None:
            showing.by_column[column.family + b":" + (column.qualifier or b"")] = column.formatter
            showing.plain = False
    return [column.wanted() for column in _in_effect(parsed)]


def _in_effect(parsed: list[Column]) -> list[Column]:
    """A column that comes after its whole family narrows it, a family after its columns widens them: HBase keeps what
    was said last."""
    kept: list[Column] = []
    for column in parsed:
        narrow = column.qualifier is not None
        kept = [one for one in kept if one.family != column.family or (narrow and one.qualifier is not None)]
        kept.append(column)
    return kept


def _showing(given: Given) -> Showing:
    showing = Showing()
    if b"FORMATTER" in given:
        showing.formatter = columns.named(given[b"FORMATTER"])
        showing.plain = False
    if b"FORMATTER_CLASS" in given:
        java_class = text_of(given[b"FORMATTER_CLASS"], "FORMATTER_CLASS").decode("utf-8", "replace")
        if not columns.is_known_class(java_class):
            showing.formatter = columns.no_such_class(java_class)
            showing.plain = False
    if b"MAXLENGTH" in given:
        showing.max_length = whole(given[b"MAXLENGTH"], "MAXLENGTH")
        showing.plain = False
    return showing

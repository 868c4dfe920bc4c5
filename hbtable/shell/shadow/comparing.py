"""Two answers to one call, compared: each difference is of one cell, one row or one error, and says where it is.

What differs by nature is left out: IGNORED.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from hbtable.shell.connection import server_error
from hbtable.shell.shadow.calls import Cells, Touch
from hbtable.shell.shadow.wire import Answer, failure

IGNORED: Final = {
    "getColumnDescriptors": ("bloomFilterVectorSize", "bloomFilterNbHashes"),
    "getTableRegions": ("startKey", "endKey", "id", "name", "version", "serverName", "port"),
    "every scanner": ("id",),
}
"""Fields that say where and how a server keeps a table, and not what is in it. Of regions it counts that there are
some."""

SameTime = Callable[[bytes, bytes, int, int], bool]
"""Takes table, row and two times."""


class Difference(NamedTuple):
    """`kind` is a word for reports. `row` and `column` None: not of one. The smaller `size`, the better an example."""

    kind: str
    primary: object
    secondary: object
    table: bytes = b""
    row: bytes | None = None
    column: bytes | None = None

    def size(self) -> int:
        return sum(len(repr(part)) for part in self)


class Cell(NamedTuple):
    """A cell in an example."""

    value: bytes
    timestamp: int


def compare(name: str, touch: Touch, primary: Answer, secondary: Answer, same_time: SameTime) -> Iterator[Difference]:
    """Of all calls but those of scanners' rows (scanned.py)."""
    table, row = (touch.tables or (b"",))[0], touch.rows[0].row if len(touch.rows) == 1 else None
    failed = failure(primary), failure(secondary)
    if failed != (None, None):
        yield from errors(table, row, *failed)
        return
    found = getattr(primary, "success", None), getattr(secondary, "success", None)
    if name in _BY_METHOD:
        yield from _BY_METHOD[name](table, *found)
    elif isinstance(found[0], list) and isinstance(found[1], list):
        if name in ("get", "getVer", "getVerTs", "append"):
            yield from _cells(touch.rows[0], found[0], found[1], same_time)
        else:
            yield from rows(table, found[0], found[1], same_time)
    elif found[0] != found[1]:
        yield Difference("result", found[0], found[1], table, row, _only(touch))


def _only(touch: Touch) -> bytes | None:
    columns = touch.rows[0].columns if len(touch.rows) == 1 else None
    return next(iter(columns)) if columns and len(columns) == 1 else None


def errors(table: bytes, row: bytes | None, primary: Any, secondary: Any) -> Iterator[Difference]:
    """Two outcomes of a call of which one failed, or both did. None: it did not."""
    if error_class(primary) != error_class(secondary):
        yield Difference("error", _error(primary), _error(secondary), table, row)


def says_no_scanner(error: Any) -> bool:
    """Whether the server does not know the scanner: it was closed, or rested for too long."""
    message = getattr(error, "message", None) or ""
    return "scanner ID is invalid" in message or "UnknownScannerException" in message


def error_class(error: Any) -> str:
    """The exception of the interface, and the class of Java that it names. "": there is none."""
    if error is None:
        return ""
    named = server_error(error).java_class if hasattr(error, "message") else ""
    return f"{type(error).__name__} {named}".rstrip()


def _error(error: Any) -> str:
    if error is None:
        return "no error"
    return f"{type(error).__name__}: {str(error.message or '').splitlines()[0] if error.message else ''}"


def rows(table: bytes, primary: Sequence[Any], secondary: Sequence[Any], same_time: SameTime) -> Iterator[Difference]:
    """Lists of TRowResult in the order asked for."""
    keys = [one.row for one in primary], [one.row for one in secondary]
    if keys[0] == keys[1]:
        for one, other in zip(primary, secondary, strict=True):
            yield from row(table, one, other, same_time)
        return
    counts = Counter(keys[0]), Counter(keys[1])
    if counts[0] == counts[1]:
        yield Difference("order of rows", keys[0][:3], keys[1][:3], table)
        return
    seen = ({one.row: one for one in primary}, {one.row: one for one in secondary})
    for key in counts[0] - counts[1]:
        yield only(table, seen[0][key], at_primary=True)
    for key in counts[1] - counts[0]:
        yield only(table, seen[1][key], at_primary=False)
    for key in seen[0].keys() & seen[1].keys():
        yield from row(table, seen[0][key], seen[1][key], same_time)


def only(table: bytes, found: Any, at_primary: bool) -> Difference:
    """A row that the other has not, shown by its smallest cell."""
    column, cell = min(_named(found), key=lambda one: len(one[1].value), default=(b"", None))
    shown = None if cell is None else Cell(cell.value, cell.timestamp)
    kind = "row at the primary only" if at_primary else "row at the secondary only"
    one, other = (shown, None) if at_primary else (None, shown)
    return Difference(kind, one, other, table, found.row, column)


def row(table: bytes, primary: Any, secondary: Any, same_time: SameTime) -> Iterator[Difference]:
    """The columns of one TRowResult."""
    found = dict(_named(primary)), dict(_named(secondary))
    for column in sorted(found[0].keys() | found[1].keys()):
        one, other = found[0].get(column), found[1].get(column)
        yield from _cell(table, primary.row, column, one, other, same_time)
    orders = [[column.columnName for column in one.sortedColumns or ()] for one in (primary, secondary)]
    if orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]):
        yield Difference("order of columns", orders[0], orders[1], table, primary.row)


def _named(found: Any) -> Iterable[tuple[bytes, Any]]:
    if found.sortedColumns:
        return [(one.columnName, one.cell) for one in found.sortedColumns]
    return list((found.columns or {}).items())


def _cells(asked: Cells, primary: Sequence[Any], secondary: Sequence[Any], same_time: SameTime) -> Iterator[Difference]:
    """Cells without names: versions of a column, or columns of a family."""
    column = next(iter(asked.columns)) if asked.columns and len(asked.columns) == 1 else None
    for number in range(max(len(primary), len(secondary))):
        one = primary[number] if number < len(primary) else None
        other = secondary[number] if number < len(secondary) else None
        yield from _cell(asked.table, asked.row, column, one, other, same_time)


def _cell(
    table: bytes, row: bytes, column: bytes | None, primary: Any, secondary: Any, same_time: SameTime
) -> Iterator[Difference]:
    shown = [None if one is None else Cell(one.value, one.timestamp) for one in (primary, secondary)]
    if primary is None or secondary is None:
        kind = f"cell at the {'secondary' if primary is None else 'primary'} only"
    elif primary.value != secondary.value:
        kind = "value"
    elif not same_time(table, row, primary.timestamp, secondary.timestamp):
        kind = "time"
    else:
        return
    yield Difference(kind, shown[0], shown[1], table, row, column)


def _descriptors(table: bytes, primary: dict[bytes, Any], secondary: dict[bytes, Any]) -> Iterator[Difference]:
    for family in sorted(primary.keys() | secondary.keys()):
        one, other = primary.get(family), secondary.get(family)
        if one is None or other is None:
            yield Difference("family", one is not None, other is not None, table, column=family)
            continue
        for field, value in vars(one).items():
            if field not in IGNORED["getColumnDescriptors"] and value != getattr(other, field):
                yield Difference(f"family's {field}", value, getattr(other, field), table, column=family)


def _regions(table: bytes, primary: list[Any], secondary: list[Any]) -> Iterator[Difference]:
    if bool(primary) != bool(secondary):
        yield Difference("regions", len(primary), len(secondary), table)


def _names(_: bytes, primary: Iterable[bytes], secondary: Iterable[bytes]) -> Iterator[Difference]:
    found = set(primary), set(secondary)
    for name in sorted(found[0] ^ found[1]):
        yield Difference("table", name in found[0], name in found[1], name)
    if isinstance(primary, dict) and isinstance(secondary, dict):
        for name in sorted(found[0] & found[1]):
            if primary[name] != secondary[name]:
                yield Difference("table is enabled", primary[name], secondary[name], name)


_BY_METHOD: Final[dict[str, Callable[[bytes, Any, Any], Iterator[Difference]]]] = {
    "getColumnDescriptors": _descriptors,
    "getTableRegions": _regions,
    "getTableNames": _names,
    "getTableNamesWithIsTableEnabled": _names,
}

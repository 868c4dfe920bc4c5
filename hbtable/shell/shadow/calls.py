"""Tables, rows and columns that each call of Thrift1 reads or writes, and the times that it names."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final, NamedTuple

_Tell = Callable[[Any], "Touch"]
CATALOG: Final = b""
"""Stands for the list of tables among names of tables."""


class Kind(Enum):
    """Kinds of calls, by what is done with them besides answering."""

    READ = "reads rows"
    WRITE = "writes rows"
    OPEN = "opens a scanner"
    NEXT = "reads from a scanner"
    CLOSE = "closes a scanner"
    SCHEMA = "changes a table"
    ASK = "asks about tables"
    APART = "is not comparable"


class Cells(NamedTuple):
    """Columns of one row. `columns` None: all of them, or whole families."""

    table: bytes
    row: bytes
    columns: frozenset[bytes] | None = None


class Touch(NamedTuple):
    """`tables` are those named; `rows` those of them that single-row calls name. `times`: given by the client."""

    kind: Kind
    tables: tuple[bytes, ...] = ()
    rows: tuple[Cells, ...] = ()
    times: tuple[int, ...] = ()
    deletes: bool = False
    puts: bool = False
    """Only puts, without times."""
    adds: bool = False
    """Only adds to counters: the order of such calls shows in their answers, and not in the table."""


def touch_of(name: str, arguments: Any) -> Touch:
    """The arguments as thriftpy2 read them."""
    return _TOUCHES[name](arguments)


def _columns(named: Iterable[bytes] | None) -> frozenset[bytes] | None:
    """None where whole families are meant."""
    found = frozenset(named or ())
    return found if found and all(_qualified(column) for column in found) else None


def _qualified(column: bytes) -> bool:
    return bool(column.partition(b":")[2])


def _reads(arguments: Any) -> Touch:
    table = arguments.tableName or b""
    rows = getattr(arguments, "rows", None)
    rows = [getattr(arguments, "row", None) or b""] if rows is None else rows
    named = [arguments.column or b""] if hasattr(arguments, "column") else getattr(arguments, "columns", None)
    columns = _columns(named)
    return Touch(Kind.READ, (table,), tuple(Cells(table, row, columns) for row in rows), _times(arguments))


def _times(arguments: Any) -> tuple[int, ...]:
    at = getattr(arguments, "timestamp", None)
    return () if at is None else (at,)


def _one_row(arguments: Any) -> Touch:
    return _mutated(arguments, [(arguments.row, arguments.mutations)])


def _many_rows(arguments: Any) -> Touch:
    return _mutated(arguments, [(one.row, one.mutations) for one in arguments.rowBatches or ()])


def _mutated(arguments: Any, batches: list[tuple[bytes | None, Any]]) -> Touch:
    table = arguments.tableName or b""
    rows = tuple(
        Cells(table, row or b"", _columns(one.column or b"" for one in mutations or ())) for row, mutations in batches
    )
    deletes = any(one.isDelete for _, mutations in batches for one in mutations or ())
    times = _times(arguments)
    return Touch(Kind.WRITE, (table,), rows, times, deletes, puts=not deletes and not times)


def _deleted(arguments: Any) -> Touch:
    table = arguments.tableName or b""
    columns = _columns([arguments.column or b""]) if hasattr(arguments, "column") else None
    cells = Cells(table, arguments.row or b"", columns)
    return Touch(Kind.WRITE, (table,), (cells,), _times(arguments), deletes=True)


def _atomic_increment(arguments: Any) -> Touch:
    table = arguments.tableName or b""
    cells = Cells(table, arguments.row or b"", _columns([arguments.column or b""]))
    return Touch(Kind.WRITE, (table,), (cells,), adds=True)


def _added(increments: Iterable[Any]) -> Touch:
    rows = tuple(Cells(one.table or b"", one.row or b"", _columns([one.column or b""])) for one in increments)
    return Touch(Kind.WRITE, tuple(dict.fromkeys(one.table for one in rows)), rows, adds=True)


def _appended(arguments: Any) -> Touch:
    given = arguments.append
    if given is None:
        return Touch(Kind.WRITE)
    table = given.table or b""
    return Touch(Kind.WRITE, (table,), (Cells(table, given.row or b"", _columns(given.columns)),))


def _checked(arguments: Any) -> Touch:
    table, put = arguments.tableName or b"", arguments.mput
    written = (put.column or b"",) if put is not None else ()
    cells = Cells(table, arguments.row or b"", _columns([arguments.column or b"", *written]))
    return Touch(Kind.WRITE, (table,), (cells,), deletes=put is not None and put.isDelete)


def _opened(arguments: Any) -> Touch:
    scan = getattr(arguments, "scan", None)
    return Touch(Kind.OPEN, (arguments.tableName or b"",), times=_times(arguments if scan is None else scan))


def _named(kind: Kind) -> _Tell:
    def tell(arguments: Any) -> Touch:
        names = ("tableName", "tableNameOrRegionName")
        return Touch(kind, tuple(getattr(arguments, name) or b"" for name in names if hasattr(arguments, name)))

    return tell


def _plain(kind: Kind) -> _Tell:
    return lambda _: Touch(kind)


_READS: Final = (
    "get getVer getVerTs getRow getRowWithColumns getRowTs getRowWithColumnsTs getRows getRowsWithColumns getRowsTs "
    "getRowsWithColumnsTs"
)
_OPENS: Final = (
    "scannerOpenWithScan scannerOpen scannerOpenWithStop scannerOpenWithPrefix scannerOpenTs scannerOpenWithStopTs"
)
_TOUCHES: Final[dict[str, _Tell]] = {
    **dict.fromkeys(_READS.split(), _reads),
    **dict.fromkeys(_OPENS.split(), _opened),
    **dict.fromkeys(("mutateRow", "mutateRowTs"), _one_row),
    **dict.fromkeys(("mutateRows", "mutateRowsTs"), _many_rows),
    **dict.fromkeys(("deleteAll", "deleteAllTs", "deleteAllRow", "deleteAllRowTs"), _deleted),
    "atomicIncrement": _atomic_increment,
    "increment": lambda arguments: _added([arguments.increment] if arguments.increment else []),
    "incrementRows": lambda arguments: _added(arguments.increments or ()),
    "append": _appended,
    "checkAndPut": _checked,
    **dict.fromkeys(("scannerGet", "scannerGetList"), _plain(Kind.NEXT)),
    "scannerClose": _plain(Kind.CLOSE),
    **dict.fromkeys(("createTable", "deleteTable", "enableTable", "disableTable"), _named(Kind.SCHEMA)),
    **dict.fromkeys(("compact", "majorCompact"), _named(Kind.SCHEMA)),
    **dict.fromkeys(("getColumnDescriptors", "getTableRegions", "isTableEnabled"), _named(Kind.ASK)),
    **dict.fromkeys(("getTableNames", "getTableNamesWithIsTableEnabled", "getThriftServerType"), _plain(Kind.ASK)),
    **dict.fromkeys(("grant", "revoke"), _plain(Kind.SCHEMA)),
    **dict.fromkeys(("getClusterId", "getRegionInfo"), _plain(Kind.APART)),
}

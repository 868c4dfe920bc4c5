"""Random calls that read: gets, scans as a whole, and scanners of which the program holds several."""

from typing import Any, Final

from tests.campaigns.difffuzz import filters
from tests.campaigns.difffuzz.alphabet import ROWS
from tests.campaigns.difffuzz.program import Program

_UNBOUNDED: Final = ["get", "getVer", "getRow", "getRowWithColumns", "getRows", "getRowsWithColumns", "scan", "scan"]
_BOUNDED: Final = ["getVerTs", "getVerTs", "getRowTs", "getRowWithColumnsTs", "getRowsTs", "getRowsWithColumnsTs"]
_OPENS: Final = [
    "scannerOpen",
    "scannerOpenTs",
    "scannerOpenWithStop",
    "scannerOpenWithStopTs",
    "scannerOpenWithPrefix",
    "scannerOpenWithScan",
]


def read(p: Program, bounded: bool = True) -> None:
    """One of any kind; with `bounded` perhaps below an upper bound of the time."""
    kind = p.r.choice(_UNBOUNDED + (_BOUNDED if bounded else []))
    if kind == "scan":
        scan(p, bounded)
        return
    arguments: dict[str, Any] = {"tableName": p.table()}
    if "Rows" in kind:
        arguments["rows"] = [p.row() for _ in range(p.r.choice([0, 1, 2, 3, 5]))]
    else:
        arguments["row"] = p.row()
    if kind in ("get", "getVer", "getVerTs"):
        arguments["column"] = p.column(p.whole_families)
    if kind in ("getVer", "getVerTs"):
        arguments["numVersions"] = p.r.choice([1, 2, 3, 10, 2147483647] + ([0] if p.chance(0.1) else []))
    if kind.endswith("Ts"):
        arguments["timestamp"] = p.read_time()
    if "Columns" in kind:
        _add_columns(p, arguments)
    p.emit(kind, arguments)


def _add_columns(p: Program, arguments: dict[str, Any]) -> None:
    """None, or a few of both kinds. A family beside one of its columns only now and then: HBase returns the column
    alone."""
    if p.chance(0.2):
        return
    columns = [p.column(p.whole_families) for _ in range(p.r.choice([0, 1, 1, 2, 3]))]
    whole = {column for column in columns if ":" not in column}
    if not p.chance(0.1):
        columns = [column for column in columns if ":" not in column or column.split(":")[0] not in whole]
    arguments["columns"] = columns


def _bound(p: Program) -> str:
    return p.r.choice([*p.rows, *p.rows, *ROWS, ""])


def _tscan(p: Program, bounded: bool = True) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if p.chance(0.3):
        asked["reversed"] = True
    if p.chance(0.5):
        asked["startRow"] = _bound(p)
    if p.chance(0.4):
        asked["stopRow"] = _bound(p)
    if asked.get("reversed") and len(asked) == 3 and p.chance(0.7):
        asked["stopRow"], asked["startRow"] = sorted((asked["startRow"], asked["stopRow"]))
    if bounded and p.chance(0.25):
        asked["timestamp"] = p.read_time()
    if p.chance(0.5):
        _add_columns(p, asked)
    if p.chance(0.3):
        asked["caching"] = p.r.choice([-1, 0, 1, 2, 100])
    if p.chance(0.25):
        asked["batchSize"] = p.r.choice([-1, 0, 1, 2, 3, 10])
    if p.chance(0.4):
        asked["sortColumns"] = p.chance(0.8)
    if p.chance(0.1):
        asked["cacheBlocks"] = p.chance(0.5)
    return asked


def scan(p: Program, bounded: bool = True, filtered: float = 0.25) -> None:
    """From open to close. Over several tablets only filters that do not count or end: HBase asks them for each anew."""
    asked = _tscan(p, bounded)
    extra = {}
    if p.chance(filtered):
        without = ("PageFilter", "ColumnCountGetFilter") if p.many_tablets else ()
        depth = 0 if p.many_tablets else p.r.choice([0, 1, 1, 2, 3])
        extra["filter"] = filters.Maker(p.r, p, without).tree(depth)
    p.emit("$scan", {"scan": asked, "n": p.r.choice([1, 2, 3, 1000, 1000])}, **extra)


def open_scanner(p: Program) -> int:
    """Its number in the program."""
    kind = p.r.choice(_OPENS)
    arguments: dict[str, Any] = {"tableName": p.table()}
    if kind == "scannerOpenWithScan":
        arguments["scan"] = _tscan(p)
    else:
        if kind == "scannerOpenWithPrefix":
            arguments["startAndPrefix"] = _bound(p)[: p.r.choice([0, 1, 1, 2])]
        else:
            arguments["startRow"] = _bound(p)
        if "Stop" in kind:
            arguments["stopRow"] = _bound(p)
        _add_columns(p, arguments)
        if kind.endswith("Ts"):
            arguments["timestamp"] = p.read_time()
    p.scanners += 1
    p.emit(kind, arguments, save=p.scanners)
    return p.scanners


def use_scanners(p: Program, numbers: list[int]) -> None:
    """A few fetches, each of any of them, then all are closed; now and then one is used after that."""
    for _ in range(p.r.choice([2, 4, 8])):
        handle = {"$scanner": p.r.choice(numbers)}
        if p.chance(0.4):
            p.emit("scannerGet", {"id": handle})
        else:
            sizes = [0, 1, 2, 3, 5, 100, -1] if p.chance(0.2) else [1, 2, 3, 100]
            p.emit("scannerGetList", {"id": handle, "nbRows": p.r.choice(sizes)})
    for number in numbers:
        p.emit("scannerClose", {"id": {"$scanner": number}})
        if p.chance(0.05):
            p.emit("scannerGet", {"id": {"$scanner": number}})

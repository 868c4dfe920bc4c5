"""Programs in which several clients call at once, in ways that have one outcome whatever the order: what they are
answered, taken together, and what is there afterwards."""

from typing import Any

from tests.campaigns.difffuzz.alphabet import SMALL_TIMES
from tests.campaigns.difffuzz.program import Program
from tests.campaigns.difffuzz.reads import read
from tests.campaigns.difffuzz.writes import write

_CLIENTS = (2, 4, 8)
_GROUPS = 5
_COUNTED = {"name": "n", "versions": 1}
"""The family of counters and appends: HBase gives each change of a cell a time of its own, and hbtable one to those of
a millisecond, so that older versions differ."""


def concurrent(p: Program, calls: int) -> None:
    """Rounds of calls at once between reads and writes one after the other; flushes only where nothing is in excess."""
    stored = p.chance(0.5)
    if stored:
        for family in p.tables[0]["families"]:
            family["versions"] = 1000
    p.tables[0]["families"].append(dict(_COUNTED))
    while len(p.lines) < calls:
        kinds = [_counters, _appends, _one_wins, _own_columns, _deletes_beside_puts, _readers]
        for _ in range(p.r.choice([1, 2, 3])):
            calls_at_once = p.r.choice(kinds)(p, p.r.choice(_CLIENTS))
            p.emit("$together", {"calls": calls_at_once})
        for _ in range(_GROUPS):
            write(p) if p.chance(0.3) else read(p)
        if stored and p.chance(0.2):
            p.storage()


def _call(method: str, **arguments: Any) -> dict[str, Any]:
    return {"m": method, "a": arguments}


def _counted(p: Program) -> str:
    return f"{_COUNTED['name']}:{p.r.choice(p.qualifiers)}"


def _counters(p: Program, clients: int) -> list[dict[str, Any]]:
    """Each gets another of the next numbers. The cell is a counter before, in one call of its own time."""
    row, column, amount = p.row(), _counted(p), p.r.choice([1, 1, 3, -2])
    start = {"column": column, "value": "\x00" * 7 + "\x05"}
    p.emit("deleteAll", {"tableName": p.table(), "row": row, "column": column})
    p.emit("mutateRow", {"tableName": p.table(), "row": row, "mutations": [start]})
    return [_call("atomicIncrement", tableName=p.table(), row=row, column=column, value=amount)] * clients


def _appends(p: Program, clients: int) -> list[dict[str, Any]]:
    """Of one piece, so that any order gives the same values."""
    row, column = p.row(), _counted(p)
    p.emit("deleteAll", {"tableName": p.table(), "row": row, "column": column})
    appended = {"table": p.table(), "row": row, "columns": [column], "values": [p.r.choice(["v", "ab"])]}
    return [_call("append", append=appended)] * clients


def _one_wins(p: Program, clients: int) -> list[dict[str, Any]]:
    """Of those who put where they saw nothing, one may."""
    row, column = p.row(), p.column()
    p.emit("deleteAll", {"tableName": p.table(), "row": row, "column": column})
    mine = {"column": column, "value": "mine"}
    return [_call("checkAndPut", tableName=p.table(), row=row, column=column, mput=mine, attributes={})] * clients


def _own_columns(p: Program, clients: int) -> list[dict[str, Any]]:
    """Each writes a cell of its own, by its time where columns are few."""
    row, column, time = p.row(), p.column(), p.r.choice(SMALL_TIMES)
    return [
        _call(
            "mutateRowTs",
            tableName=p.table(),
            row=row,
            timestamp=time + 10 * number,
            mutations=[{"column": column, "value": str(number)}],
            attributes={},
        )
        for number in range(clients)
    ]


def _deletes_beside_puts(p: Program, clients: int) -> list[dict[str, Any]]:
    """A delete of a family up to a time masks the puts below it and none above, whichever comes first."""
    puts = _own_columns(p, clients)
    row = puts[0]["a"]["row"]
    family = puts[0]["a"]["mutations"][0]["column"].split(":")[0]
    below = 10 * (clients // 2)
    gone = _call("deleteAllTs", tableName=p.table(), row=row, column=family, timestamp=below, attributes={})
    return [*puts, gone]


def _readers(p: Program, clients: int) -> list[dict[str, Any]]:
    """Of rows that a writer beside them does not touch."""
    quiet, busy = p.r.sample(p.rows, 2)
    put = {"column": p.column(), "value": p.value()}
    writes = [
        _call("mutateRowTs", tableName=p.table(), row=busy, timestamp=number + 1, mutations=[put], attributes={})
        for number in range(clients)
    ]
    return writes + [_call("getRow", tableName=p.table(), row=quiet, attributes={})] * clients

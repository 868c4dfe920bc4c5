"""Programs that change tables between reads and writes."""

from typing import Any, Final

from tests.campaigns.difffuzz.alphabet import SMALL_TIMES
from tests.campaigns.difffuzz.program import Program
from tests.campaigns.difffuzz.reads import read
from tests.campaigns.difffuzz.writes import write

_QUESTIONS: Final = [
    "isTableEnabled",
    "getColumnDescriptors",
    "getTableNames",
    "getTableRegions",
    "getTableNamesWithIsTableEnabled",
]


class _Table:
    """Whether it exists and is enabled at this point of the program, and the names its families ever had."""

    def __init__(self) -> None:
        self.exists = self.enabled = True
        self.dropped: set[str] = set()


def admin(p: Program, calls: int) -> None:
    """Create, disable, enable, drop, truncate, alter."""
    table = _Table()
    while len(p.lines) < calls:
        _admin_step(p, table, p.r.random())


def _admin_step(p: Program, table: _Table, x: float) -> None:
    named = {"tableName": p.table()}
    usable = table.exists and table.enabled
    if x < 0.03:
        p.emit("disableTable", named)
        table.enabled = False
    elif x < 0.07 or (not table.enabled and x < 0.2):
        p.emit("enableTable", named)
        table.enabled = table.exists
    elif x < 0.08 and usable:
        p.emit("$truncate", {"keep": p.chance(0.5)})
    elif x < 0.10 and usable:
        _alter(p, table)
    elif x < 0.115:
        p.emit("disableTable", named)
        p.emit("deleteTable", dict(named))
        table.enabled = table.exists = False
    elif x < 0.14 or (not table.exists and x < 0.4):
        _create(p, table, named)
    elif x < 0.2:
        question = p.r.choice(_QUESTIONS)
        p.emit(question, {} if question.startswith("getTableNames") else named)
    elif x < 0.22 and usable:
        p.storage()
    else:
        write(p) if p.chance(0.5) else read(p, bounded=False)


def _create(p: Program, table: _Table, named: dict[str, Any]) -> None:
    fresh = [dict(name=family["name"] + p.r.choice(["", ":"]), **_thrift_family(p)) for family in p.families]
    p.emit("createTable", dict(named, columnFamilies=fresh))
    if not table.exists:
        table.enabled = table.exists = True
        table.dropped = set()


def _thrift_family(p: Program) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if p.chance(0.7):
        out["maxVersions"] = p.r.choice([1, 2, 3, 5] + ([0] if p.chance(0.05) else []))
    if p.chance(0.2):
        out["bloomFilterType"] = p.r.choice(["ROW", "ROWCOL", "NONE"])
    if p.chance(0.2):
        out["compression"] = p.r.choice(["NONE", "GZ", "gz"])
    if p.chance(0.2):
        out["timeToLive"] = p.r.choice([-1, 0, 86400])
    if p.chance(0.2):
        out["inMemory"] = True
    return out


def _alter(p: Program, table: _Table) -> None:
    kind = p.r.choice(["$add", "$modify", "$modify", "$remove"])
    names = p.family_names
    if kind == "$add":
        free = [name for name in ("f", "g", "fa", "h", "i") if name not in names and name not in table.dropped]
        if free:
            p.families.append(p.family(free[0]))
            p.emit(kind, {"family": dict(p.families[-1])})
    elif kind == "$modify":
        if "versions-raised" not in p.known:
            p.emit("$major", {})
        changed = p.family(p.r.choice(names))
        p.families = [changed if family["name"] == changed["name"] else family for family in p.families]
        p.emit(kind, {"family": dict(changed)})
    elif len(names) > 1:
        gone = p.r.choice(names)
        table.dropped.add(gone)
        p.families = [family for family in p.families if family["name"] != gone]
        p.emit(kind, {"family": gone})


def families(p: Program, calls: int) -> None:
    """Families are dropped and added again under the same name, over cells in memory and in files: nothing of the first
    may come back. While one is away, reads ask for it, and single mutations go to it."""
    away: list[dict[str, Any]] = []
    while len(p.lines) < calls:
        x = p.r.random()
        if x < 0.04 and len(p.families) > 1:
            away.append(p.families.pop(p.r.randrange(len(p.families))))
            p.emit("$remove", {"family": away[-1]["name"]})
        elif x < 0.09 and away:
            back = p.family(away.pop(p.r.randrange(len(away)))["name"])
            p.families.append(back)
            p.emit("$add", {"family": dict(back)})
        elif x < 0.11 and not away and len(p.families) < 3:
            p.families.append(p.family(next(name for name in ("f", "g", "fa") if name not in p.family_names)))
            p.emit("$add", {"family": dict(p.families[-1])})
        elif x < 0.14:
            p.storage()
        elif x < 0.22 and away:
            _ask_for(p, p.r.choice(away)["name"])
        else:
            write(p) if p.chance(0.5) else read(p, bounded=False)


def _ask_for(p: Program, absent: str) -> None:
    """A call that names a family that the table has not."""
    named = {"tableName": p.table(), "row": p.row()}
    column = f"{absent}:{p.r.choice(p.qualifiers)}"
    kind = p.r.choice(["get", "getRowWithColumns", "mutateRowTs", "deleteAllTs", "$scan", "atomicIncrement"])
    if kind == "get":
        p.emit(kind, dict(named, column=column))
    elif kind == "getRowWithColumns":
        p.emit(kind, dict(named, columns=[column, p.column()]))
    elif kind == "mutateRowTs":
        mutation = {"column": column, "isDelete": True} if p.chance(0.3) else {"column": column, "value": p.value()}
        p.emit(kind, dict(named, timestamp=p.r.choice(SMALL_TIMES), mutations=[mutation]))
    elif kind == "deleteAllTs":
        p.emit(kind, dict(named, column=column, timestamp=p.r.choice(SMALL_TIMES)))
    elif kind == "atomicIncrement":
        p.emit(kind, dict(named, column=column, value=1))
    else:
        p.emit(kind, {"scan": {"columns": [column]}, "n": 1000})

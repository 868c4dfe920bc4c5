"""What programs do, by the name of their profile; README.md says what each is for."""

from collections.abc import Callable, Collection
from typing import Any, Final

from tests.campaigns.difffuzz import schema_changes, together
from tests.campaigns.difffuzz.program import Program
from tests.campaigns.difffuzz.reads import open_scanner, read, scan, use_scanners
from tests.campaigns.difffuzz.writes import fill, make_mortal, put, write


def _memory(p: Program, calls: int) -> None:
    while len(p.lines) < calls:
        write(p) if p.chance(0.45) else read(p)


def _filters(p: Program, calls: int) -> None:
    if p.chance(0.5):
        for family in p.families + p.tables[0]["families"]:
            family["versions"] = 1
    fill(p, 6)
    for _ in range(6):
        write(p)
    while len(p.lines) < calls:
        scan(p, filtered=0.95)
        if p.chance(0.1):
            write(p)


def _flushes(p: Program, calls: int) -> None:
    """Nothing is in excess: flushes and compactions may change only what the markers of masked puts do."""
    while len(p.lines) < calls:
        x = p.r.random()
        if x < 0.06:
            p.storage()
        elif x < 0.07 and not p.many_tablets:
            p.many_tablets = True
            p.emit("$split", {"row": p.r.choice(["b", "a\x00", "c"])})
        else:
            write(p) if p.chance(0.45) else read(p)


def _versions(p: Program, calls: int) -> None:
    """Few versions, but no read or delete that depends on when the ones in excess go."""
    while len(p.lines) < calls:
        if p.chance(0.06):
            p.storage()
        else:
            write(p) if p.chance(0.45) else read(p, bounded=False)


def _mixed(p: Program, calls: int) -> None:
    """When excess versions go shows."""
    while len(p.lines) < calls:
        if p.chance(0.04):
            p.storage()
        else:
            write(p) if p.chance(0.45) else read(p)


def _newversions(p: Program, calls: int) -> None:
    """NEW_VERSION_BEHAVIOR: a marker masks what was written before it, whatever its time. Half of the programs flush
    and compact."""
    if "empty-column-of-new-versions" not in p.known:
        p.qualifiers = [qualifier for qualifier in p.qualifiers if qualifier] or ["a"]
        p.whole_counters = 0.0
    if "excess-of-new-versions" not in p.known:
        for family in p.tables[0]["families"]:
            family["versions"] = 1000
    if "columns-of-new-versions" not in p.known:
        for family in p.tables[0]["families"]:
            family.pop("bloom", None)
    stored = p.chance(0.5)
    while len(p.lines) < calls:
        if stored and p.chance(0.05):
            p.storage()
        else:
            write(p) if p.chance(0.45) else read(p)


def _keepdeleted(p: Program, calls: int) -> None:
    """KEEP_DELETED_CELLS: reads up to a time find what was deleted later, before and after compactions."""
    while len(p.lines) < calls:
        if p.chance(0.04):
            p.storage()
        else:
            write(p) if p.chance(0.45) else read(p)


def _blocks(p: Program, calls: int) -> None:
    """Hundreds of rows, some 100 KB and more: files of several blocks, scans over them in both directions."""
    r = p.r
    rows = [f"r{number:03}" for number in range(r.choice([150, 400]))]
    p.values = [letter * size for letter in "abc" for size in (1, 250, 400)]
    for table in p.tables:
        for family in table["families"]:
            family["versions"] = 1000
        if table["splits"]:
            table["splits"] = ["r050", "r100"]
    p.qualifiers = [qualifier for qualifier in p.qualifiers if len(qualifier) < 10] or ["a"]
    for k in range(8):
        part = slice(k * len(rows) // 8, (k + 1) * len(rows) // 8)
        some = rows[part] if k % 2 else r.sample(rows, len(rows) // 8)
        batches = [
            {
                "row": row,
                "mutations": [{"column": p.column(), "value": p.value()} for _ in range(r.choice([1, 2, 3]))],
            }
            for row in some
        ]
        p.emit("mutateRowsTs", {"tableName": p.table(), "timestamp": r.choice(p.small_times), "rowBatches": batches})
        if p.chance(0.4):
            p.storage()
    if p.chance(0.3):
        p.emit("$major", {})
    while len(p.lines) < calls:
        start = r.randrange(len(rows))
        p.rows = rows[start : start + r.choice([5, 20, 100])]
        if p.chance(0.15):
            write(p)
        elif p.chance(0.03):
            p.storage()
        else:
            read(p)


def _deep(p: Program, calls: int) -> None:
    """Hundreds of versions of one or two columns."""
    row, times = p.rows[0], range(1, 300)
    stored = "marker-below-excess" in p.known or p.chance(0.5)
    columns = [p.column() for _ in range(2)]
    for family in p.tables[0]["families"]:
        family["versions"] = p.r.choice([100, 1000] if stored else [1, 3, 100, 1000])
    p.small_times = p.r.sample(times, 6)
    p.rows, p.qualifiers = [row], [column.split(":")[1] for column in columns] + ["a"]
    while len(p.lines) < calls:
        arguments = {"tableName": p.table(), "row": row}
        for _ in range(20):
            mutations = [{"column": column, "value": p.value()} for column in columns if p.chance(0.7)] or [put(p)]
            p.emit("mutateRowTs", dict(arguments, timestamp=p.r.choice(times), mutations=mutations))
            if p.chance(0.03) and (not stored or "mortal-cover" in p.known):
                make_mortal(p, p.lines[-1]["a"])
        _deep_delete(p, arguments, columns, times, stored)
        for _ in range(6):
            _deep_read(p, arguments, columns, times)


def _deep_delete(p: Program, arguments: dict[str, Any], columns: list[str], times: range, stored: bool) -> None:
    x = p.r.random()
    family, qualifier = columns[0].split(":", 1)
    if x < 0.2:
        column = p.r.choice([*columns, family])
        p.emit("deleteAllTs", dict(arguments, column=column, timestamp=p.r.choice(times)))
    elif x < 0.3:
        version = {"row": arguments["row"], "kind": "version", "family": family, "qualifier": qualifier}
        p.emit("$delete", dict(version, timestamp=p.r.choice(times)))
    elif x < 0.4 and stored:
        p.storage()


def _deep_read(p: Program, arguments: dict[str, Any], columns: list[str], times: range) -> None:
    kind = p.r.choice(["get", "getVer", "getVer", "getVerTs", "getRowTs", "scan", "scan"])
    if kind == "scan":
        scan(p, filtered=0.7)
        return
    asked = dict(arguments)
    if kind.startswith("getVer") or kind == "get":
        asked["column"] = p.r.choice([*columns, columns[0].split(":")[0]])
    if kind.startswith("getVer"):
        asked["numVersions"] = p.r.choice([1, 2, 3, 10, 64, 65, 100, 2147483647])
    if kind.endswith("Ts"):
        asked["timestamp"] = p.r.choice(times)
    p.emit(kind, asked)


def _ttl(p: Program, calls: int) -> None:
    """Flushes only where nothing is in excess: HBase throws away what a mortal version covers."""
    stored = "mortal-cover" in p.known or p.chance(0.5)
    if stored and "mortal-cover" not in p.known:
        for family in p.tables[0]["families"]:
            family["versions"] = 1000
            family.pop("min", None)
    for _ in range(2):
        for _ in range(calls // 4):
            write(p) if p.chance(0.6) else read(p)
        if stored and p.chance(0.4):
            p.storage()
        p.emit("$sleep", {"ms": p.r.choice([1200, 2600, 3600])})
        for _ in range(calls // 4):
            if p.chance(0.8):
                read(p)
            elif stored and p.chance(0.1):
                p.storage()
            else:
                write(p)


def _scanners(p: Program, calls: int) -> None:
    fill(p, 6)
    while len(p.lines) < calls:
        numbers = [open_scanner(p) for _ in range(p.r.choice([1, 2, 3]))]
        for _ in range(p.r.choice([0, 0, 1, 3])):
            write(p)
        use_scanners(p, numbers)


_BY_NAME: Final[dict[str, Callable[[Program, int], None]]] = {
    "memory": _memory,
    "filters": _filters,
    "flushes": _flushes,
    "versions": _versions,
    "ttl": _ttl,
    "admin": schema_changes.admin,
    "families": schema_changes.families,
    "newversions": _newversions,
    "keepdeleted": _keepdeleted,
    "scanners": _scanners,
    "mixed": _mixed,
    "deep": _deep,
    "blocks": _blocks,
    "concurrent": together.concurrent,
}


def random_program(seed: str, calls: int, profile: str | None = None, known: Collection[str] = ()) -> dict[str, Any]:
    """One of at least that many lines; the same for the same arguments."""
    program = Program(seed, profile, known)
    _BY_NAME[program.profile](program, calls)
    return program.as_dict()

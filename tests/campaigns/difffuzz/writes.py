"""Random calls that write."""

from typing import Any, Final

from tests.campaigns.difffuzz.alphabet import LONG_MAX, SMALL_TIMES, long
from tests.campaigns.difffuzz.program import Program

_WEIGHTS: Final = {
    "mutateRowTs": 8,
    "mutateRow": 4,
    "mutateRows": 2,
    "mutateRowsTs": 4,
    "deleteAllTs": 3,
    "deleteAll": 1,
    "deleteAllRowTs": 2,
    "deleteAllRow": 1,
    "counter": 4,
    "append": 2,
    "checkAndPut": 3,
    "version": 4,
}
_AMOUNTS: Final = [1, 1, 0, -1, 7, LONG_MAX, -LONG_MAX - 1]


def write(p: Program) -> None:
    """One of any kind."""
    kind = p.r.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if kind == "counter":
        _counter(p)
    elif kind == "append":
        _append(p)
    elif kind == "version":
        _version_delete(p)
    else:
        arguments: dict[str, Any] = {"tableName": p.table()}
        if kind.endswith("Ts"):
            arguments["timestamp"] = p.write_time()
        if kind in ("mutateRow", "mutateRowTs"):
            _row(p, arguments)
        elif kind in ("mutateRows", "mutateRowsTs"):
            _rows(p, arguments)
        elif kind in ("deleteAll", "deleteAllTs"):
            arguments.update(row=p.row(), column=p.column(0.25))
        elif kind in ("deleteAllRow", "deleteAllRowTs"):
            arguments.update(row=p.row())
        else:
            _check_and_put(p, arguments)
        p.emit(kind, arguments)


def put(p: Program) -> dict[str, Any]:
    """One mutation."""
    mutation: dict[str, Any] = {"column": p.column()}
    if not p.chance(0.05):
        mutation["value"] = p.value()
    if p.chance(0.1):
        mutation["writeToWAL"] = False
    return mutation


def fill(p: Program, calls: int) -> None:
    """Cells of small times in all rows."""
    for _ in range(calls):
        batches = [
            {"row": p.row(), "mutations": [put(p) for _ in range(p.r.choice([1, 2, 4]))]}
            for _ in range(p.r.choice([1, 2, 4]))
        ]
        p.emit("mutateRowsTs", {"tableName": p.table(), "timestamp": p.r.choice(SMALL_TIMES), "rowBatches": batches})


def make_mortal(p: Program, arguments: dict[str, Any]) -> None:
    """A time to live that is over at once (small times only), or never."""
    if "ttl-of-a-delete" not in p.known:
        arguments["mutations"] = [one for one in arguments["mutations"] if not one.get("isDelete")] or [put(p)]
    time = arguments.get("timestamp")
    small = _is_small(time)
    if "ttl-same-time" not in p.known:  # times of its own
        p.mortal_puts += 1
        if small:
            arguments["timestamp"] = 400 + p.mortal_puts % 600
        elif isinstance(time, dict):
            arguments["timestamp"] = {"$base": time["$base"] - 10 * p.mortal_puts}
    expired = small and p.chance(0.5)
    arguments["attributes"] = {"_ttl": long(1000 if expired else 1 << 45)}


def _is_small(time: Any) -> bool:
    return isinstance(time, int) and 0 <= time < 1000


def _order_matters(p: Program, arguments: dict[str, Any]) -> bool:
    """Whether the outcome would depend on the order in which HBase applies puts and deletes of one call, which is not
    the request's."""
    return p.profile == "newversions" or arguments.get("timestamp", LONG_MAX) == LONG_MAX


def _mutations(p: Program, apart: bool, deletes: float = 0.25) -> list[dict[str, Any]]:
    """`apart`: no delete overlaps a put."""
    order: list[dict[str, Any]] = []
    for _ in range(p.r.choice([1, 1, 2, 3, 5])):
        order.append({"isDelete": True, "column": p.column(0.25)} if p.chance(deletes) else put(p))
    puts = [one for one in order if not one.get("isDelete")]
    if apart and puts:
        names = {one["column"] for one in puts} | {one["column"].split(":")[0] for one in puts}
        order = [one for one in order if not one.get("isDelete") or one["column"] not in names]
    return order


def _row(p: Program, arguments: dict[str, Any]) -> None:
    arguments.update(row=p.row(), mutations=_mutations(p, _order_matters(p, arguments)))
    if p.profile == "ttl" and p.chance(0.4):
        make_mortal(p, arguments)
        arguments["attributes"] = {"_ttl": long(p.r.choice([800, 2500]))}
    elif p.chance(0.05) and (p.profile != "mixed" or "mortal-cover" in p.known):
        make_mortal(p, arguments)


def _rows(p: Program, arguments: dict[str, Any]) -> None:
    apart = _order_matters(p, arguments)
    batches = [
        {"row": p.row(), "mutations": _mutations(p, apart, 0 if apart else 0.25)} for _ in range(p.r.choice([1, 2, 3]))
    ]
    if apart:
        batches = list({batch["row"]: batch for batch in batches}.values())
    arguments["rowBatches"] = batches


def _check_and_put(p: Program, arguments: dict[str, Any]) -> None:
    arguments.update(row=p.row(), column=p.column(), mput={"column": p.column(), "value": p.value()})
    if p.chance(0.5):
        arguments["mput"]["column"] = arguments["column"]
    if not p.chance(0.3):
        last = p.last_put.get((arguments["row"], arguments["column"]), "")
        arguments["value"] = last if p.chance(0.7) else p.value()


def _counter(p: Program) -> None:
    amount = p.r.choice(_AMOUNTS)
    if p.chance(0.4):  # a cell that is a counter, or nearly
        size = p.r.choice([8, 8, 8, 8, 7, 9, 4, 0])
        one = {"column": p.column(), "value": ("\x00" * 7 + "\x09" + "\x01")[:size]}
        p.emit(
            "mutateRowTs",
            {"tableName": p.table(), "row": p.row(), "timestamp": p.write_time(), "mutations": [one]},
        )
    kind = p.r.choice(["atomicIncrement", "increment", "incrementRows"])
    if kind == "atomicIncrement":
        p.emit(kind, {"tableName": p.table(), "row": p.row(), "column": p.column(p.whole_counters), "value": amount})
    elif kind == "increment":
        p.emit(kind, {"increment": increment(p, amount)})
    else:  # twice the same row: of one time or of two, by the millisecond
        several = [increment(p, amount) for _ in range(p.r.choice([1, 2, 3]))]
        p.emit(kind, {"increments": list({one["row"]: one for one in several}.values())})


def increment(p: Program, amount: int) -> dict[str, Any]:
    """The struct, misspelt as HBase has it."""
    return {"table": p.table(), "row": p.row(), "column": p.column(), "ammount": amount}


def _append(p: Program) -> None:
    columns = list(dict.fromkeys(p.column() for _ in range(p.r.choice([1, 1, 2, 3]))))
    values = [p.value() for _ in columns]
    p.emit("append", {"append": {"table": p.table(), "row": p.row(), "columns": columns, "values": values}})


def _version_delete(p: Program) -> None:
    if p.profile in ("versions", "admin"):
        return  # it would show when a flush threw the versions in excess away
    kind = p.r.choice(["version", "version", "family-version"])
    single = kind == "version"
    arguments = {
        "row": p.row(),
        "kind": kind,
        "family": p.r.choice(p.family_names),
        "qualifier": p.r.choice(p.qualifiers) if single else "",
        "timestamp": p.r.choice([*SMALL_TIMES, -1] if single else SMALL_TIMES),
    }
    p.emit("$delete", arguments)

"""When two answers count as the same: equal once server times are named after their writes, or kinder by a rule of
compat-tests/recorded/deviations.json (the rule's name is returned, so that its uses are counted)."""

import bisect
from typing import Any, Final

Answer = dict[str, Any]
Found = tuple[str, str]
"""(kind, path) of a difference."""

_OTHER_TIMES: Final = 10**9
_PLAIN: Final = {
    "org.apache.hadoop.hbase.TableNotFoundException",
    "org.apache.hadoop.hbase.TableNotEnabledException",
    "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
}
_REFUSED: Final = {"java.lang.IllegalArgumentException", "org.apache.hadoop.hbase.DoNotRetryIOException"}
_INTERNAL_ERROR: Final = 6


class Times:
    """The writes of one run on one side: a time that a server chose becomes {'$now': number of the write}."""

    def __init__(self, base: int) -> None:
        self._base, self.end = base, base
        self._starts: list[int] = []
        self._lines: list[int] = []

    def write(self, line: int, start: int) -> None:
        self._starts.append(start)
        self._lines.append(line)

    def name(self, time: int) -> Any:
        if self._starts and self._starts[0] - 1 <= time <= self.end + 2:
            return {"$now": self._lines[max(0, bisect.bisect_right(self._starts, time) - 1)]}
        if abs(time - self._base) < _OTHER_TIMES:
            return {"$base": time - self._base}
        return time


def named(x: Any, times: Times, names: dict[str, str]) -> Any:
    """An answer without what differs between any two runs."""
    if isinstance(x, dict):
        return {
            _replaced(key, names): times.name(value)
            if key == "timestamp" and isinstance(value, int)
            else named(value, times, names)
            for key, value in x.items()
        }
    if isinstance(x, list):
        return [named(value, times, names) for value in x]
    return _replaced(x, names)


def _replaced(x: Any, names: dict[str, str]) -> Any:
    if isinstance(x, str):
        for name, short in names.items():
            x = x.replace(name, short)
    return x


def difference(h: Answer, x: Answer) -> Found | None:
    """The first one of two answers."""
    if "err" in h and "err" in x:
        a, b = h["err"], x["err"]
        for key in ("type", "code", "java_class", "canRetry"):
            if a.get(key) != b.get(key):
                return f"another {key}", f"{a.get(key)} -> {b.get(key)}"
        return None
    if "err" in x:
        return "error instead of an answer", _kind(x)
    if "err" in h:
        return "answer instead of an error", _kind(h)
    if "skip" in h or "skip" in x:
        return None if h == x else ("skip", "")
    return first_difference(h["ok"], x["ok"])


def _kind(answer: Answer) -> str:
    return str(answer["err"].get("java_class") or answer["err"]["type"])


def first_difference(h: Any, x: Any, path: str = "") -> Found | None:
    """Of two trees."""
    if isinstance(h, dict) and isinstance(x, dict) and "$now" not in h and "$now" not in x:
        for key in list(h) + [key for key in x if key not in h]:
            if key not in x:
                return "missing cell", f"{path}/{key}"
            if key not in h:
                return "extra cell", f"{path}/{key}"
            if found := first_difference(h[key], x[key], f"{path}/{key}"):
                return found
        return None
    if isinstance(h, list) and isinstance(x, list):
        for number, (a, b) in enumerate(zip(h, x, strict=False)):
            if found := first_difference(a, b, f"{path}/{number}"):
                return found
        if len(h) == len(x):
            return None
        return "list too long" if len(x) > len(h) else "list too short", path
    if h != x or isinstance(h, bool) != isinstance(x, bool):
        return "another " + ("time" if "timestamp" in path else "value"), path
    return None


def kinder(line: dict[str, Any], h: Answer, x: Answer) -> str | None:
    """The rule that allows this pair of different answers to one Thrift call."""
    if "err" in h and "err" in x:
        return _kinder_error(h["err"], x["err"])
    if "ok" in h and "ok" in x:
        return "append-request-order" if line["m"] == "append" and _in_request_order(line["a"], h, x) else None
    if "ok" in h and "err" in x:
        return _refused_rightly(line, x["err"])
    return None


def _kinder_error(h: dict[str, Any], x: dict[str, Any]) -> str | None:
    final = x.get("canRetry") is False
    if h["type"] == "TApplicationException" and h.get("code") == _INTERNAL_ERROR:
        plain = x["type"] == "IOError" and x.get("java_class") in _REFUSED | _PLAIN and final
        return "bad-input-illegal-argument" if plain or x["type"] == "IllegalArgument" else None
    if "RetriesExhausted" in (h.get("java_class") or ""):
        plain = x.get("java_class") in _PLAIN | _REFUSED and final
        return "multi-missing-or-disabled" if plain or x["type"] == "IllegalArgument" else None
    return None


def _in_request_order(arguments: dict[str, Any], h: Answer, x: Answer) -> bool:
    columns = arguments["append"].get("columns") or []
    full = [column if ":" in column else f"{column}:" for column in columns]
    if not len(set(full)) == len(full) == len(h["ok"]):
        return False
    by_bytes = sorted(full, key=lambda column: tuple(part.encode("latin-1") for part in column.split(":", 1)))
    by_column = dict(zip(by_bytes, h["ok"], strict=True))
    return not first_difference([by_column[column] for column in full], x["ok"])


def _refused_rightly(line: dict[str, Any], x: dict[str, Any]) -> str | None:
    arguments = line["a"]
    if line["m"] in ("mutateRow", "mutateRowTs") and x["type"] == "IllegalArgument":
        mutations = arguments["mutations"]
        if any(not one.get("isDelete") and ":" not in one["column"] for one in mutations):
            return "family-only-put"
    nothing = not all(arguments.get(key, 1) for key in ("mutations", "rows", "rowBatches"))
    if nothing and x.get("java_class") in _PLAIN | _REFUSED:
        return "nothing-to-do-on-missing-table"
    if nothing and x["type"] == "IllegalArgument":
        return "a wrong time of no rows"
    return None


def without_union(arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """What HBase must be asked when a family and one of its columns are both named, and whether that is another
    request."""
    if "scan" in arguments:
        scan, replaced = without_union(arguments["scan"])
        return dict(arguments, scan=scan), replaced
    columns = arguments.get("columns") or []
    whole = {column for column in columns if ":" not in column}
    some = [column for column in columns if ":" not in column or column.split(":")[0] not in whole]
    return (arguments, False) if some == columns else (dict(arguments, columns=some), True)


def merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pieces of a scan with batchSize as whole rows."""
    out: list[dict[str, Any]] = []
    for row in rows:
        if not out or out[-1]["row"] != row["row"]:
            out.append(dict(row))
            continue
        if "columns" in row:
            out[-1]["columns"] = {**out[-1]["columns"], **row["columns"]}
        if "sortedColumns" in row:
            out[-1]["sortedColumns"] = out[-1]["sortedColumns"] + row["sortedColumns"]
    return out

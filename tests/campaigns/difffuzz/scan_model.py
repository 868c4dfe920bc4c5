"""The model of a filtered scan over visible cells, newest versions first."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any, Final

from tests.campaigns.difffuzz.filter_lists import built
from tests.campaigns.difffuzz.filter_model import INCLUDED, Cell, Code, Filter, encoded
from tests.campaigns.difffuzz.filters import Tree

_VERSIONS_SHOWN: Final = 99
Columns = dict[tuple[str, str], dict[int, str]]
"""(family, qualifier) -> timestamp -> value."""


class Cells:
    """Of a table, by row."""

    def __init__(self) -> None:
        self.rows: defaultdict[str, Columns] = defaultdict(dict)

    def add(self, row: str, family: str, qualifier: str, timestamp: int, value: str) -> None:
        self.rows[row].setdefault((family, qualifier), {})[timestamp] = value

    def of_row(self, row: str, asked: list[str] | None) -> list[list[Cell]]:
        """By column, in order."""
        out = []
        for family, qualifier in sorted(self.rows[row], key=lambda column: tuple(map(encoded, column))):
            if asked and not (family in asked or f"{family}:{qualifier}" in asked):
                continue
            versions = sorted(self.rows[row][family, qualifier].items(), reverse=True)[:_VERSIONS_SHOWN]
            out.append([(family, qualifier, timestamp, value) for timestamp, value in versions])
        return out


def _within(row: str, scan: dict[str, Any]) -> bool:
    start, stop = scan.get("startRow", ""), scan.get("stopRow", "")
    if start and start == stop:
        return row == start
    at, first, last = encoded(row), encoded(start), encoded(stop)
    if not scan.get("reversed"):
        return at >= first and not (last and at >= last)
    return not (first and at > first) and not (last and at <= last)


class _Scan:
    """One pass over all rows with a fresh filter."""

    def __init__(self, judge: Filter, flags: Collection[str]) -> None:
        self._filter, self._flags = judge, flags
        self._closed: set[str] = set()  # families that ended, where single ones do

    def rows(self, cells: Cells, scan: dict[str, Any]) -> list[tuple[str, list[Cell]]]:
        out = []
        backwards = bool(scan.get("reversed"))
        for row in sorted(cells.rows, key=encoded, reverse=backwards):
            columns = cells.of_row(row, scan.get("columns")) if _within(row, scan) else []
            if not columns:
                continue
            self._filter.reset()
            if self._filter.is_done():
                break
            if self._filter.drops_row_key(row, backwards):
                continue
            got = self._row(columns)
            over = self._filter.is_done() and "close" not in self._flags
            if self._filter.looks_at_rows:
                got = self._filter.last_look(got)
            if got and self._filter.drops_row():  # a row without cells does not get that far
                got = []
            if got:
                out.append((row, got))
            if over or ("close" in self._flags and len(self._closed) >= 2):
                break
        return out

    def _row(self, columns: list[list[Cell]]) -> list[Cell]:
        got: list[Cell] = []
        over = set(self._closed)  # families of which this row shows nothing more
        for versions in columns:
            family = versions[0][0]
            if family in over:
                continue
            code = self._column(versions, got)
            if code == Code.NEXT_ROW:
                over.add(family)
            if code is None and "close" not in self._flags:
                break
            if "close" in self._flags and (code is None or self._filter.is_done()):
                over.add(family)
                self._closed.add(family)
        return got

    def _column(self, versions: list[Cell], got: list[Cell]) -> Code | None:
        """What the filter said last; None: it was done before a cell."""
        shown = 0
        sees_all = "emptyq" in self._flags and versions[0][1] == ""
        code = Code.SKIP
        for cell in versions:
            if self._filter.is_done():
                return None
            code = self._filter.judge(cell)
            if code in INCLUDED:
                shown += 1
                if shown == 1:
                    got.append(self._filter.changed(cell))
                if sees_all:
                    continue
                if code == Code.INCLUDE_NEXT_COLUMN or "plus1" not in self._flags or shown > 1:
                    break
            if code == Code.NEXT_ROW or (code == Code.NEXT_COLUMN and not sees_all):
                break
        return code


def answered(cells: Cells, scan: dict[str, Any], tree: Tree, flags: Collection[str] = ()) -> list[dict[str, Any]]:
    """As Thrift1 answers it, without batchSize."""
    out: list[dict[str, Any]] = []
    for row, got in _Scan(built(tree, flags), flags).rows(cells, scan):
        named = [
            (f"{family}:{qualifier}", {"value": value, "timestamp": time}) for family, qualifier, time, value in got
        ]
        if scan.get("sortColumns"):
            out.append({"row": row, "sortedColumns": [{"columnName": name, "cell": cell} for name, cell in named]})
        else:
            out.append({"row": row, "columns": dict(named)})
    return out

"""A small model of HBase's filters, as documented, and with flags of known peculiarities of HBase's internals.

A cell is (family, qualifier, timestamp, value), strings of Latin-1. A filter is asked in this order: reset for each
row, is_done (nothing more of the scan is wanted), drops_row_key, judge for each cell, changed for the included ones,
and at the end of the row last_look and drops_row.

Flags: plus1 (a filter is also shown one older version after the one that is returned), emptyq (skipping to the next
column does not work for the empty qualifier: filters are shown all its versions), close (a filter that declares itself
done in the middle of a row ends single families, not the scan), nested (MultipleColumnPrefixFilter tests only the
greatest prefix <= qualifier), noreverse (PrefixFilter and InclusiveStopFilter inside WHILE do not know that the scan is
reversed), percount (ColumnCountGetFilter goes on with the next row instead of ending the scan).
"""

import operator
import re
from collections.abc import Callable, Collection
from enum import IntEnum
from typing import Any, Final

Cell = tuple[str, str, int, str]
_OPERATORS: Final[dict[str, Callable[[bytes, bytes], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


class Code(IntEnum):
    """What becomes of a cell, by how much it lets through."""

    INCLUDE = 0
    INCLUDE_NEXT_COLUMN = 1
    SKIP = 2
    NEXT_COLUMN = 3
    NEXT_ROW = 4


INCLUDED: Final = (Code.INCLUDE, Code.INCLUDE_NEXT_COLUMN)


def encoded(text: str) -> bytes:
    return text.encode("latin-1")


class Filter:
    """One that lets everything through; `looks_at_rows`: last_look and drops_row say something."""

    looks_at_rows = False

    def reset(self) -> None: ...

    def is_done(self) -> bool:
        return False

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        return self.is_done()

    def judge(self, cell: Cell) -> Code:
        return Code.INCLUDE

    def changed(self, cell: Cell) -> Cell:
        return cell

    def last_look(self, cells: list[Cell]) -> list[Cell]:
        return cells

    def drops_row(self) -> bool:
        return False


class _Comparison:
    def __init__(self, compare: str, comparator: str) -> None:
        self._compare = _OPERATORS[compare]
        self._wanted = compare == "="
        self._kind, self._text = comparator.split(":", 1)

    def holds(self, text: str) -> bool:
        if self._kind == "binary":
            return self._compare(encoded(text), encoded(self._text))
        if self._kind == "binaryprefix":
            return self._compare(encoded(text)[: len(self._text)], encoded(self._text))
        decoded = encoded(text).decode("utf8", "replace")
        if self._kind == "regexstring":
            return (re.search(self._text, decoded, re.DOTALL) is not None) == self._wanted
        return (encoded(self._text).decode("utf8", "replace").lower() in decoded.lower()) == self._wanted


class _KeyOnly(Filter):
    def __init__(self, length_as_value: bool = False) -> None:
        self._length = length_as_value

    def changed(self, cell: Cell) -> Cell:
        return (*cell[:3], len(cell[3]).to_bytes(4, "big").decode("latin-1") if self._length else "")


class _FirstKeyOnly(Filter):
    _found = False

    def reset(self) -> None:
        self._found = False

    def judge(self, cell: Cell) -> Code:
        if self._found:
            return Code.NEXT_ROW
        self._found = True
        return Code.INCLUDE


class _Prefix(Filter):
    def __init__(self, prefix: str) -> None:
        self._prefix = encoded(prefix)
        self._passed, self._dropped = False, True

    def reset(self) -> None:
        self._dropped = True

    def is_done(self) -> bool:
        return self._passed

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        start = encoded(row)[: len(self._prefix)]
        if start < self._prefix if is_reversed else start > self._prefix:
            self._passed = True
        self._dropped = start != self._prefix
        return self._dropped

    def drops_row(self) -> bool:
        return self._dropped

    def judge(self, cell: Cell) -> Code:
        return Code.NEXT_ROW if self._dropped else Code.INCLUDE


class _ColumnPrefix(Filter):
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def judge(self, cell: Cell) -> Code:
        if cell[1].startswith(self._prefix):
            return Code.INCLUDE
        return Code.NEXT_COLUMN if encoded(cell[1]) < encoded(self._prefix) else Code.NEXT_ROW


class _MultipleColumnPrefix(Filter):
    nested = False

    def __init__(self, *prefixes: str) -> None:
        self._prefixes = prefixes

    def judge(self, cell: Cell) -> Code:
        prefixes = list(self._prefixes)
        if self.nested and prefixes:
            prefixes = sorted((one for one in prefixes if encoded(one) <= encoded(cell[1])), key=encoded)[-1:]
            return Code.INCLUDE if prefixes and cell[1].startswith(prefixes[0]) else Code.NEXT_COLUMN
        matches = not prefixes or any(cell[1].startswith(one) for one in prefixes)
        return Code.INCLUDE if matches else Code.NEXT_COLUMN


class _ColumnCountGet(Filter):
    percount = False

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0

    def reset(self) -> None:
        self._count = 0

    def is_done(self) -> bool:
        return self._count > self._limit and not self.percount

    def judge(self, cell: Cell) -> Code:
        self._count += 1
        return Code.NEXT_COLUMN if self._count > self._limit else Code.INCLUDE_NEXT_COLUMN


class _Page(Filter):
    looks_at_rows = True

    def __init__(self, rows: int) -> None:
        self._rows, self._count = rows, 0

    def is_done(self) -> bool:
        return self._count >= self._rows

    def drops_row(self) -> bool:
        self._count += 1
        return self._count > self._rows


class _ColumnPagination(Filter):
    def __init__(self, limit: int, offset: int) -> None:
        self._limit, self._offset, self._count = limit, offset, 0

    def reset(self) -> None:
        self._count = 0

    def judge(self, cell: Cell) -> Code:
        if self._count >= self._offset + self._limit:
            return Code.NEXT_ROW
        code = Code.NEXT_COLUMN if self._count < self._offset else Code.INCLUDE_NEXT_COLUMN
        self._count += 1
        return code


class _InclusiveStop(Filter):
    def __init__(self, row: str) -> None:
        self._row, self._done = encoded(row), False

    def is_done(self) -> bool:
        return self._done

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        if not self._done:
            self._done = encoded(row) < self._row if is_reversed else encoded(row) > self._row
        return self._done

    def judge(self, cell: Cell) -> Code:
        return Code.NEXT_ROW if self._done else Code.INCLUDE


class _Timestamps(Filter):
    def __init__(self, *times: int) -> None:
        self._times = set(times)

    def judge(self, cell: Cell) -> Code:
        if cell[2] in self._times:
            return Code.INCLUDE
        return Code.NEXT_COLUMN if self._times and cell[2] < min(self._times) else Code.SKIP


class _Row(Filter):
    def __init__(self, compare: str, comparator: str) -> None:
        self._comparison = _Comparison(compare, comparator)
        self._dropped = False

    def reset(self) -> None:
        self._dropped = False

    def drops_row_key(self, row: str, is_reversed: bool) -> bool:
        self._dropped = not self._comparison.holds(row)
        return self._dropped

    def drops_row(self) -> bool:
        return self._dropped

    def judge(self, cell: Cell) -> Code:
        return Code.NEXT_ROW if self._dropped else Code.INCLUDE


class _Part(Filter):
    """Compares one part of each cell."""

    def __init__(self, part: int, otherwise: Code, compare: str, comparator: str) -> None:
        self._part, self._otherwise = part, otherwise
        self._comparison = _Comparison(compare, comparator)

    def judge(self, cell: Cell) -> Code:
        return Code.INCLUDE if self._comparison.holds(str(cell[self._part])) else self._otherwise


class _ColumnRange(Filter):
    def __init__(self, first: str, with_first: bool, last: str, with_last: bool) -> None:
        self._first, self._with_first = encoded(first), with_first
        self._last, self._with_last = encoded(last), with_last

    def judge(self, cell: Cell) -> Code:
        qualifier = encoded(cell[1])
        if self._first and (qualifier < self._first or (qualifier == self._first and not self._with_first)):
            return Code.NEXT_COLUMN
        if self._last and (qualifier > self._last or (qualifier == self._last and not self._with_last)):
            return Code.NEXT_ROW
        return Code.INCLUDE


class _SingleColumnValue(Filter):
    looks_at_rows = True

    def __init__(
        self,
        family: str,
        qualifier: str,
        compare: str,
        comparator: str,
        if_missing: bool = False,
        latest_only: bool = True,
    ) -> None:
        self._column = (family, qualifier)
        self._comparison = _Comparison(compare, comparator)
        self._if_missing, self._latest_only = if_missing, latest_only
        self._found = self._matched = False

    def reset(self) -> None:
        self._found = self._matched = False

    def judge(self, cell: Cell) -> Code:
        if self._matched:
            return Code.INCLUDE
        if self._latest_only and self._found:
            return Code.NEXT_ROW
        if cell[:2] != self._column:
            return Code.INCLUDE
        self._found = True
        if not self._comparison.holds(cell[3]):
            return Code.NEXT_ROW if self._latest_only else Code.INCLUDE
        self._matched = True
        return Code.INCLUDE

    def drops_row(self) -> bool:
        return not self._matched if self._found else self._if_missing


class _SingleColumnValueExclude(_SingleColumnValue):
    def last_look(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell[:2] != self._column]


class _DependentColumn(Filter):
    looks_at_rows = True

    def __init__(
        self, family: str, qualifier: str, drop: bool = False, compare: str = "", comparator: str = ""
    ) -> None:
        self._column, self._drop = (family, qualifier), drop
        self._comparison = _Comparison(compare, comparator) if compare else None
        self._times: set[int] = set()

    def reset(self) -> None:
        self._times = set()

    def judge(self, cell: Cell) -> Code:
        if cell[:2] != self._column:
            return Code.INCLUDE
        if self._comparison and not self._comparison.holds(cell[3]):
            return Code.SKIP
        self._times.add(cell[2])
        return Code.SKIP if self._drop else Code.INCLUDE

    def last_look(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell[2] in self._times]


class _ColumnValue(Filter):
    def __init__(self, family: str, qualifier: str, compare: str, comparator: str) -> None:
        self._column, self._comparison = (family, qualifier), _Comparison(compare, comparator)
        self._found = False

    def reset(self) -> None:
        self._found = False

    def judge(self, cell: Cell) -> Code:
        if cell[:2] != self._column:
            return Code.NEXT_ROW if self._found else Code.NEXT_COLUMN
        self._found = True
        return Code.INCLUDE if self._comparison.holds(cell[3]) else Code.SKIP


BY_NAME: Final[dict[str, Callable[..., Filter]]] = {
    "KeyOnlyFilter": _KeyOnly,
    "FirstKeyOnlyFilter": _FirstKeyOnly,
    "PrefixFilter": _Prefix,
    "ColumnPrefixFilter": _ColumnPrefix,
    "MultipleColumnPrefixFilter": _MultipleColumnPrefix,
    "ColumnCountGetFilter": _ColumnCountGet,
    "PageFilter": _Page,
    "ColumnPaginationFilter": _ColumnPagination,
    "InclusiveStopFilter": _InclusiveStop,
    "TimestampsFilter": _Timestamps,
    "RowFilter": _Row,
    "FamilyFilter": lambda *arguments: _Part(0, Code.NEXT_ROW, *arguments),
    "QualifierFilter": lambda *arguments: _Part(1, Code.SKIP, *arguments),
    "ValueFilter": lambda *arguments: _Part(3, Code.SKIP, *arguments),
    "ColumnRangeFilter": _ColumnRange,
    "SingleColumnValueFilter": _SingleColumnValue,
    "SingleColumnValueExcludeFilter": _SingleColumnValueExclude,
    "DependentColumnFilter": _DependentColumn,
    "ColumnValueFilter": _ColumnValue,
}


def simple_filter(name: str, arguments: list[Any], flags: Collection[str]) -> Filter:
    """Without operators around it."""
    made = BY_NAME[name](*arguments)
    if isinstance(made, _MultipleColumnPrefix):
        made.nested = "nested" in flags
    if isinstance(made, _ColumnCountGet):
        made.percount = "percount" in flags
    return made

"""The filters that decide cell by cell."""

from typing import final

from hbtable.filters.expression import ColumnRange
from hbtable.filters.node import INCLUDE, INCLUDE_NEXT_COLUMN, NEXT_COLUMN, NEXT_FAMILY, SKIP, FilterNode
from hbtable.filters.searching import Test
from hbtable.model.cell import Cell
from hbtable.switches import switches


@final
class KeyOnlyNode(FilterNode):
    """Keeps every cell and takes its value away, or puts its length in the value's place."""

    __slots__ = ("_length_as_value",)

    def __init__(self, length_as_value: bool) -> None:
        self._length_as_value = length_as_value

    def transform(self, cell: Cell) -> Cell:
        column, timestamp, value = cell
        return column, timestamp, len(value).to_bytes(4, "big") if self._length_as_value else b""


@final
class FirstKeyOnlyNode(FilterNode):
    """The first cell of a row that comes by; the rest of the row need not be shown."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found = False

    def reset(self) -> None:
        self._found = False

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if self._found:
            return NEXT_FAMILY
        self._found = True
        return INCLUDE

    def is_done_with_row(self) -> bool:
        return self._found


@final
class ColumnPrefixNode(FilterNode):
    """Qualifiers that begin with one of the prefixes."""

    __slots__ = ("_greatest", "_prefixes")

    def __init__(self, prefixes: tuple[bytes, ...]) -> None:
        self._prefixes = prefixes
        self._greatest = max(prefixes)

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if qualifier.startswith(self._prefixes):
            return INCLUDE
        return NEXT_FAMILY if qualifier > self._greatest else SKIP


@final
class ColumnCountGetNode(FilterNode):
    """The first columns of every row; unlike HBase's it does not end the scan at the first row that has more."""

    __slots__ = ("_count", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0

    def reset(self) -> None:
        self._count = 0

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        self._count += 1
        return INCLUDE_NEXT_COLUMN if self._count <= self._limit else NEXT_COLUMN

    def is_done_with_row(self) -> bool:
        return self._count >= self._limit


@final
class ColumnPaginationNode(FilterNode):
    """Passes `limit` columns of each row, after the first `offset`."""

    __slots__ = ("_count", "_end", "_offset")

    def __init__(self, limit: int, offset: int) -> None:
        self._offset = offset
        self._end = offset + limit
        self._count = 0

    def reset(self) -> None:
        self._count = 0

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        count = self._count
        if count >= self._end:
            return NEXT_FAMILY
        self._count = count + 1
        return NEXT_COLUMN if count < self._offset else INCLUDE_NEXT_COLUMN

    def is_done_with_row(self) -> bool:
        return self._count >= self._end


@final
class TimestampsNode(FilterNode):
    """Cells of exactly these times."""

    __slots__ = ("_millis", "_oldest")

    def __init__(self, millis: frozenset[int]) -> None:
        self._millis = millis
        self._oldest = min(millis, default=2**63)

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if cell[1] in self._millis:
            return INCLUDE
        return NEXT_COLUMN if cell[1] < self._oldest else SKIP


@final
class FamilyNode(FilterNode):
    """Cells whose family passes the test."""

    __slots__ = ("_test",)

    def __init__(self, test: Test) -> None:
        self._test = test

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return INCLUDE if self._test(family) else NEXT_FAMILY


@final
class QualifierNode(FilterNode):
    """Cells whose qualifier passes the test."""

    __slots__ = ("_test",)

    def __init__(self, test: Test) -> None:
        self._test = test

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return INCLUDE if self._test(qualifier) else SKIP


@final
class ValueNode(FilterNode):
    """Cells whose value passes the test."""

    __slots__ = ("_test",)

    def __init__(self, test: Test) -> None:
        self._test = test

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return INCLUDE if self._test(cell[2]) else SKIP


@final
class ColumnRangeNode(FilterNode):
    """Qualifiers between two bounds; the rest of the family is left out once the upper one is passed."""

    __slots__ = ("_range",)

    def __init__(self, expression: ColumnRange) -> None:
        self._range = expression

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        wanted = self._range
        if wanted.minimum:
            if qualifier < wanted.minimum:
                return SKIP
            if qualifier == wanted.minimum and not wanted.minimum_inclusive:
                return NEXT_COLUMN
        if not wanted.maximum or qualifier < wanted.maximum:
            return INCLUDE
        return INCLUDE if wanted.maximum_inclusive and qualifier == wanted.maximum else NEXT_FAMILY


@final
class ColumnValueNode(FilterNode):
    """The one column alone, and only versions whose value passes."""

    __slots__ = ("_column", "_found", "_test")

    def __init__(self, column: bytes, test: Test) -> None:
        self._column = column
        self._test = test
        self._found = False

    def reset(self) -> None:
        self._found = False

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if cell[0] != self._column:
            return NEXT_FAMILY if self._found else NEXT_COLUMN
        self._found = True
        return INCLUDE if self._test(cell[2]) else SKIP

"""The filters that decide on whole rows: by the key, by the value of one column, by a count."""

from typing import Protocol, final

from hbtable.encoding import varint
from hbtable.filters.node import INCLUDE, NEXT_FAMILY, SKIP, FilterNode, load_number
from hbtable.filters.searching import Test
from hbtable.model.cell import Cell
from hbtable.switches import switches


class PassingNode(FilterNode, Protocol):
    """Finished once the scan is past what it looks for, in this page or an earlier one."""

    __slots__ = ("_passed",)

    _passed: bool

    def is_finished(self) -> bool:
        return self._passed

    def save(self, out: bytearray) -> None:
        out.append(self._passed)

    def load(self, state: bytes, offset: int) -> int:
        passed, offset = load_number(state, offset)
        self._passed = bool(passed)
        return offset


@final
class PrefixNode(PassingNode):
    """Finished once past the prefix in scan direction. Where nobody asks about the row key (SKIP) it rejects all."""

    __slots__ = ("_prefix", "_rejects", "_reversed")

    def __init__(self, prefix: bytes, is_reversed: bool) -> None:
        self._prefix = prefix
        self._reversed = is_reversed
        self._passed = False
        self._rejects = True

    def reset(self) -> None:
        self._rejects = True

    def drops_row(self, row: bytes) -> bool:
        if row.startswith(self._prefix):
            self._rejects = False
            return False
        if (row < self._prefix) if self._reversed else (row > self._prefix):
            self._passed = True
        return True

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return NEXT_FAMILY if self._rejects else INCLUDE

    def rejects_row(self) -> bool:
        return self._rejects


@final
class RowKeyNode(FilterNode):
    """Rows whose key passes the test."""

    __slots__ = ("_rejects", "_test")

    def __init__(self, test: Test) -> None:
        self._test = test
        self._rejects = False

    def reset(self) -> None:
        self._rejects = False

    @switches
    def drops_row(self, row: bytes) -> bool:
        self._rejects = not self._test(row)
        return self._rejects

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return NEXT_FAMILY if self._rejects else INCLUDE

    def rejects_row(self) -> bool:
        return self._rejects


@final
class InclusiveStopNode(PassingNode):
    """Rows up to and including one, in scan direction; finished once past it."""

    __slots__ = ("_reversed", "_row")

    def __init__(self, row: bytes, is_reversed: bool) -> None:
        self._row = row
        self._reversed = is_reversed
        self._passed = False

    def drops_row(self, row: bytes) -> bool:
        if (row < self._row) if self._reversed else (row > self._row):
            self._passed = True
        return self._passed

    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return NEXT_FAMILY if self._passed else INCLUDE


@final
class PageNode(FilterNode):
    """Counts the rows that come to its row stage, over the whole scan."""

    __slots__ = ("_accepted", "_rows")

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._accepted = 0

    def rejects_row(self) -> bool:
        self._accepted += 1
        return self._accepted > self._rows

    def is_finished(self) -> bool:
        return self._accepted >= self._rows

    def save(self, out: bytearray) -> None:
        out += varint.encode(self._accepted)

    def load(self, state: bytes, offset: int) -> int:
        self._accepted, offset = load_number(state, offset)
        return offset


@final
class SingleColumnValueNode(FilterNode):
    """Whole rows, by the value of one column, whose cell is looked for while the others pass by."""

    __slots__ = ("_column", "_drop_if_missing", "_exclude", "_found", "_latest_only", "_matched", "_test")

    def __init__(self, column: bytes, test: Test, drop_if_missing: bool, latest_only: bool, exclude: bool) -> None:
        self._column = column
        self._test = test
        self._drop_if_missing = drop_if_missing
        self._latest_only = latest_only
        self._exclude = exclude
        self._found = self._matched = False

    def reset(self) -> None:
        self._found = self._matched = False

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if self._matched:
            return INCLUDE
        if self._found and self._latest_only:
            return NEXT_FAMILY
        if cell[0] != self._column:
            return INCLUDE
        self._found = True
        if self._test(cell[2]):
            self._matched = True
            return INCLUDE
        return NEXT_FAMILY if self._latest_only else INCLUDE

    def sift(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell[0] != self._column] if self._exclude else cells

    def rejects_row(self) -> bool:
        return not self._matched if self._found else self._drop_if_missing


@final
class DependentColumnNode(FilterNode):
    """Cells that share a time with a cell of one column; which times those are is known only after the row."""

    __slots__ = ("_column", "_drop", "_test", "_times")

    def __init__(self, column: bytes, drop_dependent: bool, test: Test | None) -> None:
        self._column = column
        self._drop = drop_dependent
        self._test = test
        self._times: set[int] = set()

    def reset(self) -> None:
        self._times = set()

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if cell[0] != self._column:
            return INCLUDE
        if self._test is not None and not self._test(cell[2]):
            return SKIP
        self._times.add(cell[1])
        return SKIP if self._drop else INCLUDE

    def sift(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell[1] in self._times]

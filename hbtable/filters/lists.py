"""Filters that combine others: AND, OR, SKIP, WHILE (docs/contract.md: filters; HBase's FilterList, SkipFilter,
WhileMatchFilter).

Order matters: AND does not show a cell to members after the one that rejects it, and its row stage ends at the first
member that drops the row; the row stage of OR ends at the first that keeps it.
"""

from typing import Protocol, final

from hbtable.filters.node import INCLUDE, NEXT_COLUMN, NEXT_FAMILY, SKIP, STEP, FilterNode, load_number
from hbtable.model.cell import Cell
from hbtable.switches import switches


class ListNode(FilterNode, Protocol):
    """The part that AND and OR have in common: what they do to each of their members alike."""

    __slots__ = ("_column", "_family", "_members", "_waits")

    _members: list[FilterNode]
    _column: bytes
    _family: bytes
    _waits: list[int]
    """For each member, as far as that is looked at: the rest of the column or family that it does not want to see."""

    def __init__(self, members: list[FilterNode]) -> None:
        self._members = members
        self._column = self._family = b""
        self._waits = [0] * len(members)

    def reset(self) -> None:
        self._column = self._family = b""  # so the first cell's family is another one, for which nobody waits
        for member in self._members:
            member.reset()

    def _come_to(self, column: bytes, family: bytes) -> None:
        """The next cell is of another column."""
        self._column = column
        waits = self._waits
        if family != self._family:
            self._family = family
            waits[:] = [0] * len(waits)
        else:
            waits[:] = [wait if wait == NEXT_FAMILY else 0 for wait in waits]

    def sift(self, cells: list[Cell]) -> list[Cell]:
        for member in self._members:
            cells = member.sift(cells)
        return cells

    @switches
    def project(self, cells: list[Cell]) -> list[Cell]:
        for member in self._members:
            cells = member.project(cells)
        return cells

    def save(self, out: bytearray) -> None:
        for member in self._members:
            member.save(out)

    def load(self, state: bytes, offset: int) -> int:
        for member in self._members:
            offset = member.load(state, offset)
        return offset


@final
class AllNode(ListNode):
    """Keeps what all members keep, goes on where the farthest of them wants to. `sees_all`: a member decides by all
    cells of the row that come to it; what the others need not see is passed over here, not by the reader."""

    __slots__ = ("_sees_all",)

    def __init__(self, members: list[FilterNode], sees_all: bool = False) -> None:
        super().__init__(members)
        self._sees_all = sees_all

    @switches
    def drops_row(self, row: bytes) -> bool:
        dropped = False
        for member in self._members:
            if member.is_finished() or member.drops_row(row):
                dropped = True  # the others must see the key all the same
        return dropped

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        if self._sees_all:
            return self._cell_of_all(cell, family, qualifier)
        step = 0
        for member in self._members:
            if member.is_finished():
                return NEXT_FAMILY  # SKIP does not ask for the end: its rows go on, and each must be rejected
            code = member.cell(cell, family, qualifier)
            step = max(step, code & STEP)
            if not code & INCLUDE:
                return step
        return step | INCLUDE

    @switches
    def _cell_of_all(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        waits = self._waits
        if cell[0] != self._column:
            self._come_to(cell[0], family)
        for place, member in enumerate(self._members):
            if waits[place] or member.is_finished():
                return SKIP
            code = member.cell(cell, family, qualifier)
            waits[place] = code & STEP
            if not code & INCLUDE:
                return SKIP
        return INCLUDE

    def transform(self, cell: Cell) -> Cell:
        for member in self._members:
            cell = member.transform(cell)
        return cell

    @switches
    def rejects_row(self) -> bool:
        return any(member.rejects_row() for member in self._members)

    def is_finished(self) -> bool:
        return any(member.is_finished() for member in self._members)


@final
class AnyNode(ListNode):
    """Keeps what any member keeps, goes on where the nearest of them wants to."""

    __slots__ = ("_kept",)

    def __init__(self, members: list[FilterNode]) -> None:
        super().__init__(members)
        # The members that kept the current cell: only they transform it.
        self._kept: list[FilterNode] = []

    @switches
    def drops_row(self, row: bytes) -> bool:
        dropped = True
        for member in self._members:
            if not member.is_finished() and not member.drops_row(row):
                dropped = False  # the others must see the key all the same
        return dropped

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        waits = self._waits
        if cell[0] != self._column:
            self._come_to(cell[0], family)
        self._kept.clear()
        step = NEXT_FAMILY
        for place, member in enumerate(self._members):
            wait = waits[place]
            if not wait and not member.is_finished():
                code = member.cell(cell, family, qualifier)
                if code & INCLUDE:
                    self._kept.append(member)
                wait = waits[place] = code & STEP
                step = min(step, wait)
            elif wait == NEXT_COLUMN:
                step = min(step, wait)
        return step | INCLUDE if self._kept else step

    def transform(self, cell: Cell) -> Cell:
        for member in self._kept:
            cell = member.transform(cell)
        return cell

    @switches
    def rejects_row(self) -> bool:
        return all(member.rejects_row() for member in self._members)

    def is_finished(self) -> bool:
        return all(member.is_finished() for member in self._members)


class WrappingNode(FilterNode, Protocol):
    """The part that SKIP and WHILE have in common: what they leave to their member."""

    __slots__ = ("_member",)

    _member: FilterNode

    def transform(self, cell: Cell) -> Cell:
        return self._member.transform(cell)

    @switches
    def project(self, cells: list[Cell]) -> list[Cell]:
        return self._member.project(cells)


@final
class SkipNode(WrappingNode):
    """Rejects a row when the member answers anything but a plain "keep" to one of its cells. The member's row-key
    stage, row stage and end are not asked for, as in HBase."""

    __slots__ = ("_rejects",)

    def __init__(self, member: FilterNode) -> None:
        self._member = member
        self._rejects = False

    def reset(self) -> None:
        self._rejects = False
        self._member.reset()

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        code = self._member.cell(cell, family, qualifier)
        if code != INCLUDE:
            self._rejects = True
        return code

    def rejects_row(self) -> bool:
        return self._rejects

    def save(self, out: bytearray) -> None:
        self._member.save(out)

    def load(self, state: bytes, offset: int) -> int:
        return self._member.load(state, offset)


@final
class WhileNode(WrappingNode):
    """Ends the scan at the first row key, cell or row to which the member answers anything but a plain "keep"."""

    __slots__ = ("_ended",)

    def __init__(self, member: FilterNode) -> None:
        self._member = member
        self._ended = False

    def reset(self) -> None:
        self._member.reset()

    @switches
    def drops_row(self, row: bytes) -> bool:
        if self.is_finished() or self._member.drops_row(row):
            self._ended = True
        return self._ended

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        code = self._member.cell(cell, family, qualifier)
        if code != INCLUDE:
            self._ended = True
        return code

    @switches
    def rejects_row(self) -> bool:
        rejects = self._member.rejects_row()
        if rejects:
            self._ended = True
        return rejects

    def is_finished(self) -> bool:
        return self._ended or self._member.is_finished()

    def save(self, out: bytearray) -> None:
        out.append(self._ended)
        self._member.save(out)

    def load(self, state: bytes, offset: int) -> int:
        ended, offset = load_number(state, offset)
        self._ended = bool(ended)
        return self._member.load(state, offset)

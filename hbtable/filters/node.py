"""The methods that every part of a running filter has, in the order in which a row passes through it
(docs/contract.md: filters).

    reset()             a new row begins
    drops_row(row)      the row-key stage
    cell(...)           each cell, newest version first within a column; answers one of the codes below
    transform(cell)     what a kept cell becomes
    sift(cells)         the row stage, only for rows that kept cells: takes cells away
    rejects_row()       the row stage's verdict
    project(cells)      what a kept row becomes
    is_finished()       no later row can pass
    is_done_with_row()  no later cell of this row can

Codes say whether the cell is kept (bit 0) and what need not be shown any more (bits 1 and 2): nothing, the rest of the
column, or the rest of the family in this row. HBase's NEXT_ROW means the last: it ends one store.

What compares or computes may ask a worker process (searching.py, cel), so drops_row(), cell(), rejects_row() and
project() of such a part *switch*, and of what holds it; the other methods do not.
"""

from typing import Final, Protocol

from hbtable.encoding import varint
from hbtable.errors import InvalidRequest
from hbtable.model.cell import Cell
from hbtable.switches import switches

SKIP: Final = 0
INCLUDE: Final = 1
NEXT_COLUMN: Final = 2
INCLUDE_NEXT_COLUMN: Final = 3
NEXT_FAMILY: Final = 4
STEP: Final = 6
"""Masks what need not be shown: 0, NEXT_COLUMN or NEXT_FAMILY."""


class FilterNode(Protocol):
    """One part of a running filter. Each method has the answer of a filter that does not care, so that a filter states
    only what it does."""

    __slots__ = ()

    def reset(self) -> None:
        return

    @switches
    def drops_row(self, row: bytes) -> bool:
        return False

    @switches
    def cell(self, cell: Cell, family: bytes, qualifier: bytes) -> int:
        return INCLUDE

    def transform(self, cell: Cell) -> Cell:
        """Makes the cell to show of one that cell() has just kept."""
        return cell

    def sift(self, cells: list[Cell]) -> list[Cell]:
        return cells

    @switches
    def rejects_row(self) -> bool:
        return False

    @switches
    def project(self, cells: list[Cell]) -> list[Cell]:
        return cells

    def is_finished(self) -> bool:
        return False

    def is_done_with_row(self) -> bool:
        """Whether no later cell of the row is kept, or changes anything, if this is the whole filter."""
        return False

    def save(self, out: bytearray) -> None:
        """Appends what must outlive a page of a scan."""
        return

    def load(self, state: bytes, offset: int) -> int:
        """Takes back what save() wrote at `offset`; the offset after it."""
        return offset


def load_number(state: bytes, offset: int) -> tuple[int, int]:
    """InvalidRequest when it is not a state that a filter wrote."""
    try:
        return varint.decode(state, offset)
    except (IndexError, ValueError) as error:
        raise InvalidRequest(f"the filter state {state[:40]!r} of the scan's position is damaged") from error

"""The pages of one fetch of a scanner: some of rows, some of bytes that are answers already."""

from collections.abc import Callable
from typing import Final, final

from hbtable.encoding.row_results import rows_of
from hbtable.model.cell import Row
from hbtable.model.parts import parts_of
from hbtable.model.read import PlainSlices, ScanPage, bytes_of
from hbtable.switches import switches, switches_if_given

_SMALL_BYTES: Final = 32 << 10
_LONG_ROW: Final = 1 << 10
"""Cells that are looked at in one stretch."""
_CELLS_A_ROW: Final = 4
"""A row costs as much as so many of its cells."""


@final
class ScannedPages:
    """The pages of one fetch, in order."""

    __slots__ = ("count", "has_plain", "pages")

    def __init__(self) -> None:
        self.pages: list[list[Row] | PlainSlices] = []
        self.count = 0
        """Rows of all pages."""
        self.has_plain = False

    def add(self, page: ScanPage) -> None:
        if page.plain is not None:
            self.pages.append(page.plain)
            self.count += page.plain.rows
            self.has_plain = True
        elif page.rows:
            self.pages.append(page.rows)
            self.count += len(page.rows)

    def is_small(self) -> bool:
        """Whether its bytes may be joined at once."""
        return not any(isinstance(page, list) or page.size_bytes > _SMALL_BYTES for page in self.pages[:2]) and (
            len(self.pages) <= 2
        )

    @switches_if_given
    def rows(self, pause: Callable[[], None] | None = None) -> list[Row]:
        """All of them. `pause` lets others run between many."""
        found: list[Row] = []
        for page in self.pages:
            rows = page if isinstance(page, list) else rows_of(page, pause)
            found = found + rows if found else rows
        return found


@switches
def size_of(page: ScanPage, pause: Callable[[], None]) -> int:
    """The bytes of the rows, as model.read.bytes_of counts. *Switches* by `pause` between many rows, and between parts
    of long ones."""
    if page.plain is not None:
        return page.plain.size_bytes
    total, left = 0, _LONG_ROW
    for row, cells in page.rows:
        if len(cells) <= _LONG_ROW:
            total += bytes_of(row, cells)
            left -= _CELLS_A_ROW + len(cells)
            if left <= 0:
                pause()
                left = _LONG_ROW
            continue
        for part in parts_of(cells, _LONG_ROW):
            total += bytes_of(b"", part)
            pause()
        total += len(row)
    return total

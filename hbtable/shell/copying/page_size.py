"""The number of rows to ask for, so that an answer stays small whatever the rows are like."""

from typing import Final, final

from hbtable.model.cell import Row

_BYTES: Final = 2 << 20
_CELL_BYTES: Final = 40
"""Each costs so much beside its name and value."""
_MOST: Final = 2000


@final
class PageSize:
    """Begins small and follows the rows that came."""

    def __init__(self) -> None:
        self.rows = 16

    def came(self, page: list[Row]) -> None:
        """Asks for four times as many at most, and for so many that they should have two megabytes."""
        size = sum(size_of(row) for row in page)
        if page:
            self.rows = max(1, min(len(page) * _BYTES // max(size, 1), self.rows * 4, _MOST))


def size_of(row: Row) -> int:
    """Bytes, about, on the wire."""
    key, cells = row
    return sum(len(key) + len(column) + len(value) + _CELL_BYTES for column, _, value in cells)


def batches(page: list[Row]) -> list[list[Row]]:
    """The rows in calls of some two megabytes each."""
    found: list[list[Row]] = []
    size = _BYTES
    for row in page:
        if size >= _BYTES:
            found.append([])
            size = 0
        found[-1].append(row)
        size += size_of(row)
    return found

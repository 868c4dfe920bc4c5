"""A digest of cells that does not depend on how they came: in which pages, pieces of rows or order."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from hbtable.model.cell import Row

_BYTES: Final = 16
_MODULUS: Final = 1 << (8 * _BYTES)


@dataclass(slots=True)
class CellsDigest:
    """The sum of the digests of single cells, each with its row, column, time and value, and how many there are."""

    cells: int = 0
    total: int = 0
    rows: int = field(default=0, compare=False)
    """A piece of a row counts as one."""

    def add(self, rows: Iterable[Row]) -> None:
        for row, cells in rows:
            head = len(row).to_bytes(4, "big") + row
            for column, timestamp, value in cells:
                data = b"%b%b%b%b%b" % (
                    head,
                    len(column).to_bytes(4, "big"),
                    column,
                    timestamp.to_bytes(8, "big", signed=True),
                    value,
                )
                self.total += int.from_bytes(blake2b(data, digest_size=_BYTES).digest(), "big")
            self.cells += len(cells)
            self.rows += 1
        self.total %= _MODULUS

    def merge(self, other: "CellsDigest") -> None:
        """Adds the digest of other cells."""
        self.cells += other.cells
        self.rows += other.rows
        self.total = (self.total + other.total) % _MODULUS

    def __str__(self) -> str:
        return f"{self.total:032x}"

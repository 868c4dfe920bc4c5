"""Both sides of a part, read side by side: what is on one of them alone."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from hbtable.model.cell import Cell, Row
from hbtable.shell.copying.columns import lifetime_of
from hbtable.shell.copying.digest import CellsDigest


@final
@dataclass(slots=True)
class PartComparison:
    """The cells of both sides, and how many differ: `missing` at the target, and `surplus` there alone."""

    source: CellsDigest = field(default_factory=CellsDigest)
    target: CellsDigest = field(default_factory=CellsDigest)
    missing: int = 0
    surplus: int = 0
    other_lifetimes: int = 0
    """Missing ones that are there, and have another time to live of their own: it is not in the digests."""
    repeated: int = 0
    """Rows that differ though no cell is missing or surplus: a cell came twice."""
    left: int = 0
    """Surplus ones that were to be deleted, and that the target's server left."""

    def add(self, other: "PartComparison") -> None:
        """Adds the comparison of other rows."""
        self.source.merge(other.source)
        self.target.merge(other.target)
        self.missing += other.missing
        self.surplus += other.surplus
        self.other_lifetimes += other.other_lifetimes
        self.repeated += other.repeated
        self.left += other.left

    @property
    def alike(self) -> bool:
        return self.source == self.target and not self.other_lifetimes


def compare(
    source: Iterable[list[Row]],
    target: Iterable[list[Row]],
    found: PartComparison,
    missing: Callable[[Row], object],
    surplus: Callable[[Row], object],
    lifetimes: bool = False,
) -> None:
    """Hands over, row by row, the cells that only one of them has. Both give rows ascending. `lifetimes`: both tell
    cells' own."""
    theirs = whole_rows(target)
    other = next(theirs, None)
    for row, cells in whole_rows(source):
        found.source.add([(row, cells)])
        while other is not None and other[0] < row:
            _surplus(other, found, surplus)
            other = next(theirs, None)
        if other is None or other[0] > row:
            found.missing += len(cells)
            missing((row, cells))
            continue
        found.target.add([other])
        _of_one_row(row, cells, other[1], found, missing, surplus)
        if lifetimes and (others := _other_lifetimes(cells, other[1])):
            found.other_lifetimes += len(others)
            found.missing += len(others)
            missing((row, others))
        other = next(theirs, None)
    while other is not None:
        _surplus(other, found, surplus)
        other = next(theirs, None)


def whole_rows(pages: Iterable[list[Row]]) -> Iterator[Row]:
    """The pieces of a row as one."""
    row: bytes | None = None
    gathered: list[Cell] = []
    for page in pages:
        for key, cells in page:
            if key != row:
                if row is not None:
                    yield row, gathered
                row, gathered = key, []
            gathered += cells
    if row is not None:
        yield row, gathered


def _surplus(row: Row, found: PartComparison, surplus: Callable[[Row], object]) -> None:
    found.target.add([row])
    found.surplus += len(row[1])
    surplus(row)


def _other_lifetimes(ours: list[Cell], theirs: list[Cell]) -> list[Cell]:
    """Our cells that are there as well."""
    at_target = {cell: lifetime_of(cell[2]) for cell in theirs}
    return [cell for cell in ours if at_target.get(cell, lifetime_of(cell[2])) != lifetime_of(cell[2])]


def _of_one_row(
    row: bytes,
    ours: list[Cell],
    theirs: list[Cell],
    found: PartComparison,
    missing: Callable[[Row], object],
    surplus: Callable[[Row], object],
) -> None:
    if ours == theirs:
        return
    at_source, at_target = set(ours), set(theirs)
    if lacking := [cell for cell in ours if cell not in at_target]:
        found.missing += len(lacking)
        missing((row, lacking))
    # A cell with another value is overwritten, not deleted.
    places = {cell[:2] for cell in at_source}
    if further := [cell for cell in theirs if cell[:2] not in places]:
        found.surplus += len(further)
        surplus((row, further))
    if not lacking and not further and sorted(ours) != sorted(theirs):
        found.repeated += 1

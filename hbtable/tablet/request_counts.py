"""Counts of what is read and written, by locality group of a tablet."""

from collections.abc import Sequence
from typing import final

from hbtable.encoding.cell_key import Pair
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.reads.column_selection import ColumnSelection


@final
class GroupCounts:
    """The counts of one locality group, since the tablet was loaded."""

    __slots__ = ("read_rows", "written_cells")

    def __init__(self) -> None:
        self.read_rows = 0
        self.written_cells = 0


@final
class RequestCounts:
    """The counts of all groups that there were, by the names of their stacks. Hot."""

    __slots__ = ("by_key",)

    def __init__(self) -> None:
        self.by_key: dict[str, GroupCounts] = {}

    def know(self, layout: LocalityGroupLayout) -> None:
        """Reads and writes by this layout are counted from now on."""
        for key in layout.keys:
            self.by_key.setdefault(key, GroupCounts())

    def read(self, selection: ColumnSelection, rows: int) -> None:
        layout = selection.layout
        if selection.families is None:
            self.read_all(layout, rows)
            return
        self.read_families(layout, selection.families, rows)

    def read_families(self, layout: LocalityGroupLayout, families: frozenset[bytes], rows: int) -> None:
        """As read(), of families as they stand in cell keys."""
        for place in {layout.places[family] for family in families}:
            self.by_key[layout.keys[place]].read_rows += rows

    def read_all(self, layout: LocalityGroupLayout, rows: int) -> None:
        """As read(), of all families."""
        for key in layout.keys:
            self.by_key[key].read_rows += rows

    def wrote(self, layout: LocalityGroupLayout, by_stack: Sequence[Sequence[Pair]]) -> None:
        for key, pairs in zip(layout.keys, by_stack, strict=False):
            if pairs:
                self.by_key[key].written_cells += len(pairs)

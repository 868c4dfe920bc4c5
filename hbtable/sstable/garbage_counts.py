"""Counts for background work (properties.GarbageCounts) what a file holds, as its blocks are built: exactly where that
is cheap, from every eighth block where each key would have to be cut."""

from collections.abc import Sequence
from typing import Final, final

from hbtable.encoding.cell_key import TERMINATOR
from hbtable.model.mutation import DELETE_FAMILY, DELETE_FAMILY_VERSION
from hbtable.sstable.properties import GarbageCounts

_SAMPLED: Final = 8


@final
class GarbageCounter:
    """Counts the garbage in one file while it is built."""

    __slots__ = ("_family_markers", "_mortal", "_sampled_cells", "_sampled_rows")

    def __init__(self) -> None:
        self._family_markers = 0
        self._mortal = 0
        self._sampled_cells = 0
        self._sampled_rows = 0

    def observe(self, keys: Sequence[bytes], kinds: Sequence[int], flags: Sequence[int], block: int) -> None:
        """Counts the cells of the block with the number `block`. `kinds`: empty when all are puts."""
        self._family_markers += kinds.count(DELETE_FAMILY) + kinds.count(DELETE_FAMILY_VERSION)
        self._mortal += len(flags) - flags.count(0)
        if block % _SAMPLED == 0:
            self._sampled_cells += len(keys)
            self._sampled_rows += len({key[: key.index(TERMINATOR)] for key in keys})

    def counted(self, cells: int, masked: int) -> GarbageCounts:
        """The counts for all `cells` of the file."""
        rows = self._sampled_rows * cells // self._sampled_cells if self._sampled_cells else 0
        return GarbageCounts(self._family_markers, rows, masked, self._mortal)

"""Going on inside a row: a scan that cuts rows into pieces finds its next piece by a seek, and reads nothing twice.

The position names the last cell given out. What follows it in its column are the older versions, then come the other
columns; before all of that the family's own delete markers have to be known. Where sequence or minimum versions decide,
at the empty qualifier, and for a filter, which counts versions, the column is read again from its newest version; what
was given is left out by its time. A raw scan gives several cells of one time, markers among them: those of the time of
the last one are counted, in the place of versions.

Pieces of one row may show it at different moments, as rows of one scan do: of a column that is deleted in between,
older versions may still come if the scan stood among them.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, final

from hbtable.encoding.cell_key import INVERT, TERMINATOR, Pair, column_prefix, row_prefix, row_stop
from hbtable.model.cell import Cell
from hbtable.model.mutation import PUT
from hbtable.model.read import ALL_VERSIONS, ScanPosition
from hbtable.switches import switches
from hbtable.tablet.reads.column_selection import ColumnSelection

_ALL: Final = 2**62


class Seek(NamedTuple):
    """The keys at which to read on, and at which the row ends; `markers`: the range of the family markers that sort
    before it, or None."""

    start: bytes
    stop: bytes
    markers: tuple[bytes, bytes] | None


@final
class Resumption:
    """Places one page of a scan that begins inside a row."""

    __slots__ = ("_is_behind", "_is_filtered", "_is_raw", "_left", "_same", "position")

    def __init__(self, position: ScanPosition, is_filtered: bool = False, is_raw: bool = False) -> None:
        """`is_filtered`: rest() is given what a filter keeps. `is_raw`: what is stored, markers included."""
        self.position = position
        self._is_filtered = is_filtered
        self._is_raw = is_raw
        self._same = position.versions if is_raw else _ALL
        """The number of its cells of the position's time that were given."""
        self._is_behind = False
        """The column of the position was passed."""
        self._left = _ALL
        """The number of its versions that may still be given."""

    def seek(self, selection: ColumnSelection) -> Seek:
        """The position from which the sources are to be read; to be asked before rest()."""
        position = self.position
        prefix = row_prefix(position.row)
        stop = row_stop(position.row)
        family, _, qualifier = position.column.partition(b":")
        stored = selection.layout.stored.get(family)
        if stored is None:
            return Seek(prefix + family + b"\x01", stop, None)  # it was dropped: the next one
        column = column_prefix(prefix, stored, qualifier)
        if self._is_raw:
            if selection.max_versions >= ALL_VERSIONS:  # else its puts are counted from the newest
                column += (INVERT - position.timestamp).to_bytes(8, "big")
            return Seek(column, stop, None)
        if not qualifier:
            return Seek(column, stop, None)
        head = prefix + stored + b"\x00"
        markers = (head + TERMINATOR, head + b"\x00\x02")
        rule = selection.rules[stored]
        asked = selection.spec.max_versions if self._is_filtered else selection.max_versions
        left = min(rule.max_versions, asked) - position.versions
        if left <= 0 or not position.timestamp:
            return Seek(column[:-1] + b"\x02", stop, markers)
        if rule.new_version_behavior or rule.min_versions or self._is_filtered:
            return Seek(column, stop, markers)
        self._left = left
        return Seek(column + (INVERT - position.timestamp + 1).to_bytes(8, "big"), stop, markers)

    def rest(self, row: bytes, cells: list[Cell]) -> list[Cell]:
        """The cells of the row that were not given out. `cells` come in any number of parts."""
        _, _, _, column, timestamp, _ = self.position
        if self._is_behind or row != self.position.row:
            return cells
        kept: list[Cell] = []
        for place, cell in enumerate(cells):
            if cell[0] != column:
                self._is_behind = True
                return kept + cells[place:]
            if cell[1] < timestamp and self._left > 0:
                self._left -= 1
                kept.append(cell)
            elif cell[1] == timestamp:
                self._same -= 1
                if self._same < 0:
                    kept.append(cell)
        return kept

    def again(self) -> "Resumption":
        """Another one for the same position, before any rest()."""
        return Resumption(self.position, self._is_filtered, self._is_raw)


@switches
def markers_only(pairs: Iterator[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair[0][-10] != PUT]

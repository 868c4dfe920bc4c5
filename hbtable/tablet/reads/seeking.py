"""Going past the columns of a wide row that a read does not ask for: by a seek, and not by reading them.

A row is read in lists. When a long list has gone by in vain from its middle on, the sources are sought anew at the
next column that may matter: one that is asked for by name, or that lies within the bounds of the filter. Behind the
last of a family that is the next family, at its beginning, where its delete markers sit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, final

from hbtable.encoding.cell_key import SUFFIX_BYTES, TERMINATOR, Pair, column_prefix, family_name, row_of
from hbtable.filters.column_bounds import Spans
from hbtable.filters.evaluate import RowFilter
from hbtable.model.read import Columns
from hbtable.runtime.slices import sorted_with_pauses
from hbtable.switches import switches

SOUGHT_AFTER: Final = 256
"""Pairs of a list in which a seek may be worth it: it costs as much as reading a hundred."""


@final
class ColumnSeeker:
    """Knows the columns that one read asks for. `pause` lets other tasks run while very many of them are sorted."""

    __slots__ = ("_bounds", "_columns", "_pause", "_qualifiers", "row_filter")

    def __init__(self, columns: Columns | None, row_filter: RowFilter | None, pause: Callable[[], object]) -> None:
        self._columns = columns
        self._pause = pause
        self.row_filter = row_filter
        self._bounds = row_filter.column_bounds() if row_filter is not None else []
        self._qualifiers: dict[bytes, list[bytes]] = {}
        """The qualifiers asked for, ascending, of families that were met."""

    @switches
    def target(self, pairs: list[Pair]) -> bytes | None:
        """The key at which to read on behind these pairs; None: at the next one."""
        last = pairs[-1][0]
        cut = last.index(TERMINATOR) + 2
        row_start = last[:cut]
        middle = pairs[len(pairs) // 2][0]
        if not middle.startswith(row_start):
            return None
        if self.row_filter is not None and self.row_filter.ends_row(row_of(row_start)):
            return row_start[:-1] + b"\x02"
        found = self._behind(last, row_start)
        return found if found is not None and found == self._behind(middle, row_start) else None

    @switches
    def _behind(self, key: bytes, row_start: bytes) -> bytes | None:
        """The column or family after that of the key, if nothing before it matters."""
        cut = len(row_start)
        end = key.index(b"\x00", cut)
        stored, qualifier = key[cut:end], key[end + 1 : -SUFFIX_BYTES - 2]
        if not qualifier:
            return None  # family markers may follow
        family = family_name(stored)
        next_family = row_start + stored + b"\x01"
        if self.row_filter is not None and self.row_filter.ends_family(row_of(row_start), family):
            return next_family
        if b"\x00" in qualifier:
            qualifier = qualifier.replace(b"\x00\xff", b"\x00")
        wanted = qualifier
        if self._columns is not None:
            named = self._named(family)
            if named is not None:
                place = bisect_left(named, qualifier)
                if place == len(named):
                    return next_family
                wanted = named[place]
        for spans in self._bounds:
            later = _within(spans, wanted)
            if later is None:
                return next_family
            wanted = later
        return column_prefix(row_start, stored, wanted) if wanted != qualifier else None

    @switches
    def _named(self, family: bytes) -> list[bytes] | None:
        """The qualifiers asked for; None: all."""
        assert self._columns is not None
        found = self._qualifiers.get(family)
        if found is None:
            qualifiers = self._columns.get(family, frozenset())
            if qualifiers is None:
                return None
            found = self._qualifiers[family] = sorted_with_pauses(tuple(qualifiers), bytes, self._pause)
        return found


def _within(spans: Spans, qualifier: bytes) -> bytes | None:
    """The first qualifier from this one on that lies within a span."""
    place = bisect_right(spans, qualifier, key=_low) - 1
    if place >= 0 and (not spans[place][1] or qualifier < spans[place][1]):
        return qualifier
    return spans[place + 1][0] if place + 1 < len(spans) else None


def _low(span: tuple[bytes, bytes]) -> bytes:
    return span[0]

"""The pairs of rows that are puts into several columns: what WriteBuilder does for each cell, for all of a row.

One row after the other mostly has the same columns. What the keys of a column have in common, between row and suffix,
is made for the first of them only.
"""

from collections.abc import Mapping
from typing import Final, final

from hbtable.encoding.cell_key import INVERT, SUFFIX, TERMINATOR, Pair
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation

_BYTES_ALONE: Final = {bytes}
_WHOLE_ALONE: Final = {int}
_PARTS: Final = 5
"""Of an operation: kind, family, qualifier, timestamp, value."""
_SUFFIX_BYTES: Final = SUFFIX.size


@final
class RowPuts:
    """Remembers the columns of the last row."""

    __slots__ = ("_families", "_largest_cell", "_longest", "_middles", "_places", "_qualifiers", "_stacks")

    def __init__(self, places: Mapping[bytes, tuple[int, bytes]], largest_cell: int) -> None:
        """`places`: of each family the place of its stack, and its name in keys with its end. `largest_cell`: bytes of
        a key and its value that need no more checks."""
        self._places = places
        self._largest_cell = largest_cell
        self._families: tuple[bytes, ...] = ()
        self._qualifiers: tuple[bytes, ...] = ()
        self._middles: list[bytes] = []
        """Of each column: the part of keys between row and suffix."""
        self._stacks: list[int] = []
        """The place of each column's stack; of one where all lie in the same."""
        self._longest = 0
        """Bytes of the longest of `_middles`."""

    def add(
        self, mutation: RowMutation, now: int, sequence: int, by_stack: list[list[Pair]]
    ) -> tuple[list[Pair], int] | None:
        """(the pairs, which `by_stack` has got, too; `now` if they have that time, else 0). None, and nothing happened:
        they are not puts of one time and without a time to live, or one is to be refused, has a byte to escape or is
        large. The row was checked, and no row is ahead of the clock. Hot."""
        row = mutation.row
        if mutation.ttl_millis or mutation.ttls is not None or b"\x00" in row:
            return None
        try:
            parts = tuple(zip(*mutation.operations, strict=True))
        except (TypeError, ValueError):
            return None
        if len(parts) != _PARTS:
            return None
        kinds, families, qualifiers, timestamps, values = parts
        count, timestamp = len(kinds), timestamps[0]
        if kinds.count(PUT) < count or type(timestamp) is not int or timestamps.count(timestamp) < count:
            return None
        assigned = now if timestamp == SERVER_TIME else 0
        if not assigned and (not 0 <= timestamp < MAX_TIMESTAMP or {*map(type, timestamps)} != _WHOLE_ALONE):
            return None  # 5.0 is equal to 5, and no time
        if {*map(type, families), *map(type, qualifiers), *map(type, values)} != _BYTES_ALONE:
            return None
        if (qualifiers != self._qualifiers or families != self._families) and not self._learn(families, qualifiers):
            return None
        if len(row) + self._longest + _SUFFIX_BYTES + max(map(len, values)) > self._largest_cell:
            return None
        end = SUFFIX.pack(INVERT - (assigned or timestamp), PUT, INVERT - sequence, 0)
        pairs = [(row + middle + end, value) for middle, value in zip(self._middles, values, strict=True)]
        if len(self._stacks) == 1:
            by_stack[self._stacks[0]] += pairs
        else:
            for stack, pair in zip(self._stacks, pairs, strict=True):
                by_stack[stack].append(pair)
        return pairs, assigned

    def _learn(self, families: tuple[bytes, ...], qualifiers: tuple[bytes, ...]) -> bool:
        """Whether these columns are there, and have no byte to escape."""
        known = [self._places[family] for family in families if family in self._places]
        if len(known) < len(families) or b"\x00" in b"".join(qualifiers):
            return False
        self._families, self._qualifiers = families, qualifiers
        self._middles = [
            b"".join((TERMINATOR, stored, qualifier, TERMINATOR))
            for (_, stored), qualifier in zip(known, qualifiers, strict=True)
        ]
        stacks = [stack for stack, _ in known]
        self._stacks = stacks[:1] if len(set(stacks)) == 1 else stacks
        self._longest = max(map(len, self._middles))
        return True

"""The delete markers in force at one place of a sorted run of pairs.

A marker sorts before everything that it masks: family markers sit at the empty qualifier, column markers at the head of
their column or between newer and older versions. So one pass suffices: add() each marker as it is met, ask hides() for
each put, and say when a column or a family ends.

Two orders of masking: by timestamp alone (HBase's; also hides puts written after the marker), or, with
`by_sequence` (NEW_VERSION_BEHAVIOR), only puts of a smaller sequence.
"""

from typing import final

from hbtable.errors import UnsupportedFormat
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, KINDS


@final
class Markers:
    """The markers of one row and family; made when the first marker is met, thrown away when the family ends."""

    __slots__ = (
        "_by_sequence", "_column_exact", "_column_ranges", "_column_upto", "_family_exact", "_family_ranges",
        "_family_upto", "_has_column", "_has_family",
    )  # fmt: skip

    def __init__(self, by_sequence: bool) -> None:
        self._by_sequence = by_sequence
        self._has_family = self._has_column = False
        self._family_upto = self._column_upto = -1
        # timestamp -> the highest sequence of a marker of exactly this version
        self._family_exact: dict[int, int] = {}
        self._column_exact: dict[int, int] = {}
        # (timestamp, sequence), kept only for masking by sequence
        self._family_ranges: list[tuple[int, int]] = []
        self._column_ranges: list[tuple[int, int]] = []

    def add(self, kind: int, timestamp: int, sequence: int) -> None:
        """Takes a marker. Of several of one kind the newest timestamp, then the newest sequence comes first.
        UnsupportedFormat for a kind of a later version: who knows what it masks."""
        if kind <= DELETE_FAMILY_VERSION:
            self._has_family = True
        else:
            self._has_column = True
        if kind == DELETE_FAMILY:
            self._family_upto = max(self._family_upto, timestamp)
            self._family_ranges.append((timestamp, sequence))
        elif kind == DELETE_COLUMN:
            self._column_upto = max(self._column_upto, timestamp)
            self._column_ranges.append((timestamp, sequence))
        elif kind == DELETE_FAMILY_VERSION:
            self._family_exact.setdefault(timestamp, sequence)
        elif kind == DELETE_VERSION:
            self._column_exact.setdefault(timestamp, sequence)
        else:
            raise UnsupportedFormat.unknown("a cell", "kind", kind, sorted(KINDS))

    def end_column(self) -> bool:
        """Forgets the column's own markers. False when no family marker remains, so that this can be dropped."""
        if self._has_column:
            self._has_column = False
            self._column_upto = -1
            self._column_exact = {}
            self._column_ranges = []
        return self._has_family

    def hides(self, timestamp: int, sequence: int) -> bool:
        """Whether a put of the current column is masked."""
        if self._by_sequence:
            return (
                self._family_exact.get(timestamp, -1) > sequence
                or self._column_exact.get(timestamp, -1) > sequence
                or any(timestamp <= upto and sequence < marker for upto, marker in self._family_ranges)
                or any(timestamp <= upto and sequence < marker for upto, marker in self._column_ranges)
            )
        return (
            timestamp <= self._family_upto
            or timestamp <= self._column_upto
            or timestamp in self._column_exact
            or timestamp in self._family_exact
        )

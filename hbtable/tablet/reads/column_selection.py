"""The meaning of a ReadSpec for one layout: families, columns, times and versions to look for.

When qualifiers are given, only their columns are read, and the empty qualifier of each family, where family markers sit
(those mask whatever column is asked for).
"""

from typing import Final, final

from hbtable.merge.family_times import Times
from hbtable.merge.visibility import KnownColumns
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.read import ALL_VERSIONS, FamilyTimes, ReadSpec
from hbtable.model.values import LARGEST_I64, SMALLEST_I64, whole_number
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.apply import no_such_family

_MOST_RANGES: Final = 16
"""With more columns than this, whole rows are read: seeks cost more than cells skipped."""

Tails = tuple[tuple[bytes, bytes, bool], ...]
"""Ranges of keys within a row, as what follows the row's prefix; False: only family markers are wanted there."""


@final
class ColumnSelection:
    """The families, columns, times and versions of a read, for one layout."""

    __slots__ = (
        "columns", "families", "family_times", "known", "layout", "markers_before", "max_timestamp", "max_versions",
        "min_timestamp", "rules", "spec", "timed",
    )  # fmt: skip

    def __init__(
        self,
        layout: LocalityGroupLayout,
        spec: ReadSpec,
        every_version: bool,
        family_times: FamilyTimes | None = None,
    ) -> None:
        """`every_version`: for a filter that looks at older ones. `family_times`: as in ScanRequest. NoSuchFamily."""
        self.layout = layout
        self.spec = spec
        self.rules = layout.rules
        self.known: KnownColumns = {}
        self.columns = spec.columns
        self.families: frozenset[bytes] | None = None
        """As they stand in cell keys; None: all."""
        if spec.columns is not None:
            stored = layout.stored
            for family in spec.columns:
                if family not in stored:
                    raise no_such_family(layout, family)
            self.families = frozenset([stored[family] for family in spec.columns])
        if type(spec.min_timestamp) is not int or type(spec.max_timestamp) is not int:
            whole_number("the lower time bound", spec.min_timestamp, 0, MAX_TIMESTAMP)
            whole_number("the upper time bound", spec.max_timestamp, 0, MAX_TIMESTAMP)
        if type(spec.max_versions) is not int:
            whole_number("the number of versions", spec.max_versions, 0, ALL_VERSIONS)
        if type(spec.max_bytes) is not int:
            whole_number("the bytes of an answer", spec.max_bytes, SMALLEST_I64, LARGEST_I64)
        self.min_timestamp = spec.min_timestamp
        self.max_timestamp = spec.max_timestamp
        self.family_times: dict[bytes, Times] = {}
        """Families as they stand in cell keys. Where there are any, the two times above are bounds of all families."""
        if family_times:
            self._bound(family_times)
        self.timed = self.min_timestamp > 0 or self.max_timestamp < MAX_TIMESTAMP or bool(self.family_times)
        self.markers_before: dict[bytes, int] = {}
        """Families, as they stand in cell keys, of which later markers do not count: KEEP_DELETED_CELLS, for a read up
        to a time."""
        if self.timed and layout.keeps_deleted and not spec.is_of_stored:
            for family in layout.keeps_deleted:
                upto = self.family_times.get(family, (0, spec.max_timestamp))[1]
                if upto < MAX_TIMESTAMP:
                    self.markers_before[family] = upto
        self.max_versions = ALL_VERSIONS if every_version else spec.max_versions

    def _bound(self, family_times: FamilyTimes) -> None:
        stored = self.layout.stored
        self.family_times = {stored[family]: times for family, times in family_times.items() if family in stored}
        others = self.spec.min_timestamp, self.spec.max_timestamp
        families = stored.values() if self.families is None else self.families
        ranges = [self.family_times.get(family, others) for family in families] or [others]
        self.min_timestamp = min(low for low, _ in ranges)
        self.max_timestamp = max(high for _, high in ranges)

    def tails(self) -> Tails | None:
        """The parts of a row to read; None: all of it."""
        columns = self.columns
        if columns is None:
            return None
        tails: list[tuple[bytes, bytes, bool]] = []
        stored = self.layout.stored
        for family in sorted(columns):
            qualifiers = columns[family]
            start = stored[family] + b"\x00"
            if qualifiers is None:
                tails.append((start, stored[family] + b"\x01", True))
                continue
            if len(qualifiers) > _MOST_RANGES:
                return None  # before a hundred thousand of them are sorted
            tails.append((start + b"\x00\x01", start + b"\x00\x02", b"" in qualifiers))
            for qualifier in sorted(qualifiers):
                if qualifier:
                    escaped = qualifier.replace(b"\x00", b"\x00\xff") if b"\x00" in qualifier else qualifier
                    tails.append((start + escaped + b"\x00\x01", start + escaped + b"\x00\x02", True))
        return tuple(tails) if len(tails) <= _MOST_RANGES else None

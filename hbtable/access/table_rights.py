"""The parts of one table to which a user has one right: found once for each user, table and list of grants, then asked
by each of his calls."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from hbtable.model.read import Columns


class TableRights(NamedTuple):
    """`whole`: all of it, whatever families it has. Else these families and columns, and no other."""

    whole: bool
    columns: Columns
    """Family -> its qualifiers, None for all of it."""
    families: frozenset[bytes] = frozenset()
    """Those that are held as a whole: as most rights are, so they are looked at first."""

    def part_of(self, asked: Columns | None) -> Columns:
        """The part of it that may be had, where cover() says that not all may; {} where nothing may."""
        if asked is None:
            return self.columns
        found: dict[bytes, frozenset[bytes] | None] = {}
        for family, qualifiers in asked.items():
            if family in self.columns:
                held = self.columns[family]
                both = qualifiers if held is None else held if qualifiers is None else held & qualifiers
                if both is None or both:
                    found[family] = both
        return found

    def cover(self, asked: Columns | None) -> bool:
        """Whether all of it may be had."""
        if self.whole or asked is self.columns:
            return True
        if asked is None:
            return False
        for family, qualifiers in asked.items():
            if family in self.families:
                if qualifiers is None or qualifiers:
                    continue
                return False  # nothing of a family is no part of it
            held = self.columns.get(family)
            if not held or not qualifiers or not qualifiers <= held:
                return False
        return True

    def covers(self, family: bytes, qualifier: bytes | None) -> bool:
        """Whether the rights cover a column, or with None the whole family."""
        if self.whole or family in self.families:
            return True
        held = self.columns.get(family)
        return held is not None and qualifier in held


ALL_OF_IT: Final = TableRights(True, {})
NOTHING_OF_IT: Final = TableRights(False, {})


def of_parts(parts: Iterable[tuple[bytes, bytes | None]]) -> TableRights:
    """The rights on families (without a qualifier) and columns."""
    found: dict[bytes, set[bytes] | None] = {}
    for family, qualifier in parts:
        if qualifier is None:
            found[family] = None
            continue
        known = found.setdefault(family, set())
        if known is not None:
            known.add(qualifier)
    columns: Mapping[bytes, frozenset[bytes] | None] = {
        family: None if known is None else frozenset(known) for family, known in found.items()
    }
    whole = frozenset(family for family, qualifiers in columns.items() if qualifiers is None)
    return TableRights(False, columns, whole) if columns else NOTHING_OF_IT

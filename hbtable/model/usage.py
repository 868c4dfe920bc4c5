"""Disk, memory and requests of column families (paper, section 2: "access control and both disk and memory accounting
are performed at the column-family level").

Families of one locality group share memtables and files, so they are counted together; a family is a group of its own
unless the schema says otherwise.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from hbtable.model.names import shown

_ESCAPED: Final = re.compile(rb"\\x([0-9a-f]{2})")
_SEPARATOR: Final = "/"
"""No family's name has it, nor a backslash."""


class FamilyUsage(NamedTuple):
    """A column family of a table, or the families of one locality group. Bytes and cells count what is kept, deleted
    cells, their markers and old versions included, until a compaction drops them."""

    table: str
    families: tuple[bytes, ...]
    """Ascending; those that were dropped, too, until a compaction has dropped their cells."""
    files: int = 0
    """SSTables; one that two halves of a split tablet share counts for each."""
    file_bytes: int = 0
    """In the file system, copies of it not counted. Of a shared file about the part that belongs here."""
    file_cells: int = 0
    memtable_bytes: int = 0
    """Real memory."""
    memtable_cells: int = 0
    cache_bytes: int = 0
    """Real memory of their blocks in the block caches."""
    read_rows: int = 0
    """Rows that reads and scans gave or looked up in it, since its tablets were loaded."""
    written_cells: int = 0
    """Cells and delete markers, since then."""

    def texts(self) -> dict[str, str]:
        """As it is sent: by name, numbers in decimal."""
        return {
            "table": self.table,
            "families": _SEPARATOR.join(map(shown, self.families)),
            **{name: str(getattr(self, name)) for name in FIGURES},
        }


FIGURES: Final = FamilyUsage._fields[2:]
"""The names of the numbers."""


def from_texts(texts: Mapping[str, str]) -> FamilyUsage:
    """The usage that texts() was called on, also in a later release, whose further figures are left out."""
    families = tuple(_name(text) for text in texts["families"].split(_SEPARATOR))
    return FamilyUsage(texts["table"], families, *(int(texts.get(name, "0")) for name in FIGURES))


def _name(text: str) -> bytes:
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), text.encode())


def summed(usages: Iterable[FamilyUsage]) -> list[FamilyUsage]:
    """One for each table and group, ascending."""
    found: dict[tuple[str, tuple[bytes, ...]], FamilyUsage] = {}
    for one in usages:
        place = one[:2]
        other = found.get(place)
        if other is not None:
            one = FamilyUsage(*place, *(ours + theirs for ours, theirs in zip(one[2:], other[2:], strict=True)))
        found[place] = one
    return [found[place] for place in sorted(found)]

"""The regions of a table, as the services of HBase and our own tell them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

REGIONS_TABLE: Final = b"hbase:meta"
REGIONS_COLUMN: Final = b"info:regioninfo"
"""Each region's row has it. The others change while regions move, and say nothing of names."""
_ROWS: Final = 100


def regions_from(first_rows: Iterable[bytes | None]) -> list[tuple[bytes, bytes]]:
    """First row, and the row behind the last one, of each; each row of the table is in one of them, also where the list
    was read while regions were split or merged. HBase lists a region once for each of its replicas, and may know less
    of one that no server has."""
    firsts = sorted({b"", *(row or b"" for row in first_rows)})
    return list(zip(firsts, [*firsts[1:], b""], strict=True))


def names_of_regions(table: bytes, scanned: Callable[[int], Sequence[Any]]) -> list[str]:
    """The encoded names, of which no other region ever has one. `scanned`: the next rows of REGIONS_TABLE from
    `table,,` on, so many at most; none: that was all."""
    names: list[bytes] = []
    while found := [one.row for one in scanned(_ROWS)]:
        names += (ours := [name for name in found if name.startswith(table + b",")])
        if len(ours) < len(found):
            break
    return sorted(map(_encoded, names))


def _encoded(name: bytes) -> str:
    return name.rstrip(b".").rpartition(b".")[2].decode("latin-1")

"""Decides when deleted or expired data is due to be dropped from the SSTables, though no merge is (paper, 5.4: "in a
timely fashion"). Pure: facts in, answers out.

  * A file in which everything has expired is let go unread.
  * What delete markers mask is estimated: when markers and masked cells are a large share of a stack, it is compacted.
  * A stack gets a major compaction when its oldest change has waited for the period, whatever its share. A base file in
    which nothing can go by itself waits for nothing: a large quiet tablet is not rewritten for ever.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.crc32 import crc32

_JITTER_STEPS: Final = 1 << 32


class Masking(NamedTuple):
    """Counts of the markers of one file; all 0 in files of older hbtables."""

    cells: int
    markers: int
    family_markers: int = 0
    rows: int = 0
    """About; a row of several files is in each of them."""
    masked: int = 0
    """Cells that these markers masked when the file was written: they are not in it."""


class Aging(NamedTuple):
    """The time for which the oldest change in a file has waited, by wall clock."""

    since_millis: int
    is_clean: bool
    """Nothing in it can go by itself: no markers, nothing expired, nothing that the schema keeps less of now."""


class Expiring(NamedTuple):
    """A file of families of which every cell expires."""

    path: str
    max_timestamp: int
    markers: int


def masked_cells(files: Sequence[Masking]) -> int:
    """About how many cells of these files are masked by their markers: a column's marker masks one, a family's as many
    as a row has."""
    puts = sum(file.cells - file.markers for file in files)
    counted = [file for file in files if file.rows]
    # Of the rows that the usual cell lies in: a file of nothing but markers has rows without any.
    weighted = sum((file.cells - file.markers) ** 2 / file.rows for file in counted)
    per_row = max(1.0, weighted / max(1, sum(file.cells - file.markers for file in counted)))
    # Who says how many rows it has says the rest, too.
    reach = sum(file.markers - file.family_markers + file.family_markers * per_row - file.masked for file in counted)
    return min(puts, max(0, int(reach)))


def is_aged(files: Sequence[Aging], period_millis: int, now_millis: int, seed: bytes) -> bool:
    """Whether a stack, oldest file first, is due for a major compaction. `seed`: so that not all are due at once."""
    waiting = files[1:] if files and files[0].is_clean else files
    if not waiting or not period_millis:
        return False
    return now_millis - min(file.since_millis for file in waiting) > jittered(period_millis, seed)


def jittered(period_millis: int, seed: bytes) -> int:
    """The period, shortened or lengthened by up to a half."""
    return period_millis // 2 + period_millis * crc32(seed) // _JITTER_STEPS


def wholly_expired(
    files: Sequence[Expiring], ttl_millis: int, now_millis: int, may_be_older_elsewhere: bool
) -> list[str]:
    """The files, of those oldest first, of which no cell can be seen any more. One with markers only after all older
    ones: those may hold what it masks, and somebody may raise the time to live. `ttl_millis`: the longest; 0:
    endless."""
    gone: list[str] = []
    older_stay = may_be_older_elsewhere
    for file in files:
        if ttl_millis and now_millis - file.max_timestamp > ttl_millis and not (file.markers and older_stay):
            gone.append(file.path)
        else:
            older_stay = True
    return gone

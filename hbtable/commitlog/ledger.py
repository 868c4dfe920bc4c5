"""Remembers which tablets still need which segment of a log, and so which segments may be deleted. Pure.

Invariants: only a tablet server that was told so by an acknowledged METADATA write reports a tablet as not needing a
sequence (bug classes 2 and 6: the redo point in METADATA is the only truth, this is a memory of it). Segments go
oldest first, without a hole, so that recovery can tell a deleted segment from a lost one (bug class 4).
"""

from typing import final


@final
class HeldSegment:
    """A segment that gets no more groups. `tablets`: highest sequence here of each tablet that still needs it."""

    __slots__ = ("length_bytes", "number", "path", "tablets")

    def __init__(self, number: int, path: str, length_bytes: int, tablets: dict[int, int]) -> None:
        self.number = number
        self.path = path
        self.length_bytes = length_bytes
        self.tablets = tablets


@final
class SegmentLedger:
    """Knows which tablets need which segment. `active`: the tablets of the segment being written, which commits update
    directly."""

    __slots__ = ("active", "held", "held_bytes")

    def __init__(self) -> None:
        self.active: dict[int, int] = {}
        self.held: list[HeldSegment] = []
        self.held_bytes = 0

    def hold(self, number: int, path: str, length_bytes: int) -> None:
        """The active segment ended with these good bytes; the next one begins with no tablets."""
        self.held.append(HeldSegment(number, path, length_bytes, self.active))
        self.held_bytes += length_bytes
        self.active = {}

    def stray(self, number: int, path: str) -> None:
        """A file beside the log's line, in which nobody will look for anything: it goes when the line is past it."""
        self.held.append(HeldSegment(number, path, 0, {}))

    def needed(self, tablet_id: int, first_needed: int) -> None:
        for tablets in self._all():
            if tablets.get(tablet_id, first_needed) < first_needed:
                del tablets[tablet_id]

    def forget(self, tablet_id: int) -> None:
        for tablets in self._all():
            tablets.pop(tablet_id, None)

    def highest(self, tablet_id: int) -> int:
        """The highest of the tablet's sequences that are needed; 0: none."""
        return max(tablets.get(tablet_id, 0) for tablets in self._all())

    def all_highest(self) -> dict[int, int]:
        """As highest(), of each tablet that needs anything."""
        found: dict[int, int] = {}
        for tablets in self._all():
            for tablet_id, sequence in tablets.items():
                found[tablet_id] = max(sequence, found.get(tablet_id, 0))
        return found

    def oldest_needed(self, active_number: int) -> int:
        """The first segment that must stay."""
        return next((segment.number for segment in self.held if segment.tablets), active_number)

    def drop_before(self, number: int) -> list[str]:
        """Forgets the segments before `number`; their paths, oldest first, for deletion in this order."""
        gone = sorted((segment for segment in self.held if segment.number < number), key=_number)
        self.held = [segment for segment in self.held if segment.number >= number]  # strays come out of order
        self.held_bytes -= sum(segment.length_bytes for segment in gone)
        return [segment.path for segment in gone]

    def tablets_of_oldest(self) -> list[int]:
        """The tablets that keep the oldest segment which is no longer written; [] when none is kept."""
        return next((sorted(segment.tablets) for segment in self.held if segment.tablets), [])

    def _all(self) -> list[dict[int, int]]:
        return [*(segment.tablets for segment in self.held), self.active]


def _number(segment: HeldSegment) -> int:
    return segment.number

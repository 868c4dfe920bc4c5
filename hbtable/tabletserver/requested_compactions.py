"""Compactions that somebody asked a tablet server for: carried out, and counted while they run or wait for others.

Nothing here outlives the server: a compaction is asked for again by whoever wants it, or chosen by maintenance.
"""

from collections import Counter
from typing import final

from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet


@final
class RequestedCompactions:
    """The compactions that were requested of one server."""

    def __init__(self) -> None:
        self._merging: Counter[int] = Counter()
        self._major: Counter[int] = Counter()

    @switches
    def run(self, tablet: Tablet, major: bool, family: bytes = b"") -> None:
        """As Tablet.compact."""
        tablet_id, under_way = tablet.record.tablet_id, self._major if major else self._merging
        under_way[tablet_id] += 1
        try:
            tablet.compact(major, family)
        finally:
            under_way[tablet_id] -= 1
            if not under_way[tablet_id]:
                del under_way[tablet_id]

    def is_merging(self, tablet_id: int) -> bool:
        return tablet_id in self._merging

    def is_major(self, tablet_id: int) -> bool:
        return tablet_id in self._major

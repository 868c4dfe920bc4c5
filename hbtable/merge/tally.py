"""Counts the cells that were deleted from one tablet, and those that its reads examined, also those that they left out.
By these counts maintenance and tests know the cost of reads without a clock."""

from typing import Final, final


@final
class Tally:
    """Counters of one tablet, for all of its reads and writes. They only grow."""

    __slots__ = ("dead", "examined", "expiring", "markers")

    def __init__(self) -> None:
        self.examined = 0
        """Cells that were looked at, as far as they came in lists: the first few of a single row are not counted."""
        self.dead = 0
        """Cells met that no read can see any more: delete markers, what they mask, and what has expired."""
        self.expiring = 0
        """Cells met that have a time to live of their own."""
        self.markers = 0
        """Delete markers that were written, or read from a log."""


UNREAD: Final = Tally()
"""For those who don't ask what their reads cost."""

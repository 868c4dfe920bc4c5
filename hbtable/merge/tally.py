"""What reads of one tablet have cost, whatever they gave out: counted, so that tests and maintenance need no clock."""

from typing import Final, final


@final
class ReadTally:
    """Both only grow. One per tablet, for all of its reads."""

    __slots__ = ("dead", "examined")

    def __init__(self) -> None:
        self.examined = 0
        """Cells that were looked at, as far as they came in lists: the first few of a single row are not counted."""
        self.dead = 0
        """Cells met that no read can see any more: delete markers, what they mask, and what has expired."""


UNREAD: Final = ReadTally()
"""For those who don't ask what their reads cost."""

"""The open end of a log in open files, as whoever writes through it sees it (rolling.py).

appender.py implements it on a local disk, failover_appender.py on HDFS. It knows files and LSNs and nothing of waiting
commits. One task at a time may call what switches, except that sync() may run beside append().
"""

from typing import Protocol

from hbtable.fs.interface import AppendFile
from hbtable.switches import switches


class LogEnd(Protocol):
    """The open end of a log. `offset`, `lsn` and `watermark` speak of good groups only: those whose append
    succeeded."""

    file: AppendFile | None
    """The segment being written; None: append() needs next_segment() first."""
    number: int
    """Of the current segment, or the last one; 0 before the first."""
    offset: int
    """The end of its last good group, in bytes from the segment's start."""
    lsn: int
    """Of the last good group."""
    watermark: int
    """Every group up to this LSN is durable."""
    oldest_segment: int
    """The first segment that recovery has to find, as the next group will say."""

    @switches
    def append(self, payload: bytes, flags: int = 0, expected: int | None = None) -> None:
        """One group. May switch. Unavailable, so OutOfSpace, so MemoryDamaged (the payload's CRC32 is not the
        `expected` one): refused; give_up() this segment. After any other error, too, its end is unknown."""

    @switches
    def sync(self) -> None:
        """All that was appended before the call is durable on return. LogBroken."""

    @switches
    def check(self) -> None:
        """While nothing is written: whether the storage nodes of the segment still answer. One that they do not confirm
        is ended at its last good group, and append() needs next_segment() first."""

    @switches
    def next_segment(self) -> int:
        """Begins a new segment, durably; returns the good length of the one before it. LogBroken, LockLost.
        Any other HbtableError: there is no open segment, try again later."""

    @switches
    def give_up(self) -> None:
        """Ends the current segment at its last good group. LogBroken."""

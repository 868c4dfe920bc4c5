"""The time for which a group of a log on HDFS waits for its segment before the log goes on in another one.

A pipeline that keeps a group waiting is left at once (failover_appender.py). Where the whole file system is slow, a
new segment waits just as long, and leaving costs more than it saves: a few files, requests to the NameNode, and a file
that is to be sealed, twice a second for as long as the file system is busy. So what came of the last segment that was
left counts. Did the new one take as long, or were several left within a while, then it is not one pipeline, and the
next group waits twice as long. After a while in which that was not needed it waits half as long again.
"""

from collections import deque
from typing import Final, final

_LONGEST: Final = 10.0
"""Times the shortest. More: fewer segments on a file system that is busy for hours, a longer stall where a storage node
dies meanwhile."""
_MANY: Final = 4
"""Segments left within `_WHILE_SECONDS` that tell a busy file system, however soon each new one was there. More: more
of them are left where syncs take long now and then; fewer: a second node that dies costs a longer stall."""
_WHILE_SECONDS: Final = 60.0
"""Longer: it takes longer until a node that dies costs the shortest stall again; shorter: more segments are left where
the file system is slow now and then."""


@final
class SyncTimeout:
    """The timeout of one log. Pure: times are given."""

    def __init__(self, shortest_seconds: float) -> None:
        self._shortest_seconds = shortest_seconds
        self._seconds = shortest_seconds
        self._left: deque[float] = deque(maxlen=_MANY)
        """The times at which segments were left for want of an answer, ascending."""
        self._changed = 0.0
        self._longest_seconds = 0.0
        """The most that a confirmed group took since then."""

    def seconds(self, now: float) -> float:
        """To wait for a group that is sent now."""
        if self._seconds > self._shortest_seconds and now - self._changed > _WHILE_SECONDS:
            if self._longest_seconds < self._seconds / 2:
                self._seconds = max(self._shortest_seconds, self._seconds / 2)
            self._changed, self._longest_seconds = now, 0.0
        return self._seconds

    def confirmed(self, took_seconds: float) -> None:
        """The segment had a group after so long."""
        self._longest_seconds = max(self._longest_seconds, took_seconds)

    def left(self, now: float, took_seconds: float) -> None:
        """A segment was left, for want of an answer; a new one had the group after so long."""
        self._left.append(now)
        often = len(self._left) == _MANY and now - self._left[0] <= _WHILE_SECONDS
        if often or took_seconds >= self._shortest_seconds:
            self._seconds = min(2 * self._seconds, _LONGEST * self._shortest_seconds)
            self._changed, self._longest_seconds = now, 0.0

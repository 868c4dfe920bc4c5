"""Server-assigned time of one tablet.

    of the tablet   max(wall clock, last assigned), assigned in log order, so it never goes back (bug class 16: a server
                    whose clock is behind would put new cells below old ones)
    of one row      strictly past the row's last server-timed delete marker, because a marker masks its own millisecond,
                    and never before the row's last server-timed operation

Where the wall clock lies behind (it was set back, or an earlier server's was ahead) the tablet's time goes on at half
the wall clock's pace: later versions stay apart, and the wall clock catches up. Jumps of the wall clock do not get here
(wall_clock.py).

So among server-timed operations on a row the later always wins. One past a marker moves only that row's time, not the
tablet's: a thousand deletes and puts of one row in one millisecond must not carry every other row into the future.
Explicit timestamps never move either clock.

Rows are remembered in two generations and forgotten together when the tablet's time has passed all of a generation,
so memory is bounded by the deletes of a few milliseconds. Whatever survives a restart is in `highest`: log records
and SSTables carry it, and restore() goes one past it, so that no marker of the time before needs to be remembered.
"""

from collections.abc import Callable
from typing import final


@final
class TabletClock:
    """Gives writes their timestamps. Hot: tick() once per call of mutate, the row methods only while `rows_ahead` is
    true or for a delete.

    Only whoever builds a write may call tick(): it forgets rows that the tablet's time has passed, and of a write that
    is built meanwhile, and goes on with the time of its beginning, they are not passed."""

    __slots__ = (
        "_clock_seconds",
        "_crept",
        "_old",
        "_old_until",
        "_wall_millis",
        "_young",
        "_young_until",
        "highest",
        "last",
        "rows_ahead",
    )

    def __init__(self, wall_millis: Callable[[], int], clock_seconds: Callable[[], float]) -> None:
        """`clock_seconds` never jumps (runtime.interface)."""
        self._wall_millis = wall_millis
        self._clock_seconds = clock_seconds
        self._crept = (0.0, 0, 0)
        """While the wall clock is behind: since when, from which time on, and where that has led."""
        self.last = 0
        """The tablet's time: last answer of now() or tick()."""
        self.highest = 0
        """The newest time assigned to any operation; some row's may be ahead of `last`. 0: none yet."""
        self.rows_ahead = False
        """Whether any row is remembered."""
        # row -> 2 * (time of its last server-timed operation) + (1 when that was a delete)
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}
        self._young_until = 0
        self._old_until = 0

    def now(self) -> int:
        """The tablet's time now, in milliseconds."""
        now = self._wall_millis()
        if now < self.last:
            now = max(self._creep(), self.last)
        self.last = now
        return now

    def tick(self) -> int:
        """As now(), of a write that is built: rows whose times are all past are forgotten."""
        now = self.now()
        if self.rows_ahead and now > self._old_until:
            self._old, self._old_until = self._young, self._young_until
            self._young, self._young_until = {}, 0
            self.rows_ahead = bool(self._old)
        return now

    def ahead_millis(self) -> int:
        """The milliseconds by which the tablet's time is ahead of the wall clock."""
        return max(0, max(self.last, self.highest) - self._wall_millis())

    def _creep(self) -> int:
        """The tablet's time while the wall clock is behind."""
        clock = self._clock_seconds()
        since, start, reached = self._crept
        if reached != self.last:  # the wall clock was ahead meanwhile, or this is the first time
            since, start = clock, self.last
        reached = max(self.last, start + int((clock - since) * 500))
        self._crept = (since, start, reached)
        return reached

    def floors(self, row: bytes) -> tuple[int, int]:
        """The smallest times that the row's next put and its next delete may get; (0, 0) for most rows."""
        noted = self._young.get(row) or self._old.get(row, 0)
        return (noted + 1) >> 1, noted >> 1

    def note(self, row: bytes, time: int, was_delete: bool) -> None:
        """The row's last server-timed operation got `time`. Needed only after a delete, or when `time` is past `last`:
        otherwise tick() alone keeps the order."""
        self._young[row] = 2 * time + was_delete
        self.rows_ahead = True
        self._young_until = max(self._young_until, time)
        self.highest = max(self.highest, time)

    def mask(self, row: bytes, time: int) -> None:
        """The newest version of a column of the row is deleted: the marker has that version's time, and puts of the
        server's time come later. A version that a client put into the future moves no clock."""
        if self.now() <= time <= max(self.last, self.highest):
            noted = self._young.get(row) or self._old.get(row, 0)
            if noted < 2 * time + 1:  # else the next delete might come before the row's last put
                self.note(row, time, True)

    def restore(self, highest: int) -> None:
        """Takes everything assigned up to `highest` for past, after a restart or for a split's child."""
        if highest:
            # One past it: whether a marker sits there is not known any more, and a put must not be masked by it.
            self.last = max(self.last, highest + 1)
            self.highest = max(self.highest, highest)

    def set_back(self, highest: int) -> None:
        """Nothing that was assigned is later than `highest`: what was, has been moved (set_back.py)."""
        self.last = self.highest = 0
        self._young, self._young_until = {}, 0
        self._old, self._old_until = {}, 0
        self.rows_ahead = False
        self.restore(highest)

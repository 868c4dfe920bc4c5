"""The wall clock as the tablets of one server use it: it does not jump.

A wall clock that is set a year ahead for a moment would time cells a year ahead, for good; it would let everything with
a time to live expire, and compactions drop it. So the wall clock is compared with the clock that never jumps. Small
gains and losses are followed, because time servers correct it all the time. A jump of more than `max_skew_seconds` is
refused. Then the tablets' time goes on as if nothing had happened, and the server says so: in its log, in its metrics,
and on /readyz. The jump is over when the wall clock is set right. If it was wrong before the jump and is right now, the
server has to be started again: a start believes the clock that it finds, in a cluster if it is near the file system's
(start_clock.py).
"""

import logging
from typing import Final, final

from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime

logger = logging.getLogger(__name__)

_UNASKED_MILLIS: Final = 500
"""A step of the wall clock that is believed without asking the other clock: hot calls come much more often."""
_NEVER: Final = 2**62


@final
class SteadyWallClock:
    """The wall clock of a tablet server or a master, without its jumps. millis() is hot: once per write and per
    read."""

    __slots__ = (
        "_clock_seconds",
        "_last",
        "_max_skew_millis",
        "_offset",
        "_users",
        "_wall_millis",
        "jumped_millis",
        "jumps",
    )

    def __init__(
        self, runtime: Runtime, max_skew_seconds: float, registry: Registry, users: str = "tablets go on"
    ) -> None:
        """`users`: who goes on with the time that was counted, for the log."""
        self._users = users
        self._wall_millis = runtime.wall_millis
        self._clock_seconds = runtime.clock_seconds
        self._max_skew_millis = int(max_skew_seconds * 1000)
        self._last = runtime.wall_millis()
        self._offset = self._last - self._steady()
        """The wall clock less the other one, as it was believed last."""
        self.jumped_millis = 0
        """Milliseconds by which the wall clock is ahead of the time that is used (negative: behind); 0: it is
        believed."""
        self.jumps = registry.counter("hbtable_clock_jumps_total", "Jumps of the wall clock that were refused.")
        registry.gauge(
            "hbtable_clock_jumped_seconds",
            "How far the wall clock is ahead of the time that the tablets use; 0 unless it jumped.",
            self._jumped_seconds,
        )

    def millis(self) -> int:
        """Milliseconds since 1970. May go back by little."""
        now = self._wall_millis()
        if 0 <= now - self._last <= _UNASKED_MILLIS:
            self._last = now
            return now
        return self._compared(now)

    def refused_jump(self) -> str:
        """A message while the wall clock is not believed; "": it is."""
        self.millis()
        if not self.jumped_millis:
            return ""
        return (
            f"the wall clock jumped: it is {span(self.jumped_millis)} the time that the server has counted, and "
            f"{self._users} with that. Set the clock right; if it is right now, start the server again "
            "(tablet.max_clock_skew_seconds)"
        )

    def _compared(self, now: int) -> int:
        steady = self._steady()
        gained = now - steady - self._offset
        if abs(gained) <= self._max_skew_millis:
            if self.jumped_millis:
                self.jumped_millis = 0
                logger.warning("the wall clock is right again: the tablets' time follows it")
            self._offset += gained
            self._last = now
            return now
        before, self.jumped_millis = self.jumped_millis, gained
        self._last = _NEVER  # ask the other clock each time
        if not before:
            self.jumps.value += 1
            logger.error("%s", self.refused_jump())
        return steady + self._offset

    def _steady(self) -> int:
        return int(self._clock_seconds() * 1000)

    def _jumped_seconds(self) -> float:
        self.millis()
        return self.jumped_millis / 1000


def span(millis: int) -> str:
    """A span of time for a message: '1.5 days ahead of', '3.0 hours behind'."""
    seconds, way = abs(millis) / 1000, "ahead of" if millis > 0 else "behind"
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit} {way}"
    return f"{seconds:.1f} seconds {way}"

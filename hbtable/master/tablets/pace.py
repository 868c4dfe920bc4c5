"""Limits the tablets that are taken to other servers at a time, so that each is away for a short while (paper, section
5.2).

All that move at a time share the servers' processors and the file system. While these are busy, twice as many take
twice as long each, and no more of them arrive in a second: their rows only wait longer. So there are more at a time
while each is quick, and fewer when they get slow.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median_low
from typing import Final, final

from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_FEWEST: Final = 4
"""However slow they are. More: rows wait longer on a machine that is busy; fewer: where a file system takes long for
each step, and has time for others meanwhile, a server waits longer for its share."""
_LONG_SECONDS: Final = 0.2
"""A move that takes longer counts as slow. Longer: rows wait longer; shorter: a server waits longer for its share, also
where nothing is busy, and the file system is far away."""
_LESS: Final = 0.9
"""The part of their number that is left after a slow one."""
_HANGING_SECONDS: Final = 1.0
"""One that takes longer does not count among them, where most are quicker: as many that hang would hold up all others.
Longer: those of a server that hangs hold the others up for longer; shorter: more of them are away at once before it is
known that all take long."""
_TIMES_AS_LONG: Final = 3.0
"""As most of those that ended of late: then one hangs, and is not just as slow as all. More: those of a server that
hangs hold the others up for longer; less: of moves that take differently long more are away at once."""
_REMEMBERED: Final = 8
"""Moves that ended well, for what is long. More: it is known later that a machine got slow; fewer: one that is slow by
itself makes hanging ones count for longer."""


@final
class MovePace:
    """Holds up moves while others are under way. `most` at a time, at best."""

    def __init__(self, runtime: Runtime, most: int) -> None:
        self._runtime = runtime
        self._most = float(most)
        self._at_once = float(min(_FEWEST, most))
        self._begun: dict[int, float] = {}
        """The times at which those began that are under way, ascending."""
        self._number = 0
        self._took_of_late: deque[float] = deque(maxlen=_REMEMBERED)
        self._ended = runtime.event()

    @property
    def at_once(self) -> int:
        """The number that may be under way now."""
        return int(self._at_once)

    @contextmanager
    @switches
    def turn(self) -> Iterator[None]:
        """Around one move. *Switches* on entry while as many are under way as may be."""
        while (seconds := self._wait_seconds()) > 0:
            self._ended.clear()
            self._ended.wait(seconds)
        self._number += 1
        mine, began = self._number, self._runtime.clock_seconds()
        self._begun[mine] = began
        try:
            yield
            self._took_of_late.append(self._runtime.clock_seconds() - began)  # one that was given up tells nothing
        finally:
            del self._begun[mine]
            self._took(self._runtime.clock_seconds() - began)
            self._ended.set()

    def _wait_seconds(self) -> float:
        """For the next one, unless another one ends before."""
        now = self._runtime.clock_seconds()
        hanging = self._hanging_seconds()
        counted = [began for began in self._begun.values() if began > now - hanging]
        if len(counted) < self.at_once:
            return 0.0
        return counted[0] + hanging - now

    def _hanging_seconds(self) -> float:
        """The time from which on a move counts as one that hangs."""
        if not self._took_of_late:
            return _HANGING_SECONDS
        return max(_HANGING_SECONDS, _TIMES_AS_LONG * median_low(self._took_of_late))

    def _took(self, seconds: float) -> None:
        if seconds > _LONG_SECONDS:
            self._at_once = max(min(_FEWEST, self._most), self._at_once * _LESS)
        else:
            self._at_once = min(self._most, self._at_once + 1 / self._at_once)

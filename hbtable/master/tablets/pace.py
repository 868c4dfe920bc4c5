"""Limits the tablets that are taken to other servers at a time, so that each is away for a short while (paper, section
5.2).

All that move at a time share the servers' processors and the file system. While these are busy, twice as many take
twice as long each, and no more of them arrive in a second: their rows only wait longer. So there are more at a time
while each is quick, and fewer when they get slow.
"""

from collections.abc import Iterator
from contextlib import contextmanager
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
"""One that takes longer does not count among them: as many that hang would hold up all others. Longer: those of a
server that hangs hold the others up for longer; shorter: on a machine that is too busy more of them are away."""


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
        finally:
            del self._begun[mine]
            self._took(self._runtime.clock_seconds() - began)
            self._ended.set()

    def _wait_seconds(self) -> float:
        """For the next one, unless another one ends before."""
        now = self._runtime.clock_seconds()
        counted = [began for began in self._begun.values() if began > now - _HANGING_SECONDS]
        if len(counted) < self.at_once:
            return 0.0
        return counted[0] + _HANGING_SECONDS - now

    def _took(self, seconds: float) -> None:
        if seconds > _LONG_SECONDS:
            self._at_once = max(min(_FEWEST, self._most), self._at_once * _LESS)
        else:
            self._at_once = min(self._most, self._at_once + 1 / self._at_once)

"""Looks after a log on HDFS while nothing is written to it.

A DataNode that dies takes a copy with it, which HDFS makes again only of files that nobody writes. The log notices at
its next group; a log at rest has none, so it is asked for an empty sync (LogEnd.check) instead.
"""

from collections.abc import Callable
from typing import final

from hbtable.commitlog.segments.log_end import LogEnd
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches


@final
class RestCheck:
    """Asks for a look at the end of a log when nothing was written for a while. `ask` has the end of the log checked by
    whoever writes it; it must not switch."""

    __slots__ = ("_ask", "_end", "_period", "_runtime", "_stopped")

    def __init__(self, runtime: Runtime, end: LogEnd, period_seconds: float, ask: Callable[[], None]) -> None:
        self._runtime = runtime
        self._end = end
        self._period = period_seconds
        self._ask = ask
        self._stopped = runtime.event()

    def start(self) -> None:
        """Does not switch."""
        if self._period > 0:
            supervise(self._runtime, self._watch, name="commit-log-rest")

    def stop(self) -> None:
        """Nothing is asked for from now on, and its task ends at once. Does not switch."""
        self._stopped.set()

    @switches
    def _watch(self) -> None:
        seen = self._end.lsn
        while not self._stopped.wait(self._period):
            if self._end.lsn == seen:
                self._ask()
            seen = self._end.lsn

"""Watches how many copies the newest part of a cluster's log has.

What HDFS was told to keep on two DataNodes may be on one: a pipeline that lost a DataNode goes on with what is left
when there is no other one, and stays so when there is one again. Nobody hears of that by writing. So the NameNode is
asked now and then; with too few copies the log goes on in a new file, which gets as many as there can be.
"""

import logging
from math import nan
from typing import Final, Protocol, final

from hbtable.errors import HbtableError
from hbtable.fs.interface import Copies, CountsCopies
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_REPORTED_SECONDS: Final = 1.0
"""In which DataNodes tell the NameNode of a block that they have."""
_LONGEST_PAUSE_SECONDS: Final = 300.0
"""Between two new segments where none gets enough copies, as on a cluster of too few DataNodes."""


class WatchedLog(Protocol):
    """A log of open files or of whole files."""

    def newest_file(self) -> str:
        """The file with what was acknowledged last; "": there is none. Does not switch."""

    def ended(self) -> bool:
        """Whether the log is closed or broken. Does not switch."""

    @switches
    def roll(self) -> None:
        """As CommitLog.roll."""


@final
class CopyWatch:
    """Looks after the log until it ends. `found` is the last answer, NaN when that is not known."""

    def __init__(
        self, runtime: Runtime, fs: CountsCopies, log: WatchedLog, period_seconds: float, registry: Registry
    ) -> None:
        self._runtime = runtime
        self._fs = fs
        self._log = log
        self._period = period_seconds
        self._pause = period_seconds
        self._rolled = -_LONGEST_PAUSE_SECONDS
        self._said = False
        self.found = nan
        text = "DataNodes that hold the newest part of the commit log; NaN: not known."
        registry.gauge("hbtable_log_copies", text, lambda: self.found)

    def start(self) -> None:
        """Does not switch."""
        if self._period > 0:
            supervise(self._runtime, self._watch, name="commit-log-copies")

    @switches
    def _watch(self) -> None:
        while True:
            self._runtime.sleep(self._period)
            if self._log.ended():
                return
            copies = self._look()
            if copies is not None and copies.found < copies.wanted:
                self._runtime.sleep(_REPORTED_SECONDS)
                copies = self._look()
            if self._log.ended():
                return
            self.found = nan if copies is None else float(copies.found)
            if copies is not None:
                self._judge(copies)

    @switches
    def _look(self) -> Copies | None:
        path = self._log.newest_file()
        try:
            return self._fs.copies(path) if path else None
        except HbtableError as error:
            logger.debug("the copies of %s are not known: %s", path, error)
            return None

    @switches
    def _judge(self, copies: Copies) -> None:
        if copies.found >= copies.wanted:
            if self._said:
                logger.info("the commit log has %d copies again", copies.found)
            self._said, self._pause = False, self._period
            return
        if not self._said:
            self._said = True
            path, (found, wanted) = self._log.newest_file(), copies
            logger.warning("the newest part of the commit log, %s, has %d copies instead of %d", path, found, wanted)
        if self._runtime.clock_seconds() - self._rolled >= self._pause:
            self._rolled = self._runtime.clock_seconds()
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
            try:
                self._log.roll()
            except HbtableError as error:
                logger.info("the commit log could not go on in a new segment: %s", error)

"""The state of a log: open, closing, or broken for good, with the one message that says why.

Both kinds of log have one (writer.py, group_files/writer.py). Invariants
* The first failure is the one that counts; nothing leads back from it. Whoever asks later hears the same message, in
  an error of its own: a shared one would collect the tracebacks of all that raise it.
* LockLost means that the log was fenced: another server has taken over, and there is nothing to repair. Every other
  failure leaves open what the files hold, and only a recovery finds out.
"""

import logging
from collections.abc import Callable
from typing import final

from hbtable.errors import HbtableError, LockLost, MemoryDamaged, OutcomeUnknown, StorageFailed, Unavailable
from hbtable.runtime.interface import Runtime

logger = logging.getLogger(__name__)


class LogBroken(StorageFailed):
    """The content of the log's files is unknown: a sync failed, and another fsync might call it fine (bug class 24), or
    no answer came for too long. The log must never acknowledge anything again."""


@final
class LogState:
    """Says whether the log takes commits. `reason`: why nothing is acknowledged any more, "" while all is well.
    `closed` is set when close() is done."""

    __slots__ = ("_doubt", "closed", "closing", "failure", "on_broken", "reason")

    def __init__(self, runtime: Runtime, doubt: type[HbtableError] = StorageFailed) -> None:
        """`doubt`: what a commit hears whose bytes the breaking log may hold."""
        self._doubt = doubt
        self.reason = ""
        self.failure: type[HbtableError] = StorageFailed
        self.closing = False
        self.closed = runtime.event()
        self.on_broken: Callable[[], None] = lambda: None
        """Called once, when the log breaks; must not switch."""

    def fail(self, error: BaseException) -> bool:
        """The log is broken from here on. False: it was before. Does not switch."""
        if self.reason:
            return False
        if isinstance(error, LockLost):
            self.failure = LockLost
            self.reason = str(error)  # fence_check.py says what happened and what to do
        elif isinstance(error, MemoryDamaged):
            self.reason = str(error)
        else:
            self.reason = f"the commit log failed, restart this tablet server: {error}"
        logger.error("%s", self.reason)
        self.on_broken()
        return True

    def check_sound(self) -> None:
        """StorageFailed or LockLost when the log is broken."""
        if self.reason:
            raise self.failure(self.reason)

    def doubt(self) -> HbtableError:
        """The error of a commit whose bytes the log may hold, when the log is broken."""
        kind = self._doubt if self.failure is StorageFailed else self.failure
        if kind is not OutcomeUnknown:
            return kind(self.reason)
        return kind(f"{self.reason}; whether this write was stored is unknown: read it after the restart")

    def check_open(self) -> None:
        """As check_sound, and Unavailable while the log is being closed."""
        self.check_sound()
        if self.closing:
            raise Unavailable("the commit log is closing; this tablet server stops")

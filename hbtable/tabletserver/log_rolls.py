"""Has a tablet server's commit log go on in a new segment, so that the one before can be let go one day."""

import logging
from typing import Final, final

from hbtable.commitlog.interface import CommitLog
from hbtable.errors import HbtableError
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches
from hbtable.tablet.shared import SharedState

_FULL_DISK_ROLL_SECONDS: Final = 10.0
_HEADERS_BYTES: Final = 1024
"""More than a segment without any records has."""

_LOG: Final = logging.getLogger(__name__)


@final
class LogRolls:
    """Rolls a log in which something was written every `roll_seconds`, and more often on a full disk."""

    def __init__(self, runtime: Runtime, commit_log: CommitLog, shared: SharedState, roll_seconds: float) -> None:
        self._runtime = runtime
        self._log = commit_log
        self._shared = shared
        self._roll_seconds = roll_seconds
        self._rolled_at = runtime.clock_seconds()
        self._rolled_bytes = 0
        """Of the log when it was last rolled, or let go of segments: with no more than these nothing was written."""

    def roll_if_due(self) -> None:
        """In a task of its own. Does not switch."""
        now = self._runtime.clock_seconds()
        self._rolled_bytes = min(self._rolled_bytes, self._log.size_bytes)
        due_seconds, least_bytes = self._roll_seconds, _HEADERS_BYTES
        if self._shared.out_of_space:  # the segment may hold what was dropped
            due_seconds, least_bytes = min(_FULL_DISK_ROLL_SECONDS, due_seconds), self._shared.last_room_bytes
        if now - self._rolled_at >= due_seconds:
            self._rolled_at = now
            if self._log.size_bytes > self._rolled_bytes + least_bytes:
                spawn_counted(self._runtime, self._roll, name="log-roll")

    @switches
    def _roll(self) -> None:
        try:
            self._log.roll()
        except HbtableError as error:
            _LOG.info("the log goes on in the same segment for another %g s: %s", self._roll_seconds, error)
        self._rolled_bytes = self._log.size_bytes

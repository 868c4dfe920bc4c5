"""The fence as the log's writer sees it: it asks before it acknowledges (docs/faults.md: fencing; fencing.py is the
other side).

Whatever was complete in a file before the marker was seen absent will be in the fencer's listing. So the order is:
the file is there, then the check, then the acknowledgement. "Unknown" is not "absent".
"""

from collections.abc import Callable
from typing import Final, final

from hbtable.commitlog.state import LogBroken
from hbtable.errors import HbtableError, LockLost
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_UNKNOWN_PAUSE_SECONDS: Final = 0.1


@final
class FenceCheck:
    """Asks whether the log is fenced, before a group is acknowledged. `is_fenced` (fencing.is_fenced of this log)
    raises when it cannot know."""

    def __init__(self, runtime: Runtime, folder: str, is_fenced: Callable[[], bool], give_up_seconds: float) -> None:
        self._runtime = runtime
        self._folder = folder
        self._is_fenced = is_fenced
        self._give_up_seconds = give_up_seconds

    @switches
    def pass_once(self) -> None:
        """Returns when the marker is seen absent. LockLost; any other HbtableError: unknown."""
        if self._is_fenced():
            raise LockLost(
                f"the commit log {self._folder} was fenced: another tablet server has taken over, this one must stop"
            )

    @switches
    def pass_at_last(self) -> None:
        """Asks until there is an answer. LockLost; LogBroken: none came in give_up_seconds."""
        give_up_at = self._runtime.clock_seconds() + self._give_up_seconds
        while True:
            try:
                self.pass_once()
                return
            except LockLost:
                raise
            except HbtableError as error:
                if self._runtime.clock_seconds() >= give_up_at:
                    raise LogBroken(f"nobody can say whether this log was fenced: {error}") from error
            self._runtime.sleep(_UNKNOWN_PAUSE_SECONDS)

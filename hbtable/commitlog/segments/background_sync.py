"""Durability "os": every so many bytes a sync that no commit waits for, while appends go on.

It moves the watermark, and leaves little to sync at the end of a segment, when commits do have to wait.
"""

from collections.abc import Callable
from typing import final

from hbtable.commitlog.segments.log_end import LogEnd
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches


@final
class BackgroundSync:
    """Syncs the current segment while appends go on. `point_bytes`: the segment length at which the next sync is
    due."""

    __slots__ = ("_appender", "_every_bytes", "_failed", "_runtime", "_synced_bytes", "_task", "point_bytes")

    def __init__(
        self, runtime: Runtime, appender: LogEnd, every_bytes: int, failed: Callable[[BaseException], None]
    ) -> None:
        self._runtime = runtime
        self._appender = appender
        self._every_bytes = every_bytes
        self._failed = failed
        self._task: Task | None = None
        self.point_bytes = every_bytes
        self._synced_bytes = 0
        """Of the segment, by what runs here."""

    def segment_began(self) -> None:
        self.point_bytes = self._every_bytes
        self._synced_bytes = 0

    def is_behind(self) -> bool:
        """Whether more of the segment is not synced yet than usual commits leave. Sees to it that this ends. Does not
        switch."""
        if self._appender.offset - self._synced_bytes <= 2 * self._every_bytes:
            return False
        if self._task is None:
            self._start()
        return True

    def start_if_due(self) -> None:
        """Does not switch."""
        if self._appender.offset >= self.point_bytes:
            self.point_bytes = self._appender.offset + self._every_bytes
            if self._task is None:
                self._start()

    def _start(self) -> None:
        self._task = spawn_counted(self._runtime, self._run, name="commit-log-sync")

    @switches
    def join(self) -> None:
        """*Switches.* Call it before the segment is closed: a descriptor closed under a running fdatasync may by then
        be another file's."""
        if self._task is not None:
            self._task.join()

    @switches
    def _run(self) -> None:
        offset = self._appender.offset
        try:
            self._appender.sync()
            self._synced_bytes = max(self._synced_bytes, offset)
        except BaseException as error:
            self._failed(error)  # also when killed: an error that nobody saw must not pass for success
            raise
        finally:
            self._task = None

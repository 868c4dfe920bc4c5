"""The segments a log in open files is written through, one after the other: writer.py says which group is next, this
where it goes.

Knows when the open end (appender.py, or failover_appender.py on HDFS) needs a new segment, cuts off what an append that
was refused may have left, and lets old segments go. One task at a time may call what switches; the writer sees to it.

Invariants
* What was refused is cut off at once, by the header of a new segment, which names the good length of the old one.
* No segment is left or closed while a sync beside the commits is at work on it.
* A segment is deleted only when recovery was first told, durably, not to expect it (bug classes 2 and 4).
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.commitlog.deleting import delete_oldest_first
from hbtable.commitlog.groups import CLEAN_END, MARKER
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.segments.background_sync import BackgroundSync
from hbtable.commitlog.segments.log_end import LogEnd
from hbtable.commitlog.segments.segment import segment_path
from hbtable.commitlog.state import LogBroken, LogState
from hbtable.errors import HbtableError, LockLost, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_MOST_SEGMENTS: Final = 2
"""So many times as long as segments are to be, and no longer, is one that runs over."""


@final
class SegmentRoller:
    """Writes to the current segment, and begins the next one when it is full. `broke` is told of what breaks the log.
    Unavailable, and so OutOfSpace, means here: refused, nothing written counts."""

    __slots__ = ("_background_sync", "_broke", "_end", "_folder", "_fs", "_ledger", "_options", "_runtime", "_state")

    @switches
    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        options: LogOptions,
        end: LogEnd,
        ledger: SegmentLedger,
        state: LogState,
        broke: Callable[[BaseException], None],
    ) -> None:
        """The first segment is durable on return. Raises as LogEnd.next_segment."""
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._options = options
        self._end = end
        self._ledger = ledger
        self._state = state
        self._broke = broke
        self._background_sync = BackgroundSync(runtime, end, options.sync_every_bytes, broke)
        end.next_segment()

    # ------------------------------------------------------------ groups

    def free_until(self) -> int:
        """Up to this length the segment takes groups that need nothing but an append: no new segment, no sync."""
        return 0 if self._end.file is None else min(self._background_sync.point_bytes, self._options.segment_bytes)

    def has_room(self) -> bool:
        """Whether the next group needs no new segment."""
        return self._end.file is not None and self._end.offset < self._options.segment_bytes

    @switches
    def append(self, payload: bytes, flags: int = 0, expected: int | None = None) -> None:
        """One group, in a segment with room for it. Unavailable: refused. LogBroken, StorageFailed,
        LockLost."""
        self.ensure_segment()
        self._append_here(payload, flags, expected)

    @switches
    def _append_here(self, payload: bytes, flags: int, expected: int | None = None) -> None:
        try:
            self._end.append(payload, flags, expected)
        except BaseException as error:
            self.cut_off(error)
            raise

    @switches
    def sync(self) -> None:
        """All that was appended is durable on return. LogBroken."""
        self._end.sync()

    def sync_in_background_if_due(self) -> None:
        """Does not switch."""
        self._background_sync.start_if_due()

    @switches
    def cut_off(self, error: BaseException) -> None:
        """After an append that failed with `error`: sees to it that its bytes, of which any part may be in the file,
        count for nothing. LogBroken."""
        if not isinstance(error, Unavailable):
            # StorageFailed: what earlier appends left unsynced is unknown. Killed inside an append: so is the outcome.
            self._broke(error)
            return
        self._join_background_sync()
        self._end.give_up()
        # At once, not with the next commit: until a header names the good length, a crash would let recovery take
        # a refused group that did reach the file for an unacknowledged one, and show it.
        try:
            self.ensure_segment()
        except Unavailable as again:
            logger.warning("no new log segment after a refused write, the next commit will try again: %s", again)

    @switches
    def ensure_segment(self) -> None:
        """There is a segment to append to, with room left, on return. Unavailable: try again later.
        LogBroken, LockLost."""
        if not self.has_room() and not self._runs_over():
            self.begin_segment()

    def _runs_over(self) -> bool:
        """Whether the full segment takes another group all the same. Durability "os": commits do not wait for syncs,
        and while much of the segment is not synced, as behind a group of 50 MB, the next one would begin with one."""
        end, options = self._end, self._options
        is_short = end.file is not None and end.offset < _MOST_SEGMENTS * options.segment_bytes
        return is_short and options.durability == "os" and self._background_sync.is_behind()

    @switches
    def begin_segment(self) -> None:
        """Groups go into a new segment from now on, whether or not the old one has room. As
        ensure_segment()."""
        end = self._end
        self._join_background_sync()
        number = end.number
        try:
            length = end.next_segment()
        except (LogBroken, LockLost, Unavailable):
            raise
        except HbtableError as error:
            # Nothing acknowledged is at stake in a segment that does not exist yet: not the end of this log.
            raise Unavailable(f"no new log segment: {error}") from error
        self._ledger.hold(number, segment_path(self._folder, number), length)
        self._background_sync.segment_began()

    @switches
    def _join_background_sync(self) -> None:
        self._background_sync.join()
        if self._state.reason:
            raise LogBroken(self._state.reason)

    # ------------------------------------------------------------ old segments, and the end

    @property
    def size_bytes(self) -> int:
        return self._ledger.held_bytes + self._end.offset

    def releasable(self) -> bool:
        """Whether there are segments that nobody needs. Does not switch."""
        return self._ledger.oldest_needed(self._end.number) > self._end.oldest_segment

    @switches
    def release(self) -> None:
        """Says in the log, durably, where recovery is to begin; then deletes what lies before. LogBroken,
        StorageFailed, LockLost."""
        if not self.releasable():
            return
        end = self._end
        oldest = self._ledger.oldest_needed(end.number)
        before = end.oldest_segment
        end.oldest_segment = oldest
        try:
            self.append(b"", MARKER)
            self.sync()
        except Unavailable as error:
            logger.warning("log segments before %d are kept for now: %s", oldest, error)
            end.oldest_segment = before
            return
        # After that sync: were a file gone first, recovery after a crash would take it for a lost one.
        gone = self._ledger.drop_before(oldest)
        spawn_counted(self._runtime, delete_oldest_first, self._fs, gone, name="commit-log-delete")

    @switches
    def end_cleanly(self) -> None:
        """Writes a last group that covers all others with its watermark. Unavailable: without it only the
        log's tail is less guarded. LogBroken, StorageFailed, LockLost."""
        end = self._end
        self._join_background_sync()
        if end.file is None:
            self.ensure_segment()
        if end.watermark < end.lsn:  # only "os": so that the last watermark can cover everything
            self.sync()
        self._append_here(b"", MARKER | CLEAN_END)
        self.sync()

    @switches
    def close(self) -> None:
        """*Switches.*"""
        if self._end.file is not None:
            self._end.file.close()

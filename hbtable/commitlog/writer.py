"""The writer of a tablet server's one commit log, for all its tablets (paper, sections 5.3 and 6: group commit).

Two ways to the same file:
* inline (durability "os", nothing waiting): the caller's own task appends its group and applies it. No switch.
* queued ("sync", or something is going on): commits gather in batches; one task writes them, one group each. What
  arrives while a group is synced makes the next one.

Invariants
* Groups reach the file in the order in which commit() was called, and `apply` callbacks run in that order.
* `apply` runs after the group is as durable as configured, in one atomic stretch with the groups's other callbacks and
  before any waiter returns: what a reader can see is in the log, and what was acknowledged can be read.
* A commit that raises was not applied and will not be. Those behind it go on only in a new segment, whose header cuts
  the refused bytes off.
* After a failed sync, nothing is acknowledged any more (bug class 24).
* A segment is deleted only when recovery was first told, durably, not to expect it (bug classes 2 and 4).
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, final

from hbtable.commitlog import groups
from hbtable.commitlog.appender import LogBroken, LogEnd, SegmentAppender, delete_segments
from hbtable.commitlog.batch import Batch
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.segment import segment_path
from hbtable.commitlog.side_sync import SideSync
from hbtable.errors import AlreadyExists, HbtableError, LockLost, OutOfSpace, StorageFailed, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.metrics.registry import Histogram, Registry
from hbtable.runtime.interface import Runtime

logger = logging.getLogger(__name__)

_REFUSALS: Final = (OutOfSpace, Unavailable)


@final
class LogWriter:
    """Owns the log's folder. `folder` must hold no file yet: an incarnation writes one log, once."""

    __slots__ = (
        "_appender", "_batches", "_broken", "_busy", "_bytes", "_closed", "_closing", "_failure", "_folder", "_fs",
        "_groups", "_inline_limit", "_ledger", "_on_broken", "_options", "_queued_bytes", "_records",
        "_release", "_runtime", "_side_sync", "_waits_for_sync",
    )  # fmt: skip

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        options: LogOptions,
        registry: Registry,
        appender: Callable[[Histogram, SegmentLedger], LogEnd] | None = None,
        on_broken: Callable[[], None] = lambda: None,
    ) -> None:
        """The first segment is durable on return, so that a log that is named somewhere and has no file is a lost log.
        *Switches.* AlreadyExists, OutOfSpace, StorageFailed, Unavailable, LockLost.

        `appender` makes the open end, a SegmentAppender unless it is given. `on_broken` is called once when nothing
        will be acknowledged any more; it must not switch."""
        if fs.list_files(folder):
            raise AlreadyExists(f"{folder} already holds a log; every start of a tablet server writes a new one")
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._options = options
        self._records = registry.counter("hbtable_wal_records_total", "Log records written")
        self._bytes = registry.counter("hbtable_wal_bytes_total", "Bytes of log records written")
        self._groups = registry.counter("hbtable_wal_groups_total", "Groups written: records per group is the ratio")
        sync_seconds = registry.histogram("hbtable_wal_sync_seconds", "Time of one sync of the log")
        self._ledger = SegmentLedger()
        self._appender: LogEnd = (
            SegmentAppender(fs, folder, options.durability, runtime.clock_seconds, sync_seconds)
            if appender is None
            else appender(sync_seconds, self._ledger)
        )
        self._side_sync = SideSync(runtime, self._appender, options.sync_every_bytes, self._break)
        self._batches: deque[Batch] = deque()
        self._queued_bytes = 0
        self._waits_for_sync = options.durability == "sync"
        self._busy = False
        """Someone is between two steps that must not be mixed with others: everybody else queues."""
        self._release = False
        self._closing = False
        self._closed = runtime.event()
        self._broken = ""
        """Why nothing is acknowledged any more; "" while all is well."""
        self._failure: type[HbtableError] = StorageFailed
        self._on_broken = on_broken
        self._inline_limit = 0
        """Commits are appended inline while the segment is shorter than this."""
        self._appender.next_segment(runtime.wall_millis())
        self._set_inline_limit()

    # ------------------------------------------------------------ commits

    def commit(
        self,
        tablet_id: int,
        last_sequence: int,
        records: bytes,
        apply: Callable[[], None],
        exempt: bool = False,
        count: int = 1,
    ) -> None:
        """As CommitLog.commit. Durability "os" does not switch while nothing waits. A task killed while it waits leaves
        its commit in the queue: it is written and applied."""
        appender = self._appender
        if self._busy or appender.offset >= self._inline_limit:
            self._commit_queued(tablet_id, last_sequence, records, apply, exempt, count)
            return
        self._busy = True  # append may switch on some file systems: whoever comes meanwhile queues behind
        try:
            appender.append(records)
        except BaseException as error:
            self._inline_failed(error)
            if isinstance(error, StorageFailed):
                raise self._failure(self._broken) from error
            raise
        if self._broken:  # the sync beside failed while this append waited
            self._busy = False
            raise self._failure(self._broken)
        self._ledger.active[tablet_id] = last_sequence
        self._records.value += count
        self._bytes.value += len(records)
        self._groups.value += 1
        self._busy = False
        if self._batches or self._release or self._closing:
            self._start()
        try:
            apply()
        except BaseException as error:
            self._break(error)  # memory lacks what the log has: nothing may build on it
            raise

    def _commit_queued(
        self,
        tablet_id: int,
        last_sequence: int,
        records: bytes,
        apply: Callable[[], None],
        exempt: bool,
        count: int,
    ) -> None:
        if self._broken:
            raise self._failure(self._broken)
        if self._closing:
            raise Unavailable("the commit log is closing; this tablet server stops")
        size = len(records)
        if self._queued_bytes + size > self._options.queue_bytes and self._queued_bytes and not exempt:
            raise Unavailable(f"{self._queued_bytes} bytes wait for the commit log; retry later")
        batches = self._batches
        if not batches or batches[-1].size_bytes + size > self._options.group_bytes:
            batches.append(Batch(self._runtime.event()))
        batch = batches[-1]
        batch.add(tablet_id, last_sequence, records, apply, count)
        self._queued_bytes += size
        self._start()
        batch.wait()

    def _inline_failed(self, error: BaseException) -> None:
        """Of an inline append; the caller raises. Switches."""
        try:
            self._after_failed_append(error)
        except BaseException as worse:
            # Broken, or killed half-way: the next append would go behind bytes of unknown length.
            self._break(worse)
            if not isinstance(worse, LogBroken):
                raise
        finally:
            self._set_inline_limit()
            self._busy = False
            self._start_if_needed()

    # ------------------------------------------------------------ the writing task

    def _start(self) -> None:
        if not self._busy:
            self._busy = True
            self._runtime.spawn(self._work, name="commit-log")

    def _start_if_needed(self) -> None:
        if self._batches or self._release or (self._closing and not self._closed.is_set()):
            self._start()

    def _work(self) -> None:
        """Writes until nothing is left to do. A task of its own, so that killing a waiter never stops a group."""
        try:
            while True:
                if self._batches:
                    batch = self._batches.popleft()
                    self._queued_bytes -= batch.size_bytes
                    self._write(batch)
                elif self._release and not self._broken:
                    self._release = False
                    self._release_segments()
                elif self._closing:
                    self._finish()
                    break
                else:
                    break
        except BaseException as error:
            self._break(error)  # killed between two steps, or a bug: what the file's end holds is not known
            raise
        finally:
            self._set_inline_limit()
            self._busy = False
            if self._broken:
                self._fail_waiting()

    def _fail_waiting(self) -> None:
        while self._batches:
            batch = self._batches.popleft()
            self._queued_bytes -= batch.size_bytes
            batch.fail(self._failure, self._broken)
        if self._closing:
            self._closed.set()

    def _write(self, batch: Batch) -> None:
        if self._broken:  # by an apply, or by the sync beside
            batch.fail(self._failure, self._broken)
            return
        try:
            self._open_segment()
            self._append(batch.payload())
            if self._waits_for_sync:
                self._appender.sync()
            if self._broken:
                raise LogBroken(self._broken)
        except _REFUSALS as error:
            batch.fail(type(error), str(error))
            return
        except BaseException as error:
            self._break(error)
            batch.fail(self._failure, self._broken)
            if not isinstance(error, HbtableError):
                raise  # this task was killed, or there is a bug: either way it must be seen
            return
        self._ledger.active.update(batch.tablets)
        self._records.value += batch.count
        self._bytes.value += batch.size_bytes
        self._groups.value += 1
        # No switch between the sync and the last apply: a reader sees all of the group or nothing of it.
        for apply in batch.applies:
            try:
                apply()
            except Exception as error:
                logger.exception("a durable log record could not be applied")
                self._break(error)
                batch.error = (self._failure, self._broken)
        batch.done.set()
        if not self._waits_for_sync:
            self._side_sync.start_if_due()

    def _append(self, payload: bytes, flags: int = 0) -> None:
        try:
            self._appender.append(payload, flags)
        except BaseException as error:
            self._after_failed_append(error)
            raise

    def _after_failed_append(self, error: BaseException) -> None:
        """Makes sure that the refused bytes, of which any part may be in the file, are cut off. Switches. LogBroken."""
        if not isinstance(error, _REFUSALS):
            # StorageFailed: what earlier appends left unsynced is unknown. Killed inside an append: so is the outcome.
            self._break(error)
            return
        self._join_side_sync()
        self._appender.give_up()
        # At once, not with the next commit: until a header names the good length, a crash would let recovery take
        # a refused group that did reach the file for an unacknowledged one, and show it.
        try:
            self._open_segment()
        except _REFUSALS as again:
            logger.warning("no new log segment after a refused write, the next commit will try again: %s", again)

    def _open_segment(self) -> None:
        """Sees to it that there is a segment to append to, and room left in it. Switches. OutOfSpace, Unavailable:
        try again later. LogBroken."""
        appender = self._appender
        if appender.file is not None and appender.offset < self._options.segment_bytes:
            return
        self._join_side_sync()
        number = appender.number
        try:
            length = appender.next_segment(self._runtime.wall_millis())
        except (LogBroken, LockLost, *_REFUSALS):
            raise
        except HbtableError as error:
            # Nothing acknowledged is at stake in a segment that does not exist yet: not the end of this log.
            raise Unavailable(f"no new log segment: {error}") from error
        self._ledger.hold(number, segment_path(self._folder, number), length)
        self._side_sync.segment_began()

    def _set_inline_limit(self) -> None:
        if self._waits_for_sync or self._broken or self._closing or self._appender.file is None:
            self._inline_limit = 0
        else:
            self._inline_limit = min(self._side_sync.point_bytes, self._options.segment_bytes)

    def _join_side_sync(self) -> None:
        self._side_sync.join()
        if self._broken:
            raise LogBroken(self._broken)

    # ------------------------------------------------------------ what tablets still need

    @property
    def size_bytes(self) -> int:
        return self._ledger.held_bytes + self._appender.offset

    def tablets_of_oldest_segment(self) -> list[int]:
        return self._ledger.tablets_of_oldest()

    def needed(self, tablet_id: int, first_needed_sequence: int) -> None:
        """As CommitLog.needed; segments nobody needs are deleted a little later."""
        self._ledger.needed(tablet_id, first_needed_sequence)
        self._plan_release()

    def forget(self, tablet_id: int) -> None:
        """As CommitLog.forget."""
        self._ledger.forget(tablet_id)
        self._plan_release()

    def _plan_release(self) -> None:
        if self._broken or self._closing:
            return
        if self._ledger.oldest_needed(self._appender.number) > self._appender.oldest_segment:
            self._release = True
            self._start()

    def _release_segments(self) -> None:
        """Says in the log, durably, where recovery is to begin; then deletes what lies before. Switches."""
        appender = self._appender
        oldest = self._ledger.oldest_needed(appender.number)
        if oldest <= appender.oldest_segment:
            return
        before = appender.oldest_segment
        appender.oldest_segment = oldest
        try:
            self._open_segment()
            self._append(b"", groups.MARKER)
            appender.sync()
        except _REFUSALS as error:
            logger.warning("log segments before %d are kept for now: %s", oldest, error)
            appender.oldest_segment = before
            return
        except HbtableError as error:
            self._break(error)
            return
        # After that sync: were a file gone first, recovery after a crash would take it for a lost one.
        self._runtime.spawn(delete_segments, self._fs, self._ledger.drop_before(oldest), name="commit-log-delete")

    # ------------------------------------------------------------ the end

    def close(self) -> None:
        """Writes what waits, then a last watermark, and syncs: damage anywhere in a log closed so is noticed.

        *Switches.* Idempotent. StorageFailed when what was acknowledged may not be durable ("os") or the log had
        broken before. Without room for the watermark only the log's tail is less guarded."""
        self._closing = True
        self._inline_limit = 0
        self._start_if_needed()
        self._closed.wait()
        if self._broken:
            raise self._failure(self._broken)

    def _finish(self) -> None:
        appender = self._appender
        try:
            if not self._broken:
                self._join_side_sync()
                if appender.file is None:
                    self._open_segment()
                if appender.watermark < appender.lsn:  # only "os": so that the last watermark can cover everything
                    appender.sync()
                self._append(b"", groups.MARKER | groups.CLEAN_END)
                appender.sync()
        except _REFUSALS as error:
            logger.warning("the commit log was closed without its last watermark: %s", error)
        except HbtableError as error:
            self._break(error)
        finally:
            try:
                if appender.file is not None:  # all in it was synced: by the lines above, or before it was the current
                    appender.file.close()
            finally:
                self._closed.set()

    def _break(self, error: BaseException) -> None:
        if not self._broken:
            self._inline_limit = 0
            self._broken = f"the commit log failed, restart this tablet server: {error}"
            self._failure = LockLost if isinstance(error, LockLost) else StorageFailed
            logger.error("%s", self._broken)
            self._on_broken()

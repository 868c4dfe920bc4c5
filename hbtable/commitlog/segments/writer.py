"""A tablet server's commit log in open files, on a local disk or on HDFS natively: group commit, that is who writes
next and when it is acknowledged (paper, sections 5.3 and 6).

Three ways to the same file:
* inline (durability "os", nothing waiting): the caller's own task appends its group and applies it. No switch.
  Not what is very large: its append switches, and a task that is killed then would leave an end of unknown length.
* alone ("sync", nothing waiting, and the group before was of one commit, too): the caller's own task appends its group,
  waits for the sync and applies it: no other task has to be started and waited for.
* queued (something is going on): commits gather in batches (queue.py, gathering.py), which one task writes.

Invariants
* Groups reach the file in the order in which commit() was called, and `apply` callbacks run in that order.
* `apply` runs after the group is as durable as configured, in one atomic stretch with the group's other callbacks and
  before any waiter returns: what a reader can see is in the log, and what was acknowledged can be read.
* A task that is killed while it waits stops no group: what was begun alone, the writing task ends.
* A commit that raises was not applied and will not be, nor will those that follow it. Others behind it go on only in a
  new segment, whose header cuts the refused bytes off.
* After a failed sync, nothing is acknowledged any more (bug class 24).
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.commitlog.acknowledging import Acknowledger
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.metrics import LogMetrics
from hbtable.commitlog.needs import TabletNeeds
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.queue import CommitBatch, CommitQueue, nobody
from hbtable.commitlog.segments.appender import SegmentAppender
from hbtable.commitlog.segments.gathering import GroupGathering
from hbtable.commitlog.segments.high_water import HighWaterWriter
from hbtable.commitlog.segments.log_end import LogEnd
from hbtable.commitlog.segments.rest_check import RestCheck
from hbtable.commitlog.segments.roll_requests import RollRequest
from hbtable.commitlog.segments.rolling import SegmentRoller
from hbtable.commitlog.segments.segment import segment_path
from hbtable.commitlog.state import LogBroken, LogState
from hbtable.errors import AlreadyExists, HbtableError, OutcomeUnknown, StorageFailed, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.metrics.registry import Histogram, Registry
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_LARGE_BYTES: Final = 2 << 20
"""A larger commit is written by the log's own task: on a local disk its append switches."""


@final
class LogWriter(TabletNeeds):
    """Implements CommitLog. Owns the log's folder, which must hold no file yet: an incarnation writes one log, once."""

    takes_followers = True
    __slots__ = (
        "_acknowledger", "_busy", "_check_due", "_end", "_folder", "_gathering", "_high_water", "_inline_limit",
        "_metrics", "_queue", "_release", "_rest_check", "_rolls", "_runtime", "_segments", "_state", "_waits_for_sync",
    )  # fmt: skip

    @switches
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
        AlreadyExists, OutOfSpace, StorageFailed, Unavailable, LockLost.

        `appender` makes the open end, a SegmentAppender unless it is given. `on_broken` is called once when nothing
        will be acknowledged any more; it must not switch."""
        if fs.list_files(folder):
            raise AlreadyExists(f"{folder} already holds a log; every start of a tablet server writes a new one")
        super().__init__()
        self._runtime = runtime
        self._folder = folder
        self._waits_for_sync = options.durability == "sync"
        self._metrics = LogMetrics(registry)
        # A cluster's server ends when its log breaks: there a peer turns StorageFailed into what the caller may do.
        self._state = LogState(runtime, OutcomeUnknown if appender is None else StorageFailed)
        self._queue = CommitQueue(runtime, options, self._state)
        self._acknowledger = Acknowledger(self._metrics, self._ledger, self._state, self._break)
        sync_seconds = self._metrics.sync_seconds
        alone = self._waits_for_sync and appender is None
        self._gathering = GroupGathering(runtime, self._queue, self._state, sync_seconds, alone)
        self._end: LogEnd = (
            SegmentAppender(runtime, fs, folder, options.durability, sync_seconds)
            if appender is None
            else appender(sync_seconds, self._ledger)
        )
        self._busy = False
        """Someone is between two steps that must not be mixed with others: everybody else queues."""
        self._release = False
        """There are segments to let go."""
        self._check_due = False
        """Nothing was written for a while."""
        self._rolls: list[RollRequest] = []
        self._inline_limit = 0
        """Commits are appended inline while the segment is shorter than this."""
        self._segments = SegmentRoller(runtime, fs, folder, options, self._end, self._ledger, self._state, self._break)
        period = options.mark_seconds if appender is None else options.cluster_mark_seconds
        self._high_water = HighWaterWriter(
            runtime, fs, folder, self._end, self._ledger, not self._waits_for_sync, period
        )
        rest_seconds = 0.0 if appender is None else options.rest_check_seconds
        self._rest_check = RestCheck(runtime, self._end, rest_seconds, self._ask_for_check)
        self._rest_check.start()
        self._state.on_broken = on_broken
        self._set_inline_limit()

    # ------------------------------------------------------------ commits

    @switches
    def commit(
        self,
        tablet_id: int,
        last_sequence: int,
        records: bytes,
        apply: Callable[[], None],
        exempt: bool = False,
        count: int = 1,
        refused: Callable[[], None] = nobody,
        follows: bool = False,
        checksum: int | None = None,
    ) -> None:
        """As CommitLog.commit. Durability "os" does not switch while nothing waits."""
        is_large = len(records) > _LARGE_BYTES
        if self._busy or self._end.offset >= self._inline_limit or is_large:
            batch = self._queue.put(tablet_id, last_sequence, records, apply, exempt, count, refused, follows, checksum)
            if self._gathering.alone and not self._busy and not is_large and self._segments.has_room():
                self._commit_alone()
            else:
                self._start()
            batch.wait()
            return
        self._busy = True  # append may switch on some file systems: whoever comes meanwhile queues behind
        try:
            self._end.append(records)
        except BaseException as error:
            self._inline_failed(error, refused)
            if isinstance(error, StorageFailed):
                raise self._state.doubt() from error
            raise
        if self._state.reason:  # the sync beside failed while this append waited
            self._busy = False
            refused()
            self._state.check_sound()
        self._ledger.active[tablet_id] = last_sequence
        metrics = self._metrics  # here and not by a call: this is the shortest way a commit can go
        metrics.records.value += count
        metrics.bytes.value += len(records)
        metrics.groups.value += 1
        self._busy = False
        if self._queue.batches or self._rolls or self._release or self._state.closing:
            self._start()
        try:
            apply()
        except BaseException as error:
            self._break(error)  # memory lacks what the log has: nothing may build on it
            raise

    @switches
    def _inline_failed(self, error: BaseException, refused: Callable[[], None]) -> None:
        """Cleans up after an inline append that failed; the caller raises. Switches."""
        try:
            self._segments.cut_off(error)
        except BaseException as worse:
            # Broken, or killed half-way: the next append would go behind bytes of unknown length.
            self._break(worse)
            if not isinstance(worse, LogBroken):
                raise
        finally:
            refused()
            self._queue.refuse_followers(Unavailable, str(error))
            self._set_inline_limit()
            self._busy = False
            self._start_if_needed()

    @switches
    def _commit_alone(self) -> None:
        """The only batch there is, in the task of its only commit. All but a kill is told by the batch."""
        self._busy = True
        batch = self._queue.take()
        appended = False
        try:
            appended = self._append(batch)
            if appended:
                self._end.sync()
                self._acknowledge(batch)
        except Exception as error:
            self._failed(batch, error)
            if not isinstance(error, HbtableError):
                logger.exception("a commit to the log failed in an unforeseen way")
        except BaseException:  # killed
            spawn_counted(self._runtime, self._work, batch if appended else None, name="commit-log")
            raise
        self._busy = False
        self._start_if_needed()

    def _set_inline_limit(self) -> None:
        only_queued = self._waits_for_sync or self._state.reason or self._state.closing
        self._inline_limit = 0 if only_queued else self._segments.free_until()

    # ------------------------------------------------------------ the writing task

    def _start(self) -> None:
        if not self._busy:
            self._busy = True
            spawn_counted(self._runtime, self._work, name="commit-log")

    def _start_if_needed(self) -> None:
        closing = self._state.closing and not self._state.closed.is_set()
        if self._queue.batches or self._rolls or self._release or closing:
            self._start()

    @switches
    def _work(self, begun: CommitBatch | None = None) -> None:
        """Writes until nothing is left to do. Not a waiter's task, which may be killed. `begun`: appended already."""
        try:
            if begun is not None:
                self._finish(begun)
            while True:
                if self._rolls:
                    self._begin_segment()
                elif self._queue.batches:
                    batch = self._gathering.next_batch()
                    if batch is not None and self._append(batch):
                        self._finish(batch)
                elif self._release and not self._state.reason:
                    self._release = False
                    self._let_go()
                elif self._check_due:
                    self._check_due = False
                    self._end.check()
                elif self._state.closing:
                    self._end_cleanly()
                    break
                else:
                    break
        except BaseException as error:
            self._break(error)  # killed between two steps, or a bug: what the file's end holds is not known
            if self._state.closing:
                self._state.closed.set()
            raise
        finally:
            self._set_inline_limit()
            self._busy = False

    @switches
    def _append(self, batch: CommitBatch) -> bool:
        """One group, from the queue to the file. False: who waits was told why not."""
        try:
            self._segments.append(batch.payload(), 0, batch.checksum)
        except BaseException as error:
            self._failed(batch, error)
            if not isinstance(error, HbtableError):
                raise  # this task was killed, or there is a bug: either way it must be seen
            return False
        return True

    @switches
    def _finish(self, batch: CommitBatch) -> None:
        """A group that was appended, to its acknowledgement."""
        try:
            if self._waits_for_sync:
                self._segments.sync()
            self._acknowledge(batch)
        except BaseException as error:
            self._failed(batch, error)
            if not isinstance(error, HbtableError):
                raise
            return
        if not self._waits_for_sync:
            self._segments.sync_in_background_if_due()

    def _acknowledge(self, batch: CommitBatch) -> None:
        """No switch between the sync and the last apply."""
        if self._state.reason:  # the sync beside failed meanwhile
            raise LogBroken(self._state.reason)
        self._acknowledger.acknowledge(batch)
        if self._waits_for_sync:
            self._gathering.acknowledged(batch)
        self._high_water.news()

    def _failed(self, batch: CommitBatch, error: BaseException) -> None:
        told: HbtableError | None = error if isinstance(error, Unavailable) else None
        if told is None:
            self._break(error)
            told = self._state.doubt()
        batch.fail(type(told), str(told))
        self._queue.refuse_followers(type(told), str(told))

    def newest_file(self) -> str:
        """As WatchedLog.newest_file."""
        return segment_path(self._folder, self._end.number)

    def ended(self) -> bool:
        """As WatchedLog.ended."""
        return bool(self._state.reason) or self._state.closing

    @switches
    def roll(self) -> None:
        """As CommitLog.roll. StorageFailed when the log has broken."""
        if self._state.closing:
            raise Unavailable("the commit log is being closed")
        request = RollRequest(self._runtime)
        self._rolls.append(request)
        self._start()
        request.wait()

    @switches
    def _begin_segment(self) -> None:
        """For all who wait for one."""
        rolls, self._rolls = self._rolls, []
        failed: list[HbtableError] = [Unavailable("the writing of the commit log was ended")]
        try:
            self._state.check_sound()
            self._segments.begin_segment()
            failed = []
            self._release = self._release or self._segments.releasable()
        except Unavailable as error:
            failed = [error]
        except HbtableError as error:
            self._break(error)
            failed = [self._state.failure(self._state.reason)]
        finally:
            for request in rolls:
                request.answer(failed)

    def _ask_for_check(self) -> None:
        if not self._state.reason and not self._state.closing:
            self._check_due = True
            self._start()

    @switches
    def _let_go(self) -> None:
        try:
            self._segments.release()
        except HbtableError as error:
            self._break(error)

    # ------------------------------------------------------------ what tablets still need

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    @property
    def broken(self) -> str:
        """As CommitLog.broken."""
        return self._state.reason

    def _plan_release(self) -> None:
        if self._segments.releasable() and not self._state.reason and not self._state.closing:
            self._release = True
            self._start()

    # ------------------------------------------------------------ the end

    @switches
    def close(self) -> None:
        """Writes what waits, then a last watermark, and syncs: damage anywhere in a log closed so is noticed.
        Idempotent. StorageFailed when what was acknowledged may not be durable ("os") or the log had broken before.
        Without room for the watermark only the log's tail is less guarded."""
        self._state.closing = True
        self._inline_limit = 0
        self._start_if_needed()
        self._state.closed.wait()
        self._state.check_sound()

    @switches
    def _end_cleanly(self) -> None:
        try:
            if not self._state.reason:
                self._segments.end_cleanly()
                self._high_water.write()
        except Unavailable as error:
            logger.warning("the commit log was closed without its last watermark: %s", error)
        except HbtableError as error:
            self._break(error)
        finally:
            self._high_water.stop()
            self._rest_check.stop()
            try:
                self._segments.close()
            finally:
                self._state.closed.set()

    def _break(self, error: BaseException) -> None:
        self._inline_limit = 0
        self._rest_check.stop()
        if self._state.fail(error):
            self._queue.fail_all()

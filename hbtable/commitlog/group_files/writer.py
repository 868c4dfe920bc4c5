"""A tablet server's commit log in whole files, one per group, for a file system that can do no more (WebHDFS;
docs/faults.md: two ways for a log; paper, sections 5.3 and 6).

Commits gather in batches (queue.py); up to groups_under_way batches are written at a time, each as a file of its own
(sending.py), and acknowledged one after the other.

Invariants
* Groups are acknowledged by LSN, that is in the order in which commit() was called, their `apply` callbacks in one
  atomic stretch each and before any waiter returns. Durable before its predecessor is not enough.
* The tries of one LSN and round have one content. A refused group ends its round: all behind it are refused, too, and
  the next round begins with its LSN. A marker of the new round voids what of the old one may yet appear; it goes out
  before anybody is told of the refusal.
"""

import logging
from collections.abc import Callable
from typing import final

from hbtable.commitlog.acknowledging import Acknowledger
from hbtable.commitlog.fence_check import FenceCheck
from hbtable.commitlog.group_files.group_file import GroupFile, encode_group_file
from hbtable.commitlog.group_files.retention import GroupRetention
from hbtable.commitlog.group_files.sending import GroupSender
from hbtable.commitlog.groups import CLEAN_END, MARKER, checked
from hbtable.commitlog.metrics import LogMetrics
from hbtable.commitlog.needs import TabletNeeds
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.queue import CommitBatch, CommitQueue, nobody
from hbtable.commitlog.segments.high_water import HighWaterWriter
from hbtable.commitlog.segments.segment import incarnation_of
from hbtable.commitlog.state import LogBroken, LogState
from hbtable.errors import AlreadyExists, HbtableError, MemoryDamaged, OutOfSpace
from hbtable.fs.interface import FileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)


@final
class _Group:
    """A batch that is being written."""

    __slots__ = ("batch", "content", "durable", "lsn", "oldest", "refusal", "refused", "started")

    def __init__(self, batch: CommitBatch, lsn: int, content: bytes, oldest: int, started: float) -> None:
        self.batch = batch
        self.lsn = lsn
        self.content = content
        self.oldest = oldest
        self.started = started
        self.durable = False
        self.refusal: OutOfSpace | None = None
        self.refused: list[CommitBatch] = []
        """The batches that are told of a refusal once this marker stands."""


@final
class AcknowledgedEnd:
    """WrittenEnd of this log: the LSN up to which all groups were acknowledged. They have no place in a segment."""

    __slots__ = ("watermark",)

    number = offset = 0

    def __init__(self) -> None:
        self.watermark = 0

    @property
    def lsn(self) -> int:
        return self.watermark


@final
class FileGroupLog(TabletNeeds):
    """Implements CommitLog. Owns the log's folder, which must hold no file yet: an incarnation writes one log, once."""

    takes_followers = False
    """The next round's groups may be on their way before those of a refused one are told of it."""

    @switches
    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        options: LogOptions,
        registry: Registry,
        fence_check: FenceCheck,
        on_broken: Callable[[], None],
    ) -> None:
        """The first group, a marker, is durable on return. `on_broken` is called once when nothing will be acknowledged
        any more, and must not switch. AlreadyExists, OutOfSpace, StorageFailed, LockLost."""
        if fs.list_files(folder):
            raise AlreadyExists(f"{folder} already holds a log; every start of a tablet server writes a new one")
        super().__init__()
        self._runtime = runtime
        self._incarnation = incarnation_of(folder)
        self._options = options
        self._metrics = LogMetrics(registry)
        self._state = LogState(runtime)
        self._queue = CommitQueue(runtime, options, self._state)
        self._retention = GroupRetention(runtime, fs, self._ledger)
        self._acknowledged_end = AcknowledgedEnd()
        self._high_water = HighWaterWriter(
            runtime, fs, folder, self._acknowledged_end, self._ledger, False, options.cluster_mark_seconds
        )
        self._acknowledger = Acknowledger(self._metrics, self._ledger, self._state, self._break)
        self._sender = GroupSender(runtime, fs, folder, options, fence_check, self._retention)
        self._under_way: dict[int, _Group] = {}
        self._lsn = 0
        """Of the last group begun."""
        self._acknowledged = 0
        """The LSN up to which all were."""
        self._round = 0
        self._round_first = 1
        self._release = False
        """Recovery may begin later than the last group says."""
        self._begun = 0.0
        """The time at which the last group was begun, in seconds of the runtime's clock."""
        self._alarm = False
        """A task waits to end the gathering."""
        self._ending = False
        """The clean end was begun."""
        first = CommitBatch(runtime.event())
        self._write(first, MARKER)
        first.wait()
        self._state.on_broken = on_broken  # what goes wrong until here is this constructor's error

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
        """As CommitLog.commit."""
        assert not follows
        batch = self._queue.put(tablet_id, last_sequence, records, apply, exempt, count, refused, follows, checksum)
        self._go_on()
        batch.wait()

    def _go_on(self) -> None:
        """Begins what can begin. Does not switch."""
        while not self._state.reason and len(self._under_way) < self._options.groups_under_way:
            if any(group.refusal is not None for group in self._under_way.values()):
                return  # the next ones would only be refused with it
            if self._queue.batches:
                if self._gathering():
                    return
                batch = self._queue.take()
                try:
                    checked(batch.payload(), batch.checksum)
                except MemoryDamaged as error:
                    batch.fail(MemoryDamaged, str(error))
                    continue
                self._write(batch, 0)
            elif self._release:
                self._write(CommitBatch(self._runtime.event()), MARKER)
            else:
                break
        if self._state.closing and not self._under_way and not self._queue.batches:
            if self._ending or self._state.reason:
                self._state.closed.set()
            else:
                self._ending = True
                self._write(CommitBatch(self._runtime.event()), MARKER | CLEAN_END)

    def _gathering(self) -> bool:
        """Whether the next group may still grow: more than one request at a time gains little where they are dear, and
        a group that waits for the answer to the last one takes along all that comes meanwhile."""
        if not self._under_way or len(self._queue.batches) > 1:
            return False
        left = self._begun + self._options.gather_seconds - self._runtime.clock_seconds()
        if left > 0 and not self._alarm:
            self._alarm = True
            spawn_counted(self._runtime, self._ring, left, name="commit-log-gather")
        return left > 0

    @switches
    def _ring(self, seconds: float) -> None:
        self._runtime.sleep(seconds)
        self._alarm = False
        self._go_on()

    # ------------------------------------------------------------ one group

    def _write(self, batch: CommitBatch, flags: int) -> _Group:
        """Begins the next group. Does not switch."""
        self._release = False  # this group says it
        self._begun = self._runtime.clock_seconds()
        self._lsn += 1
        header = GroupFile(
            self._incarnation,
            self._lsn,
            self._round,
            self._round_first,
            self._acknowledged,
            self._retention.oldest,
            flags,
            self._runtime.wall_millis(),
        )
        content = encode_group_file(header, batch.payload())
        group = _Group(batch, self._lsn, content, self._retention.oldest, self._begun)
        self._under_way[group.lsn] = group
        spawn_counted(self._runtime, self._carry, group, self._round, name="commit-log")
        return group

    @switches
    def _carry(self, group: _Group, turn: int) -> None:
        """Until the group is durable or refused. A task of its own, so that killing a waiter never stops a group."""
        try:
            self._sender.send(group.lsn, turn, group.content)
        except OutOfSpace as error:
            group.refusal = error
        except BaseException as error:
            if isinstance(error, LogBroken) and self._under_way.get(group.lsn) is not group:
                return  # it was refused with one before it: nobody waits for it
            self._break(error)
            if not isinstance(error, HbtableError):
                raise  # this task was killed, or there is a bug: either way it must be seen
        else:
            group.durable = True
            self._metrics.sync_seconds.observe(self._runtime.clock_seconds() - group.started)
        if self._under_way.get(group.lsn) is group:  # else a refusal before it took it along
            self._settle()

    def _settle(self) -> None:
        """Acknowledges what is durable, in order; refuses behind the first that was refused. Does not switch."""
        while not self._state.reason:
            group = self._under_way.get(self._acknowledged + 1)
            if group is None or not (group.durable or group.refusal):
                break
            if group.refusal is not None:
                self._refuse(group.refusal)
                break
            del self._under_way[group.lsn]
            self._acknowledged = group.lsn
            self._acknowledge(group)
        self._go_on()

    def _acknowledge(self, group: _Group) -> None:
        self._acknowledger.acknowledge(group.batch)
        self._retention.acknowledged(group.lsn, len(group.content))
        self._acknowledged_end.watermark = group.lsn
        self._high_water.news()
        self._retention.delete_before(group.oldest)
        for batch in group.refused:
            batch.fail(OutOfSpace, "the file system had no room for the commit log")

    def _refuse(self, refusal: OutOfSpace) -> None:
        """All under way, of which the first is refused: a new round."""
        groups = [self._under_way[lsn] for lsn in sorted(self._under_way)]
        self._under_way.clear()
        self._lsn = self._acknowledged
        self._round += 1
        self._round_first = self._lsn + 1
        logger.warning("%d groups of the commit log were refused: %s", len(groups), refusal)
        untold = [group.batch for group in groups if group.batch.payloads]
        if untold:
            # At once, not with the next commit: until a file of the new round is there, a crash would let recovery
            # take a refused group whose file did appear for an unacknowledged one, and show it.
            self._write(CommitBatch(self._runtime.event()), MARKER).refused = untold
            untold = []
        # Also those that waited for a marker which was refused itself: the next commit will void them.
        untold += [batch for group in groups for batch in group.refused]
        untold += [group.batch for group in groups if not group.batch.payloads]
        for batch in untold:
            batch.fail(OutOfSpace, str(refusal))

    # ------------------------------------------------------------ what tablets still need

    @property
    def size_bytes(self) -> int:
        return self._retention.size_bytes

    @property
    def broken(self) -> str:
        """As CommitLog.broken."""
        return self._state.reason

    def newest_file(self) -> str:
        """As WatchedLog.newest_file."""
        return self._sender.newest_file

    def ended(self) -> bool:
        """As WatchedLog.ended."""
        return bool(self._state.reason) or self._state.closing

    def roll(self) -> None:
        """As CommitLog.roll: every group is a file of its own, so there is nothing to do."""

    def _plan_release(self) -> None:
        if not self._state.reason and not self._state.closing and self._retention.advance():
            self._release = True
            self._go_on()

    # ------------------------------------------------------------ the end

    @switches
    def close(self) -> None:
        """Writes what waits, then a clean end: damage anywhere in a log closed so is noticed. Idempotent.
        StorageFailed, LockLost when the log had broken. Without room for the end only the tail is less guarded."""
        self._state.closing = True
        self._go_on()
        self._state.closed.wait()
        if not self._state.reason:
            self._high_water.write()
        self._high_water.stop()
        self._state.check_sound()

    def _break(self, error: BaseException) -> None:
        if not self._state.fail(error):
            return
        failure, reason = self._state.failure, self._state.reason
        for group in self._under_way.values():
            for batch in [group.batch, *group.refused]:
                batch.fail(failure, reason)
        self._under_way.clear()
        self._queue.fail_all()
        if self._state.closing:
            self._state.closed.set()

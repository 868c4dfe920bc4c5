"""A commit log in whole files, one per group, for a file system that can do no more (WebHDFS; storage-and-faults 3.3
and 3.4; paper, sections 5.3 and 6).

Commits gather in batches; up to groups_under_way batches are written at a time, each as a file of its own. A file that
is not confirmed in time is written again under another name, away from the slow storage node (hedging.py).

Invariants
* A group counts as durable when a file of it is complete and, looked up *after* that, the fence marker is absent: a
  fencer that comes later lists the file.
* Groups are acknowledged by LSN, that is in the order in which commit() was called, their `apply` callbacks in one
  atomic stretch each and before any waiter returns.
* The tries of one LSN and round have one content. A refused group ends its round: all behind it are refused, too, and
  the next round begins with its LSN. A marker of the new round voids what of the old one may yet appear; it goes out
  before anybody is told of the refusal.
* A file is deleted only when a durable group says that recovery begins behind it (bug classes 2 and 4).
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, final

from hbtable.commitlog.appender import LogBroken, delete_segments
from hbtable.commitlog.batch import Batch
from hbtable.commitlog.group_file import GroupFile, GroupName, encode_group_file, group_path
from hbtable.commitlog.groups import CLEAN_END, MARKER
from hbtable.commitlog.hedging import Hedge
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.segment import incarnation_of
from hbtable.commitlog.slow_nodes import SlowNodes
from hbtable.errors import AlreadyExists, HbtableError, LockLost, OutOfSpace, StorageFailed, Unavailable
from hbtable.fs.interface import FileSystem
from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime

logger = logging.getLogger(__name__)

_FILE_COST_BYTES: Final = 64 << 10
"""What a file counts for at least: to recovery a small one costs a request, as much as this."""
_SPAN_GROUPS: Final = 256
_SPAN_BYTES: Final = 16 << 20
"""So many groups are let go together."""
_UNKNOWN_PAUSE_SECONDS: Final = 0.1


@final
class _Group:
    """A batch that is being written."""

    __slots__ = ("batch", "content", "durable", "flags", "lsn", "oldest", "refusal", "refused", "started")

    def __init__(self, batch: Batch, lsn: int, flags: int, oldest: int, started: float) -> None:
        self.batch = batch
        self.lsn = lsn
        self.flags = flags
        self.oldest = oldest
        self.started = started
        self.content = b""
        self.durable = False
        self.refusal: OutOfSpace | None = None
        self.refused: list[Batch] = []
        """Who is to be told of a refusal once this marker stands."""


@final
class FileGroupLog:
    """Implements CommitLog. Owns the log's folder, which must hold no file yet."""

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        options: LogOptions,
        registry: Registry,
        is_fenced: Callable[[], bool],
        on_broken: Callable[[], None],
    ) -> None:
        """The first group, a marker, is durable on return. `is_fenced` raises when it cannot know; `on_broken` is
        called once when nothing will be acknowledged any more, and must not switch. *Switches.* AlreadyExists,
        OutOfSpace, StorageFailed, LockLost."""
        if fs.list_files(folder):
            raise AlreadyExists(f"{folder} already holds a log; every start of a tablet server writes a new one")
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._options = options
        self._is_fenced = is_fenced
        self._on_broken: Callable[[], None] = lambda: None
        self._records = registry.counter("hbtable_wal_records_total", "Log records written")
        self._bytes = registry.counter("hbtable_wal_bytes_total", "Bytes of log records written")
        self._groups = registry.counter("hbtable_wal_groups_total", "Groups written: records per group is the ratio")
        self._seconds = registry.histogram("hbtable_wal_sync_seconds", "Time of one sync of the log")
        self._slow_nodes = SlowNodes(runtime.clock_seconds)
        self._batches: deque[Batch] = deque()
        self._queued_bytes = 0
        self._under_way: dict[int, _Group] = {}
        self._lsn = 0
        self._acknowledged = 0
        self._round = 0
        self._round_first = 1
        self._oldest = 1
        """The first LSN that recovery needs, as every new group says."""
        self._deleted_before = 1
        self._names: list[tuple[int, str]] = []
        """Every file ever tried, by LSN, until it is deleted."""
        self._ledger = SegmentLedger()
        self._span_first = 1
        self._span_bytes = 0
        self._release = False
        self._begun = 0.0
        """When the last group was."""
        self._alarm = False
        self._closing = False
        self._closed = runtime.event()
        self._ending = False
        self._broken = ""
        self._failure: type[HbtableError] = StorageFailed
        first = Batch(runtime.event())
        self._write(first, MARKER)
        first.wait()  # what goes wrong until here is this constructor's error
        self._on_broken = on_broken

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
        """As CommitLog.commit. A task killed while it waits leaves its commit in the queue: it is written and
        applied."""
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
        self._go_on()
        batch.wait()

    def _go_on(self) -> None:
        """Begins what can begin. Does not switch."""
        while not self._broken and len(self._under_way) < self._options.groups_under_way:
            if any(group.refusal is not None for group in self._under_way.values()):
                return  # the next ones would only be refused with it
            if self._batches:
                if self._gathering():
                    return
                batch = self._batches.popleft()
                self._queued_bytes -= batch.size_bytes
                self._write(batch, 0)
            elif self._release:
                self._write(Batch(self._runtime.event()), MARKER)
            else:
                break
        if self._closing and not self._under_way and not self._batches:
            if self._ending or self._broken:
                self._closed.set()
            else:
                self._ending = True
                self._write(Batch(self._runtime.event()), MARKER | CLEAN_END)

    def _gathering(self) -> bool:
        """Whether the next group may still grow: more than one request at a time gains little where they are dear, and
        a group that waits for the answer to the last one takes along all that comes meanwhile."""
        if not self._under_way or len(self._batches) > 1:
            return False
        left = self._begun + self._options.gather_seconds - self._runtime.clock_seconds()
        if left > 0 and not self._alarm:
            self._alarm = True
            self._runtime.spawn(self._ring, left, name="commit-log-gather")
        return left > 0

    def _ring(self, seconds: float) -> None:
        self._runtime.sleep(seconds)
        self._alarm = False
        self._go_on()

    # ------------------------------------------------------------ one group

    def _write(self, batch: Batch, flags: int) -> _Group:
        self._release = False  # this group says it
        self._begun = self._runtime.clock_seconds()
        self._lsn += 1
        group = _Group(batch, self._lsn, flags, self._oldest, self._begun)
        header = GroupFile(
            incarnation_of(self._folder),
            self._lsn,
            self._round,
            self._round_first,
            self._acknowledged,
            self._oldest,
            flags,
            self._runtime.wall_millis(),
        )
        group.content = encode_group_file(header, batch.payload())
        self._under_way[group.lsn] = group
        self._runtime.spawn(self._carry, group, self._round, name="commit-log")
        return group

    def _carry(self, group: _Group, turn: int) -> None:
        """Until the group is durable or refused. A task of its own."""
        nodes: list[str] = []
        slow_nodes = self._slow_nodes

        def put(number: int) -> None:

            def choose(node: str) -> None:
                chosen.append(node)
                nodes.append(node)

            chosen: list[str] = []
            slow_nodes.kept_waiting(nodes)
            avoid = slow_nodes.to_avoid(number, nodes)
            path = group_path(self._folder, GroupName(group.lsn, turn, number))
            self._names.append((group.lsn, path))
            try:
                self._fs.put_new(path, group.content, avoid, choose)
            except OutOfSpace as error:
                if avoid:  # there may be room on the nodes that were left out
                    raise Unavailable(str(error)) from error
                raise
            for node in chosen[-1:]:
                slow_nodes.answered(node)

        try:
            Hedge(self._runtime, self._options, put).run()
            self._check_fence()
        except OutOfSpace as error:
            group.refusal = error
        except BaseException as error:
            if isinstance(error, LogBroken) and self._under_way.get(group.lsn) is not group:
                return  # it was refused with one before it: nobody waits for it
            self._break(error)
            if not isinstance(error, HbtableError):
                raise
        else:
            group.durable = True
            self._seconds.observe(self._runtime.clock_seconds() - group.started)
        if self._under_way.get(group.lsn) is group:  # else a refusal before it took it along
            self._settle()

    def _check_fence(self) -> None:
        """Returns when the marker was seen absent. *Switches.* LockLost, LogBroken."""
        give_up_at = self._runtime.clock_seconds() + self._options.give_up_seconds
        while True:
            try:
                if self._is_fenced():
                    raise LockLost(f"the log {self._folder} was fenced: another server recovers it, this one must stop")
                return
            except LockLost:
                raise
            except HbtableError as error:  # unknown, and that is not "absent"
                if self._runtime.clock_seconds() >= give_up_at:
                    raise LogBroken(f"nobody can say whether this log was fenced: {error}") from error
            self._runtime.sleep(_UNKNOWN_PAUSE_SECONDS)

    def _settle(self) -> None:
        """Acknowledges what is durable, in order; refuses behind the first that was refused. Does not switch."""
        while not self._broken:
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
        batch = group.batch
        self._ledger.active.update(batch.tablets)
        self._records.value += batch.count
        self._bytes.value += batch.size_bytes
        self._groups.value += 1
        self._span_bytes += max(len(group.content), _FILE_COST_BYTES)
        if self._span_bytes >= _SPAN_BYTES or group.lsn - self._span_first + 1 >= _SPAN_GROUPS:
            self._ledger.hold(self._span_first, "", self._span_bytes)
            self._span_first = group.lsn + 1
            self._span_bytes = 0
        for apply in batch.applies:
            try:
                apply()
            except Exception as error:
                logger.exception("a durable log record could not be applied")
                self._break(error)
                batch.error = (self._failure, self._broken)
        batch.done.set()
        _tell(group.refused, OutOfSpace, "the file system had no room for the commit log")
        if group.oldest > self._deleted_before:
            self._delete_before(group.oldest)

    def _refuse(self, refusal: OutOfSpace) -> None:
        """All under way, of which the first is refused: a new round."""
        groups = [self._under_way[lsn] for lsn in sorted(self._under_way)]
        self._under_way.clear()
        self._lsn = self._acknowledged
        self._round += 1
        self._round_first = self._lsn + 1
        logger.warning("%d groups of the commit log were refused: %s", len(groups), refusal)
        untold = [group.batch for group in groups if group.batch.payloads]
        if untold and not self._closing:
            # At once, not with the next commit: until a file of the new round is there, a crash would let recovery
            # take a refused group whose file did appear for an unacknowledged one, and show it.
            self._write(Batch(self._runtime.event()), MARKER).refused = untold
            untold = []
        # Also those that waited for a marker which was refused itself: the next commit will void them.
        untold += [batch for group in groups for batch in group.refused]
        untold += [group.batch for group in groups if not group.batch.payloads]
        _tell(untold, OutOfSpace, str(refusal))

    # ------------------------------------------------------------ what tablets still need

    @property
    def size_bytes(self) -> int:
        return self._ledger.held_bytes + self._span_bytes

    def tablets_of_oldest_segment(self) -> list[int]:
        return self._ledger.tablets_of_oldest()

    def needed(self, tablet_id: int, first_needed_sequence: int) -> None:
        """As CommitLog.needed; files nobody needs are deleted a little later."""
        self._ledger.needed(tablet_id, first_needed_sequence)
        self._plan_release()

    def forget(self, tablet_id: int) -> None:
        """As CommitLog.forget."""
        self._ledger.forget(tablet_id)
        self._plan_release()

    def _plan_release(self) -> None:
        oldest = self._ledger.oldest_needed(self._span_first)
        if oldest > self._oldest and not self._broken and not self._closing:
            self._oldest = oldest
            self._ledger.drop_before(oldest)
            self._release = True
            self._go_on()

    def _delete_before(self, lsn: int) -> None:
        self._deleted_before = lsn
        gone = sorted(name for name in self._names if name[0] < lsn)
        self._names = [name for name in self._names if name[0] >= lsn]
        self._runtime.spawn(delete_segments, self._fs, [path for _, path in gone], name="commit-log-delete")

    # ------------------------------------------------------------ the end

    def close(self) -> None:
        """Writes what waits, then a clean end: damage anywhere in a log closed so is noticed. *Switches.* Idempotent.
        StorageFailed, LockLost when the log had broken. Without room for the end only the tail is less guarded."""
        self._closing = True
        self._go_on()
        self._closed.wait()
        if self._broken:
            raise self._failure(self._broken)

    def _break(self, error: BaseException) -> None:
        if self._broken:
            return
        self._broken = f"the commit log failed, restart this tablet server: {error}"
        self._failure = LockLost if isinstance(error, LockLost) else StorageFailed
        logger.error("%s", self._broken)
        groups = list(self._under_way.values())
        self._under_way.clear()
        waiting = [group.batch for group in groups] + [batch for group in groups for batch in group.refused]
        _tell([*waiting, *self._batches], self._failure, self._broken)
        self._batches.clear()
        self._queued_bytes = 0
        if self._closing:
            self._closed.set()
        self._on_broken()


def _tell(batches: list[Batch], kind: type[HbtableError], sentence: str) -> None:
    for batch in batches:
        batch.fail(kind, sentence)

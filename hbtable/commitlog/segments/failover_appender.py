"""The open end of a log on HDFS: as appender.py, but a group whose segment stalls goes on in another segment (paper,
section 6: "each tablet server has two log writing threads, each writing to its own log file"; docs/faults.md: two ways
for a log).

A group is appended and synced. If that fails, or is not confirmed within hedge_seconds, or for longer where the whole
file system is slow (sync_timeout.py), the group is sent again through
a new segment, then through a second new one beside that, and so on. The first that is confirmed wins (hedging.py). The
pipeline of a new file may lead to the same frozen DataNode; that of the next one may not.

Invariants
* Once a new segment was begun the old one gets nothing more and its answer does not count any more. The one group in
  question has the same number and content in all new segments. So of all files the one that went on furthest holds
  everything acknowledged, and that is how it is read (chain.py).
* Every new segment begins with a group, so that it wins, as the newest among equals, over files that ended with a group
  that was refused.
* A new segment is acknowledged from only after its file was there and the fence was then seen absent: a fencer that
  came before would have left the file out (fencing.py). Later syncs need no look: sealing makes them fail.
* `offset`, `lsn` and `watermark` move when a group is durable, all at once.
* A segment that is left is completed or sealed beside the commits (leaving.py): at most two files of a log are open for
  long, the one being written and one that is being sealed.
"""

import logging
from typing import Final, NamedTuple, final

from hbtable.commitlog import groups
from hbtable.commitlog.fence_check import FenceCheck
from hbtable.commitlog.hedging import Hedge, Pace
from hbtable.commitlog.ledger import SegmentLedger
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.segments.leaving import end_segment, seal_segment
from hbtable.commitlog.segments.segment import SegmentHeader, encode_header, incarnation_of, seed, segment_path
from hbtable.commitlog.segments.sync_timeout import SyncTimeout
from hbtable.errors import HbtableError, StorageFailed
from hbtable.fs.interface import AppendFile, FileSystem
from hbtable.metrics.registry import Histogram
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_PACE: Final = Pace(under_way=8, default_tries=3, quick_tries=20)
"""A try costs little here, and hangs for a second. What is without an answer after three is not just slow: twenty,
0.15 s apart, find a way past a lost node within 4 s; ten, 0.3 s apart and three at a time, took 7 once in 40 trials."""


class _Begun(NamedTuple):
    """A new segment, and in it, durable, the group that was to be written."""

    number: int
    file: AppendFile
    end: int


@final
class FailoverAppender:
    """Implements LogEnd as SegmentAppender does, but append() is durable on return. `ledger` is told of segments that a
    switch ended and of files beside the line."""

    __slots__ = (
        "_created", "_fence_check", "_folder", "_fs", "_incarnation", "_late", "_ledger", "_options", "_runtime",
        "_sync_seconds", "_timeout", "file", "lsn", "number", "offset", "oldest_segment", "watermark",
    )  # fmt: skip

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        options: LogOptions,
        sync_seconds: Histogram,
        ledger: SegmentLedger,
        fence_check: FenceCheck,
    ) -> None:
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._incarnation = incarnation_of(folder)
        self._options = options
        self._sync_seconds = sync_seconds
        self._ledger = ledger
        self._fence_check = fence_check
        self._timeout = SyncTimeout(options.hedge_seconds)
        self._created = 0
        """Highest number ever tried: a number is never used twice, whatever became of the attempt."""
        self._late = False
        """The last segment was left for want of an answer, and the next one is not there yet."""
        self.file: AppendFile | None = None
        self.number = 0
        self.offset = 0
        self.lsn = 0
        self.watermark = 0
        self.oldest_segment = 1

    @switches
    def append(self, payload: bytes, flags: int = 0, expected: int | None = None) -> None:
        """One group, durable on return. OutOfSpace, MemoryDamaged: refused; what the caller begins next leaves its
        bytes out. LogBroken: nothing was confirmed for too long. LockLost: the log was fenced."""
        file = self.file
        if file is None:
            raise StorageFailed(f"{self._folder} has no open segment")
        group = groups.frame(
            seed(self._incarnation, self.number),
            self.offset,
            self.lsn + 1,
            self.watermark,
            self.oldest_segment,
            payload,
            flags,
            expected,
        )
        started = self._runtime.clock_seconds()
        if self._confirmed(file, group):
            self._wrote(self.offset + len(group))
        else:
            number, length = self.number, self.offset
            self._begin(payload, flags, expected)
            self._ledger.hold(number, segment_path(self._folder, number), length)
        self._sync_seconds.observe(self._runtime.clock_seconds() - started)

    def sync(self) -> None:
        """Does nothing: append() left nothing to do."""

    @switches
    def check(self) -> None:
        """An empty sync. It finds a DataNode of the pipeline that died while nothing was written; what was acknowledged
        through it would go on with a copy too few, and nobody would know."""
        if self.file is not None:
            self._confirmed(self.file, b"")

    @switches
    def next_segment(self) -> int:
        """Starts a new segment, with a marker; returns the good length of the one before it. As append."""
        self.give_up()
        previous_bytes = self.offset
        self._begin(b"", groups.MARKER)
        return previous_bytes

    def give_up(self) -> None:
        """Ends the current segment at its last good group."""
        if self.file is not None:
            self._leave(self.file, None)

    def _wrote(self, end: int) -> None:
        self.offset = end
        self.lsn += 1
        self.watermark = self.lsn

    @switches
    def _confirmed(self, file: AppendFile, group: bytes) -> bool:
        """Whether the current segment took the group in time; else it is left for good."""
        answered = self._runtime.event()
        errors: list[BaseException] = []

        def write() -> None:
            try:
                file.append(group)
                file.sync()
            except HbtableError as error:
                errors.append(error)
            except BaseException as error:
                errors.append(error)  # a bug, or this task was killed
                raise
            finally:
                answered.set()

        task = spawn_counted(self._runtime, write, name="commit-log-sync")
        sent = self._runtime.clock_seconds()
        seconds = self._timeout.seconds(sent)
        if answered.wait(seconds) and not errors:
            self._timeout.confirmed(self._runtime.clock_seconds() - sent)
            return True
        self._late = not errors
        self._leave(file, task)
        if errors and not isinstance(errors[0], HbtableError):
            raise errors[0]
        why = errors[0] if errors else f"no answer within {seconds:g} s"
        logger.warning("%s is left at byte %d, the log goes on in another segment: %s", file.path, self.offset, why)
        return False

    # ------------------------------------------------------------ new segments

    @switches
    def _begin(self, payload: bytes, flags: int, expected: int | None = None) -> None:
        """Goes on in a new segment, with this group."""
        started = self._runtime.clock_seconds()
        first = SegmentHeader(
            self._incarnation,
            "sync",
            0,
            self.number,
            self.offset,
            self.lsn + 1,
            self.watermark,
            self.oldest_segment,
            self._runtime.wall_millis(),
        )
        begun = Hedge(
            self._runtime,
            self._options,
            lambda _: self._new_segment(first, payload, flags, expected),
            self._set_aside,
            _PACE,
        ).run()
        self.file = begun.file
        self.number = begun.number
        self._wrote(begun.end)
        if self._late:
            now = self._runtime.clock_seconds()
            self._timeout.left(now, now - started)
            self._late = False

    @switches
    def _new_segment(self, like: SegmentHeader, payload: bytes, flags: int, expected: int | None) -> _Begun:
        """`like`: the header but for its number, as of when the group was refused an answer. What was acknowledged
        since must not change it: a file that comes late would hold another group."""
        self._created = number = self._created + 1
        path = segment_path(self._folder, number)
        header = encode_header(like._replace(number=number))
        start_value = seed(self._incarnation, number)
        group = groups.frame(
            start_value, len(header), like.first_lsn, like.watermark, like.oldest_segment, payload, flags, expected
        )
        try:
            file = self._fs.create(path)
        except HbtableError:
            self._ledger.stray(number, path)  # it may be there all the same, now or later
            spawn_counted(self._runtime, seal_segment, self._runtime, self._fs, path, name="commit-log-close")
            raise
        begun = _Begun(number, file, len(header) + len(group))
        try:
            file.append(header + group)
            file.sync()
            # After the file was made, before anything in it is acknowledged: see the invariants.
            self._fence_check.pass_once()
        except BaseException:
            self._set_aside(begun)
            raise
        return begun

    def _set_aside(self, begun: _Begun) -> None:
        """A segment that came too late, or came to nothing."""
        self._ledger.stray(begun.number, begun.file.path)
        self._leave_behind(begun.file, None)

    def _leave(self, file: AppendFile, writing: Task | None) -> None:
        self.file = None
        self._leave_behind(file, writing)

    def _leave_behind(self, file: AppendFile, writing: Task | None) -> None:
        spawn_counted(self._runtime, end_segment, self._runtime, self._fs, file, writing, name="commit-log-close")

"""The open end of a log on a local disk (log_end.py): appends groups to the current segment, syncs it, goes on to the
next one. A sync that fails is the end of the log: what the file holds is unknown then.

Invariants
* `offset` and `lsn` do not move unless the append succeeded.
* Once next_segment() or give_up() was called, the old segment gets no further byte, and its good length never changes:
  every header that ever names it, also that of a segment given up at once, tells the truth.
* `watermark` counts what a sync that returned has covered, nothing else. With durability "os" it therefore lags behind
  what was acknowledged: up to there damage is loss; above it, what the operating system had not written at a crash
  of the machine is missing without reproach, and that is what "os" means.
"""

import logging
from typing import Final, final

from hbtable.commitlog import groups
from hbtable.commitlog.segments.segment import (
    SegmentHeader,
    encode_header,
    incarnation_of,
    seed,
    segment_path,
)
from hbtable.commitlog.state import LogBroken
from hbtable.crc32 import crc32
from hbtable.errors import AlreadyExists, FileNotFound, HbtableError, StorageFailed
from hbtable.fs.interface import AppendFile, FileSystem
from hbtable.metrics.registry import Histogram
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

logger = logging.getLogger(__name__)

_LARGE_BYTES: Final = 64 << 10
_CHECKED_AT_ONCE_BYTES: Final = 4 << 20
"""The checksum of more is computed by a thread: of 54 megabytes it takes 3 ms. Its append goes to a thread, too."""


@final
class SegmentAppender:
    """Implements LogEnd. What was appended is durable only after sync(), with either durability."""

    __slots__ = (
        "_created", "_durability", "_folder", "_fs", "_incarnation", "_runtime", "_seed", "_sync_seconds",
        "file", "lsn", "number", "offset", "oldest_segment", "watermark",
    )  # fmt: skip

    def __init__(self, runtime: Runtime, fs: FileSystem, folder: str, durability: str, sync_seconds: Histogram) -> None:
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._incarnation = incarnation_of(folder)
        self._durability = durability
        self._sync_seconds = sync_seconds
        self._created = 0
        """Highest number ever tried: a number is never used twice, whatever became of the attempt."""
        self._seed = 0
        self.file: AppendFile | None = None
        self.number = 0
        self.offset = 0
        self.lsn = 0
        self.watermark = 0
        self.oldest_segment = 1

    @switches
    def append(self, payload: bytes, flags: int = 0, expected: int | None = None) -> None:
        """One group, in the operating system's hands on return. May switch. On any error nothing counts as written:
        the caller must give_up() this segment, because its end is unknown now."""
        file = self.file
        if file is None:
            raise StorageFailed(f"{self._folder} has no open segment")
        found = None
        if len(payload) > _CHECKED_AT_ONCE_BYTES:
            found = self._runtime.offload("checksum", crc32, payload)
        lsn = self.lsn + 1
        header = groups.header(
            self._seed, self.offset, lsn, self.watermark, self.oldest_segment, payload, flags, expected, found
        )
        if len(payload) < _LARGE_BYTES:
            file.append(header + payload)
        else:  # one call more of the system costs less than another copy
            file.append(header)
            file.append(payload)
        self.lsn = lsn
        self.offset += len(header) + len(payload)

    @switches
    def sync(self) -> None:
        """All that was appended before the call is durable on return, the watermark says so. LogBroken."""
        if self.file is not None:
            lsn = self.lsn  # read before the switch: what is appended meanwhile may or may not be covered
            self._sync_file(self.file)
            self.watermark = max(self.watermark, lsn)

    def check(self) -> None:
        """Does nothing: a local disk has one copy, and says so when it fails."""

    @switches
    def next_segment(self) -> int:
        """Starts a new segment; returns the good length of the one before it.

        LogBroken when a sync failed. Any other HbtableError: there is no open segment, try again later.
        """
        self.give_up()
        previous, previous_bytes = self.number, self.offset
        self._created = number = self._created + 1
        path = segment_path(self._folder, number)
        header = encode_header(
            SegmentHeader(
                self._incarnation,
                self._durability,
                number,
                previous,
                previous_bytes,
                self.lsn + 1,
                self.watermark,
                self.oldest_segment,
                self._runtime.wall_millis(),
            )
        )
        try:
            file = self._fs.create(path)
        except AlreadyExists as error:
            raise LogBroken(f"{path} exists: another process writes this log") from error
        try:
            file.append(header)
        except HbtableError:
            self._clear_away(file)
            raise
        # Before the first group: a group acknowledged under a header that a crash can take away would be read as the
        # tail of nothing, and the refused end of the old segment would come back in its place.
        try:
            self._sync_file(file)
        except LogBroken:
            file.close()
            raise
        self.file = file
        self.number = number
        self._seed = seed(self._incarnation, number)
        self.offset = len(header)
        return previous_bytes

    @switches
    def give_up(self) -> None:
        """Ends the current segment at its last good group. LogBroken."""
        file = self.file
        if file is None:
            return
        if self.watermark < self.lsn:
            # Only "os": a successor's header promises that all before it is there. If the machine crashed with that
            # header on disk and these groups not, recovery would have to call it a loss.
            self.sync()
        self.file = None
        file.close()

    @switches
    def _sync_file(self, file: AppendFile) -> None:
        started = self._runtime.clock_seconds()
        try:
            file.sync()
        except HbtableError as error:
            raise LogBroken(f"{file.path} could not be synced: {error}") from error
        self._sync_seconds.observe(self._runtime.clock_seconds() - started)

    @switches
    def _clear_away(self, file: AppendFile) -> None:
        """Removes a segment that this process created and could not begin, so that a full disk collects no stumps.

        Only tidiness: nothing was ever acknowledged from it, its number is not used again, and the next header skips
        it whether the delete worked or not. After an ambiguous answer to the create itself nothing is removed
        (bug class 5).
        """
        try:
            file.close()
            self._fs.delete(file.path)
        except FileNotFound:
            pass
        except HbtableError as error:
            logger.warning("%s, a segment that was never used, could not be removed: %s", file.path, error)

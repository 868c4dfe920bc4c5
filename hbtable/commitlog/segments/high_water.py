"""The high-water mark of a log: up to where it was synced, kept outside of the log's own files.

A log whose end was cut off or overwritten by zeros looks like one that was never longer: its watermarks went with it.
So does one whose last files are gone, before it was fenced. The mark, <log folder>/synced, is replaced beside the
commits, every so many seconds and only when there is news. So it costs no commit a sync, and lags behind by so many
seconds. In a cluster the mark counts acknowledged groups only: a fencer finds all of these, whoever still writes.
Sealed (encoding.sealed) with kind "H", version 1:

    LSN, segment, bytes of it, wall millis, tablets (n, then each: id, its highest sequence up to that LSN)

Numbers are varints. Segment and bytes are 0 where groups are files of their own. Tablets that need nothing of the log
any more are left out. Without a mark, and beyond it, nothing is known: it only ever shows a loss.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol, final

from hbtable.commitlog.ledger import SegmentLedger
from hbtable.encoding.sealed import seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption, FileNotFound, HbtableError
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)

KIND: Final = b"H"
VERSION: Final = 1
_LAST_SECOND: Final = 253_402_300_799
"""Of the year 9999, which ends the calendar of Python."""


class HighWater(NamedTuple):
    """The content of the mark: all groups up to `lsn` were durable, and with them these sequences."""

    lsn: int
    segment: int
    length_bytes: int
    wall_millis: int
    tablets: Mapping[int, int]

    def reason(self) -> str:
        """Without the tablets."""
        when = datetime.fromtimestamp(min(self.wall_millis // 1000, _LAST_SECOND), UTC)
        byte = f", byte {self.length_bytes} of segment {self.segment}" if self.length_bytes else ""
        return f"it was synced up to group {self.lsn}{byte}, as was noted last at {when:%Y-%m-%d %H:%M:%S} UTC"


def high_water_path(folder: str) -> str:
    return f"{folder}/synced"


def encode_high_water(mark: HighWater) -> bytes:
    numbers = [mark.lsn, mark.segment, mark.length_bytes, mark.wall_millis, len(mark.tablets)]
    for tablet_id in sorted(mark.tablets):
        numbers += (tablet_id, mark.tablets[tablet_id])
    return seal(KIND, VERSION, b"".join(map(varint, numbers)))


def decode_high_water(data: bytes, path: str) -> HighWater:
    """Corruption, UnsupportedFormat."""
    _, body = unseal(data, KIND, VERSION, path)
    numbers, offset = [], 0
    try:
        while offset < len(body):
            value, offset = number(body, offset)
            numbers.append(value)
        lsn, segment, length_bytes, wall_millis, count, *rest = numbers
    except (IndexError, ValueError) as error:
        raise Corruption(path, 0, f"the high-water mark cannot be read: {error}") from error
    if len(rest) != 2 * count:
        raise Corruption(path, 0, f"the high-water mark names {count} tablets and has another length")
    return HighWater(lsn, segment, length_bytes, wall_millis, dict(zip(rest[::2], rest[1::2], strict=True)))


@switches
def read_high_water(fs: FileSystem, folder: str, tell: Callable[[int, str], None] = logger.log) -> HighWater | None:
    """None without one, and for one that cannot be read: the log itself may be sound. May switch. `tell`: how loud, and
    what is wrong."""
    path = high_water_path(folder)
    try:
        return decode_high_water(fs.read_file(path), path)
    except FileNotFound:
        return None
    except Corruption as error:
        tell(logging.WARNING, f"{error}; nobody can tell by it whether the end of this log is missing")
        return None


class WrittenEnd(Protocol):
    """The end of what was written to a log, as LogEnd has it."""

    @property
    def number(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def lsn(self) -> int: ...
    @property
    def watermark(self) -> int: ...


@final
class HighWaterWriter:
    """Writes the mark of one log. `lags`: with durability "os" commits are
    acknowledged before they are synced."""

    __slots__ = (
        "_end",
        "_folder",
        "_fs",
        "_ledger",
        "_pending",
        "_period",
        "_runtime",
        "_stopped",
        "_under_way",
        "_written",
        "lags",
    )

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        folder: str,
        end: WrittenEnd,
        ledger: SegmentLedger,
        lags: bool,
        period_seconds: float,
    ) -> None:
        self._runtime = runtime
        self._fs = fs
        self._folder = folder
        self._end = end
        self._ledger = ledger
        self.lags = lags
        self._period = period_seconds
        self._stopped = runtime.event()
        self._written = 0
        self._under_way = False
        self._pending: HighWater | None = None
        """Taken before it was synced."""

    def news(self) -> None:
        """Something was synced. Does not switch. Hot."""
        if not self._under_way and self._period > 0:
            self._under_way = True
            spawn_counted(self._runtime, self._work, name="commit-log-high-water")

    @switches
    def _work(self) -> None:
        wrote = False
        try:
            self._stopped.wait(self._period)
            wrote = self.write()
        finally:
            self._under_way = False  # only now: a file system that hangs gets no second one
        if wrote and self._end.watermark > self._written:
            self.news()  # what was synced meanwhile

    def stop(self) -> None:
        """Nothing is written from now on: somebody else may have the folder soon. Does not switch."""
        self._period = 0
        self._stopped.set()  # its task ends now: in a hub that ends before it, it would stay in memory for ever

    @switches
    def write(self) -> bool:
        """Writes down how far the log is synced by now. Returns whether it wrote. An error is logged: the mark is a
        help, and no commit waits for it."""
        mark = self._mark() if self._period > 0 else None
        if mark is None or mark.lsn <= self._written:
            return False
        try:
            self._fs.write_file(high_water_path(self._folder), encode_high_water(mark))
            self._written = mark.lsn
        except HbtableError as error:
            logger.warning("the high-water mark of %s could not be written: %s", self._folder, error)
            return False
        return True

    def _mark(self) -> HighWater | None:
        end = self._end
        if not self.lags:
            # Acknowledged means synced: what the ledger has is what lies up to the watermark.
            return self._now(end.watermark)
        pending = self._pending
        if pending is not None and pending.lsn > end.watermark:
            return None
        self._pending = self._now(end.lsn)
        return self._pending if end.lsn <= end.watermark else pending

    def _now(self, lsn: int) -> HighWater:
        end = self._end
        length = end.offset if end.lsn == lsn else 0
        return HighWater(lsn, end.number, length, self._runtime.wall_millis(), self._ledger.all_highest())

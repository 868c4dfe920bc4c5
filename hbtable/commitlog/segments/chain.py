"""Finds the segments that make up a log, and the end of the last one (docs/faults.md: torn tails and losses).

Every header names the segment before it, so the segments form a tree. On a local disk that is a line with some stumps:
segments that were given up before their first group. On HDFS a group that was not confirmed in time is sent again
through a new segment, perhaps through several (failover_appender.py). One of these goes on. The others end there, with
at most that one group. So the log's end is the end of the tree with the highest LSN, and among equal ones the newest.
Another end may have a group that it lacks: that group was never acknowledged.

Corruption, here:
* no segment at all: the first one is durable before a log is named anywhere
* a segment missing between the oldest one needed and the last one, or any with a damaged header (bug class 4: recovery
  takes a closed, gap-free set or none at all)
* a segment shorter than its successor says, or than it was when the log was fenced
* damage in the last segment at or below any watermark found in it, before or behind the damage, or at another end
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from hbtable.commitlog.groups import CLEAN_END, cut_short, group_at, next_group
from hbtable.commitlog.segments.segment import (
    Segment,
    SegmentHeader,
    decode_header,
    header_bytes,
    incarnation_of,
    seed,
    segment_number,
    segment_path,
)
from hbtable.errors import Corruption, FileNotFound, HbtableError
from hbtable.fs.interface import FileSystem
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all, run_until_error
from hbtable.switches import switches

T = TypeVar("T")

_STRETCH: Final = 2000
"""Groups looked at between two pauses: some milliseconds."""
_AT_ONCE: Final = 16
"""Files read at a time. Each read of a remote file system is a request or two, and METADATA waits for all of them: one
after the other, those of 194 segments took minutes on a busy cluster."""
_AT_ONCE_BYTES: Final = 16 << 20
"""Of segments that are read whole, at a time."""


class _End(NamedTuple):
    """An end of the tree, up to its last group that counts. `oldest`: the first segment that recovery has to find."""

    segment: Segment
    header: SegmentHeader
    watermark: int
    oldest: int
    level: int
    """The level at which `dropped` is logged; 0: there is nothing to say."""
    dropped: str


@switches
def settled_chain(
    fs: FileSystem,
    folder: str,
    lengths_by_path: Mapping[str, int],
    pause: Callable[[], None],
    tell: Callable[[int, str], None],
    runtime: Runtime | None = None,
) -> list[Segment]:
    """Oldest first; [] when the log never got a first header. May switch. Corruption, UnsupportedFormat. `tell`: how
    loud, and what was dropped at the end. `runtime`: reads several files at a time; None: one after the other."""
    lengths = {}
    for path, length in lengths_by_path.items():
        number = segment_number(folder, path)
        if number is not None:
            lengths[number] = length
    if not lengths:
        raise Corruption(folder, 0, "the log has no segment; it is created with one")
    reads = [partial(_header, fs, folder, number, length) for number, length in lengths.items()]
    found = [read() for read in reads] if runtime is None else run_until_error(runtime, _AT_ONCE, reads, "read log")
    headers = dict(zip(lengths, found, strict=True))
    sound = {number: header for number, header in headers.items() if header is not None}
    end = _last_end(fs, folder, sound, lengths, pause, runtime)
    oldest = 0 if end is None else end.oldest
    limit = header_bytes(incarnation_of(folder))
    for number in sorted(lengths, reverse=True):
        if number >= oldest and headers[number] is None and lengths[number] > limit:
            # Headers are synced before the first group is appended, so this one was sound once.
            raise Corruption(segment_path(folder, number), 0, "the segment's header is damaged")
    last = end.segment.number if end is not None else 0
    for number in (number for number in sorted(lengths) if number > last and headers[number] is None):
        if lengths[number]:
            tell(*_dropped_header(segment_path(folder, number), lengths[number], limit))
    if end is None:
        return []
    if end.level:
        tell(end.level, end.dropped)
    return _chain(folder, end, lengths, sound)


def _chain(folder: str, end: _End, lengths: dict[int, int], headers: dict[int, SegmentHeader]) -> list[Segment]:
    """From the oldest one needed to the end."""
    segments = [end.segment]
    newer = end.header
    # The first segment may have been given up before its first group, and has no number 1 then: it names no other.
    while newer.number > end.oldest and newer.previous:
        header = headers.get(newer.previous)
        path = segment_path(folder, newer.previous)
        if header is None:
            what = "has a damaged header" if newer.previous in lengths else "is missing"
            raise Corruption(path, 0, f"this segment {what}, and segment {newer.number} goes on after it")
        length = lengths[header.number]
        if length < newer.previous_bytes:
            raise Corruption(path, length, f"shorter than its {newer.previous_bytes} good bytes")
        segments.append(_segment(folder, header, newer.previous_bytes, newer.first_lsn - 1))
        newer = header
    segments.reverse()
    return segments


@switches
def _last_end(
    fs: FileSystem,
    folder: str,
    headers: dict[int, SegmentHeader],
    lengths: dict[int, int],
    pause: Callable[[], None],
    runtime: Runtime | None,
) -> _End | None:
    last: _End | None = None
    watermark = oldest = 0
    waiting = sorted(headers.keys() - {header.previous for header in headers.values()}, reverse=True)
    while waiting:
        count = _fitting([lengths[number] for number in waiting]) if runtime is not None else 1
        batch, waiting = [number for number in waiting[:count] if number >= oldest], waiting[count:]
        reads = [partial(_end_of, fs, folder, headers[number], lengths[number], pause) for number in batch]
        for number, end in zip(batch, _read(runtime, reads), strict=True):
            if number < oldest:
                continue  # no longer needed: it may vanish any moment
            if isinstance(end, HbtableError):
                raise end
            watermark = max(watermark, end.watermark)
            oldest = max(oldest, end.oldest)
            if last is None or end.segment.last_lsn > last.segment.last_lsn:
                last = end
    if last is None:
        return None
    _, _, _, _, offset, _, lsn = last.segment
    if watermark > lsn:
        raise Corruption(last.segment.path, offset, f"group {lsn + 1} is damaged; all up to {watermark} were durable")
    return last._replace(oldest=oldest)


def _fitting(lengths: list[int]) -> int:
    """The number of the first ones that are read at a time; at least one."""
    total, count = lengths[0], 1
    while count < min(len(lengths), _AT_ONCE) and total + lengths[count] <= _AT_ONCE_BYTES:
        total += lengths[count]
        count += 1
    return count


@switches
def _read(runtime: Runtime | None, reads: Sequence[Callable[[], T]]) -> list[T | HbtableError]:
    """The outcome of each; without a runtime the first error ends it."""
    return [read() for read in reads] if runtime is None else run_all(runtime, _AT_ONCE, reads, "read log")


@switches
def _header(fs: FileSystem, folder: str, number: int, length: int) -> SegmentHeader | None:
    incarnation = incarnation_of(folder)
    path = segment_path(folder, number)
    size = min(length, max(header_bytes(incarnation), 512))  # 512: room for a newer version's header
    if size == 0:
        return None
    try:
        file = fs.open(path)
    except FileNotFound:  # listed, and gone: let go by a writer that does not know yet that it was fenced
        return None
    try:
        return decode_header(file.read_at(0, size), path, incarnation, number)
    finally:
        file.close()


def _segment(folder: str, header: SegmentHeader, end: int, last_lsn: int) -> Segment:
    path = segment_path(folder, header.number)
    start = header_bytes(header.incarnation)
    return Segment(path, header.number, seed(header.incarnation, header.number), start, end, header.first_lsn, last_lsn)


@switches
def _end_of(fs: FileSystem, folder: str, header: SegmentHeader, length: int, pause: Callable[[], None]) -> _End:
    segment = _segment(folder, header, 0, 0)
    buffer = fs.read_file(segment.path)
    if len(buffer) < length:
        raise Corruption(segment.path, len(buffer), f"the log was fenced with {length} bytes of it")
    buffer = buffer[:length]  # what came after the fence was never acknowledged
    offset = segment.start
    lsn = header.first_lsn - 1
    watermark = header.watermark
    oldest = header.oldest_segment
    ended = False
    while (group := group_at(buffer, offset, segment.seed)) is not None and group.lsn == lsn + 1:
        offset, lsn = group.end, group.lsn
        watermark = max(watermark, group.watermark)
        oldest = max(oldest, group.oldest_segment)
        ended = bool(group.flags & CLEAN_END)
        if lsn % _STRETCH == 0:
            pause()
    level, dropped = 0, ""
    if offset < len(buffer):
        behind = 0
        later = next_group(buffer, offset, segment.seed)
        while later is not None:
            behind += 1
            watermark = max(watermark, later.watermark)
            later = next_group(buffer, later.end, segment.seed)
        level, dropped = _dropped(segment.path, buffer, offset, behind, ended)
    return _End(segment._replace(end=offset, last_lsn=lsn), header, watermark, oldest, level, dropped)


def _dropped_header(path: str, length: int, full: int) -> tuple[int, str]:
    """Level and text of the log line for a segment without a group. A crash leaves part of a header behind."""
    if length < full:
        return logging.INFO, f"{path}, {length} bytes: too short for a segment's header, dropped"
    return logging.WARNING, f"{path}, {length} bytes: a damaged segment's header with nothing behind it was dropped"


def _dropped(path: str, buffer: bytes, offset: int, behind: int, ended: bool) -> tuple[int, str]:
    place = f"{path}, {len(buffer) - offset} bytes, {offset} to {len(buffer)}"
    if ended:
        return logging.WARNING, f"{place}: bytes after the clean end of the log were ignored"
    if behind:
        what = f"a damaged group and {behind} behind it dropped; nothing says they were durable"
        return logging.WARNING, f"{place}: {what}"
    if cut_short(buffer, offset):
        return logging.INFO, f"{place}: an unfinished write was dropped"
    return logging.WARNING, f"{place}: a damaged group of full length was dropped; nothing says it was durable"

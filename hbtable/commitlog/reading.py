"""Reads a log that nobody writes any more, and tells a torn tail from a loss (storage-and-faults 2 and 3.3).

What may be missing without reproach: the end of the last segment above every stored watermark (never acknowledged, or
acknowledged under durability "os" and lost with the machine), and a last segment that got no further than its header.
From the first damaged byte on everything is dropped, sound groups behind it too: a log is recovered as a prefix, never
with a hole. Everything else is Corruption:

* a segment missing between the oldest one needed and the last one, or with a damaged header (bug class 4: recovery
  takes a closed, gap-free set or none at all)
* damage below the good length of a segment that has a successor
* damage in the last segment at or below any watermark found in it, before or behind the damage
* no segment at all: the first one is durable before a log is named anywhere

An error while listing or reading raises; nothing is ever left out because it could not be read (bug class 5), and no
file is changed or removed here.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from hbtable.commitlog.groups import CLEAN_END, Group, cut_short, group_at, next_group
from hbtable.commitlog.records import LogRecord, decode_records
from hbtable.commitlog.segment import (
    SegmentHeader,
    decode_header,
    header_bytes,
    incarnation_of,
    seed,
    segment_number,
    segment_path,
)
from hbtable.errors import Corruption
from hbtable.fs.interface import FileSystem

logger = logging.getLogger(__name__)

_STRETCH: Final = 2000
"""Groups looked at between two pauses: some milliseconds."""


class Segment(NamedTuple):
    """What counts of one file: the groups in [start, end), numbered from first_lsn to last_lsn."""

    path: str
    number: int
    seed: int
    start: int
    end: int
    first_lsn: int
    last_lsn: int


def read_log(fs: FileSystem, folder: str) -> Iterator[LogRecord]:
    """Every record in log order. Holds one segment in memory. May switch. Corruption, UnsupportedFormat."""
    for segment in log_segments(fs, folder):
        buffer = fs.read_file(segment.path)
        for group in sound_groups(buffer, segment):
            yield from decode_records(buffer, group.payload, group.end, segment.path)


def log_segments(fs: FileSystem, folder: str, pause: Callable[[], None] = lambda: None) -> list[Segment]:
    """The segments that make up the log, oldest first, their ends settled; [] when it never got a first header.

    Reads all headers and the whole last segment, and calls `pause` every few milliseconds. A dropped tail is logged
    here, once. May switch. Corruption.
    """
    lengths = {}
    for status in fs.list_files(folder):
        number = segment_number(folder, status.path)
        if number is not None:
            lengths[number] = status.length_bytes
    if not lengths:
        raise Corruption(folder, 0, "the log has no segment; it is created with one")
    headers = {number: _header(fs, folder, number, length) for number, length in lengths.items()}
    last = _last_begun(folder, lengths, headers)
    if last is None:
        return []
    tail, oldest = _settle_tail(fs, folder, last, pause)
    segments = [tail]
    newer = last
    while newer.number > oldest:
        header = headers.get(newer.previous)
        if header is None:
            what = "has a damaged header" if newer.previous in lengths else "is missing"
            path = segment_path(folder, newer.previous)
            raise Corruption(path, 0, f"this segment {what}, and segment {newer.number} goes on after it")
        if lengths[header.number] < newer.previous_bytes:
            path = segment_path(folder, header.number)
            raise Corruption(path, lengths[header.number], f"shorter than its {newer.previous_bytes} good bytes")
        segments.append(_segment(folder, header, newer.previous_bytes, newer.first_lsn - 1))
        newer = header
    segments.reverse()
    return segments


def sound_groups(buffer: bytes, segment: Segment) -> Iterator[Group]:
    """The groups of a settled segment. Corruption unless they are sound and complete from start to end."""
    offset = segment.start
    lsn = segment.first_lsn
    while offset < segment.end:
        group = group_at(buffer, offset, segment.seed)
        if group is None or group.lsn != lsn or group.end > segment.end:
            raise Corruption(segment.path, offset, f"group {lsn} is damaged, and the log went on after it")
        yield group
        offset = group.end
        lsn += 1
    if lsn != segment.last_lsn + 1:
        raise Corruption(segment.path, offset, f"ends with group {lsn - 1} instead of {segment.last_lsn}")


def _header(fs: FileSystem, folder: str, number: int, length: int) -> SegmentHeader | None:
    incarnation = incarnation_of(folder)
    path = segment_path(folder, number)
    size = min(length, max(header_bytes(incarnation), 512))  # 512: room for a newer version's header
    if size == 0:
        return None
    file = fs.open(path)
    try:
        return decode_header(file.read_at(0, size), path, incarnation, number)
    finally:
        file.close()


def _last_begun(folder: str, lengths: dict[int, int], headers: dict[int, SegmentHeader | None]) -> SegmentHeader | None:
    """The newest segment with a sound header. Those behind it must be too short to hold a group: their creation was
    cut off by a crash or by a full disk."""
    limit = header_bytes(incarnation_of(folder))
    for number in sorted(lengths, reverse=True):
        header = headers[number]
        if header is not None:
            return header
        if lengths[number] > limit:
            # Headers are synced before the first group is appended, so this one was sound once.
            raise Corruption(segment_path(folder, number), 0, "the segment's header is damaged")
    return None


def _segment(folder: str, header: SegmentHeader, end: int, last_lsn: int) -> Segment:
    path = segment_path(folder, header.number)
    start = header_bytes(header.incarnation)
    return Segment(path, header.number, seed(header.incarnation, header.number), start, end, header.first_lsn, last_lsn)


def _settle_tail(fs: FileSystem, folder: str, header: SegmentHeader, pause: Callable[[], None]) -> tuple[Segment, int]:
    """The last segment, up to its last group that counts; and the oldest segment that recovery has to find."""
    segment = _segment(folder, header, 0, 0)
    buffer = fs.read_file(segment.path)
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
    if offset < len(buffer):
        behind = 0
        later = next_group(buffer, offset, segment.seed)
        while later is not None:
            behind += 1
            watermark = max(watermark, later.watermark)
            later = next_group(buffer, later.end, segment.seed)
        if watermark > lsn:
            raise Corruption(segment.path, offset, f"group {lsn + 1} is damaged; all up to {watermark} were durable")
        _report(segment.path, buffer, offset, behind, ended)
    return segment._replace(end=offset, last_lsn=lsn), oldest


def _report(path: str, buffer: bytes, offset: int, behind: int, ended: bool) -> None:
    place = f"{path}, bytes {offset} to {len(buffer)}"
    if ended:
        logger.warning("%s: bytes after the clean end of the log were ignored", place)
    elif behind:
        logger.warning("%s: a damaged group and %d behind it dropped; nothing says they were durable", place, behind)
    elif cut_short(buffer, offset):
        logger.info("%s: an unfinished write was dropped", place)
    else:
        logger.warning("%s: a damaged group of full length was dropped; nothing says it was durable", place)

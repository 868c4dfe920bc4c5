"""The sound records of a log, damaged or not, and what is missing between them.

A log is recovered as a prefix, and damage below a watermark stops recovery. Here everything is taken whose checksums
hold: whole groups, and of a damaged group the records that check by themselves. What a segment holds beyond the good
length that its successor names was refused, and is never read.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from hbtable.commitlog.groups import HEADER_BYTES, MAGIC, MARKER, Group, group_at, next_group
from hbtable.commitlog.records import LogRecord, decode_records
from hbtable.commitlog.runs import decode_list, list_path, run_path
from hbtable.commitlog.segment import (
    SegmentHeader,
    decode_header,
    header_bytes,
    incarnation_of,
    seed,
    segment_number,
)
from hbtable.commitlog.sorted_logs import sorted_runs, verify_run
from hbtable.errors import Corruption, FileNotFound, HbtableError
from hbtable.fs.interface import FileSystem

_LEAD: Final = struct.Struct(">II")
_SEQUENCE: Final = struct.Struct(">QIQ")
_RUN: Final = re.compile(r"/sorted/\d{10}-[0-9a-f]{8}\.run\Z")


@dataclass(slots=True)
class LogSalvage:
    """`records` in the order of the files; a sequence may be there twice."""

    records: list[LogRecord] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """A sentence for each stretch that cannot be read."""
    whole_runs: bool = False
    """Its sorted runs hold all of it: what is damaged in its segments costs nothing."""


def salvage_log(fs: FileSystem, folder: str, pause: Callable[[], None] = lambda: None) -> LogSalvage:
    """May switch. UnsupportedFormat, Unavailable: nothing is known."""
    found = LogSalvage()
    found.whole_runs = _runs_are_whole(fs, folder, pause)
    if found.whole_runs:
        runs = sorted_runs(fs, folder) or []
        for path in [run_path(folder, run) for run in runs]:
            found.records += _records(fs.read_file(path), path, found)
        return found
    segments: dict[int, bytes] = {}
    for status in fs.list_files(folder):
        number = segment_number(folder, status.path)
        if number is not None:
            segments[number] = fs.read_file(status.path)
        elif _RUN.search(status.path):
            found.records += _records(fs.read_file(status.path), status.path, None)
    _segments(folder, segments, found, pause)
    return found


def _runs_are_whole(fs: FileSystem, folder: str, pause: Callable[[], None]) -> bool:
    try:
        runs = sorted_runs(fs, folder)
        if runs is None:
            return False
        for run in runs:
            verify_run(fs, folder, run, pause)
    except (Corruption, FileNotFound):
        return False
    return True


def _segments(folder: str, segments: dict[int, bytes], found: LogSalvage, pause: Callable[[], None]) -> None:
    incarnation = incarnation_of(folder)
    start = header_bytes(incarnation)
    headers: dict[int, SegmentHeader] = {}
    for number, content in segments.items():
        header = decode_header(content[:512], f"{folder}/{number}", incarnation, number)
        if header is not None:
            headers[number] = header
    good = {header.previous: header.previous_bytes for header in headers.values() if header.previous}
    missing = sorted(good.keys() - segments.keys())
    expected = 0
    for number in sorted(segments):
        content = segments[number]
        path = f"{folder}/{number:010d}.log"
        if len(content) < good.get(number, 0):
            found.lost.append(f"{path} ends at byte {len(content)}, {good[number] - len(content)} bytes too early")
        elif number not in headers and len(content) > start:
            found.lost.append(f"{path}: its header is damaged; its groups are read all the same")
        expected = _groups(path, content[: good.get(number)], start, seed(incarnation, number), expected, found)
        pause()
    oldest = _oldest(segments, incarnation, start)
    found.lost += [f"{folder}/{number:010d}.log is missing" for number in missing if number >= oldest]


def _oldest(segments: dict[int, bytes], incarnation: str, start: int) -> int:
    """Segments before this one may have been deleted."""
    oldest = 0
    for number, content in segments.items():
        group = next_group(content, start, seed(incarnation, number))
        while group is not None:
            oldest = max(oldest, group.oldest_segment)
            group = next_group(content, group.end, seed(incarnation, number))
    return oldest


def _groups(path: str, content: bytes, offset: int, segment_seed: int, expected: int, found: LogSalvage) -> int:
    """The LSN after the last group."""
    while offset < len(content):
        group = group_at(content, offset, segment_seed)
        if group is None:
            later = next_group(content, offset + 1, segment_seed)
            end = later.start if later is not None else len(content)
            _damaged_stretch(path, content, offset, end, later, found)
            offset = end
            continue
        if not group.flags & MARKER:
            found.records += decode_records(content, group.payload, group.end, path)
        expected = group.lsn + 1
        offset = group.end
    return expected


def _damaged_stretch(path: str, content: bytes, start: int, end: int, later: Group | None, found: LogSalvage) -> None:
    """Records that check by themselves are taken, whatever became of the group around them."""
    saved: list[LogRecord] = []
    hints: list[str] = []
    offset = start + HEADER_BYTES
    while offset + _LEAD.size <= end:
        checksum, size = _LEAD.unpack_from(content, offset)
        body = offset + _LEAD.size
        if not 32 <= size <= end - body:
            break
        if crc32(content[body : body + size], size) == checksum:
            saved += decode_records(content, offset, body + size, path)
        else:
            tablet_id, _, sequence = _SEQUENCE.unpack_from(content, body)
            hints.append(f"perhaps sequence {sequence} of tablet {tablet_id}")
        offset = body + size
    found.records += saved
    empty = later is None and not content[start:end].strip(b"\0")
    if empty or (later is None and not saved and not hints and MAGIC not in content[start : start + 4]):
        found.lost.append(f"{path}, bytes {start} to {end}: nothing of it is a group")
        return
    known = f" ({', '.join(hints[:5])}{', ...' if len(hints) > 5 else ''})" if hints else ""
    found.lost.append(f"{path}, bytes {start} to {end}: a damaged group{known}; {len(saved)} records of it were saved")


def _records(content: bytes, path: str, found: LogSalvage | None) -> list[LogRecord]:
    """Of a run, as far as it goes: the index behind them is no record."""
    records: list[LogRecord] = []
    offset = 0
    while offset + _LEAD.size <= len(content):
        _, size = _LEAD.unpack_from(content, offset)
        end = offset + _LEAD.size + size
        try:
            records += decode_records(content, offset, end, path)
        except (HbtableError, struct.error):
            break
        offset = end
    return records


def list_is_sound(fs: FileSystem, folder: str) -> bool:
    """Of a log's sorted runs; True without a list."""
    try:
        decode_list(fs.read_file(list_path(folder)), list_path(folder))
    except FileNotFound:
        return True
    except Corruption:
        return False
    return True
